/* Shares: their slots in the segments, and the processes that use them. */
#include "shares.h"

#include <string.h>

#define ABANDONED 2

struct share *share_new(void)
{
    static uint32_t next;
    if (!segment_open())
        return NULL;
    for (uint32_t tries = 0; tries < MAX_SHARES; tries++) {
        struct share *share = &own_segment->shares[next++ % MAX_SHARES];
        if (share->used == ABANDONED && share_users(share) == 0)
            share_drop(share);
        if (share->used)
            continue;
        uint32_t serial = share->serial + 1;
        memset(share, 0, offsetof(struct share, records));
        shared_lock_new(&share->lock);
        share->serial = serial;
        share->used = 1;
        return share;
    }
    return NULL;
}

uint32_t share_index(const struct share *share)
{
    return (uint32_t)(share - own_segment->shares);
}

struct share *share_find(const struct peer *peer, uint32_t index, uint32_t serial)
{
    struct share *share = &peer->segment->shares[index % MAX_SHARES];
    return share->used && share->serial == serial && !share->freed ? share : NULL;
}

/* Without those that are dead, and without this process. */
static unsigned others(struct share *share)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < share->opened && i < MAX_OPENERS; i++)
        if (!process_is_own(&share->openers[i]) && process_alive(&share->openers[i]))
            share->openers[kept++] = share->openers[i];
    share->opened = kept;
    return kept;
}

/* Choice: more than MAX_OPENERS processes are not remembered. */
void share_enter(struct share *share)
{
    segment_open();
    shared_lock(&share->lock);
    if (others(share) < MAX_OPENERS)
        share->openers[share->opened++] = own_segment->self;
    shared_unlock(&share->lock);
}

void share_leave(struct share *share)
{
    shared_lock(&share->lock);
    others(share);
    shared_unlock(&share->lock);
}

/* Asked by the owner, which is none of the users. */
unsigned share_users(struct share *share)
{
    shared_lock(&share->lock);
    unsigned count = others(share);
    shared_unlock(&share->lock);
    return count;
}

void share_free(struct share *share)
{
    shared_lock(&share->lock);
    share->freed = 1;
    shared_unlock(&share->lock);
}

void share_drop(struct share *share)
{
    shared_lock(&share->lock);
    share->used = 0;
    shared_unlock(&share->lock);
}

void share_abandon(struct share *share)
{
    shared_lock(&share->lock);
    share->used = others(share) ? ABANDONED : 0;
    shared_unlock(&share->lock);
}
