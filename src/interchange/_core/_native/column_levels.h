/* The levels of a column of Arrow, from its schema and its array. */
#ifndef INTERCHANGE_COLUMN_LEVELS_H
#define INTERCHANGE_COLUMN_LEVELS_H

#include "arrow.h"

#include "../../include/interchange/interchange.h"

/* Fill what the structs say; `array` is NULL for a column without elements.  `is_on_host`: whether
 * buffers may be read.  -1 with an exception, which names `call`. */
HIDDEN int read_levels(const struct ArrowSchema *schema, const struct ArrowArray *array,
                       int is_on_host, InterchangeColumn *out, const char *call);

#endif
