/* from_dlpack: by identity of the type to the fastest way that is right for it.
 *
 * Source: array API standard 2025.12, from_dlpack.  What a type allows is decided in Python, once
 * (_protocols/capabilities.py), and remembered here; whatever is unusual is negotiated in Python.
 * A way that fails leaves no trace, and the ordinary way words the refusal. */
#include "core.h"

#include <string.h>

#define TYPE_SLOTS 512 /* a power of 2 */
#define MOST_TYPES 256

/* The order of Route in _protocols/capabilities.py. */
typedef enum { NEGOTIATE, ASK, ASK_IMMUTABLE, BY_TABLE, BY_TABLE_OF_TORCH, READ_NDARRAY } Route;

typedef struct {
    PyTypeObject *type; /* borrowed: forget_types() is called when one dies */
    DLPackExchangeAPI *table;
    uint8_t route;
    uint8_t is_plain; /* records of the CUDA Array Interface need no mending */
    uint8_t sharing;  /* a Sharing, for asarray */
} Known;

static Known known[TYPE_SLOTS];
static int known_count;
static Guard guard;

static inline Known *slot_of(PyTypeObject *type)
{
    uint32_t i = (uint32_t)((uintptr_t)type >> 4) * 2654435761u >> 23;
    PyTypeObject *found;

    while ((found = LOAD(known[i].type)) != NULL && found != type)
        i = (i + 1) & (TYPE_SLOTS - 1);
    return &known[i];
}

/* What is known of a type, which somebody has an object of; all 0 where it is not known.  A copy:
 * what is asked for next may change the slot. */
static inline Known look_up(PyTypeObject *type)
{
#ifdef Py_GIL_DISABLED
    Known found;
    uint32_t before;

    do {
        before = guard_look(&guard);
        const Known *slot = slot_of(type);
        found.type = LOAD(slot->type);
        found.table = LOAD(slot->table);
        found.route = LOAD(slot->route);
        found.is_plain = LOAD(slot->is_plain);
        found.sharing = LOAD(slot->sharing);
    } while (guard_missed(&guard, before));
    return found;
#else
    return *slot_of(type);
#endif
}

/* Under the guard. */
static void clear_known(void)
{
#ifdef Py_GIL_DISABLED
    for (int i = 0; i < TYPE_SLOTS; i++) {
        STORE(known[i].type, NULL);
        STORE(known[i].table, NULL);
        STORE(known[i].route, NEGOTIATE);
        STORE(known[i].is_plain, 0);
        STORE(known[i].sharing, SHARE_CAREFULLY);
    }
#else
    memset(known, 0, sizeof known);
#endif
    known_count = 0;
}

int is_to_be_raised(void)
{
    return PyErr_Occurred() != NULL &&
           (!PyErr_ExceptionMatches(PyExc_Exception) ||
            PyErr_ExceptionMatches(PyExc_MemoryError) ||
            PyErr_ExceptionMatches(PyExc_RecursionError));
}

/* Whether an ordinary arrival may stay as it is: memory of the host. */
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
        if (!is_to_be_raised())
            PyErr_Clear();
        return NULL;
    }
    self = consume_fresh(capsule, x, call);
    Py_DECREF(capsule);
    if (self == NULL)
        return NULL;
    if (UNLIKELY(!is_on_host(self))) {
        release_now(self); /* at once, unless a capsule owns it, which dies with the array */
        Py_DECREF(self);
        return NULL;
    }
    if (finish_arrival(&self, call, 0) < 0)
        return NULL;
    if (is_immutable && (self->flags == FLAGS_UNKNOWN || !(self->flags & DLPACK_IS_COPIED)))
        self->flags = (self->flags == FLAGS_UNKNOWN ? 0 : self->flags) | DLPACK_READ_ONLY;
    return self;
}

