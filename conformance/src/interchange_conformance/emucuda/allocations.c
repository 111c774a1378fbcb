/* Allocations: all memory the driver knows, in order of address, and the quarantine of what was
 * freed.
 *
 * Freed memory is overwritten and held back before its addresses are used again, so that a late
 * access reads 0xDD and is reported with the name of the allocation.
 */
#include "shares.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POISON 0xDD /* what freed memory holds */
#define CHUNK ((size_t)64 << 10) /* [bytes] of the file of freed host memory */
#define QUARANTINE_COUNT \
    4096 /* small blocks would fill the table before they fill the bytes */

static struct allocation **table; /* in order of address; no two overlap */
static size_t count, capacity;
static struct allocation *oldest, **newest = &oldest; /* the quarantine */
static size_t held, held_count;
static uint64_t live_bytes[MEMORY_REGISTERED + 1], live_count[MEMORY_REGISTERED + 1];

/* The index of the first allocation that begins after the address. */
static size_t upper(uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct allocation *allocation_place(struct allocation fields)
{
    struct allocation *made = malloc(sizeof *made);
    *made = fields;
    if (count == capacity) {
        capacity = capacity ? capacity * 2 : 256;
        table = realloc(table, capacity * sizeof *table);
    }
    size_t at = upper(made->start);
    memmove(&table[at + 1], &table[at], (count++ - at) * sizeof *table);
    table[at] = made;
    made->id = next_id();
    live_count[made->memory]++;
    live_bytes[made->memory] += made->size;
    return made;
}

static void remove_entry(struct allocation *allocation)
{
    size_t at = upper(allocation->start) - 1;
    memmove(&table[at], &table[at + 1], (--count - at) * sizeof *table);
}

static void overwrite(uint64_t start, size_t size, int value)
{
    memset(arena_alias(start), value, size < FILL_LIMIT ? size : FILL_LIMIT);
}

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) & ~(PAGE - 1);
}

/* Pages of its own, as from a real driver. */
static uint64_t host_memory(size_t size)
{
    size_t bytes = whole_pages(size);
    void *start = bytes < size ? MAP_FAILED
                               : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? 0 : (uint64_t)start;
}

struct allocation *allocation_make(enum memory memory, struct context *context, int device,
                                   size_t size, const char *made_by)
{
    uint64_t start = memory == MEMORY_DEVICE ? arena_take(device, size) : host_memory(size);
    if (!start)
        return NULL;
    overwrite(start, size, FRESH);
    return allocation_place((struct allocation){.start = start, .size = size, .memory = memory,
                                                .device = device, .context = context,
                                                .made_by = made_by});
}

struct allocation *allocation_adopt(uint64_t start, size_t size, struct context *context,
                                    int device)
{
    return allocation_place((struct allocation){.start = start, .size = size,
                                                .memory = MEMORY_REGISTERED, .device = device,
                                                .context = context,
                                                .made_by = "cuMemHostRegister"});
}

struct allocation *allocation_at(uint64_t address)
{
    size_t at = upper(address);
    if (at == 0)
        return NULL;
    struct allocation *found = table[at - 1];
    return address - found->start < found->size ? found : NULL;
}

struct allocation *allocation_live(uint64_t address)
{
    struct allocation *found = allocation_at(address);
    return found && found->life == LIVE ? found : NULL;
}

static size_t size_side_by_side(const struct allocation *a)
{
    size_t size = a->size;
    const struct allocation *next = a->physical ? allocation_live(a->start + size) : NULL;
    while (next && next->physical) {
        size += next->size;
        next = allocation_live(a->start + size);
    }
    return size;
}

bool allocation_holds(const struct allocation *allocation, const struct region *region)
{
    return region_within(region, allocation->start, allocation->size)
           || region_within(region, allocation->start, size_side_by_side(allocation));
}

struct allocation *allocation_touched(const struct allocation *after, const struct region *region)
{
    uint64_t end = after->start + after->size;
    return region_end(region) > end ? allocation_live(end) : NULL;
}

struct allocation *allocation_overlap(uint64_t start, size_t size)
{
    struct allocation *found = allocation_at(start);
    size_t next = upper(start);
    if (!found && next < count && table[next]->start - start < size)
        found = table[next];
    return found;
}

struct allocation *allocation_next(const struct allocation *after)
{
    return allocation_after(after ? after->start : 0);
}

struct allocation *allocation_after(uint64_t address)
{
    size_t at = upper(address);
    return at < count ? table[at] : NULL;
}

