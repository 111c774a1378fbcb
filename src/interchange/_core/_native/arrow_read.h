/* Columns of Arrow as Arrays, where they are plain numbers in one chunk on the host. */
#ifndef INTERCHANGE_ARROW_READ_H
#define INTERCHANGE_ARROW_READ_H

#include "state.h"

/* What `from_arrow(x)` returns, or `asarray(x)`; NULL without an exception: nothing was asked of the
 * object, ask Python. */
HIDDEN PyObject *read_column(PyObject *x, int is_shared);
/* Register how the type of an imported object exports columns, and the element type. */
HIDDEN int learn_column(PyObject *x, PyObject *found);
extern HIDDEN PyMethodDef arrow_read_functions[];

#endif
