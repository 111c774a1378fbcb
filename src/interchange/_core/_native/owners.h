/* Ownership of managed memory: each kind has a release function, which is called exactly once. */
#ifndef INTERCHANGE_OWNERS_H
#define INTERCHANGE_OWNERS_H

#include "state.h"

typedef enum {
    OWNS_NOTHING,
    OWNS_VERSIONED, /* a DLManagedTensorVersioned */
    OWNS_LEGACY,    /* a DLManagedTensor */
    OWNS_ARROW,     /* a block of arrow.c */
    OWNS_TORCH,     /* a storage of torch */
    OWNS_C_MEMORY,  /* memory of a producer in C */
    OWNERSHIPS
} Ownership;

/* How memory of one kind is released. */
typedef struct {
    void (*release)(void *managed);    /* may run any code */
    int (*release_shared)(void *managed); /* or NULL.  0: nothing was done, since it is the last
                                             reference; 1: one reference was dropped, no code ran */
} ReleaseFunctions;

extern HIDDEN ReleaseFunctions ownerships[OWNERSHIPS];
HIDDEN void register_ownership(Ownership owns, ReleaseFunctions functions);

/* Keeps a managed tensor alive that several Arrays or exports share. */
typedef struct {
    PyObject_HEAD
    void *managed;
    uint8_t owns;
} Managed;

HIDDEN int make_managed_type(PyObject *module);
HIDDEN PyObject *new_managed(void); /* owns nothing yet */

/* Drop a reference that is not the last one; 0 where nothing was done. */
static inline int release_if_shared(void *managed, uint8_t owns)
{
    int (*release)(void *) = LOAD(ownerships[owns].release_shared);

    return release != NULL && release(managed);
}

/* Release memory, or nothing where `managed` is NULL; the current exception is kept. */
HIDDEN void release_managed(void *managed, uint8_t owns);

/* Drop a reference that may be one end of a long chain, without recursion; NULL is accepted. */
HIDDEN void decref_or_defer(PyObject *object);
/* The same on any thread, with or without the GIL; does nothing while Python is finalizing. */
HIDDEN void decref_on_any_thread(PyObject *object);
static inline void decref_deferred(PyObject *object)
{
    if (object != NULL && LIKELY(is_shared(object)))
        Py_DECREF(object);
    else
        decref_or_defer(object);
}

#endif
