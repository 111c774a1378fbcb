/* Bitmaps, and blocks of memory that are joined. */
#ifndef INTERCHANGE_ARROW_BITS_H
#define INTERCHANGE_ARROW_BITS_H

#include "state.h"

extern HIDDEN PyMethodDef arrow_bits_functions[];

#endif
