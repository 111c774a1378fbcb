/* What the entry points of copies hand to the copying itself. */
#ifndef EMUCUDA_COPIES_H
#define EMUCUDA_COPIES_H

#include "emucuda.h"

struct transfer {
    struct region source, target;
    bool from_device, to_device; /* the entry point says so: the driver has to know the address */
    bool synchronous;            /* the entry point has no stream */
    const char *name;
};

CUresult transfer_submit(const struct transfer *transfer, CUstream handle);

#endif
