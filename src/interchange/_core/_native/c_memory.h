/* Memory of producers in C: a deleter, and a count of what needs the memory. */
#ifndef INTERCHANGE_C_MEMORY_H
#define INTERCHANGE_C_MEMORY_H

#include "state.h"

typedef struct CMemory CMemory;

HIDDEN CMemory *new_c_memory(void (*deleter)(void *), void *context); /* one reference */
/* These need no GIL. */
HIDDEN void hold_c_memory(CMemory *self);
HIDDEN void drop_c_memory(CMemory *self); /* calls the deleter where it was the last reference */
HIDDEN void free_c_memory(CMemory *self); /* without calling the deleter */
HIDDEN void register_c_memory(void);

#endif
