/* Columns of Arrow as Arrays, where they are plain numbers in one chunk on the host. */
#ifndef INTERCHANGE_ARROW_READ_H
#define INTERCHANGE_ARROW_READ_H

#include "arrow.h"
#include "dlpack_abi.h"

/* What `from_arrow(x)` returns, or `asarray(x)`; NULL without an exception: nothing was asked of the
 * object, ask Python. */
HIDDEN PyObject *read_column(PyObject *x, int is_shared);
/* Register how the type of an imported object exports columns, and the element type. */
HIDDEN int learn_column(PyObject *x, PyObject *found);
/* The element type of a format of numbers, such as "g"; 0 bits for others. */
HIDDEN DLDataType number_of_format(const char *format);
/* The number of elements in "+w:" and a number; -1 for other formats. */
HIDDEN int64_t size_of_lists(const char *format);
/* Move schema and array out of what an object of a known type exports, without a stream: 1; 0: ask
 * Python; -1 with an exception. */
HIDDEN int take_pair(PyObject *x, ArrowKind *kind, AnyArrow *schema, AnyArrow *array);
extern HIDDEN PyMethodDef arrow_read_functions[];

#endif
