/* The call log, and how every entry point begins. */
#pragma once

#include "lock.h"

extern bool tracing;
void trace_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_write(void);

#define TRACE(...)                                                           \
    do {                                                                     \
        if (__atomic_load_n(&tracing, __ATOMIC_RELAXED) && !driver.orphaned) \
            trace_add(__VA_ARGS__);                                          \
    } while (0)

/* What every entry point does first: log the call, refuse it before cuInit, lock. */
#define ENTRY(...)         \
    TRACE(__VA_ARGS__);    \
    CHECK(driver_ready()); \
    LOCKED()

/* An entry point that answers about its parameter `device`. */
#define DEVICE_QUERY(symbol, name, parameters, answer) \
    API symbol parameters                              \
    {                                                  \
        ENTRY(name " device=%d", device);              \
        DEVICE(device);                                \
        answer;                                        \
        return CUDA_SUCCESS;                           \
    }
