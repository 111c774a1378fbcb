/* User objects: what a program ties to a graph, destroyed when the graph and all its launches are
 * over. */
#include "emucuda.h"

#include <limits.h>
#include <stdlib.h>

struct user_object {
    struct handle handle;
    uint64_t references;
    CUhostFn destroy;
    void *argument;
};

struct holding { /* references that a graph or an executable graph owns */
    struct holding *next;
    struct user_object *object;
    unsigned count;
};

#define OBJECT(name, handle)                                            \
    struct user_object *name = handle_find((handle), KIND_USER_OBJECT); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)

#define COUNT(count) REQUIRE((count) > 0 && (count) <= INT_MAX, CUDA_ERROR_INVALID_VALUE)

/* Destructors "are executed by a shared internal thread": here, each by one of its own. */
static void *destroy(void *argument)
{
    struct user_object *object = argument;
    in_host_function = true;
    object->destroy(object->argument);
    free(object);
    return NULL;
}

static void drop(struct user_object *object, unsigned count)
{
    object->references -= count < object->references ? count : object->references;
    if (object->references)
        return;
    handle_remove(&object->handle);
    thread_start(destroy, object);
}

void holdings_copy(struct holding **into, const struct holding *from)
{
    for (; from; from = from->next) {
        struct holding *copy = malloc(sizeof *copy);
        *copy = (struct holding){*into, from->object, from->count};
        *into = copy;
        from->object->references += from->count;
    }
}

void holdings_drop(struct holding **list)
{
    while (*list) {
        struct holding *first = *list;
        *list = first->next;
        drop(first->object, first->count);
        free(first);
    }
}

API cuUserObjectCreate(CUuserObject *result, void *argument, CUhostFn function, unsigned count,
                       unsigned flags)
{
    ENTRY("cuUserObjectCreate count=%u", count);
    COUNT(count);
    REQUIRE(result && function && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC,
            CUDA_ERROR_INVALID_VALUE);
    struct user_object *object = calloc(1, sizeof *object);
    object->references = count;
    object->destroy = function;
    object->argument = argument;
    handle_add(&object->handle, KIND_USER_OBJECT);
    *result = (CUuserObject)object->handle.value;
    return CUDA_SUCCESS;
}

API cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    ENTRY("cuUserObjectRetain object=%p count=%u", (void *)handle, count);
    OBJECT(object, handle);
    COUNT(count);
    object->references += count;
    return CUDA_SUCCESS;
}

API cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    ENTRY("cuUserObjectRelease object=%p count=%u", (void *)handle, count);
    OBJECT(object, handle);
    COUNT(count);
    drop(object, count);
    return CUDA_SUCCESS;
}

API cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count,
                            unsigned flags)
{
    ENTRY("cuGraphRetainUserObject graph=%p object=%p", (void *)graph_handle, (void *)handle);
    GRAPH(graph, graph_handle);
    OBJECT(object, handle);
    COUNT(count);
    REQUIRE((flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) == 0, CUDA_ERROR_INVALID_VALUE);
    struct holding *added = malloc(sizeof *added);
    *added = (struct holding){graph->holdings, object, count};
    graph->holdings = added;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        object->references += count;
    return CUDA_SUCCESS;
}

API cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count)
{
    ENTRY("cuGraphReleaseUserObject graph=%p object=%p", (void *)graph_handle, (void *)handle);
    GRAPH(graph, graph_handle);
    OBJECT(object, handle);
    COUNT(count);
    for (struct holding **at = &graph->holdings; *at; at = &(*at)->next) {
        struct holding *found = *at;
        if (found->object != object || found->count < count)
            continue;
        found->count -= count;
        if (!found->count) {
            *at = found->next;
            free(found);
        }
        drop(object, count);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
