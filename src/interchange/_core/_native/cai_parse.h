/* Records of the CUDA Array Interface. */
#ifndef INTERCHANGE_CAI_PARSE_H
#define INTERCHANGE_CAI_PARSE_H

#include "array.h"

enum { SHAPE, TYPESTR, DATA, STRIDES, VERSION, STREAM, ENTRIES }; /* in the order of most records */

extern HIDDEN PyObject *record_keys[ENTRIES];

/* The six entries, owned; 0: there are others, or `record` is no plain dict. */
HIDDEN int find_entries(PyObject *record, PyObject **out);
HIDDEN void drop_entries(PyObject *const *entries, Py_ssize_t count);
HIDDEN int read_handle(PyObject *number, int64_t *out); /* an address or a stream, below 2**63 */
/* Address, read-only flag and stream (0: none); 0: the entries are not ordinary. */
HIDDEN int read_entries(PyObject *const *entries, int64_t *ptr, int64_t *readonly, int64_t *stream);
/* Fill in shape, strides [elements] and type; `low` and `high` are the range of bytes. */
HIDDEN int read_layout(PyObject *const *entries, Array *into, int64_t *low, int64_t *high);
HIDDEN int intern_record_keys(void);
extern HIDDEN PyMethodDef cai_parse_functions[];

#endif
