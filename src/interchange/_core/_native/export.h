/* Arrays as DLPack structs and capsules. */
#ifndef INTERCHANGE_EXPORT_H
#define INTERCHANGE_EXPORT_H

#include "array.h"

/* Flags of an export: memory that is not known to be writable is exported as read-only. */
static inline uint64_t exported_flags(int64_t flags)
{
    return flags == FLAGS_UNKNOWN ? DLPACK_READ_ONLY : (uint64_t)flags & DLPACK_READ_ONLY;
}
HIDDEN DLManagedTensorVersioned *export_versioned(Array *self, uint64_t flags);
/* A capsule for a consumer without demands; NULL without an exception: ask Python. */
HIDDEN PyObject *plain_capsule(Array *self, int versioned);
HIDDEN int describe_tensor(Array *self, DLTensor *out); /* dims are those of `self` */
HIDDEN PyObject *array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *names);
HIDDEN PyObject *array_dlpack_device(PyObject *self, PyObject *unused);
extern HIDDEN PyMethodDef export_functions[];

#endif
