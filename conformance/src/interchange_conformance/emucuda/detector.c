/* The race detector: two accesses to a byte, one of them a write, must be ordered.
 *
 * Each allocation keeps what was done to it, newest first. An access is compared with those,
 * whatever the timing was. It is ordered after an earlier one when its clock has that one's number:
 * by being in the same stream, by events, by the rules of default streams, or because the host
 * synchronised in between. All host threads are one timeline: how they order themselves is unseen,
 * so a race between two of them is not reported, and a program that orders them well is never
 * reported wrongly.
 */
#include "emucuda.h"

#include <stdio.h>
#include <stdlib.h>

#define HISTORY 1024 /* records per allocation; the oldest is forgotten first */

struct record {
    struct record *next;
    struct region region;
    unsigned slot;
    uint64_t seq;
    uint64_t stream;
    bool write;
    const char *what;
};

static bool ordered(const struct clock *clock, const struct record *record)
{
    return clock_at(clock, record->slot) >= record->seq;
}

static struct record *record_new(const struct actor *actor, const struct access *access)
{
    struct record *record = malloc(sizeof *record);
    *record = (struct record){NULL,          access->region, actor->slot, actor->seq,
                              actor->stream, access->write,  actor->what};
    slot_named(actor->slot, +1);
    return record;
}

static void record_drop(struct record *record)
{
    if (record)
        slot_named(record->slot, -1);
    free(record);
}

/* ---- words ---- */

static const char *stream_name(uint64_t stream, char *buffer, size_t size)
{
    if (stream == 0)
        return "the host";
    if (stream == (uint64_t)CU_STREAM_LEGACY)
        return "the legacy stream";
    if (stream == (uint64_t)CU_STREAM_PER_THREAD)
        return "a per-thread stream";
    snprintf(buffer, size, "stream %#llx", (unsigned long long)stream);
    return buffer;
}

static const char *range(const struct region *region, char *buffer, size_t size)
{
    unsigned long long start = region->start, end = region_end(region);
    int n = snprintf(buffer, size, "[%#llx, %#llx)", start, end);
    if (!region_solid(region))
        snprintf(buffer + n, size - (size_t)n, " in %zux%zu rows of %zu bytes", region->depth,
                 region->height, region->width);
    return buffer;
}

static const char *place(const struct allocation *a, char *buffer, size_t size)
{
    static const char *const names[] = {"", "device", "pinned", "managed", "registered"};
    snprintf(buffer, size, "allocation %#llx of %zu bytes (%s memory of device %d, by %s)",
             (unsigned long long)a->start, a->size, names[a->memory], a->device, a->made_by);
    return buffer;
}

static void complain(const char *kind, const struct actor *actor, const struct access *access,
                     const char *relation, const struct record *other, const struct allocation *a)
{
    char mine[32], theirs[32], bytes[96], others[96], where[160];
    report_add("%s: %s on %s %s %s, %s %s on %s%s%s; %s", kind, actor->what,
               stream_name(actor->stream, mine, sizeof mine), access->write ? "writes" : "reads",
               range(&access->region, bytes, sizeof bytes), relation, other->what,
               stream_name(other->stream, theirs, sizeof theirs),
               other->write ? " that writes " : " that reads ",
               range(&other->region, others, sizeof others), place(a, where, sizeof where));
}

static void complain_bounds(const struct actor *actor, const struct access *access,
                            const struct allocation *a)
{
    char mine[32], bytes[96], where[160];
    report_add("out of bounds: %s on %s %s %s; %s", actor->what,
               stream_name(actor->stream, mine, sizeof mine), access->write ? "writes" : "reads",
               range(&access->region, bytes, sizeof bytes),
               a ? place(a, where, sizeof where) : "no allocation of the driver's is there");
}

/* Of memory of another device, without peer access. */
void report_foreign(const struct actor *actor, const struct access *access, int device)
{
    char mine[32], bytes[96], where[160];
    if (driver.races == RACES_OFF)
        return;
    report_add("foreign access: %s on %s %s %s, which device %d does not reach; %s", actor->what,
               stream_name(actor->stream, mine, sizeof mine), access->write ? "writes" : "reads",
               range(&access->region, bytes, sizeof bytes), device,
               place(allocation_at(access->region.start), where, sizeof where));
}

void report_unreachable(const struct actor *actor, const struct access *access)
{
    const struct allocation *a = allocation_at(access->region.start);
    if (driver.races == RACES_OFF)
        return;
    if (a && a->freed)
        complain("use after free", actor, access, "after", a->freed, a);
    else
        complain_bounds(actor, access, a);
}