static int is_true(PyObject *answer) /* steals; -1 on error */
{
    int truth = answer == NULL ? -1 : answer == Py_True ? 1 : answer == Py_False ? 0 : -1;

    if (truth < 0 && answer != NULL)
        truth = PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

static int method_is_true(PyObject *x, PyObject *name)
{
    PyObject *args[2] = {NULL, x};

    return is_true(vectorcall_method(name, args + 1, 1 | ARGUMENTS_OFFSET, NULL));
}

/* Whether torch's table describes a tensor as it is: its functions look at none of these bits. */
static int keeps_meaning(PyObject *x)
{
    int kept = torch_keeps_meaning(x), changed;

    if (LIKELY(kept >= 0))
        return kept;
    changed = is_true(PyObject_GetAttr(x, core.n_requires_grad));
    if (changed == 0)
        changed = method_is_true(x, core.n_is_neg);
    if (changed == 0)
        changed = method_is_true(x, core.n_is_conj);
    if (changed < 0 && !is_to_be_raised())
        PyErr_Clear(); /* the ordinary way will say it */
    return changed == 0;
}

const DLPackExchangeAPI *table_for(PyObject *x)
{
    Known found = look_up(Py_TYPE(x));

    if (found.type == NULL || found.table == NULL)
        return NULL;
    if (found.route == BY_TABLE_OF_TORCH && !keeps_meaning(x))
        return NULL;
    return found.table;
}

const DLPackExchangeAPI *table_of_writable(PyObject *x)
{
    return look_up(Py_TYPE(x)).route == BY_TABLE_OF_TORCH ? table_for(x) : NULL;
}

int learn_type(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    PyObject *done;

    if (look_up(type).type != NULL || type == LOAD(core.ndarray_type))
        return 0;
    done = PyObject_CallFunctionObjArgs(core.learn, (PyObject *)type, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static Array *by_table(PyObject *x, int is_torch, PyObject *call)
{
    const DLPackExchangeAPI *table = table_for(x);
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

Array *import_straight(PyObject *x, PyObject *call)
{
    PyTypeObject *type = Py_TYPE(x);
    Known found;

    if (LIKELY(type == LOAD(core.ndarray_type)))
        return read_ndarray(x);
    if (type == core.capsule_type)
        return import_capsule(x, call);
    if (type == core.array_type)
        return alias_on_host((Array *)x);
    found = look_up(type);
    if (found.type == NULL)
        return NULL;
    switch ((Route)found.route) {
    case ASK:
        return ask(x, 0, call);
    case ASK_IMMUTABLE:
        return ask(x, 1, call);
    case BY_TABLE:
    case BY_TABLE_OF_TORCH:
        return by_table(x, found.route == BY_TABLE_OF_TORCH, call);
    case READ_NDARRAY: /* of another type than was proven */
    case NEGOTIATE:
        break;
    }
    return NULL;
}

/* Negotiate in Python, and learn what the type allows. */
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
    Array *self = import_straight(x, core.from_dlpack_text);

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

/* import_function(negotiate, doc, module): the function that users call; `doc` has a signature. */
static PyObject *import_function(PyObject *module, PyObject *args)
{
    PyObject *function, *name;
    const char *doc;

    (void)module;
    if (!PyArg_ParseTuple(args, "OsU", &function, &doc, &name))
        return NULL;
    set_for_good(&core.negotiate, Py_NewRef(function));
    return public_function(&from_dlpack_def, doc, name);
}

int gives_plain_records(PyTypeObject *type)
{
    return look_up(type).is_plain;
}

Sharing sharing_of(PyTypeObject *type)
{
    return (Sharing)look_up(type).sharing;
}

/* remember_type(type, route, table address, gives plain records, how it is shared) */
static PyObject *remember_type(PyObject *module, PyObject *args)
{
    PyObject *type;
    unsigned long long table;
    int route, is_plain, sharing;
    Known *slot;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!iKpi", &PyType_Type, &type, &route, &table, &is_plain, &sharing))
        return NULL;
    guard_begin(&guard);
    if (known_count >= MOST_TYPES)
        clear_known();
    slot = slot_of((PyTypeObject *)type);
    known_count += slot->type == NULL;
    STORE(slot->type, (PyTypeObject *)type);
    STORE(slot->route, (uint8_t)route);
    STORE(slot->is_plain, (uint8_t)is_plain);
    STORE(slot->sharing, (uint8_t)sharing);
    STORE(slot->table, (DLPackExchangeAPI *)(uintptr_t)table);
    guard_end(&guard);
    return Py_NewRef(Py_None);
}

/* forget_types(...): something else may get the address of one that has died. */
static PyObject *forget_types(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    guard_begin(&guard);
    clear_known();
    guard_end(&guard);
    return Py_NewRef(Py_None);
}

/* import_unordered(x): the tensor of an object whose type has an exchange table, or None.  Nothing
 * is ordered after the work on it: that is left to the caller, who asks the table for its stream. */
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
    if (is_to_be_raised())
        return NULL;
    PyErr_Clear(); /* the ordinary way will say it */
    return Py_NewRef(Py_None);
}

PyMethodDef importing_functions[] = {
    {"import_unordered", import_unordered, METH_O,
     "import_unordered(x): by an exchange table, with no order; None where there is none."},
    {"import_function", import_function, METH_VARARGS,
     "import_function(negotiate, doc, module): the function that users call."},
    {"remember_type", remember_type, METH_VARARGS,
     "remember_type(type, route, table, plain, sharing): how objects of a type are imported."},
    {"forget_types", forget_types, METH_VARARGS, "forget_types(): a type that was known has died."},
    {NULL, NULL, 0, NULL},
};
