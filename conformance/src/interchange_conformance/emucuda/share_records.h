/* Share records: the accesses of all processes to memory that they share. */
#pragma once

#include "shares.h"

/* Accesses are those of addresses from the beginning of the allocation. */
void share_add(struct share *share, const struct actor *actor, const struct access *access,
               bool made);
/* The newest one of another process that is not known to come before, or of the allocation itself. */
bool share_conflict(struct share *share, const struct actor *actor, const struct access *access,
                    struct shared_record *found);
void share_freed_by(struct share *share, const struct actor *actor);
bool share_was_freed(struct share *share, struct shared_record *by); /* by another process */
void share_publish(struct share *share, const struct allocation *allocation); /* its history so far */
void share_forget(struct share *share); /* all accesses */
