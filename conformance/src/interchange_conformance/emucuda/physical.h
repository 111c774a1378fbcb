/* Physical memory: what cuMemCreate makes, and cuMemMap gives addresses. */
#pragma once

#include "files.h"

#define GRANULARITY ((size_t)2 << 20)

struct physical {
    struct handle handle;
    int file;
    size_t size;
    struct file_label label;
    struct peer *peer;   /* the process that made it, if that is another one */
    struct share *share; /* NULL: no other process can have it, or its maker has ended */
    unsigned references; /* of the handle */
    unsigned mappings;
};

struct physical *physical_find(CUmemGenericAllocationHandle handle);
void physical_let_go(struct physical *physical); /* freed without references and mappings */
