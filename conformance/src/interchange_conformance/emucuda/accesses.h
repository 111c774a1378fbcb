/* Accesses: which bytes, by whom, after what; the history of an allocation; reports. */
#pragma once

#include "handles.h"

/* ---- vector clocks (clocks.c) ---- */

struct clock {
    unsigned size;
    uint64_t *seq; /* per slot: the last operation known to come before */
};

#define HOST_SLOT 0
extern struct clock host_clock; /* all host threads are one timeline */
extern uint64_t host_version;   /* grows when host_clock does */
extern void (*host_changed)(void); /* told when it does, if it is not NULL */

uint64_t clock_at(const struct clock *clock, unsigned slot);
void clock_set(struct clock *clock, unsigned slot, uint64_t seq);
void clock_join(struct clock *into, const struct clock *from);
void clock_copy(struct clock *into, const struct clock *from);
void clock_drop(struct clock *clock);
void host_join(const struct clock *from); /* the host knows that all of this is done */
unsigned slot_take(uint64_t *seq);
void slot_retire(unsigned slot, uint64_t last);
void slot_refer(unsigned slot, int change); /* counts the access records that name the slot */

/* ---- byte ranges (regions.c) ---- */

struct region { /* depth slices of height rows of width bytes */
    uint64_t start;
    size_t width;
    size_t height, pitch;
    size_t depth, slice;
};

struct region region_line(uint64_t start, size_t size);
uint64_t region_end(const struct region *region);
bool region_within(const struct region *region, uint64_t start, size_t size);
/* The next part of a region in [low, high), `row` rows later; false: there is none. */
bool region_part(const struct region *region, uint64_t low, uint64_t high, size_t *row,
                 struct region *part);
bool region_empty(const struct region *region);
bool region_solid(const struct region *region);
bool region_same(const struct region *a, const struct region *b);
bool regions_overlap(const struct region *a, const struct region *b);

/* ---- accesses, and those that an allocation remembers (history.c) ---- */

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

struct record {
    struct record *next;
    struct region region;
    unsigned slot;
    uint64_t seq;
    uint64_t stream;
    bool write;
    const char *what;
};

struct history {
    struct record *accesses; /* newest first */
    unsigned count;
    struct record *made, *freed; /* stream-ordered allocation and free, or NULL */
};

struct actor host_actor(const char *what);
struct record *record_new(const struct actor *actor, const struct access *access);
bool record_precedes(const struct record *record, const struct clock *clock);
/* The newest unordered conflict, or NULL; records that have become redundant are dropped. */
struct record *history_conflict(struct history *history, const struct actor *actor,
                                const struct access *access);
void history_add(struct history *history, const struct actor *actor, const struct access *access);
void history_forget(struct history *history); /* all but the free */
void history_drop(struct history *history);

/* ---- what the detector found (reports.c) ---- */

void report_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void reports_clear(void);
void reports_write(void);
