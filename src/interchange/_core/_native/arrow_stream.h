/* Columns as Arrow streams. */
#ifndef INTERCHANGE_ARROW_STREAM_H
#define INTERCHANGE_ARROW_STREAM_H

#include "state.h"

extern HIDDEN PyMethodDef arrow_stream_functions[];

#endif
