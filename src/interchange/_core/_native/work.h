/* Pending work on the memory of an Array. */
#ifndef INTERCHANGE_WORK_H
#define INTERCHANGE_WORK_H

#include "array.h"

/* A new reference; NULL where no work is pending, or with an exception. */
HIDDEN PyObject *array_work(Array *self);
HIDDEN void set_array_work(Array *self, PyObject *work); /* takes the reference */

#endif
