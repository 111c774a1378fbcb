/* Columns for callers in C: functions that interchange/interchange.h declares. */
#ifndef INTERCHANGE_C_COLUMNS_H
#define INTERCHANGE_C_COLUMNS_H

#include "arrow.h"

#include "../../include/interchange/interchange.h"

#endif
