/* Shares: what processes know together of an allocation that they use. */
#pragma once

#include "allocation.h"
#include "tokens.h"

struct share *share_new(void); /* in the own segment; NULL: there are too many */
uint32_t share_index(const struct share *share);
/* In the segment of a peer; NULL: the allocation is gone. */
struct share *share_find(const struct peer *peer, uint32_t index, uint32_t serial);
void share_enter(struct share *share); /* this process uses it, too */
void share_leave(struct share *share);
unsigned share_users(struct share *share); /* other processes that use it, and live */
void share_free(struct share *share);      /* its owner has freed the memory */
void share_drop(struct share *share);      /* the owner forgets it */
void share_abandon(struct share *share);   /* and so it does, once the others have, too */
