/* asarray: any protocol, in C where the last object of that type was imported by its first one.
 *
 * Source: _functions/importing.py, which defines the order of protocols.  Imported here are
 * Arrays, ndarrays, capsules, types whose first protocol is DLPack, and buffers.  Python handles
 * all else, and errors after which another protocol is tried. */
#include "asarray.h"

#include "arrow_read.h"
#include "buffers.h"
#include "importing.h"
#include "known_types.h"
#include "numpy.h"

/* Whether an instance overrides its type: by a CUDA record, which comes before DLPack, or by a
 * __dlpack_device__ of its own. */
static int has_own_protocol(PyObject *x)
{
    PyObject *own = PyObject_GenericGetDict(x, NULL);
    int found = own == NULL ? 0 : PyDict_Contains(own, core.n_cuda_record);

    if (found == 0 && own != NULL)
        found = PyDict_Contains(own, core.n_dlpack_device);
    PyErr_Clear(); /* it has no __dict__ */
    Py_XDECREF(own);
    return found != 0;
}

Array *try_fast_share(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    Array *self;

    if (LIKELY(type == LOAD(core.ndarray_type)))
        return read_ndarray(x);
    if (type == core.capsule_type)
        return try_fast_import(x, core.asarray_text);
    switch ((Sharing)look_up_type(type).sharing) {
    case SHARE_BUFFER:
        return read_buffer(x);
    case SHARE_BY_DLPACK:
        break;
    case SHARE_UNLESS_RECORD:
        if (!has_own_protocol(x))
            break;
        return NULL;
    case SHARE_COLUMN:
        return (Array *)read_column(x, 1);
    case SHARE_CAREFULLY:
        return NULL;
    }
    self = try_fast_import(x, core.asarray_text);
    if (self == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_BufferError))
        PyErr_Clear(); /* Python gets it again, and tries other protocols */
    return self;
}

int learn_shared(PyObject *x, PyObject *found)
{
    if (Py_TYPE(x) == LOAD(core.ndarray_type))
        return learn_descr(x, (Array *)found);
    if (learn_type(x) < 0)
        return -1;
    if (look_up_type(Py_TYPE(x)).sharing == SHARE_BUFFER)
        return learn_format(x, (Array *)found);
    if (look_up_type(Py_TYPE(x)).sharing == SHARE_COLUMN)
        return learn_column(x, found);
    return 0;
}

/* Import in Python, and register the type for the next object. */
static PyObject *share_carefully(PyObject *x)
{
    PyObject *result;

    if (core.asarray == NULL) {
        PyErr_SetString(PyExc_ImportError, "import interchange before you call its C API");
        return NULL;
    }
    result = PyObject_CallFunctionObjArgs(core.asarray, x, NULL);
    if (result == NULL || !is_array(result))
        return result; /* a proxy of an Array is returned as it is */
    if (learn_shared(x, result) < 0)
        Py_CLEAR(result);
    return result;
}

PyObject *share(PyObject *x)
{
    Array *self;

    if (Py_TYPE(x) == core.array_type)
        return Py_NewRef(x);
    self = try_fast_share(x);
    if (LIKELY(self != NULL))
        return (PyObject *)self;
    return PyErr_Occurred() ? NULL : share_carefully(x);
}

/* ---------------------------------------------------------------- the public function */

static PyObject *asarray(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    (void)module;
    if (LIKELY(count == 1 && (names == NULL || PyTuple_Size(names) == 0)))
        return share(args[0]);
    return call_with_keywords(core.asarray, args, count, names);
}

static PyMethodDef asarray_def = {"asarray", (PyCFunction)(void (*)(void))asarray,
                                  METH_FASTCALL | METH_KEYWORDS, NULL};

/* share_function(careful, doc, module) -> asarray */
static PyObject *share_function(PyObject *module, PyObject *args)
{
    PyObject *careful, *name;
    const char *doc;

    (void)module;
    if (!PyArg_ParseTuple(args, "OsU", &careful, &doc, &name))
        return NULL;
    set_global(&core.asarray, Py_NewRef(careful));
    return public_function(&asarray_def, doc, name);
}

PyMethodDef asarray_functions[] = {
    {"share_function", share_function, METH_VARARGS,
     "share_function(careful, doc, module): the function that users call."},
    {NULL, NULL, 0, NULL},
};
