/* Element types of DLPack and the dtype objects that stand for them. */
#ifndef INTERCHANGE_ELEMENTS_H
#define INTERCHANGE_ELEMENTS_H

#include "dlpack_abi.h"
#include "state.h"

/* The dtype of an element type that was registered; borrowed, NULL where it was not. */
HIDDEN PyObject *element_type(DLDataType type, int32_t *itemsize);
/* Register the element type of a dtype: 1; 0 where elements share bytes, are padded or are handles;
 * -1 with an exception. */
HIDDEN int learn_element_type(PyObject *dtype, DLDataType *out, int32_t *itemsize);
/* An attribute that is an int; -1 may be an error. */
HIDDEN long int_attribute(PyObject *object, PyObject *name);

#endif
