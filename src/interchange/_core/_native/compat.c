/* What the limited API of CPython 3.10 lacks, looked up in the running interpreter.
 *
 * Source: CPython's C API; vectorcall joined the stable ABI in 3.12, and the functions that tell
 * whether this thread holds the GIL never did. */
#include "core.h"

#include <dlfcn.h>

VectorcallMethod vectorcall_method;

static PyThreadState *(*current_state)(void);
static int (*is_finalizing)(void);

/* PyObject_VectorcallMethod by way of a call with a tuple and a dict. */
static PyObject *call_method_slowly(PyObject *name, PyObject *const *args, size_t nargsf,
                                    PyObject *names)
{
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET), position;
    PyObject *method = PyObject_GetAttr(args[0], name), *positional, *keywords, *result = NULL;

    if (method == NULL)
        return NULL;
    positional = PyTuple_New(count - 1);
    keywords = PyDict_New();
    if (positional == NULL || keywords == NULL)
        goto done;
    for (position = 1; position < count; position++) {
        Py_INCREF(args[position]);
        PyTuple_SetItem(positional, position - 1, args[position]);
    }
    for (position = 0; names != NULL && position < PyTuple_Size(names); position++)
        if (PyDict_SetItem(keywords, PyTuple_GetItem(names, position), args[count + position]) < 0)
            goto done;
    result = PyObject_Call(method, positional, keywords);
done:
    Py_DECREF(method);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

int find_functions(void)
{
    *(void **)&vectorcall_method = find("PyObject_VectorcallMethod");
    if (vectorcall_method == NULL)
        vectorcall_method = call_method_slowly;
    *(void **)&current_state = find("PyThreadState_GetUnchecked");
    if (current_state == NULL)
        *(void **)&current_state = find("_PyThreadState_UncheckedGet");
    *(void **)&is_finalizing = find("Py_IsFinalizing");
    if (is_finalizing == NULL)
        *(void **)&is_finalizing = find("_Py_IsFinalizing");
    if (current_state == NULL || is_finalizing == NULL) {
        PyErr_SetString(PyExc_ImportError, "this interpreter does not say who holds the GIL");
        return -1;
    }
    return 0;
}

int gil_is_held(void)
{
    PyThreadState *mine = PyGILState_GetThisThreadState();

    return mine != NULL && current_state() == mine;
}

int take_gil(PyGILState_STATE *state)
{
    if (!Py_IsInitialized() || is_finalizing())
        return 0; /* a thread that asks for the GIL then never comes back */
    *state = PyGILState_Ensure();
    return 1;
}
