/* What records of the CUDA Array Interface say: see records.c. */
#ifndef INTERCHANGE_RECORDS_H
#define INTERCHANGE_RECORDS_H

#include "core.h"

enum { SHAPE, TYPESTR, DATA, STRIDES, VERSION, STREAM, ENTRIES }; /* as they are mostly written */

extern HIDDEN PyObject *record_keys[ENTRIES];

HIDDEN int find_entries(PyObject *record, PyObject **out); /* owned; 0: read it with care */
HIDDEN void drop_entries(PyObject *const *entries, Py_ssize_t count);
HIDDEN int read_handle(PyObject *number, int64_t *out); /* an address, or a stream */
/* Whether the entries are as most are; `ptr`, `readonly` and `stream`, 0 for none, are theirs. */
HIDDEN int read_entries(PyObject *const *entries, int64_t *ptr, int64_t *readonly, int64_t *stream);
/* Fill in shape, strides [elements] and type; `low` and `high` are the bytes that they touch. */
HIDDEN int read_layout(PyObject *const *entries, Array *into, int64_t *low, int64_t *high);
HIDDEN int intern_record_keys(void);
extern HIDDEN PyMethodDef record_functions[];

#endif