/* What a kernel did wrong by itself, in a place that it has a number for. */
void report_fault(const struct actor *actor, const char *kind, const char *what, int place)
{
    char stream[32], number[32] = "";
    if (driver.races == RACES_OFF)
        return;
    if (place)
        snprintf(number, sizeof number, " (place %d)", place);
    report_add("%s: %s on %s %s%s", kind, actor->what,
               stream_name(actor->stream, stream, sizeof stream), what, number);
}

static const char *hazard(bool earlier_writes, bool later_writes)
{
    if (!earlier_writes)
        return "write after read (WAR)";
    return later_writes ? "write after write (WAW)" : "read after write (RAW)";
}

void report_pair(const struct actor *first, const struct access *first_access,
                 const struct actor *second, const struct access *second_access)
{
    const struct allocation *a = allocation_at(second_access->region.start);
    struct record other = {NULL,          first_access->region, first->slot, first->seq,
                           first->stream, first_access->write,  first->what};
    if (a)
        complain(hazard(other.write, second_access->write), second, second_access,
                 "not ordered after", &other, a);
}

/* ---- the history of an allocation ---- */

/* Is the record of no more use once the access stands in the history? Whatever comes later and is
 * ordered after the access is ordered after the record too. */
static bool replaces(const struct actor *actor, const struct access *access,
                     const struct record *record)
{
    if (!ordered(actor->clock, record))
        return false;
    if (!access->write && (record->write || record->slot != actor->slot))
        return false;
    bool inside = access->region.start <= record->region.start
                  && region_end(&record->region) <= region_end(&access->region);
    return (inside && region_solid(&access->region))
           || region_same(&access->region, &record->region);
}

/* Compare with the history, forget what is of no more use, and return the newest unordered
 * conflict. */
static struct record *conflict(const struct actor *actor, const struct access *access,
                               struct allocation *a)
{
    struct record *found = NULL;
    struct record **at = &a->history;
    while (*at) {
        struct record *record = *at;
        bool past = ordered(&host_clock, record); /* and so before all that is yet to be enqueued */
        if (past || replaces(actor, access, record)) {
            *at = record->next;
            a->records--;
            record_drop(record);
            continue;
        }
        bool matters = access->write || record->write;
        if (!found && matters && !ordered(actor->clock, record)
            && regions_meet(&access->region, &record->region))
            found = record;
        at = &record->next;
    }
    return found;
}

static void remember(const struct actor *actor, const struct access *access, struct allocation *a)
{
    if (actor->slot == HOST_SLOT)
        return; /* before all that is yet to be enqueued */
    struct record *record = record_new(actor, access);
    record->next = a->history;
    a->history = record;
    if (++a->records <= HISTORY)
        return;
    struct record **at = &a->history;
    while ((*at)->next)
        at = &(*at)->next;
    record_drop(*at);
    *at = NULL;
    a->records--;
}

/* ---- what happens to memory ---- */

static struct access whole(const struct allocation *a)
{
    return (struct access){region_line(a->start, a->size), true};
}

void detect(const struct actor *actor, const struct access *access)
{
    uint64_t start = access->region.start;
    if (driver.races == RACES_OFF || region_empty(&access->region))
        return;
    struct allocation *a = allocation_at(start);
    if (!a && arena_device(start) < 0)
        return; /* ordinary host memory, which the driver never uses behind its caller's back */
    if (!a || a->freed || !region_within(&access->region, a->start, a->size)) {
        report_unreachable(actor, access);
        return;
    }
    struct record *other = conflict(actor, access, a);
    if (a->made && !ordered(actor->clock, a->made))
        complain("use before allocation", actor, access, "not ordered after", a->made, a);
    else if (other)
        complain(hazard(other->write, access->write), actor, access, "not ordered after", other, a);
    remember(actor, access, a);
}

void detect_allocated(const struct actor *actor, struct allocation *allocation)
{
    struct access access = whole(allocation);
    allocation->made = record_new(actor, &access);
}

void detect_freed(const struct actor *actor, struct allocation *allocation)
{
    struct access access = whole(allocation);
    struct record *other = conflict(actor, &access, allocation);
    if (!other && allocation->made && !ordered(actor->clock, allocation->made))
        other = allocation->made;
    if (other && driver.races != RACES_OFF)
        complain("free while in use", actor, &access, "not ordered after", other, allocation);
    allocation->freed = record_new(actor, &access);
}

static void forget_accesses(struct allocation *allocation)
{
    while (allocation->history) {
        struct record *record = allocation->history;
        allocation->history = record->next;
        record_drop(record);
    }
    allocation->records = 0;
}

void history_drop(struct allocation *allocation)
{
    forget_accesses(allocation);
    record_drop(allocation->made);
    record_drop(allocation->freed);
    allocation->made = allocation->freed = NULL;
}

void history_reset(void)
{
    for (struct allocation *a = allocation_next(NULL); a; a = allocation_next(a)) {
        forget_accesses(a);
        record_drop(a->made);
        a->made = NULL;
    }
}
