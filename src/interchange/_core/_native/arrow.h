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
HIDDEN int is_released_arrow(ArrowKind kind, void *arrow);
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
