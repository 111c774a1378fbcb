/* asarray: whatever an object speaks, by the way that was right for the last one of its type.
 *
 * Source: _functions/importing.py, which says in what order protocols are asked.  Taken here are
 * Arrays, ndarrays, capsules, types that are asked by DLPack before anything else, and buffers; an
 * error that another protocol may answer, and whatever is unusual, is left to Python. */
#include "core.h"

/* Whether an object has what its type has not: a CUDA record, which is asked before DLPack, or an
 * answer of its own about the device. */
static int answers_itself(PyObject *x)
{
    PyObject *own = PyObject_GenericGetDict(x, NULL);
    int found = own == NULL ? 0 : PyDict_Contains(own, core.n_cuda_record);

    if (found == 0 && own != NULL)
        found = PyDict_Contains(own, core.n_dlpack_device);
    PyErr_Clear(); /* it has no __dict__ */
    Py_XDECREF(own);
    return found != 0;
}

/* NULL without an exception: ask Python. */
static Array *share_straight(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    Array *self;

    if (LIKELY(type == LOAD(core.ndarray_type)))
        return read_ndarray(x);
    if (type == core.capsule_type)
        return import_straight(x, core.asarray_text);
    switch (sharing_of(type)) {
    case SHARE_BUFFER:
        return read_buffer(x);
    case SHARE_BY_DLPACK:
        break;
    case SHARE_UNLESS_RECORD:
        if (!answers_itself(x))
            break;
        return NULL;
    case SHARE_CAREFULLY:
        return NULL;
    }
    self = import_straight(x, core.asarray_text);
    if (self == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_BufferError))
        PyErr_Clear(); /* Python hears it again, and asks by other protocols */
    return self;
}

/* As Python shares it; what is learnt of its type is for the next one. */
static PyObject *share_carefully(PyObject *x)
{
    PyObject *result;
    int failed;

    if (core.asarray == NULL) {
        PyErr_SetString(PyExc_ImportError, "import interchange before its C API is called");
        return NULL;
    }
    result = PyObject_CallFunctionObjArgs(core.asarray, x, NULL);
    if (result == NULL || !is_array(result))
        return result; /* what stands for an Array, such as a weak proxy, is returned as it is */
    failed = learn_type(x) < 0;
    if (!failed && sharing_of(Py_TYPE(x)) == SHARE_BUFFER)
        failed = learn_format(x, (Array *)result) < 0;
    if (failed)
        Py_CLEAR(result);
    return result;
}

PyObject *share(PyObject *x)
{
    Array *self;

    if (Py_TYPE(x) == core.array_type)
        return Py_NewRef(x);
    self = share_straight(x);
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
    set_for_good(&core.asarray, Py_NewRef(careful));
    return public_function(&asarray_def, doc, name);
}

PyMethodDef asarray_functions[] = {
    {"share_function", share_function, METH_VARARGS,
     "share_function(careful, doc, module): the function that users call."},
    {NULL, NULL, 0, NULL},
};
