/* Repeated launches of a kernel. */
#ifndef INTERCHANGE_LAUNCHING_H
#define INTERCHANGE_LAUNCHING_H

#include "state.h"

extern HIDDEN PyMethodDef launching_functions[];

#endif
