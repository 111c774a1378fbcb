/* copyto, in C between Arrays and ndarrays of one element type in host memory.
 *
 * Source: _functions/copying.py, which handles all else, and words the errors. */
#include "copying.h"

#include "asarray.h"
#include "numpy.h"
#include "spec.h"
#include "strided.h"

/* What one of the arrays is. */
typedef struct {
    Side side;
    PyObject *dtype; /* borrowed from the array */
    int is_writable;
    int64_t room[2 * MOST_AXES];
} Operand;

/* Whether elements of a type have addresses of their own. */
static int has_bytes(DLDataType element, int32_t itemsize)
{
    return (int32_t)element.bits * element.lanes == 8 * itemsize;
}

static int read_array(Array *array, Operand *out)
{
    int is_ready = has_no_pending_work(array);

    if (is_ready <= 0)
        return is_ready;
    if (array->device.device_type != DL_CPU || !has_bytes(array->element, array->itemsize))
        return 0;
    out->side = (Side){array->ptr, array->dims, array->ndim, array->itemsize};
    out->dtype = array->dtype;
    out->is_writable = array->flags != FLAGS_UNKNOWN && !(array->flags & DLPACK_READ_ONLY);
    return 1;
}

/* 1: read; 0: ask Python; -1 with an exception. */
static int read_operand(PyObject *x, Operand *out)
{
    const NDArray *array = (const NDArray *)x;
    const Descr *descr;

    if (Py_TYPE(x) == core.array_type)
        return read_array((Array *)x, out);
    if (Py_TYPE(x) != LOAD(core.ndarray_type) || LOAD(core.logs_exchanges))
        return 0;
    descr = descr_of(x);
    if (descr == NULL || !read_fields(array, descr, out->room))
        return 0;
    out->side = (Side){array->data, out->room, array->nd, descr->itemsize};
    out->dtype = descr->dtype;
    out->is_writable = (array->flags & NDARRAY_WRITEABLE) != 0;
    return 1;
}

/* Register an ndarray's dtype for later calls. */
static void learn(PyObject *x)
{
    if (Py_TYPE(x) == core.array_type || core.asarray == NULL ||
        (LOAD(core.ndarray_type) != NULL &&
         (Py_TYPE(x) != LOAD(core.ndarray_type) || descr_of(x) != NULL)))
        return;
    Py_XDECREF(share(x));
    PyErr_Clear(); /* Python raises it again */
}

static int try_fast_copy(PyObject *dst, PyObject *src)
{
    Operand target, source;
    int found = read_operand(dst, &target);

    if (found > 0)
        found = read_operand(src, &source);
    if (found <= 0)
        return found;
    if (!target.is_writable || target.dtype != source.dtype)
        return 0;
    return copy_side(&target.side, &source.side);
}

/* ---------------------------------------------------------------- the public function */

static PyObject *careful;

static PyObject *copyto(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    int copied = 0;

    (void)module;
    if (LIKELY(count == 2 && (names == NULL || PyTuple_Size(names) == 0))) {
        copied = try_fast_copy(args[0], args[1]);
        if (copied < 0)
            return NULL;
        if (LIKELY(copied))
            return Py_NewRef(Py_None);
        learn(args[0]);
        learn(args[1]);
    }
    return call_with_keywords(careful, args, count, names);
}

static PyMethodDef copyto_def = {"copyto", (PyCFunction)(void (*)(void))copyto,
                                 METH_FASTCALL | METH_KEYWORDS, NULL};

/* copy_function(careful, doc, module) -> copyto */
static PyObject *copy_function(PyObject *module, PyObject *args)
{
    PyObject *function, *name;
    const char *doc;

    (void)module;
    if (!PyArg_ParseTuple(args, "OsU", &function, &doc, &name))
        return NULL;
    set_global(&careful, Py_NewRef(function));
    return public_function(&copyto_def, doc, name);
}

PyMethodDef copying_functions[] = {
    {"copy_function", copy_function, METH_VARARGS,
     "copy_function(careful, doc, module): the function that users call."},
    {NULL, NULL, 0, NULL},
};
