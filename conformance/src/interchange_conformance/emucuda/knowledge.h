/* Knowledge: clocks that processes hand to each other. */
#pragma once

#include "processes.h"

/* What a clock knows beyond what the hosts of the processes know, for other processes. */
void knowledge_write(struct ticket *ticket, const struct clock *clock);
void knowledge_read(struct clock *clock, const struct ticket *ticket);
/* Does the clock know an operation of another process, or the host of that process? */
bool knowledge_has(const struct clock *clock, const struct process *process, uint32_t slot,
                   uint64_t seq);
