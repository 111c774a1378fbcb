/* Offsets of Arrow lists: checked in one pass, and shifted when chunks are joined.
 *
 * Source: Arrow columnar format, Variable-size List Layout; ListView Layout; Variable-size Binary
 * View Layout.  Buffers of lists may be unaligned.  The loops have no branches, so that compilers
 * vectorize them; the index of an error is found by a second pass. */
#include "arrow_offsets.h"

#include <string.h>

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
            if (from < 0 || size < 0 || size > INT##bits##_MAX - from) {                          \
                found = (Lists){from, size, -1, i};                                               \
                return found;                                                                     \
            }                                                                                     \
            uneven |= (size ^ step) | (step ? from ^ next : 0);                                   \
            next = to = (int##bits##_t)(from + size);                                             \
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

static Lists scan(const char *offsets, Py_ssize_t count, int width)
{
    Lists found;

    RUN_UNLOCKED(count * width >= LONG_LOOP,
                 found = width == 4 ? scan_offsets32(offsets, count)
                                    : scan_offsets64(offsets, count));
    return found;
}

int64_t list_length(const char *offsets, Py_ssize_t count, int width, int64_t *low, int64_t *high)
{
    Lists found = scan(offsets, count, width);

    *low = found.low;
    *high = found.high;
    return found.bad < 0 ? found.step : -1;
}

Py_ssize_t invalid_list(const char *offsets, Py_ssize_t count, int width, int64_t *low,
                        int64_t *high)
{
    Lists found = scan(offsets, count, width);

    *low = found.low;
    *high = found.high;
    return found.bad;
}

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

    (void)module;
    if (!PyArg_ParseTuple(args, "Kni:scan_offsets", &offsets, &count, &width))
        return NULL;
    return result_of(scan((const char *)(uintptr_t)offsets, count, width));
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
    RUN_UNLOCKED(count * width >= LONG_LOOP,
                 found = width == 4 ? scan_views32(offsets, sizes, count)
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
    RUN_UNLOCKED(count * width >= LONG_LOOP,
                 fits = width == 4 ? shift_offsets32(from, to, count, by)
                                   : shift_offsets64(from, to, count, by));
    return PyBool_FromLong(fits);
}

/* ---------------------------------------------------------------- text in views */

#define VIEW 16   /* size of a view [bytes]: length, and text or prefix, buffer, offset */
#define INLINED 12 /* text of at most that length is in the view [bytes] */

static int is_null(const unsigned char *bitmap, Py_ssize_t bit)
{
    return bitmap != NULL && !(bitmap[bit >> 3] >> (bit & 7) & 1);
}

/* Write the offsets of the texts; the index of the first that is not in its buffer, or -1. */
static Py_ssize_t write_offsets(const char *views, Py_ssize_t count, const unsigned char *bitmap,
                                Py_ssize_t first, const int64_t *sizes, Py_ssize_t buffers,
                                int64_t *offsets)
{
    int64_t total = 0;

    offsets[0] = 0;
    for (Py_ssize_t i = 0; i < count; i++, views += VIEW) {
        int64_t size = is_null(bitmap, first + i) ? 0 : load32(views, 0);
        if (size < 0)
            return i;
        if (size > INLINED) {
            int64_t buffer = load32(views, 2), start = load32(views, 3);
            if (buffer < 0 || buffer >= buffers || start < 0 || start + size > sizes[buffer])
                return i;
        }
        offsets[i + 1] = total += size;
    }
    return -1;
}

static void write_texts(const char *views, Py_ssize_t count, const uint64_t *buffers,
                        const int64_t *offsets, char *to)
{
    for (Py_ssize_t i = 0; i < count; i++, views += VIEW) {
        int64_t size = offsets[i + 1] - offsets[i];
        const char *from = views + 4;
        if (size > INLINED)
            from = (const char *)(uintptr_t)buffers[load32(views, 2)] + load32(views, 3);
        memcpy(to + offsets[i], from, (size_t)size);
    }
}

/* measure_views(views, count, bitmap, first, sizes, offsets) */
static PyObject *measure_views(PyObject *module, PyObject *args)
{
    unsigned long long views, bitmap, offsets;
    Py_ssize_t count, first, size, bad;
    PyObject *sizes;
    const void *given;

    (void)module;
    if (!PyArg_ParseTuple(args, "KnKnSK:measure_views", &views, &count, &bitmap, &first, &sizes,
                          &offsets))
        return NULL;
    given = PyBytes_AsString(sizes);
    size = PyBytes_Size(sizes);
    RUN_UNLOCKED(count * VIEW >= LONG_LOOP,
                 bad = write_offsets((const char *)(uintptr_t)views, count,
                                     (const unsigned char *)(uintptr_t)bitmap, first, given,
                                     size / 8, (int64_t *)(uintptr_t)offsets));
    return PyLong_FromSsize_t(bad);
}

/* join_views(views, count, buffers, offsets, target) */
static PyObject *join_views(PyObject *module, PyObject *args)
{
    unsigned long long views, offsets, target;
    Py_ssize_t count;
    PyObject *buffers;
    const void *given;

    (void)module;
    if (!PyArg_ParseTuple(args, "KnSKK:join_views", &views, &count, &buffers, &offsets, &target))
        return NULL;
    given = PyBytes_AsString(buffers);
    RUN_UNLOCKED(count * VIEW >= LONG_LOOP,
                 write_texts((const char *)(uintptr_t)views, count, given,
                             (const int64_t *)(uintptr_t)offsets, (char *)(uintptr_t)target));
    return Py_NewRef(Py_None);
}

PyMethodDef arrow_offsets_functions[] = {
    {"join_views", join_views, METH_VARARGS, "Write the texts of views one after the other."},
    {"measure_views", measure_views, METH_VARARGS,
     "Write the offsets of the texts of views, and return the index of the first invalid one."},
    {"scan_offsets", scan_offsets, METH_VARARGS,
     "Return bounds, common length, and the first invalid list of one or more lists."},
    {"scan_views", scan_views, METH_VARARGS, "Likewise for lists with an offset and a size each."},
    {"shift_offsets", shift_offsets, METH_VARARGS,
     "Write offsets plus a number to other memory, and return whether all fit."},
    {NULL, NULL, 0, NULL},
};
