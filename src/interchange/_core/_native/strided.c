/* Copies of strided elements within host memory, as if the source were copied first.
 *
 * Source: dlpack.h 1.3, `DLTensor.strides`.  Axes are sorted by the strides of the target, merged
 * where both sides allow it, and copied two at a time; where they run in opposite orders, as in a
 * transpose, in tiles that stay in the cache.  The GIL is released for more than 64 KiB. */
#include "strided.h"

#include "array.h"

#include <string.h>

typedef struct {
    int64_t extent;   /* [elements] */
    int64_t to, from; /* strides of target and source [bytes] */
} Axis;

/* A copy between these addresses; the last axis runs fastest in the target. */
typedef struct {
    char *to;
    const char *from;
    int64_t size; /* of an item, which is contiguous on both sides [bytes] */
    int ndim;
    Axis axes[MOST_AXES + 2];
} Copy;

/* ---------------------------------------------------------------- two axes */

static inline int64_t distance(int64_t step)
{
    return step < 0 ? -step : step;
}

#define LINE(size, to_step, from_step)                                      \
    _Pragma("GCC unroll 8")                                                 \
    for (int64_t i = 0; i < extent; i++, to += (to_step), from += (from_step)) \
        memcpy(to, from, (size_t)(size))

/* Copy one axis of items of a constant size; constant strides let the compiler use vectors. */
#define DEFINE_LINE(size)                                                                         \
    static inline void line_of_##size(char *restrict to, const char *restrict from,               \
                                      int64_t extent, int64_t to_step, int64_t from_step)         \
    {                                                                                             \
        if (to_step == size && from_step == 0) {                                                  \
            char item[size];                                                                      \
            memcpy(item, from, size);                                                             \
            for (int64_t i = 0; i < extent; i++)                                                  \
                memcpy(to + i * size, item, size);                                                \
        } else if (to_step == size) {                                                             \
            LINE(size, size, from_step);                                                          \
        } else if (from_step == size) {                                                           \
            LINE(size, to_step, size);                                                            \
        } else {                                                                                  \
            LINE(size, to_step, from_step);                                                       \
        }                                                                                         \
    }

DEFINE_LINE(1)
DEFINE_LINE(2)
DEFINE_LINE(4)
DEFINE_LINE(8)
DEFINE_LINE(16)

static inline void line_of_any(char *restrict to, const char *restrict from, int64_t extent,
                               int64_t to_step, int64_t from_step, int64_t size)
{
    LINE(size, to_step, from_step);
}

#define ROWS(line)                                                                                \
    for (int64_t row = 0; row < rows->extent; row++, to += rows->to, from += rows->from)          \
        line

static void copy_rows(char *to, const char *from, const Axis *rows, const Axis *items,
                      int64_t size)
{
    int64_t extent = items->extent, to_step = items->to, from_step = items->from;

    switch (size) {
    case 1: ROWS(line_of_1(to, from, extent, to_step, from_step)); break;
    case 2: ROWS(line_of_2(to, from, extent, to_step, from_step)); break;
    case 4: ROWS(line_of_4(to, from, extent, to_step, from_step)); break;
    case 8: ROWS(line_of_8(to, from, extent, to_step, from_step)); break;
    case 16: ROWS(line_of_16(to, from, extent, to_step, from_step)); break;
    default: ROWS(line_of_any(to, from, extent, to_step, from_step, size));
    }
}

/* Copy two axes, in tiles where the source runs faster along the outer one. */
static void copy_plane(char *to, const char *from, const Axis *outer, const Axis *inner,
                       int64_t size)
{
    if (outer->extent < 4 || outer->from == 0 || distance(outer->from) >= distance(inner->from)) {
        copy_rows(to, from, outer, inner, size);
        return;
    }
    int64_t tile = size <= 8 ? 32 : 256; /* as many cache lines of the source are in use */
    for (int64_t i = 0; i < inner->extent; i += tile) {
        Axis items = *inner;
        items.extent = inner->extent - i < tile ? inner->extent - i : tile;
        copy_rows(to + i * inner->to, from + i * inner->from, outer, &items, size);
    }
}

