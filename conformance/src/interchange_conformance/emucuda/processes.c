/* Processes: the segment of this one, and those of others that it has opened. */
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x65747a6d75636501ull /* also the version of the layout */
#define LONGEST 1024

struct segment *own_segment;
static struct peer *peers;

/* ---- who is who ---- */

/* When a process was started, and 0 if it does not run: field 22 of proc(5), after the name, which
 * may contain spaces and parentheses. A zombie has ended. */
static uint64_t started(uint32_t pid)
{
    char path[64], text[LONGEST];
    char state;
    unsigned long long ticks;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *rest = strrchr(text, ')');
    if (!rest
        || sscanf(rest,
                  ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                  &state, &ticks)
               != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : ticks;
}

bool process_same(const struct process *a, const struct process *b)
{
    return a->pid == b->pid && a->started == b->started;
}

bool process_is_own(const struct process *process)
{
    return own_segment && process_same(process, &own_segment->self);
}

bool process_alive(const struct process *process)
{
    return process_is_own(process) || started(process->pid) == process->started;
}

int process_file(const struct process *process, int file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/fd/%d", process->pid, file);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* ---- locks that a process may die with ---- */

void shared_lock_new(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* What the dead owner had begun is a record that is not counted yet, or a flag. */
void shared_lock(pthread_mutex_t *lock)
{
    if (pthread_mutex_lock(lock) == EOWNERDEAD)
        pthread_mutex_consistent(lock);
}

void shared_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
}

/* ---- segments ---- */

static struct segment *map_segment(int file)
{
    void *start = mmap(NULL, sizeof(struct segment), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, file, 0);
    return start == MAP_FAILED ? NULL : start;
}

/* What the host of this process knows to be done is before all that processes enqueue from now on:
 * they may have told each other, which the driver cannot see. */
static void publish(void)
{
    for (unsigned i = 0; i < host_clock.size && i < MAX_SLOTS; i++)
        __atomic_store_n(&own_segment->host[i], host_clock.seq[i], __ATOMIC_RELAXED);
}

bool segment_open(void)
{
    if (own_segment)
        return true;
    int file = memfd_create("emucuda-process", MFD_CLOEXEC);
    if (file < 0)
        return false;
    struct segment *made = NULL;
    if (ftruncate(file, (off_t)sizeof *made) == 0)
        made = map_segment(file);
    if (!made) {
        close(file);
        return false;
    }
    uint32_t pid = (uint32_t)getpid();
    made->magic = MAGIC;
    made->self = (struct process){pid, (uint32_t)file, started(pid)};
    own_segment = made;
    host_changed = publish;
    publish();
    return true;
}

static struct segment *open_segment(const struct process *process)
{
    struct stat status;
    struct segment *found = NULL;
    int file = process_file(process, (int)process->file);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && (size_t)status.st_size == sizeof *found)
        found = map_segment(file);
    close(file);
    if (found && (found->magic != MAGIC || !process_same(&found->self, process))) {
        munmap(found, sizeof *found);
        found = NULL;
    }
    return found;
}

/* ---- peers ---- */

struct peer *peer_known(const struct process *process)
{
    for (struct peer *peer = peers; peer; peer = peer->next)
        if (process_same(&peer->process, process))
            return peer;
    return NULL;
}

bool peer_is_listed(const struct peer *peer)
{
    const struct peer *at = peers;
    while (at && at != peer)
        at = at->next;
    return at != NULL;
}

/* The slots of a process that is gone, and of which nothing is open here, go to new streams. */
static void forget_dead(void)
{
    struct peer **at = &peers;
    while (*at) {
        struct peer *peer = *at;
        if (peer->references || process_alive(&peer->process)) {
            at = &peer->next;
            continue;
        }
        *at = peer->next;
        for (size_t i = 0; i < MAX_SLOTS; i++)
            if (peer->slots[i].slot != HOST_SLOT) {
                slot_refer(peer->slots[i].slot, -1);
                slot_retire(peer->slots[i].slot, peer->slots[i].base + peer->slots[i].last);
            }
        munmap(peer->segment, sizeof *peer->segment);
        free(peer->slots);
        free(peer);
    }
}

struct peer *peer_open(const struct process *process)
{
    struct peer *peer = peer_known(process);
    if (!peer) {
        struct segment *segment = process_alive(process) ? open_segment(process) : NULL;
        if (!segment)
            return NULL;
        forget_dead();
        peer = calloc(1, sizeof *peer);
        *peer = (struct peer){.process = *process, .segment = segment, .next = peers};
        peer->slots = calloc(MAX_SLOTS, sizeof *peer->slots);
        peers = peer;
    }
    peer->references++;
    return peer;
}

void peer_release(struct peer *peer)
{
    if (peer)
        peer->references--;
}
