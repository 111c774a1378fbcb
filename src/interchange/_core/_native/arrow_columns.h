/* Arrays of numbers on the host as Arrow columns. */
#ifndef INTERCHANGE_ARROW_COLUMNS_H
#define INTERCHANGE_ARROW_COLUMNS_H

#include "state.h"

extern HIDDEN PyMethodDef arrow_columns_functions[];

#endif
