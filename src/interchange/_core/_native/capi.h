/* The table of the public C API. */
#ifndef INTERCHANGE_CAPI_H
#define INTERCHANGE_CAPI_H

#include "state.h"

HIDDEN int add_c_api(PyObject *module); /* as the capsule `_C_API` */

#endif
