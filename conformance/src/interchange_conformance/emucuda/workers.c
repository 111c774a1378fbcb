/* Workers: the threads that run streams. Operations start in order, each when all it waits for is
 * done.
 *
 * Records and waits run nothing: the thread that makes them ready retires them, so that an idle
 * stream needs no worker. All other operations run on the stream's own thread, which is started
 * when it is first needed, or on a thread of the program that waits for them.
 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>

__thread struct op *op_running;
static struct stream *ready; /* streams whose first operation may be able to start */

static void make_ready(struct stream *stream)
{
    if (stream->queued_ready)
        return;
    stream->queued_ready = true;
    stream->next_ready = ready;
    ready = stream;
}

static bool can_start(const struct stream *stream)
{
    return stream->head && !stream->busy && !stream->held && stream->head->unmet == 0;
}

static void retire(struct stream *stream)
{
    struct op *op = stream->head;
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->pending--;
    op->done = true;
    if (op->timed)
        clock_gettime(CLOCK_MONOTONIC, &op->finished);
    while (op->dependents) {
        struct dependent *first = op->dependents;
        op->dependents = first->next;
        if (--first->op->unmet == 0)
            make_ready(first->op->stream);
        free(first);
    }
    if (op->class->done)
        op->class->done(op);
    if (op->watched)
        host_wake();
    op_release(op);
}

static void *work(void *argument);

static void wake_worker(struct stream *stream)
{
    if (stream->worker) {
        pthread_cond_signal(&stream->wake);
        return;
    }
    stream->worker = true;
    thread_start(work, stream);
}

static void settle(void)
{
    while (ready) {
        struct stream *stream = ready;
        ready = stream->next_ready;
        stream->queued_ready = false;
        while (can_start(stream) && !stream->head->class->run)
            retire(stream);
        bool over = stream->destroyed && !stream->head;
        if (over && !stream->worker)
            stream_free(stream);
        else if (over || can_start(stream))
            wake_worker(stream); /* to end, or to work */
    }
}

void stream_run(struct stream *stream)
{
    make_ready(stream);
    settle();
}

static void pause_for(uint64_t us)
{
    struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (us && nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

/* "The start of execution of the function has the same effect as synchronizing an event recorded in
 * the same stream immediately prior to the function": it may tell other host threads (with a
 * semaphore, say), which the driver cannot see. */
static void host_learns(const struct op *op)
{
    LOCKED();
    host_join(&op->clock);
}

static void perform(struct op *op, uint64_t delay)
{
    pause_for(delay);
    if (op->class->calls_host)
        host_learns(op);
    in_host_function = op->class->calls_host;
    op_running = op;
    op->class->run(op);
    in_host_function = false;
    op_running = NULL;
}

/* Gives up the lock meanwhile; afterwards the stream may be gone if it has no work left. */
static void run_first(struct stream *stream)
{
    struct op *op = stream->head;
    uint64_t delay = stream->delay_us;
    int unlocked = 0;
    stream->busy = true;
    driver_unlock(&unlocked);
    perform(op, delay);
    driver_lock();
    stream->busy = false;
    retire(stream);
    stream_run(stream);
}

/* Two threads need not take turns where the worker has not begun. Host functions are called by
 * workers: a thread of the program may call CUDA, and they may not. */
void host_await(struct op *op)
{
    op_hold(op);
    op->watched = true;
    while (!op->done) {
        struct stream *stream = op->stream;
        if (can_start(stream) && !stream->head->class->calls_host)
            run_first(stream);
        else
            host_wait();
    }
    op_release(op);
}

static void *work(void *argument)
{
    struct stream *stream = argument;
    int unlocked = 0;
    driver_lock();
    for (;;) {
        while (!can_start(stream) && !(stream->destroyed && !stream->head))
            worker_wait(&stream->wake);
        if (!stream->head)
            break;
        run_first(stream);
    }
    stream_free(stream);
    driver_unlock(&unlocked);
    return NULL;
}
