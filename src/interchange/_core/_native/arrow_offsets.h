/* Offsets of Arrow lists: checked and shifted. */
#ifndef INTERCHANGE_ARROW_OFFSETS_H
#define INTERCHANGE_ARROW_OFFSETS_H

#include "state.h"

/* The length of each of 1 or more lists, and the bounds of their elements; -1 if lengths differ,
 * or an offset is invalid.  `width` is the size of an offset [bytes]; buffers may be unaligned. */
HIDDEN int64_t list_length(const char *offsets, Py_ssize_t count, int width, int64_t *low,
                           int64_t *high);
/* The index of the first invalid list of 1 or more, or -1, and the bounds of the elements of all. */
HIDDEN Py_ssize_t invalid_list(const char *offsets, Py_ssize_t count, int width, int64_t *low,
                               int64_t *high);
extern HIDDEN PyMethodDef arrow_offsets_functions[];

#endif
