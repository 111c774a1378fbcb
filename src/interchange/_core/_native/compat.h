/* Python.h, and what the limited API of CPython 3.10 lacks.
 *
 * Headers of CPython 3.12 and newer take None, True and False for immortal in Py_RETURN_NONE and
 * its like, which they are not where an older Python runs the extension: Py_NewRef() counts. */
#ifndef INTERCHANGE_COMPAT_H
#define INTERCHANGE_COMPAT_H

#include "locking.h"

typedef PyObject *(*VectorcallMethod)(PyObject *name, PyObject *const *args, size_t nargsf,
                                      PyObject *names);
typedef PyObject *(*VectorcallFunction)(PyObject *callable, PyObject *const *args, size_t nargsf,
                                        PyObject *names);
extern HIDDEN VectorcallMethod vectorcall_method;
extern HIDDEN VectorcallFunction vectorcall;
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))

/* Py_buffer, which joined the stable ABI in 3.11 unchanged. */
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize; /* [bytes] */
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets; /* [elements], [bytes], [bytes] */
    void *internal;
} Buffer;
#define BUFFER_FULL_READ_ONLY 0x011C /* PyBUF_FULL_RO */
extern HIDDEN int (*get_buffer)(PyObject *object, Buffer *out, int flags);
extern HIDDEN void (*release_buffer)(Buffer *buffer);

/* Write the address of a function, which `look_up(name)` returns; 0: there is none, or an error. */
HIDDEN int find_function(PyObject *look_up, const char *name, void *function);
/* Look up all of these in the running interpreter; -1 with an exception. */
HIDDEN int find_functions(void);

HIDDEN PyObject *call_with_keywords(PyObject *function, PyObject *const *args, Py_ssize_t count,
                                    PyObject *names);
/* A public function: `doc` is copied, and begins with a signature. */
HIDDEN PyObject *public_function(PyMethodDef *definition, const char *doc, PyObject *module);

HIDDEN int gil_is_held(void);
/* Take the GIL unless it is held; 0 where the interpreter is finalizing or gone. */
HIDDEN int take_gil(PyGILState_STATE *state);

#endif
