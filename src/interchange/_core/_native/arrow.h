/* Structs of Arrow: moved, owned and released. */
#ifndef INTERCHANGE_ARROW_H
#define INTERCHANGE_ARROW_H

#include "arrow_abi.h"
#include "state.h"

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

HIDDEN const char *arrow_name(ArrowKind kind); /* of the capsule, a static string */
HIDDEN size_t arrow_size(ArrowKind kind);      /* of the struct, [bytes] */
HIDDEN ArrowKind arrow_kind(const char *name); /* ARROW_KINDS where no kind has that name */
/* Move a struct, and mark `from` as released; 0 where it was already released. */
HIDDEN int move_arrow(ArrowKind kind, void *from, void *to);
/* The struct in a capsule of a kind, unless it is released; NULL without an exception. */
HIDDEN void *arrow_in(PyObject *capsule, ArrowKind kind);
/* Move a struct out of a capsule; 0 without an exception where there is none, or none any more. */
HIDDEN int take_from_capsule(PyObject *capsule, ArrowKind kind, AnyArrow *out);
/* Whether a struct is valid, has one child or none, and no nulls; a count of 0 is trusted
 * (ARROW-NULL-1). */
HIDDEN int is_plain_node(const struct ArrowArray *node, int64_t buffers, int has_child);
HIDDEN void release_arrow(ArrowKind kind, void *arrow); /* unless it is released */
/* What an Array owns by OWNS_ARROW, into which a struct is moved; NULL with a MemoryError. */
HIDDEN void *new_arrow_block(ArrowKind kind, const void *arrow);
/* Whether a stream has the functions that return its schema and its chunks. */
HIDDEN int has_stream_functions(ArrowKind kind, const AnyArrow *stream);
/* Call get_schema, or get_next, without the GIL; the errno.  `out` is zeroed on an error, and at the
 * end of the stream. */
HIDDEN int call_arrow_stream(ArrowKind kind, AnyArrow *stream, int is_schema, AnyArrow *out);
/* An owner into which a struct is moved; the struct is released where it cannot be made. */
HIDDEN PyObject *own_arrow(ArrowKind kind, void *arrow);
/* The struct of an owner; NULL with a TypeError where it owns another kind. */
HIDDEN AnyArrow *owned_arrow(PyObject *owner, ArrowKind kind);
HIDDEN int make_arrow_owner_type(PyObject *module);
extern HIDDEN PyMethodDef arrow_functions[];

#endif
