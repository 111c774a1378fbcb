/* The driver as a whole, its one lock, handles, and the call log. */
#ifndef EMUCUDA_DRIVER_H
#define EMUCUDA_DRIVER_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#pragma GCC visibility push(hidden)

/* ---- the driver as a whole (driver.c) ---- */

enum race_mode { RACES_OFF, RACES_COLLECT, RACES_PRINT, RACES_ABORT };

struct driver {
    bool ready;    /* cuInit was called */
    bool orphaned; /* this process is the child of a fork made after cuInit */
    int devices;
    bool protect; /* device addresses fault when the host follows them */
    enum race_mode races;
    uint64_t delay_us; /* of streams made from now on */
    size_t quarantine; /* [bytes] of freed memory held back before its addresses are used again */
    bool drop_waits;   /* test-only seam: cuStreamWaitEvent orders nothing */
    const char *report_file; /* written at exit, or NULL */
    const char *trace_file;  /* written at exit, or NULL */
};
extern struct driver driver;
extern __thread bool in_host_function;

CUresult driver_ready(void);
void driver_lock(void);
void driver_unlock(int *unused);
/* While they wait the lock is given up. */
void host_wait(const bool *condition);
void worker_wait(pthread_cond_t *wake);
void host_wake(void);
void thread_start(void *(*work)(void *), void *argument); /* one that ends by itself */

#define CHECK(expression)                \
    do {                                 \
        CUresult status_ = (expression); \
        if (status_ != CUDA_SUCCESS)     \
            return status_;              \
    } while (0)

/* Take the lock until the end of the enclosing block. */
#define LOCKED() __attribute__((cleanup(driver_unlock), unused)) int locked_ = (driver_lock(), 0)

/* What every entry point does first: write the call down, refuse it before cuInit, lock. */
#define ENTRY(...)         \
    TRACE(__VA_ARGS__);    \
    CHECK(driver_ready()); \
    LOCKED()

#define REQUIRE(condition, error) \
    do {                          \
        if (!(condition))         \
            return (error);       \
    } while (0)

#define DEVICE(number) \
    REQUIRE((number) >= 0 && (number) < driver.devices, CUDA_ERROR_INVALID_DEVICE)

/* ---- handles: what users hold (handles.c) ---- */

enum kind {
    KIND_CONTEXT = 1,
    KIND_STREAM,
    KIND_EVENT,
    KIND_POOL,
    KIND_GRAPH,
    KIND_NODE,
    KIND_EXEC,
    KIND_USER_OBJECT,
    KIND_MODULE,
    KIND_FUNCTION,
};

struct handle { /* first member of every object with a handle */
    uint64_t value;
    enum kind kind;
    struct handle *next;
};

void handle_add(struct handle *handle, enum kind kind);
void handle_remove(struct handle *handle);
/* NULL if unknown: no handle is ever followed. */
void *handle_find(const void *value, enum kind kind);
void handle_each(enum kind kind, void (*visit)(void *object, void *argument), void *argument);
uint64_t next_id(void);
const char *intern(const char *text); /* one copy of each text, kept for good */

/* ---- the call log (trace.c) ---- */

extern bool tracing;
void trace_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_write(void);

#define TRACE(...)                                                           \
    do {                                                                     \
        if (__atomic_load_n(&tracing, __ATOMIC_RELAXED) && !driver.orphaned) \
            trace_add(__VA_ARGS__);                                          \
    } while (0)

#pragma GCC visibility pop

#endif
