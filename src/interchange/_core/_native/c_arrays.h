/* Arrays and exports that callers in C make: functions that interchange/interchange.h declares. */
#ifndef INTERCHANGE_C_ARRAYS_H
#define INTERCHANGE_C_ARRAYS_H

#include "array.h"

#include "../../include/interchange/interchange.h"

#endif
