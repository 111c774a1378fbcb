/* DLPack's C exchange tables: that of Array, and those of other libraries. */
#ifndef INTERCHANGE_EXCHANGE_H
#define INTERCHANGE_EXCHANGE_H

#include "array.h"
#include "known_types.h"

/* The table by which an object may be imported, or NULL. */
HIDDEN const DLPackExchangeAPI *table_of(const KnownType *known, PyObject *x);
HIDDEN const DLPackExchangeAPI *table_for(PyObject *x);
/* The same of a type whose memory is always writable (torch): a DLTensor describes it
 * completely. */
HIDDEN const DLPackExchangeAPI *table_of_writable(PyObject *x);
/* A struct of another library's table; NULL without an exception where it makes none. */
HIDDEN DLManagedTensorVersioned *managed_by_table(PyObject *x, const DLPackExchangeAPI *table);
/* The same, owned by an Array. */
HIDDEN Array *import_by_table(PyObject *x, const DLPackExchangeAPI *table, PyTypeObject *cls,
                              PyObject *call);
HIDDEN Array *import_from_torch(PyObject *x); /* NULL without an exception: ask the table */
extern HIDDEN PyMethodDef exchange_functions[];

#endif
