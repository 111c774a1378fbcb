/* Copies of strided elements within host memory. */
#ifndef INTERCHANGE_STRIDED_H
#define INTERCHANGE_STRIDED_H

#include "state.h"

extern HIDDEN PyMethodDef strided_functions[];

#endif
