/* DLTensor structs of other libraries, validated and read into the fields of an Array. */
#ifndef INTERCHANGE_DLTENSOR_IN_H
#define INTERCHANGE_DLTENSOR_IN_H

#include "array.h"

/* 1: the struct is ordinary, and `into` is filled; 0: ask `check_struct`. */
HIDDEN int read_tensor(const DLTensor *tensor, uint64_t flags, Array *into);
HIDDEN int fill_from_struct(Array *self, void *managed, int versioned, PyObject *call);
/* Copy shape and strides [elements], and find the range of bytes; 0: not ordinary. */
HIDDEN int read_extents(const DLTensor *tensor, int64_t itemsize, int64_t *dims, int64_t *low,
                        int64_t *high);
/* The same, and the address of the first element; 0 also where addresses overflow. */
HIDDEN int read_place(const DLTensor *tensor, int64_t itemsize, int64_t *dims, char **first);

/* Extents of ndarrays and buffers as int64_t; `room` is used where Py_ssize_t is narrower. */
static inline int64_t *wide_extents(Py_ssize_t *extents, int ndim, int64_t *room)
{
#if UINTPTR_MAX > UINT32_MAX
    (void)ndim;
    (void)room;
    return (int64_t *)extents;
#else
    for (int i = 0; i < ndim; i++)
        room[i] = extents[i];
    return room;
#endif
}

#endif
