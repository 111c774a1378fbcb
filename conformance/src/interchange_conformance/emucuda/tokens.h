/* Tokens: the 64 bytes that stand for an allocation or an event in another process. */
#pragma once

#include "processes.h"

enum token_kind { TOKEN_MEMORY = 0x6d656d31, TOKEN_EVENT = 0x65767431, TOKEN_POINTER = 0x70747231 };

struct token {
    uint32_t kind, device;
    struct process process; /* the owner */
    int32_t file;           /* its descriptor of the memory */
    uint32_t index, serial; /* in its segment */
    uint32_t number;        /* of the file of a pool */
    uint64_t offset, size; /* in the file */
    uint64_t checksum;
};
_Static_assert(sizeof(struct token) == CU_IPC_HANDLE_SIZE, "a token fills a handle");

void token_seal(struct token *token);
bool token_valid(const struct token *token, enum token_kind kind);
