/* Bitmaps: spread to bytes, counted, and applied to elements; and blocks of memory joined.
 *
 * Source: Arrow columnar format, Validity bitmaps: bit 0 is the lowest bit of byte 0, on machines
 * of either byte order.  Callers have validated addresses and lengths.  No instruction beyond the
 * compiler's target is used; long loops run without the GIL. */
#include "arrow_bits.h"

#include <string.h>

#define WORD 64            /* [bits] */

/* Bits of a bitmap, the first the lowest; `count` is at most WORD, and nothing beyond is read. */
static inline uint64_t read_bits(const uint8_t *bitmap, uint64_t first, uint64_t count)
{
    const uint8_t *at = bitmap + (first >> 3);
    unsigned shift = first & 7;
    size_t nbytes = (shift + count + 7) >> 3; /* 9 at most */
    uint64_t word = 0;

    memcpy(&word, at, nbytes < 8 ? nbytes : 8);
    word = from_little_endian(word) >> shift;
    if (nbytes > 8)
        word |= (uint64_t)at[8] << (WORD - shift);
    return count < WORD ? word & (((uint64_t)1 << count) - 1) : word;
}

/* ---------------------------------------------------------------- spreading */

static inline void spread_some(uint64_t bits, uint64_t count, uint8_t *into)
{
    for (uint64_t i = 0; i < count; i++)
        into[i] = bits >> i & 1;
}

#ifdef HAS_VECTORS
/* Write the bits of two bytes, each of which is repeated eight times. */
static inline void put_bits(Bytes repeated, uint8_t *into)
{
    const Bytes bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    Bytes found = (Bytes)((repeated & bit) == bit) & 1;

    memcpy(into, &found, sizeof found);
}

/* Write the bits of eight bytes, each of which is repeated twice. */
static inline void put_eight(Bytes repeated, uint8_t *into)
{
    Bytes low = TWICE_LOW(repeated), high = TWICE_HIGH(repeated);

    put_bits(TWICE_LOW(low), into);
    put_bits(TWICE_HIGH(low), into + 16);
    put_bits(TWICE_LOW(high), into + 32);
    put_bits(TWICE_HIGH(high), into + 48);
}

/* Spread 16 bytes at a time, and return how many bits that were. */
static uint64_t spread_blocks(const uint8_t *at, uint64_t count, uint8_t *into)
{
    uint64_t blocks = count / 128;

    for (uint64_t i = 0; i < blocks; i++, at += 16, into += 128) {
        Bytes bytes;
        memcpy(&bytes, at, sizeof bytes);
        put_eight(TWICE_LOW(bytes), into);
        put_eight(TWICE_HIGH(bytes), into + 64);
    }
    return 128 * blocks;
}
#else
static uint64_t spread_blocks(const uint8_t *at, uint64_t count, uint8_t *into)
{
    uint64_t bytes = count / 8;

    for (uint64_t i = 0; i < bytes; i++)
        spread_some(at[i], 8, into + 8 * i);
    return 8 * bytes;
}
#endif

static void spread(const uint8_t *bitmap, uint64_t first, uint64_t count, uint8_t *into)
{
    uint64_t head = -first & 7, done; /* the bits before the first whole byte */
    const uint8_t *at;

    if (head > count)
        head = count;
    if (head > 0)
        spread_some(read_bits(bitmap, first, head), head, into);
    at = bitmap + ((first + head) >> 3);
    done = spread_blocks(at, count - head, into + head);
    at += done >> 3;
    for (done += head; done + 8 <= count; done += 8)
        spread_some(*at++, 8, into + done);
    if (done < count)
        spread_some(*at, count - done, into + done);
}

/* ---------------------------------------------------------------- counting */

