/* Element types as text, and views of long doubles. */
#ifndef INTERCHANGE_FORMATS_H
#define INTERCHANGE_FORMATS_H

#include "view.h"

/* Fill a view of a buffer of long doubles: 1; 0 without an exception: it is none. */
HIDDEN int view_long_doubles(PyObject *x, InterchangeView *out);

#endif
