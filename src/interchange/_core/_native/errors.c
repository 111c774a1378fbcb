/* Exceptions: those made by Python functions of the core, and which of them end an import. */
#include "errors.h"

int must_propagate(void)
{
    return PyErr_Occurred() != NULL &&
           (!PyErr_ExceptionMatches(PyExc_Exception) ||
            PyErr_ExceptionMatches(PyExc_MemoryError) ||
            PyErr_ExceptionMatches(PyExc_RecursionError));
}

void raise_from(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *error = PyObject_CallFunctionObjArgs(function, first, second, NULL);

    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
}

int raise_by_rule(const char *kind, const char *call, const char *what, const char *rule)
{
    PyObject *errors = PyImport_ImportModule("interchange._types.errors"), *error;

    if (errors == NULL)
        return -1;
    error = PyObject_CallMethod(errors, kind, "sss", call, what, rule);
    Py_DECREF(errors);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return -1;
}

int refuse_by_rule(const char *call, const char *what, const char *rule)
{
    return raise_by_rule("ArgumentError", call, what, rule);
}

int refuse_caller(const char *call, const char *what)
{
    return refuse_by_rule(call, what, "IX-CAPI-1");
}

int refuse_version(const char *call, const char *name, uint32_t version, size_t size,
                   uint32_t newest, size_t wanted, const char *rule)
{
    char what[128];

    PyOS_snprintf(what, sizeof what,
                  "%s has version %u and %llu bytes, and this library reads version %u of %u bytes",
                  name, (unsigned)version, (unsigned long long)size, (unsigned)newest,
                  (unsigned)wanted);
    return refuse_by_rule(call, what, rule);
}

int refuse_null(const char *call, const char *argument)
{
    char what[64];

    PyOS_snprintf(what, sizeof what, "%s is NULL", argument);
    return refuse_caller(call, what);
}

int refuse_for_c(PyObject *object, const char *why)
{
    PyObject *done = PyObject_CallFunction(core.refuse_for_c, "Os", object, why);

    if (done != NULL) {
        Py_DECREF(done);
        PyErr_SetString(PyExc_SystemError, "refuse_for_c() raises");
    }
    return -1;
}

PyObject *call_for_c(const char *function, PyObject *args)
{
    PyObject *module = args == NULL
                           ? NULL
                           : PyImport_ImportModule("interchange._functions.c_requests");
    PyObject *called = module == NULL ? NULL : PyObject_GetAttrString(module, function);
    PyObject *found = called == NULL ? NULL : PyObject_CallObject(called, args);

    Py_XDECREF(called);
    Py_XDECREF(module);
    Py_XDECREF(args);
    return found;
}
