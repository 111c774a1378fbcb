/* Access to shared data on free-threaded Pythons, and the include of Python.h.
 *
 * Source: CPython, "C API Extension Support for Free Threading"; C11, memory order.  With the GIL
 * each of these is a plain access, or nothing.  Without it
 *
 * - what is set once is published with STORE() when it is complete, and read with LOAD();
 * - what changes in an object is read and changed under the object's own lock;
 * - a table that is read often has a `Guard`: readers read again where it changed meanwhile;
 * - under a lock no Python code runs, and no reference is dropped. */
#ifndef INTERCHANGE_LOCKING_H
#define INTERCHANGE_LOCKING_H

#include "platform.h"

/* Builds without the GIL have no limited API before CPython 3.15.  On Windows pyconfig.h has to know
 * of both, so that setup.py defines them. */
#if !defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
#define Py_LIMITED_API 0x030A0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED

#if PY_VERSION_HEX < 0x030D0000
#error "free-threaded Pythons before 3.13 are not known"
#endif

#define LOAD(place) LOAD_ATOMIC(place)
#define STORE(place, value) STORE_ATOMIC(place, value)
#define EXCHANGE(place, value) EXCHANGE_ATOMIC(place, value)

#define BEGIN_LOCKED(object) Py_BEGIN_CRITICAL_SECTION(object)
#define END_LOCKED() Py_END_CRITICAL_SECTION()

#define STATIC_LOCK(name) static PyMutex name
#define LOCK(name) PyMutex_Lock(&(name))
#define UNLOCK(name) PyMutex_Unlock(&(name))

/* Of a table; `changes` is odd during a write. */
typedef struct {
    PyMutex lock;
    uint32_t changes;
} Guard;

static inline uint32_t guard_look(const Guard *guard)
{
    return LOAD(guard->changes);
}

/* Whether what was read with LOAD() since is to be read again. */
static inline int guard_missed(const Guard *guard, uint32_t before)
{
    return (before & 1) || LOAD_RELAXED(guard->changes) != before;
}

/* Each change between these is a STORE(), so that a reader that sees it sees the odd count too. */
static inline void guard_begin(Guard *guard)
{
    PyMutex_Lock(&guard->lock);
    STORE(guard->changes, guard->changes + 1);
}

static inline void guard_end(Guard *guard)
{
    STORE(guard->changes, guard->changes + 1);
    PyMutex_Unlock(&guard->lock);
}

/* Items of lists and dicts that other threads may change: owned. */
#define list_item(list, place) PyList_GetItemRef((list), (place))
static inline PyObject *dict_item(PyObject *dict, PyObject *key)
{
    PyObject *found;

    (void)PyDict_GetItemRef(dict, key, &found); /* NULL where it is missing, and on error */
    return found;
}
#define drop_item(item) Py_XDECREF(item)
#define own_found(item) ((void)(item)) /* it is owned */

/* Whether an object has other references: unknown, since counts are split between threads. */
#define is_shared(object) ((void)(object), 0)

#else

#define LOAD(place) (place)
#define STORE(place, value) ((void)((place) = (value)))
#define EXCHANGE(place, value) EXCHANGE_PLAIN(place, value)

#define BEGIN_LOCKED(object) {
#define END_LOCKED() }

#define STATIC_LOCK(name) _Static_assert(1, #name)
#define LOCK(name) ((void)0)
#define UNLOCK(name) ((void)0)

typedef char Guard;
#define guard_look(guard) ((void)(guard), 0u)
#define guard_missed(guard, before) ((void)(guard), (void)(before), 0)
#define guard_begin(guard) ((void)(guard))
#define guard_end(guard) ((void)(guard))

#define list_item(list, place) PyList_GetItem((list), (place)) /* borrowed: no other thread runs */
#define dict_item(dict, key) PyDict_GetItemWithError((dict), (key))
#define drop_item(item) ((void)(item))
#define own_found(item) Py_XINCREF(item)

#define is_shared(object) (Py_REFCNT(object) > 1)

#endif
/* ---------------------------------------------------------------- long loops */

#define LONG_LOOP 65536 /* that many bytes, or more, are read or written without the GIL */

/* Run a statement that uses no object, without the GIL where it takes long. */
#define RUN_UNLOCKED(is_long, statement)                                                          \
    do {                                                                                          \
        PyThreadState *unlocked = (is_long) ? PyEval_SaveThread() : NULL;                         \
        statement;                                                                                \
        if (unlocked != NULL)                                                                     \
            PyEval_RestoreThread(unlocked);                                                       \
    } while (0)

#endif
