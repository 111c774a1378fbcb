/* Arrays that are made from a description, from results of libraries, and from other Arrays. */
#ifndef INTERCHANGE_ARRAY_CTORS_H
#define INTERCHANGE_ARRAY_CTORS_H

#include "array.h"

/* Another Array of the same memory; NULL without an exception: ask Python. */
HIDDEN Array *alias_on_host(Array *self);
/* An Array of what a library computed, which is described when it is first asked. */
HIDDEN Array *computed_array(PyObject *native, PyObject *library, int64_t flags, PyTypeObject *cls);
extern HIDDEN PyMethodDef array_ctors_functions[];

#endif
