/* The driver as a whole: cuInit, the environment, the one lock, forks, and the end. */
#include "emucuda.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 13000 /* of the driver that is emulated */

struct driver driver;
__thread bool in_host_function;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

void driver_lock(void)
{
    pthread_mutex_lock(&lock);
}

void driver_unlock(int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

void worker_wait(pthread_cond_t *wake)
{
    pthread_cond_wait(wake, &lock);
}

void host_wait(const bool *condition)
{
    while (!*condition)
        pthread_cond_wait(&progress, &lock);
}

void host_wake(void)
{
    pthread_cond_broadcast(&progress);
}

/* A host function "must not make any CUDA API calls. Attempting to use a CUDA API may result in
 * CUDA_ERROR_NOT_PERMITTED", and here it does. */
CUresult driver_ready(void)
{
    REQUIRE(driver.ready && !driver.orphaned, CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(!in_host_function, CUDA_ERROR_NOT_PERMITTED);
    return CUDA_SUCCESS;
}

/* Signals are for the program's own threads. */
void thread_start(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    sigset_t none, before;
    sigfillset(&none);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&none, faults[i]);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    int error = pthread_create(&thread, NULL, work, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        abort(); /* no thread, no driver */
    pthread_detach(thread);
}

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
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    driver.orphaned = driver.ready;
    pthread_mutex_unlock(&lock);
}

/* ---- loading and leaving ---- */

__attribute__((constructor)) static void load(void)
{
    driver.trace_file = path("EMUCUDA_TRACE");
    driver.report_file = path("EMUCUDA_REPORT");
    tracing = driver.trace_file != NULL;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Workers may still run, and are left to: joining them could wait for an interpreter that has
 * ended. */
__attribute__((destructor)) static void leave(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 2;
    if (driver.orphaned || pthread_mutex_timedlock(&lock, &limit) == ETIMEDOUT)
        return;
    trace_write();
    reports_write();
    pthread_mutex_unlock(&lock);
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
