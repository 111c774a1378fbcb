/* A managed tensor that several capsules share, counted, and a deleter that ends with the last.
 *
 * Source: dlpack.h 1.3; DLPack Python specification, Implementation. What is handed over is a struct
 * that another library filled, with its deleter: it is copied to the front of a block, behind which is
 * the count. Python's functions are declared here, since Python.h may be missing; they are those of
 * the limited API. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct PyObject PyObject;

extern int Py_IsInitialized(void);
extern void *PyCapsule_GetPointer(PyObject *, const char *);
extern const char *PyCapsule_GetName(PyObject *);
extern void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
extern void PyErr_Restore(PyObject *, PyObject *, PyObject *);

enum { LARGEST = 80 }; /* of the two structs */

struct shared {
    unsigned char managed[LARGEST];
    void *original;
    void (*release)(void *);
    atomic_long count;
};

/* Return a struct that stands for another and is released with it, counted once. */
void *share(void *original, size_t size, size_t deleter_offset, void (*own_deleter)(void *)) {
    struct shared *made = calloc(1, sizeof *made);
    if (made == NULL || size > LARGEST) {
        free(made);
        return NULL;
    }
    memcpy(made->managed, original, size);
    memcpy(&made->release, made->managed + deleter_offset, sizeof made->release);
    memcpy(made->managed + deleter_offset, &own_deleter, sizeof own_deleter);
    made->original = original;
    atomic_init(&made->count, 1);
    return made;
}

/* Count one more capsule. */
void count(void *managed) {
    atomic_fetch_add(&((struct shared *)managed)->count, 1);
}

/* The deleter: the last one releases what the struct stands for. */
void release(void *managed) {
    struct shared *one = managed;
    if (!Py_IsInitialized() || atomic_fetch_sub(&one->count, 1) != 1) {
        return;
    }
    if (one->release != NULL) {
        one->release(one->original);
    }
    free(one);
}

/* The destructor of the capsules. */
void forget(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    PyObject *type, *value, *traceback;
    if (name == NULL || strncmp(name, "dltensor", strlen("dltensor")) != 0) {
        return; /* it was consumed */
    }
    PyErr_Fetch(&type, &value, &traceback);
    release(PyCapsule_GetPointer(capsule, name));
    PyErr_Restore(type, value, traceback);
}
