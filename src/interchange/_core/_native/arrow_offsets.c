/* Offsets of Arrow lists: checked in one pass, and shifted when chunks are joined.
 *
 * Source: Arrow columnar format, Variable-size List Layout; ListView Layout.  Buffers may be
 * unaligned.  The loops have no branches, so that compilers vectorize them; the index of an error
 * is found by a second pass. */
#include "arrow_offsets.h"

#include <string.h>

#define UNLOCKED_FROM 65536 /* buffers from this size on are read without the GIL [bytes] */

typedef struct {
    int64_t low, high; /* bounds of the elements that the lists refer to; numbers of a bad list */
    int64_t step;      /* length of each list, which starts where the last one ends; or -1 */
    Py_ssize_t bad;    /* index of the first invalid list; or -1 */
} Lists;

#define DEFINE(bits)                                                                              \
    static inline int##bits##_t load##bits(const char *place, Py_ssize_t index)                  \
    {                                                                                             \
        int##bits##_t value;                                                                      \
        memcpy(&value, place + index * (Py_ssize_t)sizeof value, sizeof value);                   \
        return value;                                                                             \
    }                                                                                             \
                                                                                                  \
    /* Lists between consecutive offsets, which are one more than the lists. */                   \
    static Lists scan_offsets##bits(const char *offsets, Py_ssize_t count)                        \
    {                                                                                             \
        int##bits##_t first = load##bits(offsets, 0), last = load##bits(offsets, count);          \
        uint##bits##_t step = (uint##bits##_t)load##bits(offsets, 1) - (uint##bits##_t)first;     \
        uint##bits##_t uneven = 0, falls = first < 0;                                             \
        Lists found = {first, last, -1, -1};                                                      \
        for (Py_ssize_t i = 0; i < count; i++) {                                                  \
            int##bits##_t from = load##bits(offsets, i), to = load##bits(offsets, i + 1);         \
            uneven |= ((uint##bits##_t)to - (uint##bits##_t)from) ^ step;                         \
            falls |= (uint##bits##_t)(to < from);                                                 \
        }                                                                                         \
        if (!uneven)                                                                              \
            found.step = (int64_t)step;                                                           \
        if (!falls)                                                                               \
            return found;                                                                         \
        for (found.bad = 0; found.bad < count; found.bad++) {                                     \
            found.low = load##bits(offsets, found.bad);                                           \
            found.high = load##bits(offsets, found.bad + 1);                                      \
            if (found.low < 0 || found.high < found.low)                                          \
                break;                                                                            \
        }                                                                                         \
        return found;                                                                             \
    }                                                                                             \
                                                                                                  \
    /* Lists with an offset and a size each. */                                                   \
    static Lists scan_views##bits(const char *offsets, const char *sizes, Py_ssize_t count)       \
    {                                                                                             \
        int##bits##_t start = load##bits(offsets, 0), step = load##bits(sizes, 0);                \
        int##bits##_t next = start, uneven = 0;                                                   \
        Lists found = {start, 0, -1, -1};                                                         \
        for (Py_ssize_t i = 0; i < count; i++) {                                                  \
            int##bits##_t from = load##bits(offsets, i), size = load##bits(sizes, i), to;         \
            if (from < 0 || size < 0 || __builtin_add_overflow(from, size, &to)) {                \
                found = (Lists){from, size, -1, i};                                               \
                return found;                                                                     \
            }                                                                                     \
            uneven |= (size ^ step) | (step ? from ^ next : 0);                                   \
            next = to;                                                                            \
            found.low = from < found.low ? from : found.low;                                      \
            found.high = to > found.high ? to : found.high;                                       \
        }                                                                                         \
        if (!uneven)                                                                              \
            found.step = step;                                                                    \
        return found;                                                                             \
    }                                                                                             \
                                                                                                  \
    /* Add a number to offsets; 0 if one of them or a result is negative or does not fit. */      \
    static int shift_offsets##bits(const char *from, char *to, Py_ssize_t count, int64_t by)      \
    {                                                                                             \
        int##bits##_t seen = 0;                                                                   \
        if (count > 0 && (by > INT##bits##_MAX || by < -INT##bits##_MAX))                         \
            return 0;                                                                             \
        for (Py_ssize_t i = 0; i < count; i++) {                                                  \
            int##bits##_t value = load##bits(from, i), sum;                                       \
            sum = (int##bits##_t)((uint##bits##_t)value + (uint##bits##_t)by);                    \
            seen |= value | sum; /* negative if one is: a sum that overflows is, too */           \
            memcpy(to + i * (Py_ssize_t)sizeof sum, &sum, sizeof sum);                            \
        }                                                                                         \
        return seen >= 0;                                                                         \
    }

DEFINE(32)
DEFINE(64)

/* Run a statement, without the GIL if it reads much. */
#define READ(bytes, statement)                                                                    \
    do {                                                                                          \
        PyThreadState *unlocked = (bytes) >= UNLOCKED_FROM ? PyEval_SaveThread() : NULL;          \
        statement;                                                                                \
        if (unlocked != NULL)                                                                     \
            PyEval_RestoreThread(unlocked);                                                       \
    } while (0)

static PyObject *result_of(Lists found)
{
    return Py_BuildValue("LLLn", (long long)found.low, (long long)found.high,
                         (long long)found.step, found.bad);
}

/* scan_offsets(offsets, count, width) */
static PyObject *scan_offsets(PyObject *module, PyObject *args)
{
    Py_ssize_t count;
    unsigned long long offsets;
    int width;
    Lists found;

    (void)module;
    if (!PyArg_ParseTuple(args, "Kni:scan_offsets", &offsets, &count, &width))
        return NULL;
    READ(count * width,
         found = width == 4 ? scan_offsets32((const char *)(uintptr_t)offsets, count)
                            : scan_offsets64((const char *)(uintptr_t)offsets, count));
    return result_of(found);
}

/* scan_views(offsets, sizes, count, width) */
static PyObject *scan_views(PyObject *module, PyObject *args)
{
    Py_ssize_t count;
    unsigned long long given[2];
    const char *offsets, *sizes;
    int width;
    Lists found;

    (void)module;
    if (!PyArg_ParseTuple(args, "KKni:scan_views", &given[0], &given[1], &count, &width))
        return NULL;
    offsets = (const char *)(uintptr_t)given[0];
    sizes = (const char *)(uintptr_t)given[1];
    READ(count * width, found = width == 4 ? scan_views32(offsets, sizes, count)
                                           : scan_views64(offsets, sizes, count));
    return result_of(found);
}

/* shift_offsets(source, target, count, width, by) */
static PyObject *shift_offsets(PyObject *module, PyObject *args)
{
    Py_ssize_t count;
    unsigned long long given[2];
    const char *from;
    char *to;
    int width, fits;
    long long by;

    (void)module;
    if (!PyArg_ParseTuple(args, "KKniL:shift_offsets", &given[0], &given[1], &count, &width, &by))
        return NULL;
    from = (const char *)(uintptr_t)given[0];
    to = (char *)(uintptr_t)given[1];
    READ(count * width, fits = width == 4 ? shift_offsets32(from, to, count, by)
                                          : shift_offsets64(from, to, count, by));
    return PyBool_FromLong(fits);
}

PyMethodDef arrow_offsets_functions[] = {
    {"scan_offsets", scan_offsets, METH_VARARGS,
     "Return bounds, common length, and the first invalid list of one or more lists."},
    {"scan_views", scan_views, METH_VARARGS, "Likewise for lists with an offset and a size each."},
    {"shift_offsets", shift_offsets, METH_VARARGS,
     "Write offsets plus a number to other memory, and return whether all fit."},
    {NULL, NULL, 0, NULL},
};
