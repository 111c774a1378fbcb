/* The structs of Arrow's C interfaces.
 *
 * Source: The Arrow C data interface; C stream interface; C device data interface; PyCapsule
 * interface.  Names and order of the fields are those of the documents; tests compare them with
 * interchange.abi.arrow. */
#ifndef INTERCHANGE_ARROW_ABI_H
#define INTERCHANGE_ARROW_ABI_H

#include <stdint.h>

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *self);
    void *private_data;
};

struct ArrowArray {
    int64_t length; /* [elements], as the two below */
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *self);
    void *private_data;
};

struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    int32_t device_type;
    void *sync_event;
    int64_t reserved[3];
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *self, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *self, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *self);
    void (*release)(struct ArrowArrayStream *self);
    void *private_data;
};

struct ArrowDeviceArrayStream {
    int32_t device_type;
    int (*get_schema)(struct ArrowDeviceArrayStream *self, struct ArrowSchema *out);
    int (*get_next)(struct ArrowDeviceArrayStream *self, struct ArrowDeviceArray *out);
    const char *(*get_last_error)(struct ArrowDeviceArrayStream *self);
    void (*release)(struct ArrowDeviceArrayStream *self);
    void *private_data;
};

#endif
