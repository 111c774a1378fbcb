/* Structs of NumPy, and ndarrays as Arrays without a call into NumPy. */
#ifndef INTERCHANGE_NUMPY_H
#define INTERCHANGE_NUMPY_H

#include "array.h"

typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dimensions; /* [elements] */
    Py_ssize_t *strides;    /* [bytes] */
    PyObject *base;
    PyObject *descr;
    int flags;
} NDArray;
#define NDARRAY_WRITEABLE 0x0400 /* of `flags` */

/* The element type of a dtype object. */
typedef struct {
    PyObject *dtype; /* set last; NULL while it is not known */
    DLDataType element;
    int32_t itemsize;
} Descr;

/* Of an ndarray whose fields may be read; NULL: ask NumPy. */
HIDDEN const Descr *descr_of(PyObject *x);
/* Shape and strides [elements], into room for both; 0: ask NumPy. */
HIDDEN int read_fields(const NDArray *array, const Descr *descr, int64_t *dims);
HIDDEN Array *read_ndarray(PyObject *x); /* NULL without an exception: ask NumPy */
/* Register the dtype of an ndarray that NumPy exported as `found`. */
HIDDEN int learn_descr(PyObject *x, Array *found);
extern HIDDEN PyMethodDef numpy_functions[];

#endif
