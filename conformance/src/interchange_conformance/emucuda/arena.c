/* Device memory: for each device one range of addresses, from which blocks are taken and given
 * back.
 *
 * The range is one file in memory, mapped twice: at the device addresses, which the host may not
 * access in protect mode, and at an alias, which the driver uses.
 */
#include "allocation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA_SIZE (1ull << 36)
#define GRAIN 512ull /* [bytes]: what blocks are aligned to */
#define GUARD 512ull /* [bytes] after each block, so that the address past its end is in no allocation */
#define PAGE 4096ull
#define LARGE (1ull << 20) /* [bytes] above which memory is handed back to the system at once */

struct gap { /* free addresses, in order */
    uint64_t start, size;
};

struct arena {
    uint64_t start; /* 0: not mapped yet */
    char *alias;
    struct gap *gaps;
    size_t count, room;
};

static struct arena arenas[MAX_DEVICES];

size_t arena_total(void)
{
    return ARENA_SIZE;
}

static bool arena_open(struct arena *arena)
{
    int file = memfd_create("emucuda", MFD_CLOEXEC);
    int reach = driver.protect ? PROT_NONE : PROT_READ | PROT_WRITE;
    if (file < 0 || ftruncate(file, (off_t)ARENA_SIZE) != 0)
        return false;
    char *start = mmap(NULL, ARENA_SIZE, reach, MAP_SHARED | MAP_NORESERVE, file, 0);
    char *alias =
        mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (start == MAP_FAILED || alias == MAP_FAILED)
        return false;
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

uint64_t arena_take(int device, size_t size)
{
    struct arena *arena = &arenas[device];
    if (size > ARENA_SIZE || (!arena->start && !arena_open(arena)))
        return 0;
    uint64_t needed = block_size(size);
    for (size_t i = 0; i < arena->count; i++) {
        struct gap *gap = &arena->gaps[i];
        if (gap->size < needed)
            continue;
        uint64_t start = gap->start;
        gap->start += needed;
        gap->size -= needed;
        if (gap->size == 0)
            memmove(gap, gap + 1, (--arena->count - i) * sizeof *gap);
        return start;
    }
    return 0;
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

/* Whole pages only: a block need not begin at one. */
static void hand_back(char *start, size_t size)
{
    char *first = (char *)(((uintptr_t)start + PAGE - 1) & ~(PAGE - 1));
    char *end = (char *)((uintptr_t)(start + size) & ~(PAGE - 1));
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
