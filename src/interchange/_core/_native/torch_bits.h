/* Which objects are tensors of torch, and bits of a tensor that its exchange table ignores. */
#ifndef INTERCHANGE_TORCH_BITS_H
#define INTERCHANGE_TORCH_BITS_H

#include "state.h"

/* 1: no gradient is required, and nothing is to be negated or conjugated; 0: otherwise; -1: ask the
 * attributes of the tensor. */
HIDDEN int torch_keeps_meaning(const PyObject *tensor);
HIDDEN int is_torch_tensor(const PyObject *object); /* of the type that was verified */
extern HIDDEN PyMethodDef torch_bits_functions[];

#endif
