/* What the C API adds to the extension module.
 *
 * Source: interchange/interchange.h. */
#ifndef INTERCHANGE_CAPI_H
#define INTERCHANGE_CAPI_H

#include "core.h"

#include "../../include/interchange/interchange.h"

/* Add the capsule `_C_API`. */
HIDDEN int add_c_api(PyObject *module);

/* Set an ArgumentError of what a C caller did; always -1. */
HIDDEN int refuse_caller(const char *call, const char *what);
HIDDEN int refuse_null(const char *call, const char *argument);

/* Whether elements have no address of their own; of an Array whose `dims` are set. */
HIDDEN int shares_bytes(Array *self);

#endif
