/* Bitmaps and offsets of Arrow columns. */
#ifndef INTERCHANGE_ARROW_PACK_H
#define INTERCHANGE_ARROW_PACK_H

#include "state.h"

extern HIDDEN PyMethodDef arrow_pack_functions[];

#endif
