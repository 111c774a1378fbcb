/* Offsets of Arrow lists: checked and shifted. */
#ifndef INTERCHANGE_ARROW_OFFSETS_H
#define INTERCHANGE_ARROW_OFFSETS_H

#include "state.h"

extern HIDDEN PyMethodDef arrow_offsets_functions[];

#endif
