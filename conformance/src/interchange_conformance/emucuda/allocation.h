/* Memory: addresses, allocations and pools. */
#pragma once

#include "accesses.h"

enum memory { MEMORY_DEVICE = 1, MEMORY_PINNED, MEMORY_MANAGED, MEMORY_REGISTERED };
enum life { LIVE, FREEING, FREED }; /* FREEING: cuMemFreeAsync was called and has not run */

#define PAGE ((size_t)4096)
#define FRESH 0xCB                    /* what new device memory holds */
#define FILL_LIMIT ((size_t)16 << 20) /* [bytes] of a block that are overwritten */

struct context;
struct pool;

struct mapping { /* pages of an arena that belong to another file: of a process, pool or handle */
    uint64_t start; /* of the pages, which the memory need not fill; 0: there are none */
    size_t size;
    int file; /* of a pool, which gets the memory back; -1: of another process or of a handle */
    uint64_t offset;
};

struct allocation {
    uint64_t start;
    size_t size;
    enum memory memory;
    enum life life;
    int device;
    uint64_t id;
    unsigned flags;
    struct context *context; /* NULL for memory of a pool */
    struct pool *pool;       /* NULL for all other memory */
    const char *made_by;
    struct mapping mapping;
    struct share *share;   /* what processes know of it, or NULL */
    struct import *import; /* how this process came by memory of another, or NULL */
    struct physical *physical;         /* that is mapped, or NULL */
    unsigned char access[MAX_DEVICES]; /* to mapped physical memory: CUmemAccess_flags */
    struct history history;
    struct allocation *next;     /* in quarantine */
};

/* ---- addresses of device memory (arena.c) ---- */

uint64_t arena_take(int device, size_t size); /* 0: out of memory */
uint64_t arena_take_aligned(int device, size_t size, uint64_t alignment);
void arena_give(int device, uint64_t start, size_t size);
int arena_device(uint64_t address); /* -1: no device memory */
/* Where the host may touch device memory; other addresses stay as they are. */
void *arena_alias(uint64_t address);
size_t arena_total(void);
int arena_file(uint64_t address, uint64_t *offset); /* that holds the memory of an arena */
/* Whole pages of another file in place of the arena's own; and the arena's own again. */
bool arena_map(uint64_t start, size_t size, int file, uint64_t offset);
void arena_unmap(uint64_t start, size_t size);
/* New addresses of whole pages for a file; 0: there is no room. */
uint64_t arena_take_file(int device, size_t size, int file, uint64_t offset);

/* ---- all allocations (allocations.c) ---- */

struct allocation *allocation_make(enum memory memory, struct context *context, int device,
                                   size_t size, const char *made_by);
/* NULL: out of memory. */
struct allocation *allocation_from_pool(struct pool *pool, size_t size, const char *made_by);
/* Memory that is there already; the table takes a copy. */
struct allocation *allocation_place(struct allocation fields);
/* Memory of the program, which cuMemHostRegister makes known. */
struct allocation *allocation_adopt(uint64_t start, size_t size, struct context *context,
                                    int device);
void allocation_forget(struct allocation *allocation);
struct allocation *allocation_at(uint64_t address); /* live, or held in quarantine */
struct allocation *allocation_live(uint64_t address);
/* Whether all of a region is in an allocation that it begins in, or goes on in mappings of virtual
 * memory side by side; and the next of them that it touches, or NULL. */
bool allocation_holds(const struct allocation *allocation, const struct region *region);
struct allocation *allocation_touched(const struct allocation *after, const struct region *region);
struct allocation *allocation_overlap(uint64_t start, size_t size);
/* In order of address; the first one after NULL. */
struct allocation *allocation_next(const struct allocation *after);
bool allocation_legacy_ipc(const struct allocation *allocation); /* has cuIpcGetMemHandle */
void allocation_poison(struct allocation *allocation);
void allocation_retire(struct allocation *allocation); /* freed: into quarantine */
struct allocation *allocation_after(uint64_t address); /* the first that begins after it */
uint64_t allocation_bytes(enum memory memory, uint64_t *count);

/* ---- pools (pools.c) ---- */

struct pool {
    struct handle handle;
    int where; /* device number, or the host */
    bool managed;
    int device; /* of its memory, as far as pointer attributes go */
    enum memory memory;
    bool peers[MAX_DEVICES]; /* that reach its memory, besides its own device */
    uint64_t threshold, used, used_high, most;
    int reuse[3];
    bool has_file, imported; /* shared with other processes; made by another one */
    int file;
    uint64_t next;       /* the first byte of the file that was never used */
    unsigned allocations; /* that need the file */
    bool destroyed;
};

struct pool *pool_of_device(int device); /* the one that cuMemAllocAsync takes from */
void pool_took(struct pool *pool, struct allocation *allocation);
void pool_lost(const struct allocation *allocation);
struct pool *pool_import(int device, int file);
/* Pages of the file of a pool; false: out of memory. */
bool pool_map(struct pool *pool, size_t size, struct mapping *pages);
void pool_unmap(struct pool *pool, const struct mapping *pages);
void pools_start(void);

#define POOL(name, handle)                                \
    struct pool *name = handle_find((handle), KIND_POOL); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)
