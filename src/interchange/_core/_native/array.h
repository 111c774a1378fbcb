/* The struct of an Array: its fields, who owns its memory, and how it is made and destroyed. */
#ifndef INTERCHANGE_ARRAY_H
#define INTERCHANGE_ARRAY_H

#include "dlpack_abi.h"
#include "state.h"

#define INLINE_AXES 6 /* shapes up to this length need no memory of their own */
#define MOST_AXES 64
#define FLAGS_UNKNOWN (-1) /* a legacy capsule cannot say whether memory is read-only */

/* Shared between threads.  `spec` and `dims` are set once and published last: where `dims` is
 * set, so are all fields below it.  `owner`, `keep` with `managed`, and `work` may change, under
 * the lock of the object. */
typedef struct {
    PyObject_HEAD
    char *ptr;          /* the first element, or a handle; NULL without elements */
    PyObject *spec;     /* shape, strides, dtype and device; NULL while the fields below say it */
    PyObject *dtype;    /* set where `dims` is */
    PyObject *owner;    /* the object that gave the memory, for users to read */
    PyObject *keep;     /* keeps the memory alive; NULL where `managed` does */
    PyObject *library;  /* (backend, its array, ...), or NULL: see _array/native_arrays.py */
    PyObject *work;     /* where work may be pending; NULL: none is */
    PyObject *weakrefs;
    void *managed;      /* the struct or storage that is owned, or NULL */
    int64_t *dims;      /* shape, strides [elements], and room for strides [bytes], see capi.c;
                           NULL where only `spec` has them */
    int64_t flags;      /* of DLPack, or FLAGS_UNKNOWN */
    int32_t ndim;       /* of `dims` */
    int32_t itemsize;   /* [bytes], of `dtype` */
    DLDataType element; /* of `dtype` */
    DLDevice device;    /* where `dims` is set */
    uint8_t owns;       /* an Ownership, of `managed` */
    uint8_t work_is_record; /* `work` holds the entries of a CUDA record: see work.c */
    int64_t inline_dims[3 * INLINE_AXES];
} Array;

static inline int is_array(PyObject *x)
{
    return Py_TYPE(x) == core.array_type || PyType_IsSubtype(Py_TYPE(x), core.array_type);
}

HIDDEN Array *new_array(PyTypeObject *type); /* all fields NULL, 0; flags 0 */
HIDDEN int array_traverse(PyObject *object, visitproc visit, void *arg);
HIDDEN int array_clear(PyObject *object);
HIDDEN void array_dealloc(PyObject *object);

HIDDEN int64_t *room_for_dims(Array *self, int32_t ndim); /* NULL with an exception */
HIDDEN int reserve_dims(Array *self, int32_t ndim);       /* of a new Array */

/* Move what the Array owns into an object that others can share. */
HIDDEN int share_managed(Array *self);
HIDDEN PyObject *array_keep(Array *self); /* a new reference; None where nothing is needed */
HIDDEN void release_now(Array *self);     /* also where other objects refer to the memory */

/* Whether elements are contiguous: in C order (`from_last`), or in Fortran order.  `dims` are
 * set. */
HIDDEN int is_dense(const Array *self, int from_last);

#endif
