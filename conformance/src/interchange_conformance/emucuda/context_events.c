/* Events of all that a context does: cuCtxRecordEvent, cuCtxWaitEvent and those of green contexts.
 *
 * A context has a stream for this, without work of its own: a record awaits all other streams there,
 * and a wait there is awaited by the streams of the context, also by those made later.
 */
#include "calls.h"

/* "If the specified context has a stream in the capture mode [...] the call will invalidate all the
 * conflicting captures". */
static CUresult check_captures(struct context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (struct context *c = NULL; (c = context_part(context, c));)
        for (struct stream *s = c->streams; s; s = s->next)
            if (s->capture)
                status = capture_invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return status;
}

static struct stream *gate_of(struct context *context)
{
    if (!context->gate)
        context->gate = stream_make(context, CU_STREAM_NON_BLOCKING, 0);
    return context->gate;
}

CUresult record_context(struct context *context, CUevent handle, const char *name)
{
    struct event *event = handle_find(handle, KIND_EVENT);
    REQUIRE(event && event->context == context->base, CUDA_ERROR_INVALID_HANDLE);
    CHECK(check_captures(context));
    struct stream *gate = gate_of(context);
    struct op *op = op_new(&mark_class, name);
    for (struct context *c = NULL; (c = context_part(context, c));) {
        clock_join(&gate->clock, &c->departed);
        for (struct stream *s = c->streams; s; s = s->next) {
            if (s == gate)
                continue;
            op_await(op, s->last);
            clock_join(&gate->clock, &s->clock);
        }
    }
    stream_enqueue(gate, op);
    event_record(event, gate, name);
    return CUDA_SUCCESS;
}

CUresult wait_context(struct context *context, CUevent handle, const char *name)
{
    struct event *event = handle_find(handle, KIND_EVENT);
    REQUIRE(event, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(!event->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(check_captures(context));
    if (driver.drop_waits)
        return CUDA_SUCCESS;
    struct stream *gate = gate_of(context);
    event_await(event, gate, name);
    for (struct context *c = NULL; (c = context_part(context, c));)
        for (struct stream *s = c->streams; s; s = s->next)
            if (s != gate && s != c->gate)
                gate_pass(s, gate);
    return CUDA_SUCCESS;
}

static CUresult named(CUcontext handle, struct context **context)
{
    *context = handle_find(handle, KIND_CONTEXT);
    REQUIRE(*context, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE((*context)->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

API cuCtxRecordEvent(CUcontext handle, CUevent event)
{
    ENTRY("cuCtxRecordEvent context=%p event=%p", (void *)handle, (void *)event);
    struct context *context;
    CHECK(named(handle, &context));
    return record_context(context, event, "cuCtxRecordEvent");
}

API cuCtxWaitEvent(CUcontext handle, CUevent event)
{
    ENTRY("cuCtxWaitEvent context=%p event=%p", (void *)handle, (void *)event);
    struct context *context;
    CHECK(named(handle, &context));
    return wait_context(context, event, "cuCtxWaitEvent");
}
