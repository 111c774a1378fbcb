/* Memory of Arrays as structs and capsules of Arrow. */
#ifndef INTERCHANGE_ARROW_EXPORT_H
#define INTERCHANGE_ARROW_EXPORT_H

#include "arrow.h"

/* Build the structs of an ArrowField and an ArrowColumn; -1 with an exception, and nothing is left.
 * Each array struct has a reference to `keep` of its own. */
HIDDEN int build_schema(PyObject *field, struct ArrowSchema *out);
HIDDEN int build_array(PyObject *field, PyObject *column, PyObject *keep, struct ArrowArray *out);
/* Fill an array except its lengths: buffers are NULL, children are released structs. */
HIDDEN int begin_array(size_t buffers, size_t children, int has_dictionary, PyObject *keep,
                       struct ArrowArray *out);
/* The same as a device array; `device` may be None. */
HIDDEN int build_chunk(PyObject *field, PyObject *column, PyObject *keep, PyObject *device,
                       struct ArrowDeviceArray *out);
/* A copy of a schema of ours, without the GIL; 0 where memory ran out. */
HIDDEN int copy_schema(const struct ArrowSchema *from, struct ArrowSchema *out);
/* A capsule into which the struct is moved; the struct is released where it cannot be made. */
HIDDEN PyObject *arrow_capsule(ArrowKind kind, void *arrow);
extern HIDDEN PyMethodDef arrow_export_functions[];

#endif
