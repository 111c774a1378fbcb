/* asarray: objects with any protocol as Arrays. */
#ifndef INTERCHANGE_ASARRAY_H
#define INTERCHANGE_ASARRAY_H

#include "array.h"

HIDDEN PyObject *share(PyObject *x); /* as asarray(x) */
/* The same of types that were imported before; NULL without an exception: ask Python. */
HIDDEN Array *try_fast_share(PyObject *x);
/* Register the type of an object that Python imported as `found`; -1 on error. */
HIDDEN int learn_shared(PyObject *x, PyObject *found);
extern HIDDEN PyMethodDef asarray_functions[];

#endif
