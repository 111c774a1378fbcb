/* copyto: elements into memory that the caller has. */
#ifndef INTERCHANGE_COPYING_H
#define INTERCHANGE_COPYING_H

#include "state.h"

extern HIDDEN PyMethodDef copying_functions[];

#endif
