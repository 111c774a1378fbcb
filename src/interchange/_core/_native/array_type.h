/* The public type `interchange.Array`. */
#ifndef INTERCHANGE_ARRAY_TYPE_H
#define INTERCHANGE_ARRAY_TYPE_H

#include "state.h"

HIDDEN int make_array_type(PyObject *module);
extern HIDDEN PyMethodDef array_type_functions[];

#endif
