/* Who owns a managed tensor, and how it is given back: once, whatever is going on.
 *
 * Source: dlpack.h 1.3 (deleter).  A deleter may run any code, and so may a release callback of
 * Arrow's (arrow.c).  It is called with the exception in flight put aside (DLP-LIFE-2), and not from
 * within another one: a chain of arrays, each exported and imported again, is released link by link
 * and not by recursion. */
#include "core.h"

#include <stdlib.h>

#define MOST_NESTED 32 /* releases within releases, before they are put off */

typedef struct Pending {
    struct Pending *next;
    void *managed; /* or NULL */
    PyObject *object;
    uint8_t owns;
} Pending;

/* Per thread: a deleter may let another thread run, whose releases are its own. */
typedef struct {
    int depth;
    Pending *put_off;
} Releases;

static _Thread_local Releases releases;

static void call_deleter(void *managed, uint8_t owns)
{
    if (owns == OWNS_VERSIONED) {
        DLManagedTensorVersioned *tensor = managed;
        if (tensor->deleter != NULL) /* NULL: there is nothing to release (DLP-LIFE-5) */
            tensor->deleter(tensor);
    } else if (owns == OWNS_LEGACY) {
        DLManagedTensor *tensor = managed;
        if (tensor->deleter != NULL)
            tensor->deleter(tensor);
    } else if (owns == OWNS_ARROW) {
        release_arrow_block(managed);
    } else if (owns == OWNS_TORCH) {
        let_go_of_storage(managed);
    }
}

static int put_off_release(Releases *mine, void *managed, uint8_t owns, PyObject *object)
{
    Pending *pending = malloc(sizeof(Pending));

    if (pending == NULL)
        return 0; /* no memory: deeper, then */
    pending->managed = managed;
    pending->owns = owns;
    pending->object = object;
    pending->next = mine->put_off;
    mine->put_off = pending;
    return 1;
}

static void release_what_was_put_off(Releases *mine)
{
    PyObject *type, *value, *traceback;

    while (UNLIKELY(mine->put_off != NULL)) {
        Pending *pending = mine->put_off;
        mine->put_off = pending->next;
        PyErr_Fetch(&type, &value, &traceback); /* none that is in flight here may be seen there */
        if (pending->managed != NULL)
            call_deleter(pending->managed, pending->owns);
        Py_XDECREF(pending->object);
        PyErr_Restore(type, value, traceback);
        free(pending);
    }
}

void delete_managed(void *managed, uint8_t owns)
{
    PyObject *type, *value, *traceback;
    Releases *mine = &releases; /* looked up once: it is a call in a shared library */

    if (managed == NULL)
        return;
    if (mine->depth >= MOST_NESTED && put_off_release(mine, managed, owns, NULL))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    mine->depth++;
    call_deleter(managed, owns);
    if (mine->depth == 1)
        release_what_was_put_off(mine);
    mine->depth--;
    PyErr_Restore(type, value, traceback);
}

void release_later_if_deep(PyObject *object)
{
    Releases *mine;

    if (object == NULL)
        return;
    if (LIKELY(is_shared(object))) { /* others hold it: nothing is released */
        Py_DECREF(object);
        return;
    }
    mine = &releases;
    if (mine->depth >= MOST_NESTED && put_off_release(mine, NULL, OWNS_NOTHING, object))
        return;
    mine->depth++;
    Py_DECREF(object);
    if (mine->depth == 1)
        release_what_was_put_off(mine);
    mine->depth--;
}

void let_go_anywhere(PyObject *object)
{
    PyGILState_STATE state = PyGILState_UNLOCKED;
    PyObject *type, *value, *traceback;
    int held = gil_is_held();

    if (!held && !take_gil(&state))
        return; /* nobody can let go of an object any more */
    PyErr_Fetch(&type, &value, &traceback);
    release_later_if_deep(object);
    PyErr_Restore(type, value, traceback);
    if (!held)
        PyGILState_Release(state);
}

/* ---------------------------------------------------------------- what several Arrays share */

PyObject *new_managed(void)
{
    Managed *self = PyObject_New(Managed, core.managed_type);

    if (self == NULL)
        return NULL;
    self->managed = NULL;
    self->owns = OWNS_NOTHING;
    return (PyObject *)self;
}

static void managed_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    void *managed = ((Managed *)self)->managed;
    uint8_t owns = ((Managed *)self)->owns;

    PyObject_Free(self);
    Py_DECREF(type);
    delete_managed(managed, owns);
}

static PyType_Slot managed_slots[] = {
    {Py_tp_dealloc, managed_dealloc},
    {Py_tp_doc, "Owns one managed tensor: calls its deleter once, when it dies."},
    {0, NULL},
};

static PyType_Spec managed_spec = {
    .name = "interchange._core._native._extension.ManagedTensorOwner",
    .basicsize = sizeof(Managed),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = managed_slots,
};

int make_managed_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&managed_spec);

    if (type == NULL)
        return -1;
    core.managed_type = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, "ManagedTensorOwner", type);
}
