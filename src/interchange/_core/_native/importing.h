/* from_dlpack: the import functions by the type of the object. */
#ifndef INTERCHANGE_IMPORTING_H
#define INTERCHANGE_IMPORTING_H

#include "array.h"

/* As from_dlpack(x), in the name of `call`; NULL without an exception: negotiate in Python. */
HIDDEN Array *try_fast_import(PyObject *x, PyObject *call);
extern HIDDEN PyMethodDef importing_functions[];

#endif
