/* Copies of strided elements within host memory. */
#ifndef INTERCHANGE_STRIDED_H
#define INTERCHANGE_STRIDED_H

#include "state.h"

/* Elements of host memory. */
typedef struct {
    char *ptr;
    const int64_t *dims; /* shape and strides [elements] */
    int32_t ndim, itemsize;
} Side;

/* Copy elements of one size, as if the source were copied first, and spread the source where it
 * has fewer axes or an extent of 1.  1: copied; 0: not done, since the shapes differ, there are no
 * elements, or those of the target may share memory; -1 with an exception. */
HIDDEN int copy_side(const Side *target, const Side *source);
extern HIDDEN PyMethodDef strided_functions[];

#endif
