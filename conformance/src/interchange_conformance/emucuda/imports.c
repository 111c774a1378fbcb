/* Imports: mapping memory of other processes, and giving it back. */
#include "imports.h"

#include "share_records.h"

#include <stdlib.h>

static struct import *imports;

bool import_offer(struct allocation *a)
{
    if (a->share)
        return true;
    a->share = share_new();
    if (a->share)
        share_publish(a->share, a);
    return a->share != NULL;
}

struct import *import_find(const struct token *token)
{
    const struct peer *peer = peer_known(&token->process);
    const struct share *share = peer ? share_find(peer, token->index, token->serial) : NULL;
    for (struct import *at = imports; share && at; at = at->next)
        if (at->allocation->share == share)
            return at;
    return NULL;
}

struct import *import_of_peer(const struct peer *peer, const struct import *after)
{
    struct import *at = after ? after->next : imports;
    while (at && at->peer != peer)
        at = at->next;
    return at;
}

/* Pages of the file in place of an arena's; the memory begins where it does in its first page. */
static bool map(const struct token *token, int file, struct mapping *pages)
{
    uint64_t first = token->offset & ~((uint64_t)PAGE - 1);
    uint64_t end = (token->offset + token->size + PAGE - 1) & ~((uint64_t)PAGE - 1);
    uint64_t start = arena_take_file((int)token->device, end - first, file, first);
    *pages = (struct mapping){.start = start, .size = end - first, .file = -1, .offset = first};
    return start != 0;
}

CUresult import_open(const struct token *token, int file, struct context *context,
                     const char *name, struct allocation **made)
{
    struct peer *peer = peer_open(&token->process);
    struct share *share = peer ? share_find(peer, token->index, token->serial) : NULL;
    struct mapping pages;
    if (!share || file < 0 || !map(token, file, &pages)) {
        peer_release(peer);
        return share && file >= 0 ? CUDA_ERROR_MAP_FAILED : CUDA_ERROR_INVALID_HANDLE;
    }
    struct import *import = malloc(sizeof *import);
    *made = allocation_place((struct allocation){
        .start = pages.start + (token->offset - pages.offset), .size = token->size,
        .memory = MEMORY_DEVICE, .device = (int)token->device, .context = context,
        .made_by = name, .mapping = pages, .share = share, .import = import});
    *import = (struct import){peer, context, 1, *made, imports};
    imports = import;
    share_enter(share);
    return CUDA_SUCCESS;
}

void import_leave(const struct allocation *allocation)
{
    for (const struct import *at = imports; at; at = at->next)
        if (at->allocation != allocation && at->allocation->share == allocation->share)
            return; /* open a second time */
    share_leave(allocation->share);
}

/* The bytes belong to the other process, and stay as they are. */
void import_close(struct allocation *allocation)
{
    struct import *import = allocation->import, **at = &imports;
    import_leave(allocation);
    while (*at != import)
        at = &(*at)->next;
    *at = import->next;
    peer_release(import->peer);
    free(import);
    allocation->import = NULL;
    allocation->share = NULL;
    arena_unmap(allocation->mapping.start, allocation->mapping.size);
    allocation_poison(allocation);
    allocation_retire(allocation);
}
