/* How objects of each type are imported: decided in Python once per type, and remembered here. */
#ifndef INTERCHANGE_KNOWN_TYPES_H
#define INTERCHANGE_KNOWN_TYPES_H

#include "dlpack_abi.h"
#include "state.h"

/* The order of Route in _protocols/capabilities.py. */
typedef enum { NEGOTIATE, ASK, ASK_IMMUTABLE, BY_TABLE, BY_TABLE_OF_TORCH, READ_NDARRAY } Route;
/* The order of Sharing in _protocols/capabilities.py. */
typedef enum { SHARE_CAREFULLY, SHARE_BY_DLPACK, SHARE_UNLESS_RECORD, SHARE_BUFFER } Sharing;

typedef struct {
    PyTypeObject *type; /* borrowed: forget_types() is called when one dies */
    const DLPackExchangeAPI *table;
    uint8_t route;    /* a Route, for from_dlpack */
    uint8_t is_plain; /* its records of the CUDA Array Interface need no correction */
    uint8_t sharing;  /* a Sharing, for asarray */
} KnownType;

/* A copy of the entry of a type, since the table may change; all 0 where there is none. */
HIDDEN KnownType look_up_type(PyTypeObject *type);
HIDDEN int learn_type(PyObject *x); /* add the type of an object, unless it is known */
extern HIDDEN PyMethodDef known_types_functions[];

#endif
