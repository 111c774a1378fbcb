/* The race detector: two accesses to a byte, one of them a write, must be ordered.
 *
 * Each access is compared with the history of its allocation, independently of the timing. It is ordered after an earlier one when its clock has that one's number:
 * by being in the same stream, by events, by the rules of default streams, or because the host
 * synchronised in between. All host threads are one timeline: how they order themselves cannot
 * be seen, so races between host threads are not reported, and there are no false reports of
 * threads that are ordered.
 */
#include "detector.h"

#include "share_records.h"

#include <stdio.h>

/* ---- the texts of reports ---- */

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

static void report_conflict(const char *kind, const struct actor *actor, const struct access *access,
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

static void report_bounds(const struct actor *actor, const struct access *access,
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
    if (a && a->history.freed)
        report_conflict("use after free", actor, access, "after", a->history.freed, a);
    else
        report_bounds(actor, access, a);
}

/* An error in a kernel, at a place in it that has a number; 0 for none. */
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
        report_conflict(hazard(other.write, second_access->write), second, second_access,
                 "not ordered after", &other, a);
}

/* ---- accesses of other processes ---- */

static struct access whole(const struct allocation *a)
{
    return (struct access){region_line(a->start, a->size), true};
}

/* As one of this process; its addresses are those here. */
static void report_shared(const char *kind, const struct actor *actor, const struct access *access,
                          const char *relation, const struct shared_record *other,
                          const struct allocation *a)
{
    char what[128];
    struct record record = {.region = other->region, .stream = other->stream,
                            .write = other->write};
    record.region.start += a->start;
    snprintf(what, sizeof what, "%s of process %u", other->what, other->process.pid);
    record.what = what;
    if (region_empty(&record.region))
        record.region = region_line(a->start, a->size);
    report_conflict(kind, actor, access, relation, &record, a);
}

static struct access inside(const struct access *access, const struct allocation *a)
{
    struct access result = *access;
    result.region.start -= a->start;
    return result;
}

static void compare_shared(const struct actor *actor, const struct access *access,
                           const struct allocation *a)
{
    struct shared_record other;
    struct access here = inside(access, a);
    if (share_was_freed(a->share, &other))
        report_shared("use after free", actor, access, "after", &other, a);
    else if (share_conflict(a->share, actor, &here, &other))
        report_shared(other.made ? "use before allocation" : hazard(other.write, access->write),
                      actor, access, "not ordered after", &other, a);
}

/* Memory is freed by the process that made it, after all others have closed it. */
static void freed_shared(const struct actor *actor, const struct allocation *a)
{
    struct access access = whole(a), here = inside(&access, a);
    struct shared_record other;
    char where[160], stream[32];
    unsigned users = share_users(a->share);
    if (driver.races != RACES_OFF && share_conflict(a->share, actor, &here, &other))
        report_shared("free while in use", actor, &access, "not ordered after", &other, a);
    else if (driver.races != RACES_OFF && users)
        report_add("free while shared: %s on %s, while %u other process%s it open; %s",
                   actor->what, stream_name(actor->stream, stream, sizeof stream), users,
                   users == 1 ? " has" : "es have", place(a, where, sizeof where));
    share_freed_by(a->share, actor);
}

/* ---- what happens to memory ---- */

/* With the history of an allocation that the access lies in. */
static void compare(const struct actor *actor, const struct access *access, struct allocation *a)
{
    struct record *other = history_conflict(&a->history, actor, access);
    if (a->history.made && !record_precedes(a->history.made, actor->clock))
        report_conflict("use before allocation", actor, access, "not ordered after", a->history.made, a);
    else if (other)
        report_conflict(hazard(other->write, access->write), actor, access, "not ordered after", other, a);
    else if (a->share)
        compare_shared(actor, access, a);
    history_add(&a->history, actor, access);
    if (a->share) {
        struct access here = inside(access, a);
        share_add(a->share, actor, &here, false);
    }
}

void detect(const struct actor *actor, const struct access *access)
{
    uint64_t start = access->region.start;
    if (driver.races == RACES_OFF || region_empty(&access->region))
        return;
    struct allocation *a = allocation_at(start);
    if (!a && arena_device(start) < 0)
        return; /* host memory that the driver does not know: it uses it during calls only */
    if (!a || a->history.freed || !allocation_holds(a, &access->region)) {
        report_unreachable(actor, access);
        return;
    }
    if (region_within(&access->region, a->start, a->size)) {
        compare(actor, access, a);
        return;
    }
    for (; a; a = allocation_touched(a, &access->region)) { /* mappings side by side */
        struct access part = *access;
        size_t row = 0;
        while (region_part(&access->region, a->start, a->start + a->size, &row, &part.region))
            compare(actor, &part, a);
    }
}

void detect_allocated(const struct actor *actor, struct allocation *allocation)
{
    struct access access = whole(allocation);
    allocation->history.made = record_new(actor, &access);
}

void detect_freed(const struct actor *actor, struct allocation *allocation)
{
    struct access access = whole(allocation);
    struct record *other = history_conflict(&allocation->history, actor, &access);
    if (!other && allocation->history.made && !record_precedes(allocation->history.made, actor->clock))
        other = allocation->history.made;
    if (other && driver.races != RACES_OFF)
        report_conflict("free while in use", actor, &access, "not ordered after", other, allocation);
    allocation->history.freed = record_new(actor, &access);
    if (allocation->share && !allocation->import && !allocation->physical)
        freed_shared(actor, allocation);
}

void detector_reset(void)
{
    for (struct allocation *a = allocation_next(NULL); a; a = allocation_next(a)) {
        history_forget(&a->history);
        if (a->share)
            share_forget(a->share);
    }
}
