/* Tensors of torch by its stable C functions, and their storages. */
#ifndef INTERCHANGE_TORCH_FIELDS_H
#define INTERCHANGE_TORCH_FIELDS_H

#include "dlpack_abi.h"
#include "state.h"

HIDDEN int read_tensor_of_torch(PyObject *x, DLTensor *out); /* 0: ask the table, or raise */
/* The storage of the tensor that was read, with a reference (OWNS_TORCH); NULL without an
 * exception: ask the table. */
HIDDEN void *hold_storage_of_torch(PyObject *x);
extern HIDDEN PyMethodDef torch_fields_functions[];

#endif
