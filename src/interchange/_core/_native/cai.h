/* from_cai: records of the CUDA Array Interface as Arrays. */
#ifndef INTERCHANGE_CAI_H
#define INTERCHANGE_CAI_H

#include "state.h"

extern HIDDEN PyMethodDef cai_functions[];

#endif
