/* How objects of each type are imported: decided in Python once per type, and remembered here.
 *
 * Source: _protocols/capabilities.py, which decides. */
#include "known_types.h"

#include <string.h>

#define TYPE_SLOTS 512 /* a power of 2 */
#define MOST_TYPES 256

static KnownType known[TYPE_SLOTS];
static int known_count;
static Guard guard;

static inline KnownType *slot_of(PyTypeObject *type)
{
    uint32_t i = (uint32_t)((uintptr_t)type >> 4) * 2654435761u >> 23;
    PyTypeObject *found;

    while ((found = LOAD(known[i].type)) != NULL && found != type)
        i = (i + 1) & (TYPE_SLOTS - 1);
    return &known[i];
}

KnownType look_up_type(PyTypeObject *type)
{
#ifdef Py_GIL_DISABLED
    KnownType found;
    uint32_t before;

    do {
        before = guard_look(&guard);
        const KnownType *slot = slot_of(type);
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

/* Called under the guard. */
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

int learn_type(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    PyObject *done;

    if (look_up_type(type).type != NULL || type == LOAD(core.ndarray_type))
        return 0;
    done = PyObject_CallFunctionObjArgs(core.learn, (PyObject *)type, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* remember_type(type, route, table address, is_plain, sharing) */
static PyObject *remember_type(PyObject *module, PyObject *args)
{
    PyObject *type;
    unsigned long long table;
    int route, is_plain, sharing;
    KnownType *slot;

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

/* forget_types(...): called when a type died, since another object may get its address. */
static PyObject *forget_types(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    guard_begin(&guard);
    clear_known();
    guard_end(&guard);
    return Py_NewRef(Py_None);
}

PyMethodDef known_types_functions[] = {
    {"remember_type", remember_type, METH_VARARGS,
     "remember_type(type, route, table, plain, sharing): how objects of a type are imported."},
    {"forget_types", forget_types, METH_VARARGS, "forget_types(): a type that was known has died."},
    {NULL, NULL, 0, NULL},
};
