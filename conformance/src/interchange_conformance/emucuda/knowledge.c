/* Knowledge: a slot of a clock of another process has a slot of the clocks here. */
#include "knowledge.h"

#include <stdlib.h>
#include <string.h>

static struct origin { /* by slot here: which slot it stands for */
    struct peer *peer; /* NULL: one of this process */
    uint32_t slot;
} *origins;
static unsigned origin_count;

static void set_origin(unsigned here, struct peer *peer, uint32_t slot)
{
    if (here >= origin_count) {
        unsigned count = here + 64;
        origins = realloc(origins, count * sizeof *origins);
        memset(origins + origin_count, 0, (count - origin_count) * sizeof *origins);
        origin_count = count;
    }
    origins[here] = (struct origin){peer, slot};
}

/* The slot may have been that of another process, or of a stream, before. */
static struct peer *peer_of_slot(unsigned here, uint32_t *slot)
{
    struct origin *origin = here < origin_count ? &origins[here] : NULL;
    if (!origin || !origin->peer || !peer_is_listed(origin->peer))
        return NULL;
    *slot = origin->slot;
    return origin->peer->slots[*slot].slot == here ? origin->peer : NULL;
}

static struct peer_slot *slot_of(struct peer *peer, uint32_t slot)
{
    struct peer_slot *found = &peer->slots[slot % MAX_SLOTS];
    if (found->slot == HOST_SLOT) {
        found->slot = slot_take(&found->base);
        slot_refer(found->slot, +1); /* no stream gets it as long as the process is known */
        set_origin(found->slot, peer, slot % MAX_SLOTS);
    }
    return found;
}

/* ---- handing on ---- */

static void add(struct ticket *ticket, const struct process *process, uint32_t slot, uint64_t seq)
{
    if (ticket->count == MAX_KNOWN)
        ticket->more = 1;
    else
        ticket->known[ticket->count++] = (struct known){*process, slot, seq};
}

void knowledge_write(struct ticket *ticket, const struct clock *clock)
{
    ticket->count = ticket->more = 0;
    for (unsigned i = HOST_SLOT + 1; i < clock->size; i++) {
        uint32_t slot;
        uint64_t seq = clock->seq[i];
        const struct peer *peer = peer_of_slot(i, &slot);
        if (peer && seq > peer->slots[slot].base)
            add(ticket, &peer->process, slot, seq - peer->slots[slot].base);
        else if (!peer && i < MAX_SLOTS && seq > own_segment->host[i])
            add(ticket, &own_segment->self, i, seq);
    }
}

/* Entries that found no room may be any: all that the recorder may have done is taken as known, so
 * that nothing is reported without cause. */
static void know_all(struct clock *clock, const struct process *recorder)
{
    struct peer *peer = peer_known(recorder);
    for (uint32_t i = 0; peer && i < MAX_SLOTS; i++)
        if (peer->slots[i].slot != HOST_SLOT)
            clock_set(clock, peer->slots[i].slot, peer->slots[i].base + peer->slots[i].last);
}

void knowledge_read(struct clock *clock, const struct ticket *ticket)
{
    for (uint32_t i = 0; i < ticket->count && i < MAX_KNOWN; i++) {
        const struct known *known = &ticket->known[i];
        struct peer *peer = peer_known(&known->process);
        if (process_is_own(&known->process)) {
            if (clock_at(clock, known->slot) < known->seq)
                clock_set(clock, known->slot, known->seq);
        } else if (peer) { /* of others nothing is open here */
            struct peer_slot *slot = slot_of(peer, known->slot);
            slot->last = known->seq > slot->last ? known->seq : slot->last;
            if (clock_at(clock, slot->slot) < slot->base + known->seq)
                clock_set(clock, slot->slot, slot->base + known->seq);
        }
    }
    if (ticket->more)
        know_all(clock, &ticket->recorder);
}

/* What a process has left behind that has ended is done. */
bool knowledge_has(const struct clock *clock, const struct process *process, uint32_t slot,
                   uint64_t seq)
{
    struct peer *peer = peer_known(process);
    if (slot >= MAX_SLOTS || !peer)
        return true;
    if (__atomic_load_n(&peer->segment->host[slot], __ATOMIC_RELAXED) >= seq)
        return true;
    const struct peer_slot *known = &peer->slots[slot];
    if (known->slot != HOST_SLOT && clock_at(clock, known->slot) >= known->base + seq)
        return true;
    return !process_alive(process);
}