static void run(const Copy *copy)
{
    int64_t at[MOST_AXES + 2] = {0};
    int last = copy->ndim - 3; /* of the axes that are counted here */
    const Axis *axes = copy->axes;
    char *to = copy->to;
    const char *from = copy->from;

    for (;;) {
        int axis = last;
        copy_plane(to, from, &axes[last + 1], &axes[last + 2], copy->size);
        for (; axis >= 0; axis--) {
            to += axes[axis].to, from += axes[axis].from;
            if (++at[axis] < axes[axis].extent)
                break;
            to -= axes[axis].to * at[axis], from -= axes[axis].from * at[axis];
            at[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

/* ---------------------------------------------------------------- axes */

static int comes_first(const Axis *one, const Axis *other)
{
    if (one->to != other->to)
        return one->to > other->to;
    return distance(one->from) > distance(other->from);
}

/* Let the target run forwards, the axis of its smallest stride last, and merge axes. */
static void arrange(Copy *copy)
{
    Axis *axes = copy->axes;
    int count = 0;

    for (int i = 0; i < copy->ndim; i++) {
        Axis axis = axes[i];
        int place = count;
        if (axis.extent == 1)
            continue;
        if (axis.to < 0) {
            copy->to += (axis.extent - 1) * axis.to;
            copy->from += (axis.extent - 1) * axis.from;
            axis.to = -axis.to, axis.from = -axis.from;
        }
        for (; place > 0 && comes_first(&axis, &axes[place - 1]); place--)
            axes[place] = axes[place - 1];
        axes[place] = axis;
        count++;
    }
    copy->ndim = 0;
    for (int i = 0; i < count; i++) {
        Axis *outer = copy->ndim ? &axes[copy->ndim - 1] : NULL, axis = axes[i];
        if (outer && outer->to == axis.extent * axis.to &&
            outer->from == axis.extent * axis.from) {
            axis.extent *= outer->extent;
            copy->ndim--;
        }
        axes[copy->ndim++] = axis;
    }
}

/* Make the axis along which the source runs fastest the last but one, if it is not the last. */
static void pair_axes(Copy *copy)
{
    int best = copy->ndim - 1, last_but_one = copy->ndim - 2;

    for (int i = 0; i < copy->ndim; i++)
        if (copy->axes[i].from && distance(copy->axes[i].from) < distance(copy->axes[best].from))
            best = i;
    for (; best < last_but_one; best++) {
        Axis next = copy->axes[best + 1];
        copy->axes[best + 1] = copy->axes[best];
        copy->axes[best] = next;
    }
}

/* Make one item of a run that is contiguous on both sides. */
static void join_run(Copy *copy)
{
    const Axis *run = copy->ndim ? &copy->axes[copy->ndim - 1] : NULL;

    if (run != NULL && run->to == copy->size && run->from == copy->size) {
        copy->size *= run->extent;
        copy->ndim--;
    }
    while (copy->ndim < 2) { /* of length 1: there are two at least */
        for (int i = copy->ndim++; i > 0; i--)
            copy->axes[i] = copy->axes[i - 1];
        copy->axes[0] = (Axis){1, 0, 0};
    }
}

/* ---------------------------------------------------------------- memory that is shared */

/* Whether the source may be written before it is read, by the bytes between first and last, and
 * the greatest common divisor of all strides, between whose multiples both sides may lie. */
static int may_overlap(const Copy *copy)
{
    uintptr_t low = (uintptr_t)copy->to, high = low, first = (uintptr_t)copy->from, end = first;
    uint64_t divisor = 0, offset;

    for (int i = 0; i < copy->ndim; i++) {
        const Axis *axis = &copy->axes[i];
        int64_t reach = (axis->extent - 1) * axis->from;
        high += (uintptr_t)((axis->extent - 1) * axis->to);
        if (reach < 0)
            first += (uintptr_t)reach;
        else
            end += (uintptr_t)reach;
        for (int side = 0; side < 2; side++) {
            uint64_t step = (uint64_t)distance(side ? axis->from : axis->to), rest;
            while (step != 0)
                rest = divisor % step, divisor = step, step = rest;
        }
    }
    if (first >= high + (uintptr_t)copy->size || low >= end + (uintptr_t)copy->size)
        return 0;
    if (divisor == 0)
        return 1;
    offset = (uint64_t)((uintptr_t)copy->to - (uintptr_t)copy->from) % divisor;
    if ((uintptr_t)copy->to < (uintptr_t)copy->from) {
        offset = (uint64_t)((uintptr_t)copy->from - (uintptr_t)copy->to) % divisor;
        offset = offset ? divisor - offset : 0;
    }
    return offset < (uint64_t)copy->size || offset + (uint64_t)copy->size > divisor;
}

static int is_same(const Copy *copy)
{
    int same = copy->to == copy->from;

    for (int i = 0; i < copy->ndim; i++)
        same = same && copy->axes[i].to == copy->axes[i].from;
    return same;
}

static void to_and_from(char *room, const Copy *copy)
{
    Copy first = *copy, then = *copy;
    int64_t step = copy->size;

    for (int i = copy->ndim - 1; i >= 0; i--) {
        first.axes[i].to = then.axes[i].from = step;
        step *= copy->axes[i].extent;
    }
    first.to = room;
    then.from = room;
    run(&first);
    run(&then);
}

/* Copy by way of other memory; -1 with an exception. */
static int copy_twice(const Copy *copy, int64_t nbytes)
{
    char *room = PyMem_Malloc((size_t)nbytes);

    if (room == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    RUN_UNLOCKED(nbytes >= LONG_LOOP, to_and_from(room, copy));
    PyMem_Free(room);
    return 0;
}

static int copy_arranged(Copy *copy, int64_t nbytes)
{
    join_run(copy);
    pair_axes(copy);
    if (nbytes == copy->size)
        RUN_UNLOCKED(nbytes >= LONG_LOOP, memmove(copy->to, copy->from, (size_t)nbytes));
    else if (!may_overlap(copy))
        RUN_UNLOCKED(nbytes >= LONG_LOOP, run(copy));
    else if (!is_same(copy))
        return copy_twice(copy, nbytes);
    return 0;
}

/* Whether no two elements of the target share bytes: each stride is longer than all inner axes. */
static int is_apart(const Copy *copy)
{
    int64_t reach = copy->size;

    for (int i = copy->ndim - 1; i >= 0; i--) {
        if (copy->axes[i].to < reach)
            return 0;
        reach += (copy->axes[i].extent - 1) * copy->axes[i].to;
    }
    return 1;
}

int copy_side(const Side *target, const Side *source)
{
    int64_t itemsize = target->itemsize, nbytes = itemsize;
    int missing = target->ndim - source->ndim;
    Copy copy = {target->ptr, source->ptr, itemsize, 0, {{0}}};

    if (missing < 0 || target->ptr == NULL || source->ptr == NULL)
        return 0;
    for (int i = 0; i < target->ndim; i++) {
        int64_t extent = target->dims[i], to = target->dims[target->ndim + i], from = 0;
        if (i >= missing && source->dims[i - missing] != 1) {
            from = source->dims[source->ndim + i - missing];
            if (source->dims[i - missing] != extent)
                return 0;
        }
        if (extent == 1)
            continue;
        if (extent < 1 || multiply_overflows(to, itemsize, &to) ||
            multiply_overflows(from, itemsize, &from))
            return 0;
        copy.axes[copy.ndim++] = (Axis){extent, to, from};
        nbytes *= extent;
    }
    arrange(&copy);
    if (!is_apart(&copy))
        return 0;
    return copy_arranged(&copy, nbytes) < 0 ? -1 : 1;
}

/* ---------------------------------------------------------------- arguments */

/* Read one item of each tuple; -1 with an exception. */
static int read_axis(PyObject *const *tuples, Py_ssize_t place, int64_t itemsize, Axis *out)
{
    int64_t found[3];

    for (int i = 0; i < 3; i++) {
        PyObject *item = PyTuple_GetItem(tuples[i], place);
        found[i] = item == NULL ? -1 : PyLong_AsLongLong(item);
        if (found[i] == -1 && PyErr_Occurred())
            return -1;
    }
    *out = (Axis){found[0], 0, 0};
    if (found[0] > 1 && (multiply_overflows(found[1], itemsize, &out->to) ||
                         multiply_overflows(found[2], itemsize, &out->from))) {
        PyErr_SetString(PyExc_OverflowError, "strides do not fit 64 bits");
        return -1;
    }
    return 0;
}

/* copy_strided(shape, itemsize, target, steps, source, source_steps) */
static PyObject *copy_strided(PyObject *module, PyObject *args)
{
    PyObject *tuples[3], *target, *source;
    long long itemsize;
    int64_t nbytes;
    Copy copy;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!LOO!OO!:copy_strided", &PyTuple_Type, &tuples[0], &itemsize,
                          &target, &PyTuple_Type, &tuples[1], &source, &PyTuple_Type, &tuples[2]))
        return NULL;
    copy.to = PyLong_AsVoidPtr(target);
    copy.from = PyLong_AsVoidPtr(source);
    if (PyErr_Occurred())
        return NULL;
    if (PyTuple_Size(tuples[0]) > MOST_AXES) {
        PyErr_SetString(PyExc_ValueError, "there are more than 64 axes");
        return NULL;
    }
    copy.size = nbytes = itemsize;
    copy.ndim = (int)PyTuple_Size(tuples[0]);
    for (int i = 0; i < copy.ndim; i++) {
        if (read_axis(tuples, i, itemsize, &copy.axes[i]) < 0)
            return NULL;
        nbytes *= copy.axes[i].extent;
    }
    if (nbytes > 0) {
        arrange(&copy);
        if (copy_arranged(&copy, nbytes) < 0)
            return NULL;
    }
    return Py_NewRef(Py_None);
}

PyMethodDef strided_functions[] = {
    {"copy_strided", copy_strided, METH_VARARGS,
     "copy_strided(shape, itemsize, target, steps, source, source_steps):"
     " see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
