/* What the race detector needs: clocks, regions, accesses, and who made them. */
#ifndef EMUCUDA_DETECTOR_H
#define EMUCUDA_DETECTOR_H

#include "driver.h"

#pragma GCC visibility push(hidden)

/* ---- vector clocks (clocks.c) ---- */

struct clock {
    unsigned size;
    uint64_t *seq; /* per slot: the last operation known to come before */
};

#define HOST_SLOT 0
extern struct clock host_clock; /* all host threads are one timeline */
extern uint64_t host_version;   /* grows when host_clock does */

uint64_t clock_at(const struct clock *clock, unsigned slot);
void clock_set(struct clock *clock, unsigned slot, uint64_t seq);
void clock_join(struct clock *into, const struct clock *from);
void clock_copy(struct clock *into, const struct clock *from);
void clock_drop(struct clock *clock);
void host_join(const struct clock *from); /* the host knows that all of this is over */
unsigned slot_take(uint64_t *seq);
void slot_retire(unsigned slot, uint64_t last);
void slot_named(unsigned slot, int change); /* an access record names the slot, or stops to */

/* ---- byte ranges and what was done to them (regions.c, detector.c) ---- */

struct region { /* depth slices of height rows of width bytes */
    uint64_t start;
    size_t width;
    size_t height, pitch;
    size_t depth, slice;
};

struct access {
    struct region region;
    bool write;
};

struct actor { /* who does it, and what came before */
    const struct clock *clock;
    unsigned slot;
    uint64_t seq;
    uint64_t stream; /* handle as the user knows it; 0 is the host */
    const char *what;
};

struct region region_line(uint64_t start, size_t size);
uint64_t region_end(const struct region *region);
bool region_within(const struct region *region, uint64_t start, size_t size);
bool region_empty(const struct region *region);
bool region_solid(const struct region *region);
bool region_same(const struct region *a, const struct region *b);
bool regions_meet(const struct region *a, const struct region *b);

struct allocation;
void detect(const struct actor *actor, const struct access *access);
void detect_allocated(const struct actor *actor, struct allocation *allocation);
void detect_freed(const struct actor *actor, struct allocation *allocation);
void report_pair(const struct actor *first, const struct access *first_access,
                 const struct actor *second, const struct access *second_access);
/* Of freed memory, beyond an allocation, or where there is none. */
void report_foreign(const struct actor *actor, const struct access *access, int device);
void report_unreachable(const struct actor *actor, const struct access *access);
void report_fault(const struct actor *actor, const char *kind, const char *what, int place);
void report_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void reports_write(void);
void history_drop(struct allocation *allocation);
void history_reset(void);

#pragma GCC visibility pop

#endif
