/* Events for other processes: cuIpcGetEventHandle and cuIpcOpenEventHandle. */
#include "calls.h"
#include "shared_events.h"

#include <stdlib.h>
#include <string.h>

API cuIpcGetEventHandle(CUipcEventHandle *result, CUevent handle)
{
    ENTRY("cuIpcGetEventHandle event=%p", (void *)handle);
    struct event *event = handle_find(handle, KIND_EVENT);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(event && event->shared && !event->peer, CUDA_ERROR_INVALID_HANDLE);
    struct token token = {.kind = TOKEN_EVENT, .device = (uint32_t)event->context->device,
                          .process = own_segment->self, .index = shared_event_index(event),
                          .serial = event->serial};
    token_seal(&token);
    memcpy(result, &token, sizeof token);
    return CUDA_SUCCESS;
}

/* "Behaves like a locally created event with the CU_EVENT_DISABLE_TIMING flag". */
API cuIpcOpenEventHandle(CUevent *result, CUipcEventHandle handle)
{
    ENTRY("cuIpcOpenEventHandle");
    CONTEXT(context);
    struct token token;
    memcpy(&token, &handle, sizeof token);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(token_valid(&token, TOKEN_EVENT), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(!process_is_own(&token.process), CUDA_ERROR_INVALID_CONTEXT);
    struct event *event = event_make(context, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    if (!shared_event_attach(event, &token)) {
        event_destroy(event);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *result = (CUevent)event->handle.value;
    return CUDA_SUCCESS;
}
