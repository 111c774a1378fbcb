/* The state of the driver, the lock that guards it, and the threads that wait for it. */
#include "lock.h"

#include <signal.h>
#include <stdlib.h>

struct driver driver;
__thread bool in_host_function;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

void driver_lock(void)
{
    pthread_mutex_lock(&lock);
}

bool driver_lock_within(time_t seconds)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += seconds;
    return pthread_mutex_timedlock(&lock, &limit) == 0;
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

void host_wait(void)
{
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
