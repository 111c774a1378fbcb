/* Tokens: a damaged one is told from a sound one by its checksum (FNV-1a). */
#include "tokens.h"

static uint64_t checksum(const struct token *token)
{
    const unsigned char *bytes = (const unsigned char *)token;
    uint64_t sum = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < offsetof(struct token, checksum); i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3ull;
    return sum;
}

void token_seal(struct token *token)
{
    token->checksum = checksum(token);
}

bool token_valid(const struct token *token, enum token_kind kind)
{
    return token->checksum == checksum(token) && token->kind == (uint32_t)kind;
}
