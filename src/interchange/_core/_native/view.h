/* interchange_view() and interchange_view_release(), which interchange/interchange.h declares. */
#ifndef INTERCHANGE_VIEW_H
#define INTERCHANGE_VIEW_H

#include "array.h"

#include "../../include/interchange/interchange.h"

HIDDEN int check_view(const InterchangeView *view, const char *call);   /* size and version */
HIDDEN int check_filled(const InterchangeView *view, const char *call); /* and whether it is filled */

/* These fill a view that is not filled.  Of an Array; of a torch tensor, for which 0 means
 * that it has to be imported; of the Array of a pair (Array, function that hands it back,
 * or None), which the view keeps. */
HIDDEN int view_array(Array *self, InterchangeView *out);
HIDDEN int view_tensor(PyObject *x, const DLPackExchangeAPI *table, InterchangeView *out);
HIDDEN int view_lent(PyObject *pair, InterchangeView *out);
/* Of a description, whose shape and strides are copied from `dims`; keeps `owner`, which is no Array.
 * Returns 1, or -1 with an exception. */
HIDDEN int view_described(PyObject *owner, DLTensor *tensor, const int64_t *dims, int32_t itemsize,
                          uint32_t flags, InterchangeView *out);

/* The Array that owns the memory of a view, and the pair; borrowed, or NULL for another owner. */
HIDDEN PyObject *view_owner_array(const InterchangeView *view);
HIDDEN PyObject *view_lent_pair(const InterchangeView *view);

#endif
