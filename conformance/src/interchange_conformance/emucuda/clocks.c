/* Vector clocks: what is known to have happened before, as one count per stream.
 *
 * A stream owns a slot. Its operations are numbered, and the numbers of a slot only grow, also when
 * the slot passes from a destroyed stream to a new one. A slot is reused only when the operations of the old
 * stream cannot be taken for those of the new one: the host has synchronised with all of them, or
 * no access record names the slot.
 */
#include "accesses.h"

#include <stdlib.h>
#include <string.h>

struct slot {
    bool taken;
    uint64_t last;
    long references; /* of access records */
};

struct clock host_clock;
uint64_t host_version = 1;
void (*host_changed)(void);
static struct slot *slots;
static unsigned slot_count;

static void grow(struct clock *clock, unsigned size)
{
    if (clock->size >= size)
        return;
    unsigned room = (size + 7) & ~7u;
    clock->seq = realloc(clock->seq, room * sizeof *clock->seq);
    memset(clock->seq + clock->size, 0, (room - clock->size) * sizeof *clock->seq);
    clock->size = room;
}

uint64_t clock_at(const struct clock *clock, unsigned slot)
{
    return slot < clock->size ? clock->seq[slot] : 0;
}

void clock_set(struct clock *clock, unsigned slot, uint64_t seq)
{
    grow(clock, slot + 1);
    clock->seq[slot] = seq;
}

void clock_join(struct clock *into, const struct clock *from)
{
    grow(into, from->size);
    for (unsigned i = 0; i < from->size; i++)
        if (from->seq[i] > into->seq[i])
            into->seq[i] = from->seq[i];
}

void clock_copy(struct clock *into, const struct clock *from)
{
    grow(into, from->size);
    if (from->size)
        memcpy(into->seq, from->seq, from->size * sizeof *from->seq);
    if (into->size > from->size)
        memset(into->seq + from->size, 0, (into->size - from->size) * sizeof *into->seq);
}

void clock_drop(struct clock *clock)
{
    free(clock->seq);
    *clock = (struct clock){0};
}

void host_join(const struct clock *from)
{
    clock_join(&host_clock, from);
    host_version++;
    if (host_changed)
        host_changed();
}

static bool reusable(unsigned slot)
{
    const struct slot *s = &slots[slot];
    return !s->taken && (s->references == 0 || clock_at(&host_clock, slot) >= s->last);
}

unsigned slot_take(uint64_t *seq)
{
    unsigned slot = HOST_SLOT + 1;
    while (slot < slot_count && !reusable(slot))
        slot++;
    if (slot >= slot_count) {
        unsigned count = slot_count ? slot_count * 2 : 16;
        slots = realloc(slots, count * sizeof *slots);
        memset(slots + slot_count, 0, (count - slot_count) * sizeof *slots);
        slot_count = count;
    }
    slots[slot].taken = true;
    *seq = slots[slot].last;
    return slot;
}

void slot_retire(unsigned slot, uint64_t last)
{
    slots[slot].taken = false;
    slots[slot].last = last;
}

void slot_refer(unsigned slot, int change)
{
    if (slot != HOST_SLOT)
        slots[slot].references += change;
}
