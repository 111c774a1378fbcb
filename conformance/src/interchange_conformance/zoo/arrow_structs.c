/* Callbacks of Arrow structs that keep a ledger of what is asked of them, and fail when told to.
 *
 * Source: the Arrow C data, C stream and C device data interfaces; PyCapsule interface, Lifetime
 * Semantics. Structs, ledgers and what they point at are made, and kept, by arrow/building.py, with
 * the layouts that are here. Python's functions are declared, since Python.h may be missing. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct PyObject PyObject;

extern int Py_IsInitialized(void);
extern void *PyCapsule_GetPointer(PyObject *, const char *);
extern const char *PyCapsule_GetName(PyObject *);
extern PyObject *PyErr_Occurred(void);
extern int PyGILState_Check(void);

struct schema {
    const void *format, *name, *metadata;
    int64_t flags, n_children;
    void *children, *dictionary;
    void (*release)(struct schema *);
    void *private_data;
};

struct array {
    int64_t length, null_count, offset, n_buffers, n_children;
    void *buffers, *children, *dictionary;
    void (*release)(struct array *);
    void *private_data;
};

struct stream {
    void *get_schema, *get_next, *get_last_error;
    void (*release)(struct stream *);
    void *private_data;
};

struct device_stream {
    int32_t device_type;
    struct stream stream;
};

enum { LEAVES_RELEASE = 1, FORGETS_CHILDREN = 2 };

/* What is known of one struct. */
struct ledger {
    int64_t releases;  /* calls of release */
    int64_t without_gil; /* those by a thread that did not have it */
    int64_t in_flight; /* those with an exception set */
    int64_t order; /* of the first, among all that there were; 0 before it */
    int64_t manners;
    int64_t n_below;
    void **below; /* the structs of children and dictionary */
    void *spoiled; /* what is overwritten at the first release */
    int64_t spoiled_size;
};

/* What is known of a stream. */
struct stream_ledger {
    struct ledger base;
    int64_t n_schemas, schemas_given;
    struct schema **schemas;
    int64_t n_chunks, chunks_given;
    char **chunks;
    int64_t chunk_size, chunk_release; /* of a chunk's struct, and where its release is */
    int64_t schema_error, next_error, fails_at; /* errnos; the call of get_next that fails */
    const char *message;
    int64_t schema_calls, next_calls, error_calls;
    int64_t stray_calls; /* on a released stream, and get_last_error where nothing failed */
    int64_t has_failed; /* whether the last call did */
};

/* What lies before the struct of a capsule. */
struct header {
    int64_t release; /* where the struct has it */
    int64_t destroyed; /* calls of the destructor */
    void (*callback)(void *); /* release as it was made */
    void *none; /* so that what follows is aligned */
};

static int64_t clock_of_releases;

static void note(struct ledger *ledger) {
    int64_t now = __atomic_add_fetch(&clock_of_releases, 1, __ATOMIC_SEQ_CST);
    if (__atomic_fetch_add(&ledger->releases, 1, __ATOMIC_SEQ_CST) == 0) {
        ledger->order = now;
        if (ledger->spoiled != NULL) {
            memset(ledger->spoiled, 0xA5, (size_t)ledger->spoiled_size);
        }
    }
    if (!Py_IsInitialized() || !PyGILState_Check()) {
        __atomic_add_fetch(&ledger->without_gil, 1, __ATOMIC_SEQ_CST);
    } else if (PyErr_Occurred() != NULL) {
        __atomic_add_fetch(&ledger->in_flight, 1, __ATOMIC_SEQ_CST);
    }
}

void release_schema(struct schema *one) {
    struct ledger *ledger = one->private_data;
    note(ledger);
    for (int64_t i = 0; i < ledger->n_below && !(ledger->manners & FORGETS_CHILDREN); i++) {
        struct schema *child = ledger->below[i];
        if (child->release != NULL) {
            child->release(child);
        }
    }
    if (!(ledger->manners & LEAVES_RELEASE)) {
        one->release = NULL;
    }
}

void release_array(struct array *one) {
    struct ledger *ledger = one->private_data;
    note(ledger);
    for (int64_t i = 0; i < ledger->n_below && !(ledger->manners & FORGETS_CHILDREN); i++) {
        struct array *child = ledger->below[i];
        if (child->release != NULL) {
            child->release(child);
        }
    }
    if (!(ledger->manners & LEAVES_RELEASE)) {
        one->release = NULL;
    }
}

/* ---------------------------------------------------------------- streams */

void release_stream(struct stream *one) {
    struct stream_ledger *ledger = one->private_data;
    note(&ledger->base);
    if (!(ledger->base.manners & LEAVES_RELEASE)) {
        one->release = NULL;
    }
}

int get_schema(struct stream *one, struct schema *out) {
    struct stream_ledger *ledger = one->private_data;
    ledger->schema_calls++;
    ledger->stray_calls += ledger->base.releases != 0;
    ledger->has_failed = 1;
    if (ledger->schema_error != 0) {
        return (int)ledger->schema_error;
    }
    if (ledger->schemas_given == ledger->n_schemas) {
        return 12; /* ENOMEM */
    }
    struct schema *given = ledger->schemas[ledger->schemas_given++];
    *out = *given;
    given->release = NULL;
    ledger->has_failed = 0;
    return 0;
}

int get_next(struct stream *one, void *out) {
    struct stream_ledger *ledger = one->private_data;
    int64_t call = ledger->next_calls++;
    ledger->stray_calls += ledger->base.releases != 0;
    ledger->has_failed = ledger->next_error != 0 && call >= ledger->fails_at;
    if (ledger->has_failed) {
        return (int)ledger->next_error;
    }
    if (ledger->chunks_given == ledger->n_chunks) {
        memset(out, 0, (size_t)ledger->chunk_size);
        return 0;
    }
    char *given = ledger->chunks[ledger->chunks_given++];
    memcpy(out, given, (size_t)ledger->chunk_size);
    memset(given + ledger->chunk_release, 0, sizeof(void *));
    return 0;
}

const char *get_last_error(struct stream *one) {
    struct stream_ledger *ledger = one->private_data;
    ledger->error_calls++;
    ledger->stray_calls += ledger->base.releases != 0 || !ledger->has_failed;
    return ledger->message;
}

/* The stream in a stream of devices has the same members, after the type. */

void release_device_stream(struct device_stream *one) {
    release_stream(&one->stream);
}

int get_device_schema(struct device_stream *one, struct schema *out) {
    return get_schema(&one->stream, out);
}

int get_next_device(struct device_stream *one, void *out) {
    return get_next(&one->stream, out);
}

const char *get_last_device_error(struct device_stream *one) {
    return get_last_error(&one->stream);
}

/* ---------------------------------------------------------------- capsules */

/* The destructor of capsules: it releases unconsumed structs. */
void destroy(PyObject *capsule) {
    char *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    struct header *header = (struct header *)pointer - 1;
    void (*release)(void *);
    memcpy(&release, pointer + header->release, sizeof release);
    header->destroyed++;
    if (release != NULL) {
        release(pointer);
    }
}

/* A destructor that is wrong: it releases what was taken, too. */
void destroy_always(PyObject *capsule) {
    char *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    struct header *header = (struct header *)pointer - 1;
    header->destroyed++;
    if (header->callback != NULL) {
        header->callback(pointer);
    }
}
