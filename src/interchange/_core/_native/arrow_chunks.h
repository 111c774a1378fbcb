/* Plain chunks of a column, which are joined. */
#ifndef INTERCHANGE_ARROW_CHUNKS_H
#define INTERCHANGE_ARROW_CHUNKS_H

#include "state.h"

extern HIDDEN PyMethodDef arrow_chunks_functions[];

#endif
