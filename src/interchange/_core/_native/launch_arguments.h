/* Arguments of launches: what they are like, and the Arrays of other libraries' objects. */
#ifndef INTERCHANGE_LAUNCH_ARGUMENTS_H
#define INTERCHANGE_LAUNCH_ARGUMENTS_H

#include "parameters.h"

#define NO_STREAM 0 /* the producer names none: the host waits for the launch */

/* Properties of an argument. */
typedef struct {
    PyObject *type;  /* of a number, exactly; NULL of an array */
    Number number;   /* what is passed for it */
    PyObject *dtype; /* of an array, as is all below */
    DLDevice device;
    int32_t ndim;
    int in_c_order, is_readonly, misaligned;
} Argument;

/* An argument of a launch, as an array; imported at most once in each way. */
typedef struct {
    Array *array;   /* owned, or NULL */
    int tried;      /* ways, as bits */
    int is_foreign; /* whether it was imported; else it is the argument itself */
    int64_t stream; /* of its producer, where it is on a device, or NO_STREAM */
} Given;

/* The array of an argument on a kind of device; NULL, perhaps with an exception: ask Python. */
HIDDEN Array *array_given(PyObject *value, int32_t device_type, Given *given);
HIDDEN void drop_given(Given *given, Py_ssize_t count);

HIDDEN int is_like(const Argument *wanted, Array *array);
/* Read an argument: the value that the caller passed, and the Array, or the type, kind and size of a
 * number; and whether it is a column to be taken by Arrow.  Returns its number of parameters; -1 on
 * error. */
HIDDEN int read_argument(PyObject *given, Argument *out);
HIDDEN void drop_argument(Argument *argument);

#endif
