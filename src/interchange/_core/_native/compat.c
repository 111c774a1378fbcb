/* Functions that the limited API of CPython 3.10 lacks, looked up in the running interpreter.
 *
 * Source: CPython's C API; vectorcall joined the stable ABI in 3.12, buffers in 3.11, and the
 * functions that tell whether this thread holds the GIL never did. */
#include "compat.h"

#include <stdlib.h>
#include <string.h>

VectorcallMethod vectorcall_method;
VectorcallFunction vectorcall;
int (*get_buffer)(PyObject *object, Buffer *out, int flags);
void (*release_buffer)(Buffer *buffer);

static PyThreadState *(*current_state)(void);
static int (*is_finalizing)(void);

PyObject *call_with_keywords(PyObject *function, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    PyObject *positional = PyTuple_New(count), *keywords = PyDict_New(), *result = NULL;
    Py_ssize_t i, named = names == NULL ? 0 : PyTuple_Size(names);

    if (positional == NULL || keywords == NULL)
        goto done;
    for (i = 0; i < count; i++)
        PyTuple_SetItem(positional, i, Py_NewRef(args[i]));
    for (i = 0; i < named; i++)
        if (PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[count + i]) < 0)
            goto done;
    result = PyObject_Call(function, positional, keywords);
done:
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

/* PyObject_VectorcallMethod with a tuple and a dict. */
static PyObject *call_method_slowly(PyObject *name, PyObject *const *args, size_t nargsf,
                                    PyObject *names)
{
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    PyObject *method = PyObject_GetAttr(args[0], name), *result;

    if (method == NULL)
        return NULL;
    result = call_with_keywords(method, args + 1, count - 1, names);
    Py_DECREF(method);
    return result;
}

/* PyObject_Vectorcall with a tuple and a dict. */
static PyObject *call_slowly(PyObject *callable, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    return call_with_keywords(callable, args, (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET), names);
}

PyObject *public_function(PyMethodDef *definition, const char *doc, PyObject *module)
{
    char *kept = malloc(strlen(doc) + 1); /* never freed: the function may outlive the module */

    if (kept == NULL)
        return PyErr_NoMemory();
    definition->ml_doc = strcpy(kept, doc);
    return PyCFunction_NewEx(definition, NULL, module);
}

int find_function(PyObject *look_up, const char *name, void *function)
{
    PyObject *address = PyObject_CallFunction(look_up, "s", name);
    void *found = address == NULL ? NULL : PyLong_AsVoidPtr(address);

    Py_XDECREF(address);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* Look up all; 0: one is missing, or an error. */
static int find_all(PyObject *look_up)
{
    if (!find_function(look_up, "PyObject_VectorcallMethod", &vectorcall_method))
        vectorcall_method = call_method_slowly;
    if (PyErr_Occurred())
        return 0;
    if (!find_function(look_up, "PyObject_Vectorcall", &vectorcall))
        vectorcall = call_slowly;
    if (PyErr_Occurred())
        return 0;
    return find_function(look_up, "PyObject_GetBuffer", &get_buffer) &&
           find_function(look_up, "PyBuffer_Release", &release_buffer) &&
           (find_function(look_up, "PyThreadState_GetUnchecked", &current_state) ||
            (!PyErr_Occurred() &&
             find_function(look_up, "_PyThreadState_UncheckedGet", &current_state))) &&
           (find_function(look_up, "Py_IsFinalizing", &is_finalizing) ||
            (!PyErr_Occurred() && find_function(look_up, "_Py_IsFinalizing", &is_finalizing)));
}

int find_functions(void)
{
    PyObject *module = PyImport_ImportModule("interchange.abi.capsules"), *look_up = NULL;
    int found;

    if (module != NULL)
        look_up = PyObject_GetAttrString(module, "address_of");
    Py_XDECREF(module);
    if (look_up == NULL)
        return -1;
    found = find_all(look_up);
    Py_DECREF(look_up);
    if (!found && !PyErr_Occurred())
        PyErr_SetString(PyExc_ImportError, "this interpreter lacks functions that CPython has");
    return found ? 0 : -1;
}

int gil_is_held(void)
{
    PyThreadState *mine = PyGILState_GetThisThreadState();

    return mine != NULL && current_state() == mine;
}

int take_gil(PyGILState_STATE *state)
{
    if (!Py_IsInitialized() || is_finalizing())
        return 0; /* a thread that asks for the GIL then blocks forever */
    *state = PyGILState_Ensure();
    return 1;
}
