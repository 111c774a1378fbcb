/* asarray: objects with any protocol as Arrays. */
#ifndef INTERCHANGE_ASARRAY_H
#define INTERCHANGE_ASARRAY_H

#include "state.h"

HIDDEN PyObject *share(PyObject *x); /* as asarray(x) */
extern HIDDEN PyMethodDef asarray_functions[];

#endif
