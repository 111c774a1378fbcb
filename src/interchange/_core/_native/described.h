/* from_buffer and from_pointer: host memory that the caller describes. */
#ifndef INTERCHANGE_DESCRIBED_H
#define INTERCHANGE_DESCRIBED_H

#include "state.h"

HIDDEN int init_described(void);
extern HIDDEN PyMethodDef described_functions[];

#endif
