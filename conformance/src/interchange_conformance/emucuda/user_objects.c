/* User objects: what a graph owns, destroyed when the graph and all its launches are done. */
#include "graph.h"

#include <stdlib.h>

struct user_object {
    struct handle handle;
    uint64_t references;
    CUhostFn destroy;
    void *argument;
};

struct holding {
    struct holding *next;
    struct user_object *object;
    unsigned count;
};

/* Destructors "are executed by a shared internal thread": here, each by a thread of its own. */
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

void holding_add(struct holding **list, struct user_object *object, unsigned count)
{
    struct holding *added = malloc(sizeof *added);
    *added = (struct holding){*list, object, count};
    *list = added;
}

bool holding_remove(struct holding **list, struct user_object *object, unsigned count)
{
    for (; *list; list = &(*list)->next) {
        struct holding *found = *list;
        if (found->object != object || found->count < count)
            continue;
        found->count -= count;
        if (!found->count) {
            *list = found->next;
            free(found);
        }
        drop(object, count);
        return true;
    }
    return false;
}

void holdings_copy(struct holding **into, const struct holding *from)
{
    for (; from; from = from->next) {
        holding_add(into, from->object, from->count);
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

void user_object_retain(struct user_object *object, unsigned count)
{
    object->references += count;
}

API cuUserObjectCreate(CUuserObject *result, void *argument, CUhostFn function, unsigned count,
                       unsigned flags)
{
    ENTRY("cuUserObjectCreate count=%u", count);
    USER_COUNT(count);
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
    USER_OBJECT(object, handle);
    USER_COUNT(count);
    user_object_retain(object, count);
    return CUDA_SUCCESS;
}

API cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    ENTRY("cuUserObjectRelease object=%p count=%u", (void *)handle, count);
    USER_OBJECT(object, handle);
    USER_COUNT(count);
    drop(object, count);
    return CUDA_SUCCESS;
}
