/* The driver as a whole: cuInit, the environment, forks and the end of the process. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 13000 /* of the driver that is emulated */

/* ---- the environment ---- */

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static const char *path(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? strdup(text) : NULL;
}

static enum race_mode race_mode(void)
{
    static const char *const names[] = {"off", "collect", "print", "abort"};
    const char *text = getenv("EMUCUDA_RACES");
    for (int i = 0; text && i < 4; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum race_mode)i;
    return RACES_COLLECT;
}

static void settings_read(void)
{
    uint64_t devices = number("EMUCUDA_DEVICES", 2);
    driver.devices = devices < MAX_DEVICES ? (int)devices : MAX_DEVICES;
    driver.delay_us = driver.delay_us ? driver.delay_us : number("EMUCUDA_DELAY_US", 0);
    driver.protect = number("EMUCUDA_PROTECT", 0) != 0;
    driver.quarantine = number("EMUCUDA_QUARANTINE", 64 << 20);
    driver.races = race_mode();
}

/* ---- forks: the documents say that CUDA cannot be used in a child of a process that initialised
 * it ---- */

static void before_fork(void)
{
    driver_lock();
}

static void after_fork_in_parent(void)
{
    driver_unlock(NULL);
}

static void after_fork_in_child(void)
{
    driver.orphaned = driver.ready;
    driver_unlock(NULL);
}

/* ---- loading and leaving ---- */

__attribute__((constructor)) static void load(void)
{
    driver.trace_file = path("EMUCUDA_TRACE");
    driver.report_file = path("EMUCUDA_REPORT");
    tracing = driver.trace_file != NULL;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Workers may still run, and are not joined: one could wait for an interpreter that has ended. */
__attribute__((destructor)) static void leave(void)
{
    if (driver.orphaned || !driver_lock_within(2))
        return;
    trace_write();
    reports_write();
    driver_unlock(NULL);
}

API cuInit(unsigned flags)
{
    TRACE("cuInit flags=%u", flags);
    LOCKED();
    REQUIRE(!driver.orphaned, CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    if (!driver.ready) {
        settings_read();
        REQUIRE(driver.devices > 0, CUDA_ERROR_NO_DEVICE);
        contexts_start();
        pools_start();
        driver.ready = true;
    }
    return CUDA_SUCCESS;
}

API cuDriverGetVersion(int *version)
{
    TRACE("cuDriverGetVersion");
    REQUIRE(version, CUDA_ERROR_INVALID_VALUE);
    *version = VERSION;
    return CUDA_SUCCESS;
}

/* Nothing is profiled; programs may bracket what they do all the same. */
API cuProfilerStart(void)
{
    ENTRY("cuProfilerStart");
    return CUDA_SUCCESS;
}

API cuProfilerStop(void)
{
    ENTRY("cuProfilerStop");
    return CUDA_SUCCESS;
}
