/* DLPack capsules and managed tensors of other libraries, as Arrays that own them. */
#ifndef INTERCHANGE_CAPSULE_IN_H
#define INTERCHANGE_CAPSULE_IN_H

#include "array.h"

HIDDEN Array *consume(PyObject *capsule, PyObject *source, PyTypeObject *cls, PyObject *call);
/* The same of a capsule that `source` has just returned. */
HIDDEN Array *consume_fresh(PyObject *capsule, PyObject *source, PyObject *call);
HIDDEN Array *own_managed(DLManagedTensorVersioned *managed, PyObject *source, PyTypeObject *cls,
                          PyObject *call);
/* Check an imported Array that is not ordinary: handles are refused, memory of devices is noted.
 * -1: refused, and `*array` is dropped. */
HIDDEN int finish_arrival(Array **array, PyObject *call, int is_of_capsule);
extern HIDDEN PyMethodDef capsule_in_functions[];

#endif
