/* ndarrays read from their C struct, without a capsule or a call into NumPy.
 *
 * Source: NumPy, numpy/ndarraytypes.h (PyArrayObject_fields, unchanged since 1.7; the beginning of
 * PyArray_Descr, as old).  At the first ndarray Python verifies that this NumPy has this
 * layout (_native/__init__.py); element types are those of dtypes that NumPy exported before. */
#include "numpy.h"

#include "dltensor_in.h"
#include "elements.h"
#include "spec.h"

#define MOST_NUMBERS 24 /* of NumPy's built-in types; others have higher numbers */

/* Bits of `flags`. */
#define NDARRAY_C_CONTIGUOUS 0x0001
#define NDARRAY_CONTIGUOUS 0x0003 /* in C order, in Fortran's */
#define NDARRAY_ALIGNED 0x0100
#define NDARRAY_WARN_ON_WRITE INT32_MIN /* bit 31 */

/* How a dtype object begins.  None is kept: dtypes of one number and byte order have one element
 * type. */
typedef struct {
    PyObject_HEAD
    PyObject *scalar_type;
    char kind, letter, byteorder, flags;
    int number;
} DescrHead;

static Descr descrs[MOST_NUMBERS]; /* by number, of native byte order; each is filled once */
STATIC_LOCK(learning);
static int fills_strides = 1; /* whether NumPy exports strides of C-ordered arrays (since 2.4) */

/* The slot of a dtype object; NULL where it has none. */
static Descr *descr_slot(PyObject *descr)
{
    const DescrHead *head = (const DescrHead *)descr;

    if (UNLIKELY(head->number < 0 || head->number >= MOST_NUMBERS ||
                 (head->byteorder != '=' && head->byteorder != '|')))
        return NULL;
    return &descrs[head->number];
}

/* Strides in elements; 0: a stride is not a multiple of the itemsize. */
static int count_elements(const NDArray *array, int64_t itemsize, int64_t *steps)
{
    int is_power = (itemsize & (itemsize - 1)) == 0, shift = lowest_bit((uint64_t)itemsize);

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

/* Fields of a contiguous array, whose size and addresses cannot overflow: NumPy allocated or
 * checked it.  0: ask NumPy. */
static int read_contiguous(const NDArray *array, int64_t itemsize, int64_t *dims)
{
    int shift = lowest_bit((uint64_t)itemsize), ndim = array->nd;

    for (int i = 0; i < ndim; i++) {
        int64_t extent = array->dimensions[i], step = array->strides[i];
        if (extent < 1 || (step & (itemsize - 1)))
            return 0;
        dims[i] = extent;
        dims[ndim + i] = step >> shift; /* of a negative number: gcc and clang shift its sign in */
    }
    return 1;
}

/* Strides as a consumer reads a struct without any: those of C order, also of axes of length 1. */
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

const Descr *descr_of(PyObject *x)
{
    const NDArray *array = (const NDArray *)x;
    const Descr *descr = descr_slot(array->descr);

    if (UNLIKELY(descr == NULL || LOAD(descr->dtype) == NULL ||
                 !(array->flags & NDARRAY_ALIGNED) || (array->flags & NDARRAY_WARN_ON_WRITE) ||
                 array->nd < 0 || array->nd > MOST_AXES))
        return NULL;
    return descr;
}

Array *read_ndarray(PyObject *x)
{
    const NDArray *array = (const NDArray *)x;
    const Descr *descr;
    Array *self;
    int flags;

    self = new_array(core.array_type); /* first, since finalisers may run and change the array */
    if (self == NULL)
        return NULL;
    descr = descr_of(x);
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

/* Whether a dtype object has this element type: x.dtype may be set while x is exported. */
static int is_of(PyObject *descr, DLDataType element, int32_t itemsize)
{
    static const char *const kinds[] = {"i", "u", "f", NULL, NULL, "c", "b"}; /* by DLPack's code */
    const char *wanted = element.code < sizeof kinds / sizeof *kinds ? kinds[element.code] : NULL;
    PyObject *kind = PyObject_GetAttrString(descr, "kind");
    PyObject *native = PyObject_GetAttrString(descr, "isnative");
    int is_same = wanted != NULL && element.lanes == 1 && native == Py_True && kind != NULL &&
                  PyUnicode_CompareWithASCIIString(kind, wanted) == 0 &&
                  int_attribute(descr, core.n_itemsize) == itemsize;

    Py_XDECREF(kind);
    Py_XDECREF(native);
    return PyErr_Occurred() ? -1 : is_same;
}

static int learn(PyObject *descr, PyObject *dtype)
{
    Descr *slot = descr_slot(descr);
    DLDataType element;
    int32_t itemsize;
    int learnt = slot == NULL ? 0 : learn_element_type(dtype, &element, &itemsize);

    if (learnt > 0)
        learnt = is_of(descr, element, itemsize);
    if (learnt > 0) {
        LOCK(learning);
        if (slot->dtype == NULL) {
            slot->element = element;
            slot->itemsize = itemsize;
            STORE(slot->dtype, Py_NewRef(dtype));
        }
        UNLOCK(learning);
    }
    return learnt < 0 ? -1 : 0;
}

int learn_descr(PyObject *x, Array *found)
{
    PyObject *descr = Py_NewRef(((const NDArray *)x)->descr), *spec, *dtype = NULL;
    Descr *slot = descr_slot(descr);
    int failed = 0;

    if (slot != NULL && LOAD(slot->dtype) == NULL) {
        spec = array_spec(found);
        dtype = spec == NULL ? NULL : PyObject_GetAttr(spec, core.n_dtype);
        failed = dtype == NULL ? -1 : learn(descr, dtype);
    }
    Py_XDECREF(dtype);
    Py_DECREF(descr);
    return failed;
}

/* ---------------------------------------------------------------- verification from Python */

/* fields_of(array, ndim) -> the fields of the struct, for the caller to compare; None where the
 * number of axes differs, in which case no pointer is followed. */
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

/* head_of(dtype) -> kind, char, byteorder and num of the struct, for the caller to compare. */
static PyObject *head_of(PyObject *module, PyObject *dtype)
{
    const DescrHead *head = (const DescrHead *)dtype;

    (void)module;
    return Py_BuildValue("CCCi", head->kind, head->letter, head->byteorder, head->number);
}

/* read_directly(type or None, fills_strides): the type of ndarray whose struct is read, and whether
 * this NumPy exports strides of C-ordered arrays. */
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
    set_global((PyObject **)&core.ndarray_type, type == Py_None ? NULL : Py_NewRef(type));
    return Py_NewRef(Py_None);
}

PyMethodDef numpy_functions[] = {
    {"fields_of", fields_of, METH_VARARGS, "fields_of(array, ndim): for verification."},
    {"head_of", head_of, METH_O, "head_of(dtype): for verification."},
    {"read_directly", read_directly, METH_VARARGS,
     "read_directly(type, fills_strides): read the structs of ndarrays of a type."},
    {NULL, NULL, 0, NULL},
};
