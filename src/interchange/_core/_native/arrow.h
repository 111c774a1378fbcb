/* What the sources that move and export structs of Arrow share.
 *
 * Source: The Arrow C data interface; C stream interface; PyCapsule interface. */
#ifndef INTERCHANGE_ARROW_H
#define INTERCHANGE_ARROW_H

#include "arrow_abi.h"
#include "core.h"

typedef enum {
    ARROW_SCHEMA,
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_KINDS
} ArrowKind;

typedef union {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayStream stream;
    struct ArrowDeviceArray device_array;
    struct ArrowDeviceArrayStream device_stream;
} AnyArrow;

/* ---- arrow.c */
HIDDEN const char *arrow_name(ArrowKind kind); /* of the capsule, kept for ever */
HIDDEN size_t arrow_size(ArrowKind kind);      /* of the struct, [bytes] */
HIDDEN ArrowKind arrow_kind(const char *name); /* ARROW_KINDS where there is none of that name */
/* Move a struct, which leaves a released one behind; 0 where that is what was there. */
HIDDEN int move_arrow(ArrowKind kind, void *from, void *to);
HIDDEN void release_arrow(ArrowKind kind, void *arrow); /* unless it is released; any error stays */

/* ---- arrow_export.c */
/* Build what ArrowField and ArrowColumn say; -1 with an exception, and nothing is left.  Each node
 * of an array has a reference to `keep` of its own. */
HIDDEN int build_schema(PyObject *field, struct ArrowSchema *out);
HIDDEN int build_array(PyObject *field, PyObject *column, PyObject *keep, struct ArrowArray *out);
/* The same in a chunk, on a device; `device` may be None. */
HIDDEN int build_chunk(PyObject *field, PyObject *column, PyObject *keep, PyObject *device,
                       struct ArrowDeviceArray *out);
/* A copy of one of ours, without the GIL; 0 where there is no memory for it. */
HIDDEN int copy_schema(const struct ArrowSchema *from, struct ArrowSchema *out);
/* A capsule of what is moved into it, or released where it cannot be made. */
HIDDEN PyObject *arrow_capsule(ArrowKind kind, void *arrow);

/* ---- arrow_stream.c */
HIDDEN PyObject *make_arrow_stream(PyObject *module, PyObject *args, PyObject *keywords);

#endif
