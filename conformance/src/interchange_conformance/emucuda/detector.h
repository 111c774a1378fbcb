/* The race detector: every access is compared with the history of its allocation. */
#pragma once

#include "allocation.h"

void detect(const struct actor *actor, const struct access *access);
void detect_allocated(const struct actor *actor, struct allocation *allocation);
void detect_freed(const struct actor *actor, struct allocation *allocation);
void detector_reset(void); /* forget all accesses so far */

void report_pair(const struct actor *first, const struct access *first_access,
                 const struct actor *second, const struct access *second_access);
/* An access that the device does not reach. */
void report_foreign(const struct actor *actor, const struct access *access, int device);
/* Of freed memory, beyond an allocation, or where there is none. */
void report_unreachable(const struct actor *actor, const struct access *access);
void report_fault(const struct actor *actor, const char *kind, const char *what, int place);
