/* Device memory: for each device one range of addresses, from which blocks are taken and given
 * back.
 *
 * The range is one file in memory, mapped twice: at the device addresses, which the host may not
 * access in protect mode, and at an alias, which the driver uses. Other processes open the file to
 * reach what they were given a handle of; files of other processes, of pools and of cuMemCreate are
 * mapped in place of pages of the range.
 */
#include "allocation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA_SIZE (1ull << 36)
#define GRAIN 512ull /* [bytes]: what blocks are aligned to */
#define GUARD 512ull /* [bytes] after each block, so that the address past its end is in no allocation */
#define LARGE (1ull << 20) /* [bytes] above which memory is handed back to the system at once */

struct gap { /* free addresses, in order */
    uint64_t start, size;
};

struct arena {
    uint64_t start; /* 0: not mapped yet */
    char *alias;
    int file;
    struct gap *gaps;
    size_t count, room;
};

static struct arena arenas[MAX_DEVICES];

size_t arena_total(void)
{
    return ARENA_SIZE;
}

static int reach(void)
{
    return driver.protect ? PROT_NONE : PROT_READ | PROT_WRITE;
}

static bool arena_open(struct arena *arena)
{
    int file = memfd_create("emucuda", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)ARENA_SIZE) != 0)
        return false;
    char *start = mmap(NULL, ARENA_SIZE, reach(), MAP_SHARED | MAP_NORESERVE, file, 0);
    char *alias =
        mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (start == MAP_FAILED || alias == MAP_FAILED)
        return false;
    arena->file = file;
    arena->alias = alias;
    arena->start = (uint64_t)start;
    arena->room = 64;
    arena->gaps = malloc(arena->room * sizeof *arena->gaps);
    arena->gaps[0] = (struct gap){arena->start, ARENA_SIZE};
    arena->count = 1;
    return true;
}

static uint64_t block_size(size_t size)
{
    return ((size + GRAIN - 1) & ~(GRAIN - 1)) + GUARD;
}

static void insert_gap(struct arena *arena, size_t at, struct gap gap)
{
    if (arena->count == arena->room) {
        arena->room *= 2;
        arena->gaps = realloc(arena->gaps, arena->room * sizeof *arena->gaps);
    }
    memmove(&arena->gaps[at + 1], &arena->gaps[at], (arena->count++ - at) * sizeof gap);
    arena->gaps[at] = gap;
}

/* The gap at an index without its first bytes up to the end of a block. */
static void shorten_gap(struct arena *arena, size_t index, uint64_t start, uint64_t end)
{
    struct gap *gap = &arena->gaps[index];
    struct gap rest = {end, gap->start + gap->size - end};
    if (start > gap->start) { /* what is left before it, because of its alignment */
        gap->size = start - gap->start;
        if (rest.size)
            insert_gap(arena, index + 1, rest);
        return;
    }
    *gap = rest;
    if (rest.size == 0)
        memmove(gap, gap + 1, (--arena->count - index) * sizeof *gap);
}

uint64_t arena_take_aligned(int device, size_t size, uint64_t alignment)
{
    struct arena *arena = &arenas[device];
    if (size > ARENA_SIZE || (!arena->start && !arena_open(arena)))
        return 0;
    uint64_t needed = block_size(size);
    for (size_t i = 0; i < arena->count; i++) {
        struct gap *gap = &arena->gaps[i];
        uint64_t start = (gap->start + alignment - 1) & ~(alignment - 1);
        if (start + needed > gap->start + gap->size)
            continue;
        shorten_gap(arena, i, start, start + needed);
        return start;
    }
    return 0;
}

uint64_t arena_take(int device, size_t size)
{
    return arena_take_aligned(device, size, GRAIN);
}

/* Whole pages only: a block need not begin at one. */
static void hand_back(char *start, size_t size)
{
    char *first = (char *)(((uintptr_t)start + PAGE - 1) & ~((uintptr_t)PAGE - 1));
    char *end = (char *)((uintptr_t)(start + size) & ~((uintptr_t)PAGE - 1));
    madvise(first, (size_t)(end - first), MADV_REMOVE);
}

void arena_give(int device, uint64_t start, size_t size)
{
    struct arena *arena = &arenas[device];
    struct gap gap = {start, block_size(size)};
    size_t low = 0, high = arena->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (arena->gaps[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    if (size >= LARGE)
        hand_back(arena_alias(start), size);
    struct gap *gaps = arena->gaps;
    if (low < arena->count && gap.start + gap.size == gaps[low].start) {
        gap.size += gaps[low].size;
        gaps[low] = gap;
    } else {
        insert_gap(arena, low, gap);
        gaps = arena->gaps;
    }
    if (low > 0 && gaps[low - 1].start + gaps[low - 1].size == gaps[low].start) {
        gaps[low - 1].size += gaps[low].size;
        memmove(&gaps[low], &gaps[low + 1], (--arena->count - low) * sizeof *gaps);
    }
}

int arena_device(uint64_t address)
{
    for (int i = 0; i < driver.devices; i++)
        if (arenas[i].start && address - arenas[i].start < ARENA_SIZE)
            return i;
    return -1;
}

void *arena_alias(uint64_t address)
{
    int device = arena_device(address);
    return device < 0 ? (void *)address : arenas[device].alias + (address - arenas[device].start);
}

/* ---- files ---- */

int arena_file(uint64_t address, uint64_t *offset)
{
    const struct arena *arena = &arenas[arena_device(address)];
    *offset = address - arena->start;
    return arena->file;
}

bool arena_map(uint64_t start, size_t size, int file, uint64_t offset)
{
    const int how = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    void *alias = arena_alias(start);
    if (mmap(alias, size, PROT_READ | PROT_WRITE, how, file, (off_t)offset) == MAP_FAILED)
        return false;
    return mmap((void *)start, size, reach(), how, file, (off_t)offset) != MAP_FAILED;
}

void arena_unmap(uint64_t start, size_t size)
{
    uint64_t offset;
    int file = arena_file(start, &offset);
    if (!arena_map(start, size, file, offset))
        abort(); /* addresses that belong to nothing */
}

uint64_t arena_take_file(int device, size_t size, int file, uint64_t offset)
{
    uint64_t start = arena_take_aligned(device, size, PAGE);
    if (!start || arena_map(start, size, file, offset))
        return start;
    arena_unmap(start, size);
    arena_give(device, start, size);
    return 0;
}
