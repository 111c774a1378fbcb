/* Operators and functions of Arrays, and other functions that Python ones stand behind. */
#ifndef INTERCHANGE_OPERATORS_H
#define INTERCHANGE_OPERATORS_H

#include "state.h"

HIDDEN int make_operator_type(void);
/* A function in C with the name, signature and docstring of a Python function, which it may call. */
HIDDEN PyObject *wrap_function(VectorcallFunction call, PyObject *name, PyObject *careful);
HIDDEN PyObject *careful_of(PyObject *function); /* that Python function, borrowed */
extern HIDDEN PyMethodDef operator_functions[];

#endif
