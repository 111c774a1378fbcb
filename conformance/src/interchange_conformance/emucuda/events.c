/* Events: marks in streams that other streams and the host wait for. */
#include "calls.h"
#include "shared_events.h"

#include <stdlib.h>

#define CREATE_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

#define EVENT(name, handle)                                 \
    struct event *name = handle_find((handle), KIND_EVENT); \
    REQUIRE(name, CUDA_ERROR_INVALID_HANDLE)

struct event *event_make(struct context *context, unsigned flags)
{
    struct event *event = calloc(1, sizeof *event);
    event->context = context->base;
    event->flags = flags;
    handle_add(&event->handle, KIND_EVENT);
    return event;
}

API cuEventCreate(CUevent *result, unsigned flags)
{
    ENTRY("cuEventCreate flags=%u", flags);
    CONTEXT(context);
    REQUIRE(result && (flags & ~(unsigned)CREATE_FLAGS) == 0, CUDA_ERROR_INVALID_VALUE);
    bool timed = !(flags & CU_EVENT_DISABLE_TIMING);
    REQUIRE(!(flags & CU_EVENT_INTERPROCESS && timed), CUDA_ERROR_INVALID_VALUE);
    struct event *event = event_make(context, flags);
    if (flags & CU_EVENT_INTERPROCESS && !shared_event_new(event)) {
        event_destroy(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *result = (CUevent)event->handle.value;
    return CUDA_SUCCESS;
}

/* The marker lives on as long as an operation waits for it. */
void event_destroy(struct event *event)
{
    handle_remove(&event->handle);
    op_release(event->marker);
    shared_event_drop(event);
    clock_drop(&event->clock);
    free(event->nodes);
    free(event);
}

/* Choice: no context need be current, so that a garbage collector may destroy from any thread. */
API cuEventDestroy_v2(CUevent handle)
{
    ENTRY("cuEventDestroy event=%p", (void *)handle);
    EVENT(event, handle);
    event_destroy(event);
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event_handle, CUstream stream_handle, unsigned flags,
                       const char *name)
{
    ENTRY("%s event=%p stream=%p", name, (void *)event_handle, (void *)stream_handle);
    STREAM(stream, stream_handle);
    EVENT(event, event_handle);
    REQUIRE(event->context->base == stream->context->base, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE((flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL) == 0, CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_check_use(stream));
    if (stream->capture) {
        REQUIRE(!flags, CUDA_ERROR_NOT_SUPPORTED); /* external event nodes: not emulated */
        return capture_record(stream, event);
    }
    REQUIRE(!flags,
            CUDA_ERROR_INVALID_VALUE); /* "This flag is invalid outside of stream capture" */
    event_record(event, stream, name);
    return CUDA_SUCCESS;
}

void event_record(struct event *event, struct stream *stream, const char *name)
{
    struct op *marker =
        event->shared ? shared_event_marker(event, name) : op_new(&mark_class, name);
    marker->timed = !(event->flags & CU_EVENT_DISABLE_TIMING);
    op_release(event->marker);
    event->marker = op_hold(marker);
    event->capture = 0;
    if (event->shared)
        shared_event_record(event, stream, marker);
    else
        stream_enqueue(stream, marker);
    clock_copy(&event->clock, &stream->clock);
}

BOTH(cuEventRecord, (CUevent event, CUstream stream), record(event, stream, 0, "cuEventRecord"))
BOTH(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
     record(event, stream, flags, "cuEventRecordWithFlags"))

/* For the work of the last record, which another process may have made. */
static struct op *waiting_op(struct stream *stream, const struct event *event, const char *name)
{
    struct remote record;
    bool remote = shared_event_last(event, &record, &stream->clock);
    if (remote && !remote_done(&record))
        return remote_op(&record, name);
    struct op *wait = op_new(&mark_class, name);
    if (event->marker && !remote) {
        op_await(wait, event->marker);
        clock_join(&stream->clock, &event->clock);
    }
    return wait;
}

void event_await(const struct event *event, struct stream *stream, const char *name)
{
    stream_enqueue(stream, waiting_op(stream, event, name));
}

/* Waits "use the most recently captured state at the time of the API call"; an event never recorded
 * is an empty set of work. It may be of another context or device. */
static CUresult wait_event(CUstream stream_handle, CUevent event_handle, unsigned flags)
{
    ENTRY("cuStreamWaitEvent stream=%p event=%p", (void *)stream_handle, (void *)event_handle);
    bool handled = false;
    STREAM(stream, stream_handle);
    EVENT(event, event_handle);
    REQUIRE((flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) == 0, CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_check_use(stream));
    REQUIRE(!flags, stream->capture ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_wait(stream, event, &handled));
    if (handled || driver.drop_waits)
        return CUDA_SUCCESS;
    event_await(event, stream, "cuStreamWaitEvent");
    return CUDA_SUCCESS;
}

BOTH(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
     wait_event(stream, event, flags))

API cuEventQuery(CUevent handle)
{
    ENTRY("cuEventQuery event=%p", (void *)handle);
    EVENT(event, handle);
    CHECK(capture_allows_event(event));
    struct remote record;
    struct clock known = {0};
    bool remote = shared_event_last(event, &record, &known), done;
    if (remote) {
        done = remote_done(&record);
    } else {
        done = !event->marker || event->marker->done;
        clock_copy(&known, &event->clock);
    }
    if (done)
        host_join(&known);
    clock_drop(&known);
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* Another thread may record or destroy the event meanwhile. */
static void synchronize_remote(const struct remote *record, const struct clock *known)
{
    struct op *op = remote_op(record, "cuEventSynchronize"); /* keeps the other process's segment */
    driver_unlock(NULL);
    remote_wait(record);
    driver_lock();
    op_release(op);
    host_join(known);
}

API cuEventSynchronize(CUevent handle)
{
    ENTRY("cuEventSynchronize event=%p", (void *)handle);
    EVENT(event, handle);
    CHECK(capture_allows_event(event));
    struct remote record;
    struct clock known = {0};
    if (shared_event_last(event, &record, &known)) {
        synchronize_remote(&record, &known);
    } else if (event->marker) {
        clock_copy(&known, &event->clock);
        host_await(event->marker);
        host_join(&known);
    }
    clock_drop(&known);
    return CUDA_SUCCESS;
}

static CUresult timed_marker(CUevent handle, struct op **marker)
{
    EVENT(event, handle);
    REQUIRE(!event->capture, CUDA_ERROR_CAPTURED_EVENT);
    REQUIRE(!(event->flags & CU_EVENT_DISABLE_TIMING) && event->marker, CUDA_ERROR_INVALID_HANDLE);
    *marker = event->marker;
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent from, CUevent to)
{
    ENTRY("cuEventElapsedTime start=%p end=%p", (void *)from, (void *)to);
    struct op *first, *second;
    CHECK(timed_marker(from, &first));
    CHECK(timed_marker(to, &second));
    REQUIRE(first->done && second->done, CUDA_ERROR_NOT_READY);
    double seconds = (double)(second->finished.tv_sec - first->finished.tv_sec);
    double nanoseconds = (double)(second->finished.tv_nsec - first->finished.tv_nsec);
    *milliseconds = (float)(seconds * 1e3 + nanoseconds / 1e6);
    return CUDA_SUCCESS;
}

API cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return elapsed(milliseconds, start, end);
}

API cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    return elapsed(milliseconds, start, end);
}
