/* Handles: what users hold of objects. */
#pragma once

#include "trace.h"

enum kind {
    KIND_CONTEXT = 1,
    KIND_STREAM,
    KIND_EVENT,
    KIND_POOL,
    KIND_GRAPH,
    KIND_NODE,
    KIND_EXEC,
    KIND_USER_OBJECT,
    KIND_MODULE,
    KIND_FUNCTION,
    KIND_PHYSICAL,
    KIND_GREEN,
    KIND_RESOURCES,
};

struct handle { /* first member of every object with a handle */
    uint64_t value;
    enum kind kind;
    struct handle *next;
};

void handle_add(struct handle *handle, enum kind kind);
void handle_remove(struct handle *handle);
/* NULL if unknown: a handle is never dereferenced. */
void *handle_find(const void *value, enum kind kind);
void handle_each(enum kind kind, void (*visit)(void *object, void *argument), void *argument);
uint64_t next_id(void);
const char *intern(const char *text); /* one copy of each text, never freed */
