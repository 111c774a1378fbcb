/* Images: the text that names the kernels of a module, read word by word. See kernels.h. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define MARK "emucuda host code "
#define TITLE MARK "2\n"
#define MOST_BYTES 32764     /* of parameters: what a real driver takes */
#define MOST_FRAME (1 << 19) /* [bytes] of a thread, as much as its local memory */

bool image_known(const char *image)
{
    return strncmp(image, MARK, strlen(MARK)) == 0;
}

/* ---- words; each function moves `at` past what it has read ---- */

static void skip_spaces(const char **at)
{
    while (**at == ' ')
        ++*at;
}

static bool ends_word(char c)
{
    return c == ' ' || c == '\n' || c == '\0';
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static bool read_number(const char **at, unsigned base, uint64_t most, uint64_t *number)
{
    const char *first = *at;
    uint64_t sum = 0;
    for (unsigned d; (d = (unsigned)digit(**at)) < base; ++*at) {
        if (sum > most / base || sum * base > most - d)
            return false;
        sum = sum * base + d;
    }
    *number = sum;
    return *at != first;
}

static bool read_word(const char **at, const char **word)
{
    skip_spaces(at);
    const char *first = *at;
    while (!ends_word(**at))
        ++*at;
    if (*at == first)
        return false;
    char *copy = strndup(first, (size_t)(*at - first));
    *word = intern(copy);
    free(copy);
    return true;
}

static bool read_size(const char **at, uint64_t most, size_t *size)
{
    uint64_t number;
    skip_spaces(at);
    if (!read_number(at, 10, most, &number))
        return false;
    *size = number;
    return ends_word(**at);
}

static bool read_address(const char **at, uint64_t *address)
{
    skip_spaces(at);
    if (strncmp(*at, "0x", 2) != 0)
        return false;
    *at += 2;
    return read_number(at, 16, UINT64_MAX, address) && ends_word(**at);
}

/* ---- parameters ---- */

static void add_value(struct kernel *kernel, unsigned size)
{
    unsigned offset = (kernel->size + size - 1) & ~(size - 1);
    kernel->values =
        realloc(kernel->values, (kernel->value_count + 1) * sizeof *kernel->values);
    kernel->values[kernel->value_count++] = (struct value){offset, size};
    kernel->size = offset + size;
}

static bool read_value(const char **at, struct kernel *kernel)
{
    uint64_t size;
    if (!read_number(at, 10, 16, &size) || size == 0 || (size & (size - 1)))
        return false;
    add_value(kernel, (unsigned)size);
    return true;
}

static bool read_access(const char **at, struct array *array)
{
    if (**at == '-') {
        ++*at;
        return true;
    }
    array->reads = **at == 'r';
    *at += array->reads;
    array->writes = **at == 'w';
    *at += array->writes;
    return array->reads || array->writes;
}

static bool read_array(const char **at, struct kernel *kernel)
{
    struct array array = {.first = kernel->value_count};
    uint64_t itemsize, axes;
    if (!read_number(at, 10, INT32_MAX, &itemsize) || itemsize == 0 || *(*at)++ != ':')
        return false;
    if (!read_number(at, 10, MAX_AXES, &axes) || *(*at)++ != ':' || !read_access(at, &array))
        return false;
    array.itemsize = itemsize;
    array.axes = (unsigned)axes;
    for (unsigned i = 0; i < 1 + 2 * array.axes; i++)
        add_value(kernel, sizeof(int64_t));
    kernel->arrays =
        realloc(kernel->arrays, (kernel->array_count + 1) * sizeof *kernel->arrays);
    kernel->arrays[kernel->array_count++] = array;
    return true;
}

/* ---- memory of a block ---- */

static bool read_piece(const char **at, struct kernel *kernel, bool address)
{
    struct piece piece = {0};
    uint64_t block, thread, where;
    if (address) {
        if (!read_address(at, &where))
            return false;
        piece.address = (void *)where;
    } else {
        if (!read_number(at, 10, INT32_MAX, &block) || *(*at)++ != ':')
            return false;
        if (!read_number(at, 10, MOST_FRAME, &thread))
            return false;
        piece.block = block;
        piece.thread = thread;
    }
    kernel->pieces =
        realloc(kernel->pieces, (kernel->piece_count + 1) * sizeof *kernel->pieces);
    kernel->pieces[kernel->piece_count++] = piece;
    return true;
}

static bool read_parameter(const char **at, struct kernel *kernel)
{
    char kind = *(*at)++;
    bool fine = (kind == 'v' && read_value(at, kernel)) || (kind == 'a' && read_array(at, kernel)) ||
                ((kind == 'w' || kind == 'p') && read_piece(at, kernel, kind == 'p'));
    return fine && ends_word(**at) && kernel->size <= MOST_BYTES;
}

/* ---- kernels ---- */

static bool read_kernel(const char **at, struct kernel *kernel)
{
    uint64_t entry, status;
    if (!read_word(at, &kernel->name) || !read_address(at, &entry) || !entry)
        return false;
    if (!read_size(at, INT32_MAX, &kernel->shared) || !read_size(at, MOST_FRAME, &kernel->frame))
        return false;
    if (!read_address(at, &status) || status % sizeof *kernel->status)
        return false;
    kernel->entry = (entry_function *)entry;
    kernel->status = (int32_t *)status;
    kernel->dynamic = kernel->shared < MAX_SHARED ? MAX_SHARED - (int)kernel->shared : 0;
    kernel->carveout = -1; /* no preference */
    for (skip_spaces(at); **at != '\n' && **at != '\0'; skip_spaces(at))
        if (!read_parameter(at, kernel))
            return false;
    *at += **at == '\n';
    return true;
}

static bool named_twice(const struct kernel *kernel)
{
    const struct kernel *other = kernel->next;
    while (other && other->name != kernel->name) /* one copy of each text */
        other = other->next;
    return other != NULL;
}

/* What was read before a mistake belongs to the module, too. */
bool image_read(const char *image, struct module *module)
{
    if (strncmp(image, TITLE, strlen(TITLE)) != 0)
        return false;
    for (const char *at = image + strlen(TITLE); *at;) {
        struct kernel *kernel = calloc(1, sizeof *kernel);
        kernel->module = module;
        kernel->next = module->kernels;
        module->kernels = kernel;
        if (!read_kernel(&at, kernel) || named_twice(kernel))
            return false;
    }
    return true;
}
