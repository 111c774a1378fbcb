/* Files of memory that a descriptor hands to another process: what they are stands in their names. */
#pragma once

#include "shares.h"

enum file_kind { FILE_MEMORY = 1, FILE_POOL };

struct file_label {
    enum file_kind kind;
    int device;
    unsigned types; /* of handles, CUmemAllocationHandleType */
    struct process process;
    uint32_t index, serial; /* of the share of memory, in the segment of the process */
};

int file_make(const struct file_label *label, uint64_t size); /* -1: the system has none left */
bool file_read(int file, enum file_kind kind, struct file_label *label, uint64_t *size);
uint32_t file_number(int file); /* the same for all descriptors of a file */
int file_again(int file);       /* another descriptor, or -1 */
