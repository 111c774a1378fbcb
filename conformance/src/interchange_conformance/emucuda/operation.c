/* Operations: one unit of work in a stream, and what it waits for. */
#include "operation.h"

#include <stdlib.h>
#include <string.h>

const struct op_class mark_class = {.node_type = CU_GRAPH_NODE_TYPE_EMPTY};

struct op *op_new(const struct op_class *class, const char *name)
{
    struct op *op = calloc(1, sizeof *op);
    op->class = class;
    op->name = name;
    op->references = 1;
    op->access = op->inline_access;
    op->capacity = sizeof op->inline_access / sizeof *op->inline_access;
    return op;
}

static void reserve(struct op *op, int accesses)
{
    if (accesses <= op->capacity)
        return;
    struct access *old = op->access == op->inline_access ? NULL : op->access;
    op->access = realloc(old, (size_t)accesses * sizeof *op->access);
    if (!old)
        memcpy(op->access, op->inline_access, (size_t)op->accesses * sizeof *op->access);
    op->capacity = accesses;
}

/* The same work, to be done again: how a graph runs its nodes. */
struct op *op_clone(const struct op *op)
{
    struct op *clone = op_new(op->class, op->name);
    reserve(clone, op->accesses);
    clone->accesses = op->accesses;
    memcpy(clone->access, op->access, (size_t)op->accesses * sizeof *op->access);
    clone->payload = op->payload;
    if (op->class->clone)
        op->class->clone(clone);
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
    if (op->class->release)
        op->class->release(op);
    clock_drop(&op->clock);
    if (op->access != op->inline_access)
        free(op->access);
    free(op);
}

void op_touches(struct op *op, struct region region, bool write)
{
    if (op->accesses == op->capacity)
        reserve(op, 2 * op->capacity);
    op->access[op->accesses++] = (struct access){region, write};
}

void op_await(struct op *op, struct op *earlier)
{
    if (!earlier || earlier->done)
        return;
    struct dependent *dependent = malloc(sizeof *dependent);
    *dependent = (struct dependent){earlier->dependents, op};
    earlier->dependents = dependent;
    op->unmet++;
}
