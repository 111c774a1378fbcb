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
        found.is_known = LOAD(slot->is_known);
        found.column = LOAD(slot->column);
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
        STORE(known[i].is_known, 0);
        STORE(known[i].column, 0);
    }
#else
    memset(known, 0, sizeof known);
#endif
    known_count = 0;
}

/* Call one of the functions that call those below. */
static int learn_by(PyObject *function, PyTypeObject *type)
{
    PyObject *done = PyObject_CallFunctionObjArgs(function, (PyObject *)type, NULL);

    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

int learn_type(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);

    if (look_up_type(type).is_known || type == LOAD(core.ndarray_type))
        return 0;
    return learn_by(core.learn, type);
}

int learn_column_type(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);

    return look_up_type(type).column & COLUMN_IS_KNOWN ? 0 : learn_by(core.learn_column, type);
}

/* The slot of a type, empty or not.  Called under the guard. */
static KnownType *slot_for(PyTypeObject *type)
{
    KnownType *slot;

    if (known_count >= MOST_TYPES)
        clear_known();
    slot = slot_of(type);
    known_count += slot->type == NULL;
    STORE(slot->type, type);
    return slot;
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
    slot = slot_for((PyTypeObject *)type);
    STORE(slot->route, (uint8_t)route);
    STORE(slot->is_plain, (uint8_t)is_plain);
    STORE(slot->sharing, (uint8_t)sharing);
    STORE(slot->table, (DLPackExchangeAPI *)(uintptr_t)table);
    STORE(slot->is_known, 1);
    guard_end(&guard);
    return Py_NewRef(Py_None);
}

/* remember_column_type(type, column) */
static PyObject *remember_column_type(PyObject *module, PyObject *args)
{
    PyObject *type;
    int column;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!i", &PyType_Type, &type, &column))
        return NULL;
    guard_begin(&guard);
    STORE(slot_for((PyTypeObject *)type)->column, (uint8_t)(column | COLUMN_IS_KNOWN));
    guard_end(&guard);
    return Py_NewRef(Py_None);
}

void launch_columns(PyTypeObject *type)
{
    KnownType *slot;

    guard_begin(&guard);
    slot = slot_for(type);
    STORE(slot->column, (uint8_t)(slot->column | COLUMN_IS_LAUNCHED));
    guard_end(&guard);
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
    {"remember_column_type", remember_column_type, METH_VARARGS,
     "remember_column_type(type, column): how objects of a type are exported as columns."},
    {"forget_types", forget_types, METH_VARARGS, "forget_types(): a type that was known has died."},
    {NULL, NULL, 0, NULL},
};
