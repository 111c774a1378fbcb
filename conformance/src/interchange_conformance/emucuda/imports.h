/* Imports: memory of other processes that is mapped here. */
#pragma once

#include "context.h"
#include "shares.h"

struct import {
    struct peer *peer; /* its owner */
    struct context *context; /* that opened it, or NULL for memory of a pool */
    unsigned references;
    struct allocation *allocation;
    struct import *next;
};

bool import_offer(struct allocation *allocation); /* lets others import it */
/* What a token names: mapped, and in the table of allocations. */
CUresult import_open(const struct token *token, int file, struct context *context,
                     const char *name, struct allocation **made);
struct import *import_find(const struct token *token);
struct import *import_of_peer(const struct peer *peer, const struct import *after);
void import_leave(const struct allocation *allocation); /* no more work is enqueued for it here */
void import_close(struct allocation *allocation); /* the memory is freed in this process */
