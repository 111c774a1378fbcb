/* Processes: how they know each other, and the segment of memory that each of them shows to others.
 *
 * A segment is a file in memory without a name. Another process of the same user opens it by
 * /proc/PID/fd, so that nothing is left behind when its owner dies.
 */
#pragma once

#include "accesses.h"

#define MAX_SHARES 16384 /* allocations of a process that others may open */
#define MAX_SHARED_EVENTS 4096
#define MAX_SLOTS 4096  /* of the host clock of a process that others see */
#define MAX_OPENERS 16  /* processes that are known to have opened an allocation */
#define MAX_SHARED_RECORDS 128 /* accesses to a shared allocation; the oldest is dropped first */
#define MAX_KNOWN 128   /* entries of a clock that is handed on */
#define MAX_TICKETS 8   /* records of an event that are kept */

struct process { /* one of all that ever run on this host */
    uint32_t pid;
    uint32_t file;    /* its descriptor of its segment */
    uint64_t started; /* since the system was started [ticks] */
};

/* ---- what is in a segment ---- */

struct shared_record { /* an access to shared memory, by addresses from its beginning */
    struct process process;
    uint32_t slot;
    uint64_t seq;
    uint64_t stream;
    struct region region;
    bool write, made; /* made: the allocation in stream order */
    char what[48];
};

struct share { /* an allocation that other processes may open */
    pthread_mutex_t lock;
    uint32_t used, serial; /* another serial: the slot has passed to another allocation */
    uint32_t opened, freed;
    struct process openers[MAX_OPENERS];
    struct shared_record freed_by;
    uint64_t count; /* of records, ever */
    struct shared_record records[MAX_SHARED_RECORDS];
};

struct known { /* one entry of a clock, for other processes */
    struct process process;
    uint32_t slot;
    uint64_t seq;
};

struct ticket { /* one record of an event */
    uint64_t number; /* of the record, from 1 */
    struct process recorder;
    uint32_t done, changes; /* waited for by futex(2) */
    uint32_t count, more;   /* more: entries that found no room */
    struct known known[MAX_KNOWN];
};

struct shared_event {
    pthread_mutex_t lock;
    uint32_t used, serial;
    uint64_t latest; /* number of the last record; 0: never recorded */
    struct ticket tickets[MAX_TICKETS];
};

struct segment {
    uint64_t magic;
    struct process self;
    uint64_t host[MAX_SLOTS]; /* what the host knows to be done, by slot */
    struct share shares[MAX_SHARES];
    struct shared_event events[MAX_SHARED_EVENTS];
};

/* ---- processes ---- */

struct peer_slot { /* what stands here for a slot of a clock there */
    unsigned slot;       /* HOST_SLOT: it was not seen yet */
    uint64_t base, last; /* what numbers here begin after; the last number there */
};

struct peer { /* a process whose segment is mapped here */
    struct process process;
    struct segment *segment;
    unsigned references;
    struct peer_slot *slots;
    struct peer *next;
};

extern struct segment *own_segment; /* NULL as long as nothing is shared */

bool segment_open(void);            /* this process's own; false: out of memory */
struct peer *peer_open(const struct process *process); /* NULL: it is gone; takes a reference */
struct peer *peer_known(const struct process *process);
bool peer_is_listed(const struct peer *peer); /* it may have been freed */
void peer_release(struct peer *peer);         /* NULL is fine */
bool process_same(const struct process *a, const struct process *b);
bool process_is_own(const struct process *process);
bool process_alive(const struct process *process);
int process_file(const struct process *process, int file); /* opens a file of a process, or -1 */
void shared_lock(pthread_mutex_t *lock);
void shared_unlock(pthread_mutex_t *lock);
void shared_lock_new(pthread_mutex_t *lock);
