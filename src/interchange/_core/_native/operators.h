/* Binary operators of Arrays. */
#ifndef INTERCHANGE_OPERATORS_H
#define INTERCHANGE_OPERATORS_H

#include "state.h"

HIDDEN int make_operator_type(void);
extern HIDDEN PyMethodDef operator_functions[];

#endif
