/* Share records: a ring of the last accesses, in which each process writes its own. */
#include "share_records.h"

#include "knowledge.h"

#include <string.h>

static void fill(struct shared_record *record, const struct actor *actor,
                 const struct access *access, bool made)
{
    *record = (struct shared_record){.process = own_segment->self, .slot = actor->slot,
                                     .seq = actor->seq, .stream = actor->stream,
                                     .region = access->region, .write = access->write,
                                     .made = made};
    strncpy(record->what, actor->what, sizeof record->what - 1);
}

static unsigned kept(const struct share *share)
{
    return share->count < MAX_SHARED_RECORDS ? (unsigned)share->count : MAX_SHARED_RECORDS;
}

/* Is it of the same stream, and of the same bytes? Whatever is ordered after the later one is ordered
 * after both. */
static bool replaces(const struct shared_record *later, const struct shared_record *earlier)
{
    return process_same(&later->process, &earlier->process) && later->slot == earlier->slot
           && !earlier->made && (later->write || !earlier->write)
           && region_same(&later->region, &earlier->region);
}

/* What the host does is before all that is enqueued later. */
void share_add(struct share *share, const struct actor *actor, const struct access *access,
               bool made)
{
    struct shared_record record;
    if (actor->slot == HOST_SLOT || actor->slot >= MAX_SLOTS)
        return;
    fill(&record, actor, access, made);
    shared_lock(&share->lock);
    unsigned at = 0, count = kept(share);
    while (at < count && !replaces(&record, &share->records[at]))
        at++;
    if (at == count)
        at = (unsigned)(share->count++ % MAX_SHARED_RECORDS);
    share->records[at] = record;
    shared_unlock(&share->lock);
}

static bool is_before(const struct actor *actor, const struct shared_record *record)
{
    if (!peer_known(&record->process))
        peer_release(peer_open(&record->process));
    return knowledge_has(actor->clock, &record->process, record->slot, record->seq);
}

bool share_conflict(struct share *share, const struct actor *actor, const struct access *access,
                    struct shared_record *found)
{
    bool any = false;
    shared_lock(&share->lock);
    unsigned count = kept(share);
    for (unsigned i = 0; i < count && !any; i++) {
        const struct shared_record *record =
            &share->records[(share->count - 1 - i) % MAX_SHARED_RECORDS];
        bool matters = record->made || access->write || record->write;
        if (!matters || process_is_own(&record->process)
            || !regions_overlap(&access->region, &record->region) || is_before(actor, record))
            continue;
        *found = *record;
        any = true;
    }
    shared_unlock(&share->lock);
    return any;
}

void share_freed_by(struct share *share, const struct actor *actor)
{
    struct access access = {.write = true};
    shared_lock(&share->lock);
    fill(&share->freed_by, actor, &access, false);
    share->freed = 1;
    shared_unlock(&share->lock);
}

bool share_was_freed(struct share *share, struct shared_record *by)
{
    shared_lock(&share->lock);
    bool freed = share->freed && !process_is_own(&share->freed_by.process);
    *by = share->freed_by;
    shared_unlock(&share->lock);
    return freed;
}

static void publish(struct share *share, const struct record *record, uint64_t start, bool made)
{
    struct actor actor = {NULL, record->slot, record->seq, record->stream, record->what};
    struct access access = {record->region, record->write};
    access.region.start -= start;
    if (!record_precedes(record, &host_clock))
        share_add(share, &actor, &access, made);
}

void share_publish(struct share *share, const struct allocation *a)
{
    for (const struct record *record = a->history.accesses; record; record = record->next)
        publish(share, record, a->start, false);
    if (a->history.made)
        publish(share, a->history.made, a->start, true);
}

void share_forget(struct share *share)
{
    shared_lock(&share->lock);
    share->count = 0;
    shared_unlock(&share->lock);
}
