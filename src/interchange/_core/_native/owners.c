/* Release of managed memory, exactly once, and of Python references that may release more.
 *
 * Source: dlpack.h 1.3 (deleter).  A release function may run any code.  It is called with the
 * current exception set aside (DLP-LIFE-2).  Nested calls are deferred below a depth, so that a
 * long chain of arrays, each exported and imported again, is released without recursion. */
#include "owners.h"

#include "dlpack_abi.h"

#include <stdlib.h>

#define MOST_NESTED 32 /* releases within releases; deeper ones are deferred */

typedef struct Pending {
    struct Pending *next;
    void *managed; /* or NULL */
    PyObject *object;
    uint8_t owns;
} Pending;

/* Per thread: a deleter may let another thread run, which releases on its own. */
typedef struct {
    int depth;
    Pending *deferred;
} Releases;

static THREAD_LOCAL Releases releases;

static void release_versioned(void *managed)
{
    DLManagedTensorVersioned *tensor = managed;

    if (tensor->deleter != NULL) /* NULL: there is nothing to release (DLP-LIFE-5) */
        tensor->deleter(tensor);
}

static void release_legacy(void *managed)
{
    DLManagedTensor *tensor = managed;

    if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

ReleaseFunctions ownerships[OWNERSHIPS] = {
    [OWNS_VERSIONED] = {release_versioned, NULL},
    [OWNS_LEGACY] = {release_legacy, NULL},
};

void register_ownership(Ownership owns, ReleaseFunctions functions)
{
    STORE(ownerships[owns].release_shared, functions.release_shared);
    STORE(ownerships[owns].release, functions.release);
}

static int defer_release(Releases *mine, void *managed, uint8_t owns, PyObject *object)
{
    Pending *pending = malloc(sizeof(Pending));

    if (pending == NULL)
        return 0; /* out of memory: release it at once, one level deeper */
    pending->managed = managed;
    pending->owns = owns;
    pending->object = object;
    pending->next = mine->deferred;
    mine->deferred = pending;
    return 1;
}

static void release_deferred(Releases *mine)
{
    PyObject *type, *value, *traceback;

    while (UNLIKELY(mine->deferred != NULL)) {
        Pending *pending = mine->deferred;
        mine->deferred = pending->next;
        PyErr_Fetch(&type, &value, &traceback); /* the release function must not see it */
        if (pending->managed != NULL)
            ownerships[pending->owns].release(pending->managed);
        Py_XDECREF(pending->object);
        PyErr_Restore(type, value, traceback);
        free(pending);
    }
}

void release_managed(void *managed, uint8_t owns)
{
    PyObject *type, *value, *traceback;
    Releases *mine;

    if (managed == NULL || release_if_shared(managed, owns))
        return;
    mine = &releases; /* looked up once: in a shared library this is a call */
    if (mine->depth >= MOST_NESTED && defer_release(mine, managed, owns, NULL))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    mine->depth++;
    ownerships[owns].release(managed);
    if (mine->depth == 1)
        release_deferred(mine);
    mine->depth--;
    PyErr_Restore(type, value, traceback);
}

void decref_or_defer(PyObject *object)
{
    Releases *mine;

    if (object == NULL)
        return;
    if (LIKELY(is_shared(object))) { /* not the last reference */
        Py_DECREF(object);
        return;
    }
    mine = &releases;
    if (mine->depth >= MOST_NESTED && defer_release(mine, NULL, OWNS_NOTHING, object))
        return;
    mine->depth++;
    Py_DECREF(object);
    if (mine->depth == 1)
        release_deferred(mine);
    mine->depth--;
}

void decref_on_any_thread(PyObject *object)
{
    PyGILState_STATE state = PyGILState_UNLOCKED;
    PyObject *type, *value, *traceback;
    int held = gil_is_held();

    if (!held && !take_gil(&state))
        return; /* the reference is leaked: no Python code runs any more */
    PyErr_Fetch(&type, &value, &traceback);
    decref_or_defer(object);
    PyErr_Restore(type, value, traceback);
    if (!held)
        PyGILState_Release(state);
}

/* ---------------------------------------------------------------- shared ownership */

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
    release_managed(managed, owns);
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
