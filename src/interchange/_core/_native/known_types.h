/* How objects of each type are imported: decided in Python once per type, and remembered here. */
#ifndef INTERCHANGE_KNOWN_TYPES_H
#define INTERCHANGE_KNOWN_TYPES_H

#include "dlpack_abi.h"
#include "state.h"

/* The order of Route in _protocols/capabilities.py. */
typedef enum { NEGOTIATE, ASK, ASK_IMMUTABLE, BY_TABLE, BY_TABLE_OF_TORCH, READ_NDARRAY } Route;
/* The order of Sharing in _protocols/capabilities.py. */
typedef enum { SHARE_CAREFULLY, SHARE_BY_DLPACK, SHARE_UNLESS_RECORD, SHARE_BUFFER,
               SHARE_COLUMN } Sharing;

/* How its objects are exported as columns: 0, or the place of a method in ARROW_METHODS and 1, and
 * flags. */
#define COLUMN_METHOD 7
#define COLUMN_HAS_DICT 8 /* its objects may have attributes of their own */
#define COLUMN_IS_KNOWN 16
#define COLUMN_IS_LAUNCHED 32 /* its memory is that of asarray(): launches take it */

typedef struct {
    PyTypeObject *type; /* borrowed: forget_types() is called when one dies */
    const DLPackExchangeAPI *table;
    uint8_t route;    /* a Route, for from_dlpack */
    uint8_t is_plain; /* its records of the CUDA Array Interface need no correction */
    uint8_t sharing;  /* a Sharing, for asarray */
    uint8_t is_known; /* whether all above are set */
    uint8_t column;   /* for from_arrow */
} KnownType;

/* A copy of the entry of a type, since the table may change; all 0 where there is none. */
HIDDEN KnownType look_up_type(PyTypeObject *type);
/* Add the type of an object, unless it is known; and how columns of it are exported. */
HIDDEN int learn_type(PyObject *x);
HIDDEN int learn_column_type(PyObject *x);
/* Let launches take columns of a known type by Arrow. */
HIDDEN void launch_columns(PyTypeObject *type);
extern HIDDEN PyMethodDef known_types_functions[];

#endif
