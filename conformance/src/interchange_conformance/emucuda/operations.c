/* Operations: one unit of work in a stream, what it waits for, and what happens when it runs. */
#include "emucuda.h"

#include <stdlib.h>
#include <string.h>

__thread struct op *op_running;

struct op *op_new(enum op_kind kind, const char *name)
{
    struct op *op = calloc(1, sizeof *op);
    op->kind = kind;
    op->name = name;
    op->references = 1;
    op->access = op->few;
    op->room = sizeof op->few / sizeof *op->few;
    return op;
}

static void reserve(struct op *op, int accesses)
{
    if (accesses <= op->room)
        return;
    struct access *old = op->access == op->few ? NULL : op->access;
    op->access = realloc(old, (size_t)accesses * sizeof *op->access);
    if (!old)
        memcpy(op->access, op->few, (size_t)op->accesses * sizeof *op->access);
    op->room = accesses;
}

/* The same work to be done again: what a graph does with its nodes. */
struct op *op_clone(const struct op *op)
{
    struct op *clone = op_new(op->kind, op->name);
    reserve(clone, op->accesses);
    clone->accesses = op->accesses;
    memcpy(clone->access, op->access, (size_t)op->accesses * sizeof *op->access);
    clone->value = op->value;
    clone->element = op->element;
    clone->host = op->host;
    clone->callback = op->callback;
    clone->argument = op->argument;
    clone->handle = op->handle;
    clone->launch = launch_hold(op->launch);
    return clone;
}

struct op *op_hold(struct op *op)
{
    op->references++;
    return op;
}

void op_release(struct op *op)
{
    if (!op || --op->references)
        return;
    exec_release(op->exec);
    launch_release(op->launch);
    clock_drop(&op->clock);
    free(op->staged);
    if (op->access != op->few)
        free(op->access);
    free(op);
}

void op_touches(struct op *op, struct region region, bool write)
{
    if (op->accesses == op->room)
        reserve(op, 2 * op->room);
    op->access[op->accesses++] = (struct access){region, write};
}

void op_await(struct op *op, struct op *earlier)
{
    if (!earlier || earlier->done)
        return;
    struct edge *edge = malloc(sizeof *edge);
    *edge = (struct edge){earlier->waiters, op};
    earlier->waiters = edge;
    op->unmet++;
}

void op_wait(struct op *op)
{
    op_hold(op);
    op->watched = true;
    host_wait(&op->done);
    op_release(op);
}

/* ---- what operations do; the lock is not held ---- */

static void copy(const struct op *op)
{
    const struct region *source = &op->access[0].region, *target = &op->access[1].region;
    const char *from = op->staged ? op->staged : arena_alias(source->start);
    size_t pitch = op->staged ? source->width : source->pitch;
    size_t slice = op->staged ? source->width * source->height : source->slice;
    char *to = arena_alias(target->start);
    for (size_t z = 0; z < target->depth; z++)
        for (size_t y = 0; y < target->height; y++)
            memmove(to + z * target->slice + y * target->pitch, from + z * slice + y * pitch,
                    target->width);
}

static void fill(const struct op *op)
{
    const struct region *target = &op->access[0].region;
    char *to = arena_alias(target->start);
    for (size_t y = 0; y < target->height; y++) {
        char *row = to + y * target->pitch;
        if (op->element == 1)
            memset(row, (int)op->value, target->width);
        else
            for (size_t x = 0; x < target->width; x += op->element)
                memcpy(row + x, &op->value, op->element);
    }
}

void op_execute(struct op *op)
{
    in_host_function = op->kind == OP_HOST || op->kind == OP_CALLBACK;
    op_running = op;
    switch (op->kind) {
    case OP_COPY:
        copy(op);
        break;
    case OP_FILL:
        fill(op);
        break;
    case OP_HOST:
        op->host(op->argument);
        break;
    case OP_CALLBACK:
        op->callback(op->handle, CUDA_SUCCESS, op->argument);
        break;
    case OP_FREE:
        allocation_poison(op->allocation);
        break;
    case OP_KERNEL:
        if (op->launch)
            launch_run(op);
        break;
    case OP_MARK:
        break;
    }
    in_host_function = false;
    op_running = NULL;
}
