/* The state of the module: types, interned names, and the Python callables that it was given.
 *
 * Source: CPython's stable ABI (limited API 3.10).  In all files of the core, a function that can
 * fail returns NULL or -1 with a Python exception set, and is called with the GIL held (without a
 * GIL: with a thread state attached), unless its comment says otherwise. */
#ifndef INTERCHANGE_STATE_H
#define INTERCHANGE_STATE_H

#include "compat.h"

/* Set once; the callables are set by `connect` and the `*_function` functions. */
typedef struct {
    PyTypeObject *array_type;
    PyTypeObject *managed_type;
    PyTypeObject *capsule_type;
    PyTypeObject *ndarray_type; /* NULL until its layout was verified */
    PyObject *max_version;      /* (1, 3) */
    PyObject *max_version_names;
    PyObject *cpu;              /* Device("cpu") */
    PyObject *cpu_pair;         /* (1, 0) */
    PyObject *check_struct;     /* f(address, versioned, call) -> (ptr, spec, flags) */
    PyObject *arrived;          /* f(array, call): checks an imported array that is not ordinary */
    PyObject *refuse_capsule;   /* f(object, call) -> error */
    PyObject *spec_of;          /* f(kind, dims) -> Spec */
    PyObject *learn;            /* f(type): calls remember_type() */
    PyObject *learn_column;     /* f(type): calls remember_column_type() */
    PyObject *negotiate;        /* f(x, **keywords): the Python function behind from_dlpack */
    PyObject *refuse_arrow;     /* f(object, name) -> error */
    PyObject *refuse_stream;    /* f(name or None, what) -> error: released, or lacks a function */
    PyObject *refuse_for_c;     /* f(array, why): raises the error of a C caller */
    PyObject *asarray;          /* f(x, **keywords): the Python function behind asarray */
    PyObject *publish;          /* f(array, owner, entries of a CUDA record) -> PendingWork */
    PyObject *from_dlpack_text; /* "from_dlpack()" */
    PyObject *asarray_text;
    /* names of attributes */
    PyObject *n_dlpack, *n_dlpack_device, *n_shape, *n_strides, *n_dtype, *n_device;
    PyObject *n_byte_offset, *n_code, *n_bits, *n_lanes, *n_itemsize, *n_padded;
    PyObject *n_array, *n_export, *n_max_version, *n_stream, *n_dl_device, *n_copy;
    PyObject *n_requires_grad, *n_is_neg, *n_is_conj, *n_cuda_record;
    int logs_exchanges; /* whether Python makes them, to log them: see _functions/exchange_log.py */
} Core;

extern HIDDEN Core core;

HIDDEN int init_state(void);
extern HIDDEN PyMethodDef state_functions[];

/* Set a field of an object.  The old value is dropped after the new one is in place. */
static inline void set_field(PyObject *object, PyObject **field, PyObject *value)
{
    PyObject *before;

    BEGIN_LOCKED(object);
    before = *field;
    STORE(*field, value);
    END_LOCKED();
    (void)object;
    Py_XDECREF(before);
}

/* The value of a field of an object, or NULL; a new reference. */
static inline PyObject *get_field(PyObject *object, PyObject **field)
{
    PyObject *found;

    BEGIN_LOCKED(object);
    found = Py_XNewRef(*field);
    END_LOCKED();
    (void)object;
    return found;
}

/* Set what all threads use.  Without the GIL the old value is leaked: another thread may be
 * about to use it. */
static inline void set_global(PyObject **place, PyObject *value)
{
    PyObject *before = EXCHANGE(*place, value);

#ifdef Py_GIL_DISABLED
    (void)before;
#else
    Py_XDECREF(before);
#endif
}

/* Set a field that is set once; 0 where another thread was first, and `value` is dropped. */
static inline int set_once(PyObject **field, PyObject *value)
{
#ifdef Py_GIL_DISABLED
    if (replace_pointer(field, NULL, value))
        return 1;
#else
    if (*field == NULL) {
        *field = value;
        return 1;
    }
#endif
    Py_DECREF(value);
    return 0;
}

#endif
