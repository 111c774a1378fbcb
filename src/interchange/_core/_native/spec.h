/* The Spec of an Array and the fields that say the same, each made from the other when needed. */
#ifndef INTERCHANGE_SPEC_H
#define INTERCHANGE_SPEC_H

#include "array.h"

HIDDEN PyObject *array_spec(Array *self); /* borrowed; NULL with an exception */
HIDDEN int fill_dims(Array *self);        /* from the Spec, once; -1 on error */
/* 1: no work is pending, and `dims` are set; 0: work is pending; -1 on error. */
HIDDEN int has_no_pending_work(Array *self);

#endif
