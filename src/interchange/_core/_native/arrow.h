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
HIDDEN void release_arrow(ArrowKind kind, void *arrow); /* unless it is released */
/* An owner into which a struct is moved; the struct is released where it cannot be made. */
HIDDEN PyObject *own_arrow(ArrowKind kind, void *arrow);
/* The struct of an owner; NULL with a TypeError where it owns another kind. */
HIDDEN AnyArrow *owned_arrow(PyObject *owner, ArrowKind kind);
HIDDEN int make_arrow_owner_type(PyObject *module);
extern HIDDEN PyMethodDef arrow_functions[];

#endif