uint64_t allocation_bytes(enum memory memory, uint64_t *number)
{
    *number = live_count[memory];
    return live_bytes[memory];
}

/* ---- freed host memory: pages of one file, which take no memory of their own ---- */

static int poison_file = -1;
static pthread_once_t poison_once = PTHREAD_ONCE_INIT;

static void make_poison(void)
{
    char bytes[CHUNK];
    memset(bytes, POISON, sizeof bytes);
    poison_file = memfd_create("emucuda-freed", MFD_CLOEXEC);
    if (poison_file >= 0 && write(poison_file, bytes, sizeof bytes) != (ssize_t)sizeof bytes) {
        close(poison_file);
        poison_file = -1;
    }
}

static void poison_pages(uint64_t start, size_t size)
{
    const int how = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    pthread_once(&poison_once, make_poison);
    for (size_t at = 0; at < size; at += CHUNK) {
        size_t chunk = size - at < CHUNK ? size - at : CHUNK;
        void *where = (void *)(start + at);
        if (at >= FILL_LIMIT)
            madvise(where, size - at, MADV_DONTNEED);
        if (at >= FILL_LIMIT || poison_file < 0
            || mmap(where, chunk, PROT_READ | PROT_WRITE, how, poison_file, 0) == MAP_FAILED)
            return;
    }
}

void allocation_poison(struct allocation *a)
{
    if (a->memory == MEMORY_DEVICE)
        overwrite(a->start, a->size, POISON);
    else
        poison_pages(a->start, whole_pages(a->size));
}

static void give_memory(const struct allocation *gone)
{
    const struct mapping *pages = &gone->mapping;
    if (gone->memory != MEMORY_DEVICE) {
        munmap((void *)gone->start, whole_pages(gone->size));
    } else if (pages->start) {
        arena_give(gone->device, pages->start, pages->size);
    } else {
        arena_give(gone->device, gone->start, gone->size);
    }
}

static void release(struct allocation *gone)
{
    remove_entry(gone);
    history_drop(&gone->history);
    if (gone->share)
        share_drop(gone->share);
    give_memory(gone);
    free(gone);
}

static void hold(struct allocation *allocation)
{
    *newest = allocation;
    newest = &allocation->next;
    allocation->next = NULL;
    held += allocation->size;
    held_count++;
}

/* What other processes still have open stays. */
static void release_oldest(void)
{
    struct allocation *gone = oldest;
    oldest = gone->next;
    if (!oldest)
        newest = &oldest;
    held -= gone->size;
    held_count--;
    if (gone->share && share_users(gone->share))
        hold(gone);
    else
        release(gone);
}

void allocation_retire(struct allocation *allocation)
{
    allocation->life = FREED;
    live_count[allocation->memory]--;
    live_bytes[allocation->memory] -= allocation->size;
    if (allocation->share)
        share_free(allocation->share);
    if (allocation->mapping.file >= 0 && allocation->mapping.start && allocation->pool) {
        pool_unmap(allocation->pool, &allocation->mapping);
        allocation_poison(allocation);
    }
    hold(allocation);
    for (size_t most = held_count; most; most--)
        if (held > driver.quarantine || held_count > QUARANTINE_COUNT)
            release_oldest();
}

struct allocation *allocation_from_pool(struct pool *pool, size_t size, const char *made_by)
{
    struct mapping pages = {.file = -1};
    struct allocation *made;
    if (pool->most && size > pool->most - pool->used)
        return NULL;
    if (!pool->has_file) {
        made = allocation_make(pool->memory, NULL, pool->device, size, made_by);
    } else {
        if (!pool_map(pool, size, &pages))
            return NULL;
        overwrite(pages.start, size, FRESH);
        made = allocation_place((struct allocation){
            .start = pages.start, .size = size, .memory = pool->memory, .device = pool->device,
            .made_by = made_by, .mapping = pages});
    }
    if (made)
        pool_took(pool, made);
    return made;
}

/* "Allocated with cuMemAlloc". */
bool allocation_legacy_ipc(const struct allocation *a)
{
    return a->memory == MEMORY_DEVICE && !a->pool && !a->mapping.start;
}

/* Registered memory belongs to the program: it leaves the table at once, and its bytes are not
 * overwritten. */
void allocation_forget(struct allocation *allocation)
{
    live_count[allocation->memory]--;
    live_bytes[allocation->memory] -= allocation->size;
    remove_entry(allocation);
    history_drop(&allocation->history);
    free(allocation);
}
