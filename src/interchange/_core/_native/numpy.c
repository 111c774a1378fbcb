/* ndarrays read where they are: no capsule, no call into NumPy.
 *
 * Source: NumPy, numpy/ndarraytypes.h (PyArrayObject_fields, unchanged since 1.7).  Python proves
 * at the first ndarray that this NumPy has the fields where they are read here; element types are
 * those of dtype objects that NumPy has exported before. */
#include "core.h"

#define DESCR_SLOTS 64 /* a power of 2 */

/* Bits of `flags`. */
#define NDARRAY_C_CONTIGUOUS 0x0001
#define NDARRAY_CONTIGUOUS 0x0003 /* in C order, in Fortran's */
#define NDARRAY_ALIGNED 0x0100
#define NDARRAY_WARN_ON_WRITE INT32_MIN /* bit 31 */

/* Of a slot only the dtype object may go: who reads it has an ndarray of that, or of another.  The
 * element types are kept for ever by others. */
static Descr descrs[DESCR_SLOTS];
static Guard guard;
static int fills_strides = 1; /* of arrays in C order, in structs: NumPy before 2.4 does not */

static Descr *descr_slot(PyObject *descr)
{
    return &descrs[((uintptr_t)descr >> 4) * 2654435761u >> 7 & (DESCR_SLOTS - 1)];
}

/* Steps in elements; 0: some step is no whole element. */
static int count_elements(const NDArray *array, int64_t itemsize, int64_t *steps)
{
    int is_power = (itemsize & (itemsize - 1)) == 0, shift = __builtin_ctzll((uint64_t)itemsize);

    for (int i = 0; i < array->nd; i++) {
        int64_t step = array->strides[i];
        if (is_power) {
            if (step & (itemsize - 1))
                return 0;
            steps[i] = step >> shift; /* of a negative number: gcc and clang shift its sign in */
        } else {
            if (step % itemsize)
                return 0;
            steps[i] = step / itemsize;
        }
    }
    return 1;
}

/* Without steps between elements: NumPy has seen to it that the size is a number, and memory that
 * is there does not wrap around.  0: this is not ordinary. */
static int read_contiguous(const NDArray *array, int64_t itemsize, int64_t *dims)
{
    int shift = __builtin_ctzll((uint64_t)itemsize), ndim = array->nd;

    for (int i = 0; i < ndim; i++) {
        int64_t extent = array->dimensions[i], step = array->strides[i];
        if (extent < 1 || (step & (itemsize - 1)))
            return 0;
        dims[i] = extent;
        dims[ndim + i] = step >> shift; /* of a negative number: gcc and clang shift its sign in */
    }
    return 1;
}

/* What a struct without strides says: the steps of C order, along axes of length 1, too. */
static void fill_in_c_order(int ndim, int64_t *dims)
{
    int64_t step = 1;

    for (int i = ndim - 1; i >= 0; i--) {
        dims[ndim + i] = step;
        step *= dims[i];
    }
}

int read_fields(const NDArray *array, const Descr *descr, int64_t *dims)
{
    int64_t steps[MOST_AXES], room[MOST_AXES];
    DLTensor tensor = {.data = array->data};
    char *first;

    if (LIKELY((array->flags & NDARRAY_CONTIGUOUS) && array->data != NULL &&
               (descr->itemsize & (descr->itemsize - 1)) == 0 &&
               read_contiguous(array, descr->itemsize, dims))) {
        if (UNLIKELY(!LOAD(fills_strides) && (array->flags & NDARRAY_C_CONTIGUOUS)))
            fill_in_c_order(array->nd, dims);
        return 1;
    }
    if (!count_elements(array, descr->itemsize, steps))
        return 0;
    tensor.ndim = array->nd;
    tensor.shape = wide_extents(array->dimensions, array->nd, room);
    tensor.strides = steps;
    return read_place(&tensor, descr->itemsize, dims, &first);
}

/* What is known of a dtype object, or of another one. */
static const Descr *look(PyObject *descr, Descr *room)
{
    Descr *slot = descr_slot(descr);
#ifdef Py_GIL_DISABLED
    uint32_t before;

    do {
        before = guard_look(&guard);
        room->descr = LOAD(slot->descr);
        room->dtype = LOAD(slot->dtype);
        LOAD_WHOLE(slot->element, &room->element);
        room->itemsize = LOAD(slot->itemsize);
    } while (guard_missed(&guard, before));
    return room;
#else
    (void)room;
    return slot;
#endif
}

const Descr *descr_of(PyObject *x, Descr *room)
{
    const NDArray *array = (const NDArray *)x;
    PyObject *own = array->descr; /* looked at once: somebody may set another */
    const Descr *descr = look(own, room);

    if (UNLIKELY(descr->descr != own || !(array->flags & NDARRAY_ALIGNED) ||
                 (array->flags & NDARRAY_WARN_ON_WRITE) || array->nd < 0 || array->nd > MOST_AXES))
        return NULL;
    return descr;
}

