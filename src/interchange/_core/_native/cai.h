/* from_cai: records of the CUDA Array Interface as Arrays. */
#ifndef INTERCHANGE_CAI_H
#define INTERCHANGE_CAI_H

#include "array.h"

/* An Array of a record that `x` has just returned, without pending work, and the stream that it names,
 * or 0; NULL without an exception: read it in Python. */
HIDDEN Array *read_cuda_record(PyObject *x, PyObject *record, int64_t *stream);
/* Make a stream of CUDA wait for another; 0: ask Python. */
HIDDEN int order_by_driver(void *producer, void *consumer);
extern HIDDEN PyMethodDef cai_functions[];

#endif
