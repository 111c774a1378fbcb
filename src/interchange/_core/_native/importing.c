/* from_dlpack: the fastest import that is correct for the type of the object.
 *
 * Source: array API standard 2025.12, from_dlpack.  Which one is correct is decided in Python,
 * once per type (_protocols/capabilities.py, known_types.c).  Where a fast import fails, nothing
 * is left of it, and the negotiation in Python raises the error. */
#include "importing.h"

#include "array_ctors.h"
#include "capsule_in.h"
#include "errors.h"
#include "exchange.h"
#include "known_types.h"
#include "numpy.h"

/* Whether an imported Array needs no ordering: it is on the host. */
static int is_on_host(Array *self)
{
    PyObject *device;

    if (LOAD(self->spec) == NULL)
        return 1;
    device = PyObject_GetAttr(self->spec, core.n_device);
    Py_XDECREF(device);
    return device == core.cpu;
}

static Array *ask(PyObject *x, int is_immutable, PyObject *call)
{
    PyObject *args[3] = {NULL, x, core.max_version}, *capsule;
    Array *self;

    capsule = vectorcall_method(core.n_dlpack, args + 1, 1 | ARGUMENTS_OFFSET,
                                core.max_version_names);
    if (capsule == NULL) {
        if (!must_propagate())
            PyErr_Clear();
        return NULL;
    }
    self = consume_fresh(capsule, x, call);
    Py_DECREF(capsule);
    if (self == NULL)
        return NULL;
    if (UNLIKELY(!is_on_host(self))) {
        release_now(self); /* unless a capsule owns the memory, which is destroyed with the array */
        Py_DECREF(self);
        return NULL;
    }
    if (finish_arrival(&self, call, 0) < 0)
        return NULL;
    if (is_immutable && (self->flags == FLAGS_UNKNOWN || !(self->flags & DLPACK_IS_COPIED)))
        self->flags = (self->flags == FLAGS_UNKNOWN ? 0 : self->flags) | DLPACK_READ_ONLY;
    return self;
}

static Array *by_table(PyObject *x, const KnownType *known, PyObject *call)
{
    const DLPackExchangeAPI *table = table_of(known, x);
    int is_torch = known->route == BY_TABLE_OF_TORCH;
    Array *self = table != NULL && is_torch ? import_from_torch(x) : NULL;

    if (LIKELY(self != NULL) || table == NULL || PyErr_Occurred())
        return self;
    self = import_by_table(x, table, core.array_type, call);
    if (self != NULL && UNLIKELY(LOAD(self->spec) != NULL)) {
        if (!is_on_host(self)) {
            release_now(self);
            Py_CLEAR(self);
        } else {
            finish_arrival(&self, call, 0);
        }
    }
    return self;
}

static Array *import_capsule(PyObject *capsule, PyObject *call)
{
    Array *self = consume(capsule, Py_None, core.array_type, call);

    if (self != NULL)
        finish_arrival(&self, call, 1);
    return self;
}

Array *try_fast_import(PyObject *x, PyObject *call)
{
    PyTypeObject *type = Py_TYPE(x);
    KnownType found;

    if (LIKELY(type == LOAD(core.ndarray_type)))
        return read_ndarray(x);
    if (type == core.capsule_type)
        return LOAD(core.logs_exchanges) ? NULL : import_capsule(x, call);
    if (type == core.array_type)
        return alias_on_host((Array *)x);
    found = look_up_type(type);
    if (found.type == NULL)
        return NULL;
    switch ((Route)found.route) {
    case ASK:
        return ask(x, 0, call);
    case ASK_IMMUTABLE:
        return ask(x, 1, call);
    case BY_TABLE:
    case BY_TABLE_OF_TORCH:
        return by_table(x, &found, call);
    case READ_NDARRAY: /* of another type than was verified */
    case NEGOTIATE:
        break;
    }
    return NULL;
}

/* Negotiate in Python, and register the type. */
static PyObject *negotiate(PyObject *x)
{
    PyObject *result = PyObject_CallFunctionObjArgs(core.negotiate, x, NULL);
    int failed;

    if (result == NULL || Py_TYPE(result) != core.array_type)
        return result;
    failed = Py_TYPE(x) == LOAD(core.ndarray_type) ? learn_descr(x, (Array *)result) : learn_type(x);
    if (failed < 0)
        Py_CLEAR(result);
    return result;
}

/* As from_dlpack(x). */
static PyObject *import_object(PyObject *x)
{
    Array *self = try_fast_import(x, core.from_dlpack_text);

    if (LIKELY(self != NULL))
        return (PyObject *)self;
    return PyErr_Occurred() ? NULL : negotiate(x);
}

/* ---------------------------------------------------------------- the public function */

static PyObject *from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    (void)module;
    if (LIKELY(count == 1 && (names == NULL || PyTuple_Size(names) == 0)))
        return import_object(args[0]);
    return call_with_keywords(core.negotiate, args, count, names);
}

static PyMethodDef from_dlpack_def = {
    "from_dlpack", (PyCFunction)(void (*)(void))from_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL};

/* import_function(negotiate, doc, module) -> the public from_dlpack; `doc` has a signature. */
static PyObject *import_function(PyObject *module, PyObject *args)
{
    PyObject *function, *name;
    const char *doc;

    (void)module;
    if (!PyArg_ParseTuple(args, "OsU", &function, &doc, &name))
        return NULL;
    set_global(&core.negotiate, Py_NewRef(function));
    return public_function(&from_dlpack_def, doc, name);
}

/* import_unordered(x) -> an Array by the exchange table of the type, or None.  No stream waits for
 * pending work: the caller asks the table for the stream. */
static PyObject *import_unordered(PyObject *module, PyObject *x)
{
    const DLPackExchangeAPI *table;
    Array *self;

    (void)module;
    if (learn_type(x) < 0)
        return NULL;
    table = table_for(x);
    if (table == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    self = import_by_table(x, table, core.array_type, core.asarray_text);
    if (self != NULL)
        return (PyObject *)self;
    if (must_propagate())
        return NULL;
    PyErr_Clear(); /* the ordinary import raises it again */
    return Py_NewRef(Py_None);
}

/* log_exchanges(on): leave capsules and exports to Python, too, which logs them. */
static PyObject *log_exchanges(PyObject *module, PyObject *on)
{
    (void)module;
    STORE(core.logs_exchanges, PyObject_IsTrue(on) == 1);
    return Py_NewRef(Py_None);
}

PyMethodDef importing_functions[] = {
    {"log_exchanges", log_exchanges, METH_O, "log_exchanges(on): leave them to Python."},
    {"import_unordered", import_unordered, METH_O,
     "import_unordered(x): by an exchange table, without ordering; None where there is none."},
    {"import_function", import_function, METH_VARARGS,
     "import_function(negotiate, doc, module): the public from_dlpack."},
    {NULL, NULL, 0, NULL},
};
