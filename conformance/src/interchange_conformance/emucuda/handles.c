/* Handles: numbers that stand for objects, found in a table by value and never dereferenced.
 *
 * A number is never reused, so that a destroyed handle stays unknown. (A real driver may reuse an
 * address; a correct program relies on neither.) The numbers look like addresses,
 * and nothing is mapped there.
 */
#include "handles.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 8192
#define FIRST_VALUE 0x5ec000000000ull
#define VALUE_STEP 0x40

struct text {
    struct text *next;
    char letters[];
};

static struct handle *table[BUCKETS];
static uint64_t last_value = FIRST_VALUE;
static uint64_t last_id;
static struct text *texts[256];

static struct handle **bucket(uint64_t value)
{
    return &table[value / VALUE_STEP % BUCKETS];
}

void handle_add(struct handle *handle, enum kind kind)
{
    last_value += VALUE_STEP;
    handle->value = last_value;
    handle->kind = kind;
    struct handle **first = bucket(handle->value);
    handle->next = *first;
    *first = handle;
}

void handle_remove(struct handle *handle)
{
    struct handle **at = bucket(handle->value);
    while (*at && *at != handle)
        at = &(*at)->next;
    if (*at)
        *at = handle->next;
}

void *handle_find(const void *value, enum kind kind)
{
    struct handle *at = *bucket((uint64_t)value);
    while (at && at->value != (uint64_t)value)
        at = at->next;
    return at && at->kind == kind ? at : NULL;
}

void handle_each(enum kind kind, void (*visit)(void *object, void *argument), void *argument)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct handle *next;
        for (struct handle *at = table[i]; at; at = next) {
            next = at->next; /* the visitor may remove this one */
            if (at->kind == kind)
                visit(at, argument);
        }
    }
}

uint64_t next_id(void)
{
    return ++last_id;
}

const char *intern(const char *text)
{
    unsigned hash = 5381;
    for (const char *c = text; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    struct text **first = &texts[hash % 256];
    for (struct text *t = *first; t; t = t->next)
        if (strcmp(t->letters, text) == 0)
            return t->letters;
    size_t size = strlen(text) + 1;
    struct text *made = malloc(sizeof *made + size);
    memcpy(made->letters, text, size);
    made->next = *first;
    *first = made;
    return made->letters;
}