Array *read_ndarray(PyObject *x)
{
    const NDArray *array = (const NDArray *)x;
    Descr room;
    const Descr *descr;
    Array *self;
    int flags;

    self = new_array(core.array_type); /* finalisers may run now, and import or change arrays */
    if (self == NULL)
        return NULL;
    descr = descr_of(x, &room);
    flags = array->flags;
    if (UNLIKELY(descr == NULL || reserve_dims(self, array->nd) < 0 ||
                 !read_fields(array, descr, self->dims))) {
        PyErr_Clear();
        Py_DECREF(self);
        return NULL;
    }
    self->ptr = array->data;
    self->flags = flags & NDARRAY_WRITEABLE ? 0 : DLPACK_READ_ONLY;
    self->dtype = Py_NewRef(descr->dtype);
    self->element = descr->element;
    self->itemsize = descr->itemsize;
    self->device.device_type = DL_CPU;
    self->device.device_id = 0;
    self->owner = Py_NewRef(x);
    self->keep = Py_NewRef(x);
    return self;
}

/* Whether a dtype object is of these elements: somebody may set x.dtype while x is exported. */
static int is_of(PyObject *descr, DLDataType element, int32_t itemsize)
{
    static const char *const kinds[] = {"i", "u", "f", NULL, NULL, "c", "b"}; /* by DLPack's code */
    const char *wanted = element.code < sizeof kinds / sizeof *kinds ? kinds[element.code] : NULL;
    PyObject *kind = PyObject_GetAttrString(descr, "kind");
    PyObject *native = PyObject_GetAttrString(descr, "isnative");
    int is_same = wanted != NULL && element.lanes == 1 && native == Py_True && kind != NULL &&
                  PyUnicode_CompareWithASCIIString(kind, wanted) == 0 &&
                  attribute(descr, core.n_itemsize) == itemsize;

    Py_XDECREF(kind);
    Py_XDECREF(native);
    return PyErr_Occurred() ? -1 : is_same;
}

static int learn(PyObject *descr, PyObject *dtype)
{
    PyObject *dropped = NULL;
    DLDataType element;
    int32_t itemsize;
    int learnt = learn_element_type(dtype, &element, &itemsize);

    if (learnt > 0)
        learnt = is_of(descr, element, itemsize);
    if (learnt > 0) {
        Descr *slot = descr_slot(descr);
        guard_begin(&guard);
        dropped = EXCHANGE(slot->descr, Py_NewRef(descr));
        set_for_good(&slot->dtype, Py_NewRef(dtype));
        STORE_WHOLE(slot->element, element);
        STORE(slot->itemsize, itemsize);
        guard_end(&guard);
    }
    Py_XDECREF(dropped);
    return learnt < 0 ? -1 : 0;
}

/* Remember the dtype object of an ndarray that NumPy exported as `found`. */
int learn_descr(PyObject *x, Array *found)
{
    PyObject *descr = Py_NewRef(((const NDArray *)x)->descr), *spec, *dtype = NULL;
    int failed = 0;

    if (LOAD(descr_slot(descr)->descr) != descr) {
        spec = array_spec(found);
        dtype = spec == NULL ? NULL : PyObject_GetAttr(spec, core.n_dtype);
        failed = dtype == NULL ? -1 : learn(descr, dtype);
    }
    Py_XDECREF(dtype);
    Py_DECREF(descr);
    return failed;
}

/* ---------------------------------------------------------------- for the self-test in Python */

/* fields_of(array, ndim) -> what is where the fields are said to be, for the caller to compare;
 * None where the number of axes is not: no pointer is followed then. */
static PyObject *fields_of(PyObject *module, PyObject *args)
{
    const NDArray *array;
    PyObject *x, *shape, *strides;
    int ndim;

    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &x, &ndim))
        return NULL;
    array = (const NDArray *)x;
    if (array->nd != ndim)
        return Py_NewRef(Py_None);
    shape = PyTuple_New(array->nd);
    strides = PyTuple_New(array->nd);
    for (int i = 0; shape != NULL && strides != NULL && i < array->nd; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(array->dimensions[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(array->strides[i]));
    }
    return Py_BuildValue("KNNKi", (unsigned long long)(uintptr_t)array->data, shape, strides,
                         (unsigned long long)(uintptr_t)array->descr, array->flags);
}

/* read_directly(type or None, fills_strides): whether, and of which type, ndarrays are read where
 * they are; whether this NumPy says the strides of arrays in C order. */
static PyObject *read_directly(PyObject *module, PyObject *args)
{
    PyObject *type;
    int fills;

    (void)module;
    if (!PyArg_ParseTuple(args, "Op", &type, &fills))
        return NULL;
    if (type != Py_None && !PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "read_directly() takes a type or None");
        return NULL;
    }
    STORE(fills_strides, fills);
    set_for_good((PyObject **)&core.ndarray_type, type == Py_None ? NULL : Py_NewRef(type));
    return Py_NewRef(Py_None);
}

PyMethodDef numpy_functions[] = {
    {"fields_of", fields_of, METH_VARARGS, "fields_of(array, ndim): for the self-test."},
    {"read_directly", read_directly, METH_VARARGS,
     "read_directly(type, fills_strides): of ndarrays, or None for none."},
    {NULL, NULL, 0, NULL},
};
