/* Exceptions: those made by Python functions of the core, and which of them end an import. */
#ifndef INTERCHANGE_ERRORS_H
#define INTERCHANGE_ERRORS_H

#include "state.h"

/* Whether the current exception must propagate, instead of another protocol being tried: it is no
 * Exception (KeyboardInterrupt), a MemoryError or a RecursionError. */
HIDDEN int must_propagate(void);

/* Raise the exception that a Python function returns. */
HIDDEN void raise_from(PyObject *function, PyObject *first, PyObject *second);

/* These return -1.  Raise a class of interchange._types.errors with a rule id; */
HIDDEN int raise_by_rule(const char *kind, const char *call, const char *what, const char *rule);
/* an ArgumentError of a C caller, and one of IX-CAPI-1; */
HIDDEN int refuse_by_rule(const char *call, const char *what, const char *rule);
HIDDEN int refuse_caller(const char *call, const char *what);
HIDDEN int refuse_null(const char *call, const char *argument);
/* a struct of a C caller that has another version, or another size [bytes]; */
HIDDEN int refuse_version(const char *call, const char *name, uint32_t version, size_t size,
                          uint32_t newest, size_t wanted, const char *rule);
/* why an object is not exported by the exchange table: "type", "work", "readonly", "padded". */
HIDDEN int refuse_for_c(PyObject *object, const char *why);

/* Call a function of _functions/c_requests.py; steals the tuple `args`, which may be NULL with an
 * exception. */
HIDDEN PyObject *call_for_c(const char *function, PyObject *args);

#endif