static inline uint64_t load(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t ones_of(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}

/* Add three words bit by bit: the sum replaces `sum`, and the carry is returned. */
static inline uint64_t carry_of(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t both = *sum ^ a, carry = (*sum & a) | (both & b);

    *sum = both ^ b;
    return carry;
}

/* Harley and Seal's count: eight words cost one word's count (Warren, Hacker's Delight, 5-1). */
static uint64_t count_words(const uint8_t *at, uint64_t blocks)
{
    uint64_t ones = 0, twos = 0, fours = 0, total = 0;

    for (; blocks > 0; blocks--, at += 64) {
        uint64_t two = carry_of(&ones, load(at), load(at + 8));
        uint64_t two_more = carry_of(&ones, load(at + 16), load(at + 24));
        uint64_t four = carry_of(&twos, two, two_more), four_more;

        two = carry_of(&ones, load(at + 32), load(at + 40));
        two_more = carry_of(&ones, load(at + 48), load(at + 56));
        four_more = carry_of(&twos, two, two_more);
        total += ones_of(carry_of(&fours, four, four_more));
    }
    return 8 * total + 4 * ones_of(fours) + 2 * ones_of(twos) + ones_of(ones);
}

static uint64_t count_ones(const uint8_t *bitmap, uint64_t first, uint64_t count)
{
    uint64_t head = -first & 7, total = 0;

    if (head > count)
        head = count;
    if (head > 0)
        total += ones_of(read_bits(bitmap, first, head));
    first += head;
    count -= head;
    total += count_words(bitmap + (first >> 3), count >> 9);
    first += count & ~(uint64_t)511;
    for (count &= 511; count > 0; first += head, count -= head) {
        head = count < WORD ? count : WORD;
        total += ones_of(read_bits(bitmap, first, head));
    }
    return total;
}

/* ---------------------------------------------------------------- filling */

/* Write `number` copies of an item, the bytes of which are one byte if `is_uniform`. */
static void repeat_item(uint8_t *at, const uint8_t *item, size_t size, size_t number,
                        int is_uniform)
{
    size_t done = size, total = size * number;

    if (is_uniform) {
        memset(at, item[0], total);
        return;
    }
    memcpy(at, item, size);
    for (; done < total; done *= 2)
        memcpy(at + done, at, done < total - done ? done : total - done);
}

/* For each bit that is 0, write one item of a fixed size. */
#define FILL_ONE(size)                                                                             \
    for (; zeros != 0; zeros &= zeros - 1)                                                         \
    memcpy(into + (size) * (uint64_t)lowest_bit(zeros), item, (size))

static void fill(const uint8_t *bitmap, uint64_t first, uint64_t count, uint8_t *into, size_t each,
                 const uint8_t *item, size_t size)
{
    int is_uniform = size == 1 || (size > 1 && memcmp(item, item + 1, size - 1) == 0);
    size_t step = each * size;

    for (uint64_t i = 0; i < count; i += WORD, into += WORD * step) {
        uint64_t number = count - i < WORD ? count - i : WORD;
        uint64_t all = number < WORD ? ((uint64_t)1 << number) - 1 : ~(uint64_t)0;
        uint64_t zeros = ~read_bits(bitmap, first + i, number) & all;

        if (zeros == 0)
            continue;
        if (each == 1 && size == 4)
            FILL_ONE(4);
        else if (each == 1 && size == 8)
            FILL_ONE(8);
        else if (each == 1 && size == 1)
            FILL_ONE(1);
        for (; zeros != 0; zeros &= zeros - 1)
            repeat_item(into + step * (uint64_t)lowest_bit(zeros), item, size, each,
                        is_uniform);
    }
}

/* ---------------------------------------------------------------- for Python */

static PyObject *spread_bits(PyObject *module, PyObject *args)
{
    unsigned long long address, first, number, into;

    (void)module;
    if (!PyArg_ParseTuple(args, "KKKK:spread_bits", &address, &first, &number, &into))
        return NULL;
    RUN_UNLOCKED(number >= LONG_LOOP, spread((const uint8_t *)(uintptr_t)address, first, number,
                                             (uint8_t *)(uintptr_t)into));
    return Py_NewRef(Py_None);
}

static PyObject *count_bits(PyObject *module, PyObject *args)
{
    unsigned long long address, first, number, found;

    (void)module;
    if (!PyArg_ParseTuple(args, "KKK:count_bits", &address, &first, &number))
        return NULL;
    RUN_UNLOCKED(number >= 8 * LONG_LOOP,
                 found = count_ones((const uint8_t *)(uintptr_t)address, first, number));
    return PyLong_FromUnsignedLongLong(found);
}

static PyObject *fill_zeros(PyObject *module, PyObject *args)
{
    unsigned long long address, first, number, into, each;
    PyObject *given;
    const char *item;
    Py_ssize_t size;

    (void)module;
    if (!PyArg_ParseTuple(args, "KKKKKS:fill_zeros", &address, &first, &number, &into, &each,
                          &given))
        return NULL;
    item = PyBytes_AsString(given);
    size = PyBytes_Size(given);
    if (each == 0 || size == 0)
        return Py_NewRef(Py_None);
    RUN_UNLOCKED(number >= LONG_LOOP / each / (size_t)size,
                 fill((const uint8_t *)(uintptr_t)address, first, number,
                      (uint8_t *)(uintptr_t)into, each, (const uint8_t *)item, (size_t)size));
    return Py_NewRef(Py_None);
}

/* Copy blocks one after the other, or only add their sizes where `into` is NULL. */
static uint64_t join(const char *blocks, size_t number, uint8_t *into)
{
    uint64_t total = 0, block[2]; /* an address, and a size [bytes] */

    for (size_t i = 0; i < number; i++, total += block[1]) {
        memcpy(block, blocks + i * sizeof block, sizeof block);
        if (into != NULL && block[1] > 0)
            memcpy(into + total, (const void *)(uintptr_t)block[0], block[1]);
    }
    return total;
}

static PyObject *join_blocks(PyObject *module, PyObject *args)
{
    unsigned long long into;
    PyObject *given;
    const char *blocks;
    size_t number;

    (void)module;
    if (!PyArg_ParseTuple(args, "SK:join_blocks", &given, &into))
        return NULL;
    blocks = PyBytes_AsString(given);
    number = (size_t)PyBytes_Size(given) / (2 * sizeof(uint64_t));
    RUN_UNLOCKED(join(blocks, number, NULL) >= LONG_LOOP,
                 join(blocks, number, (uint8_t *)(uintptr_t)into));
    return Py_NewRef(Py_None);
}

PyMethodDef arrow_bits_functions[] = {
    {"spread_bits", spread_bits, METH_VARARGS,
     "spread_bits(address, first, count, into): see interchange._core.core_protocol."},
    {"count_bits", count_bits, METH_VARARGS,
     "count_bits(address, first, count): see interchange._core.core_protocol."},
    {"fill_zeros", fill_zeros, METH_VARARGS,
     "fill_zeros(address, first, count, into, each, item): see interchange._core.core_protocol."},
    {"join_blocks", join_blocks, METH_VARARGS,
     "join_blocks(blocks, into): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
