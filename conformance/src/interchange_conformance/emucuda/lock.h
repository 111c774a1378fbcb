/* The state of the emulated driver, and the one lock that guards it.
 *
 * emucuda is a libcuda.so.1 that runs on the host. It follows NVIDIA's documents of the CUDA driver
 * API (the comments of cuda.h, which comments here quote; "Stream synchronization behavior" and
 * "API synchronization behavior" of the manual; the programming guide on stream capture), and
 * nothing undocumented. A comment that starts with "Choice" marks behaviour that they leave open.
 *
 * One lock guards everything. It is not held while an operation of a stream runs, because a host
 * function may take long, and may need Python's interpreter lock.
 *
 * layers.txt has the order of the sources: each includes and calls only what is in lower layers.
 */
#pragma once

#define _GNU_SOURCE
/* Declares every version and both flavours of each entry point. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if CUDA_VERSION < 13000 /* what the header of CUDA 12 has no names for */
#define CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER ((CUresult)36)
#define CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED ((CUdevice_attribute)142)
#define CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED ((CUdevice_attribute)144)
#define CU_MEM_ALLOCATION_TYPE_MANAGED ((CUmemAllocationType)2)
#endif

/* Everything else is hidden (-fvisibility=hidden). */
#define API __attribute__((visibility("default"))) CUresult CUDAAPI
#define CONTROL __attribute__((visibility("default")))
#define MAX_DEVICES 16

enum race_mode { RACES_OFF, RACES_COLLECT, RACES_PRINT, RACES_ABORT };

struct driver {
    bool ready;    /* cuInit was called */
    bool orphaned; /* this process is the child of a fork made after cuInit */
    int devices;
    bool protect; /* a host access to a device address is a fault */
    enum race_mode races;
    uint64_t delay_us; /* of streams made from now on */
    size_t quarantine; /* [bytes] of freed memory held back before its addresses are reused */
    bool drop_waits;   /* for tests: cuStreamWaitEvent orders nothing */
    const char *report_file; /* written at exit, or NULL */
    const char *trace_file;  /* written at exit, or NULL */
};
extern struct driver driver;
extern __thread bool in_host_function;

CUresult driver_ready(void);
void driver_lock(void);
bool driver_lock_within(time_t seconds);
void driver_unlock(int *unused);
/* The lock is released during these waits. */
void host_wait(void); /* for progress */
void worker_wait(pthread_cond_t *wake);
void host_wake(void);
void thread_start(void *(*work)(void *), void *argument); /* detached */

#define CHECK(expression)                \
    do {                                 \
        CUresult status_ = (expression); \
        if (status_ != CUDA_SUCCESS)     \
            return status_;              \
    } while (0)

/* Take the lock until the end of the enclosing block. */
#define LOCKED() __attribute__((cleanup(driver_unlock), unused)) int locked_ = (driver_lock(), 0)

#define REQUIRE(condition, error) \
    do {                          \
        if (!(condition))         \
            return (error);       \
    } while (0)

#define DEVICE(number) \
    REQUIRE((number) >= 0 && (number) < driver.devices, CUDA_ERROR_INVALID_DEVICE)
