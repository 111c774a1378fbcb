/* Objects with Python's buffer protocol as Arrays. */
#ifndef INTERCHANGE_BUFFERS_H
#define INTERCHANGE_BUFFERS_H

#include "array.h"

HIDDEN Array *read_buffer(PyObject *x); /* NULL without an exception: ask Python */
/* Register the format of a buffer that Python imported as `found`. */
HIDDEN int learn_format(PyObject *x, Array *found);

#endif
