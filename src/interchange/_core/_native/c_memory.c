/* Memory of producers in C: a deleter, and a count of what needs the memory.
 *
 * Source: interchange/interchange.h, interchange_array_from_memory().  Counts are atomic, and nothing
 * here needs Python: consumers of exports release them on any thread, also after Python ended. */
#include "c_memory.h"

#include "owners.h"

#include <stdlib.h>

struct CMemory {
    long holders;
    void (*deleter)(void *context); /* or NULL */
    void *context;
};

CMemory *new_c_memory(void (*deleter)(void *), void *context)
{
    CMemory *self = malloc(sizeof *self);

    if (self == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    self->holders = 1;
    self->deleter = deleter;
    self->context = context;
    return self;
}

void free_c_memory(CMemory *self)
{
    free(self);
}

void hold_c_memory(CMemory *self)
{
    (void)change_count(&self->holders, 1);
}

/* Call the deleter while Python code may run: it does not see the current exception, and leaves
 * none. */
static void delete_with_gil(const CMemory *self)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    self->deleter(self->context);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(NULL);
    PyErr_Restore(type, value, traceback);
}

void drop_c_memory(CMemory *self)
{
    if (change_count(&self->holders, -1) != 0)
        return;
    if (self->deleter != NULL) {
        if (gil_is_held())
            delete_with_gil(self);
        else
            self->deleter(self->context);
    }
    free(self);
}

static void release(void *managed)
{
    drop_c_memory(managed);
}

static int release_shared(void *managed)
{
    CMemory *self = managed;
    long holders = LOAD_RELAXED(self->holders);

    while (holders > 1)
        if (replace_count(&self->holders, &holders, holders - 1))
            return 1;
    return 0;
}

void register_c_memory(void)
{
    register_ownership(OWNS_C_MEMORY, (ReleaseFunctions){release, release_shared});
}
