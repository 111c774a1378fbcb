/* The history of an allocation: the accesses that later ones are compared with. */
#include "accesses.h"

#include <stdlib.h>

#define MAX_RECORDS 1024 /* per allocation; the oldest is dropped first */

struct actor host_actor(const char *what)
{
    return (struct actor){&host_clock, HOST_SLOT, 0, 0, what};
}

struct record *record_new(const struct actor *actor, const struct access *access)
{
    struct record *record = malloc(sizeof *record);
    *record = (struct record){NULL,          access->region, actor->slot, actor->seq,
                              actor->stream, access->write,  actor->what};
    slot_refer(actor->slot, +1);
    return record;
}

static void record_drop(struct record *record)
{
    if (record)
        slot_refer(record->slot, -1);
    free(record);
}

bool record_precedes(const struct record *record, const struct clock *clock)
{
    return clock_at(clock, record->slot) >= record->seq;
}

/* Is the record redundant once the access is in the history? Whatever comes later and is ordered
 * after the access is ordered after the record too. */
static bool replaces(const struct actor *actor, const struct access *access,
                     const struct record *record)
{
    if (!record_precedes(record, actor->clock))
        return false;
    if (!access->write && (record->write || record->slot != actor->slot))
        return false;
    bool inside = access->region.start <= record->region.start
                  && region_end(&record->region) <= region_end(&access->region);
    return (inside && region_solid(&access->region))
           || region_same(&access->region, &record->region);
}

struct record *history_conflict(struct history *history, const struct actor *actor,
                                const struct access *access)
{
    struct record *found = NULL;
    struct record **at = &history->accesses;
    while (*at) {
        struct record *record = *at;
        bool past = record_precedes(record, &host_clock); /* so before all that is enqueued later */
        if (past || replaces(actor, access, record)) {
            *at = record->next;
            history->count--;
            record_drop(record);
            continue;
        }
        bool matters = access->write || record->write;
        if (!found && matters && !record_precedes(record, actor->clock)
            && regions_overlap(&access->region, &record->region))
            found = record;
        at = &record->next;
    }
    return found;
}

void history_add(struct history *history, const struct actor *actor, const struct access *access)
{
    if (actor->slot == HOST_SLOT)
        return; /* before all that is enqueued later */
    struct record *record = record_new(actor, access);
    record->next = history->accesses;
    history->accesses = record;
    if (++history->count <= MAX_RECORDS)
        return;
    struct record **at = &history->accesses;
    while ((*at)->next)
        at = &(*at)->next;
    record_drop(*at);
    *at = NULL;
    history->count--;
}

void history_forget(struct history *history)
{
    while (history->accesses) {
        struct record *record = history->accesses;
        history->accesses = record->next;
        record_drop(record);
    }
    history->count = 0;
    record_drop(history->made);
    history->made = NULL;
}

void history_drop(struct history *history)
{
    history_forget(history);
    record_drop(history->freed);
    history->freed = NULL;
}
