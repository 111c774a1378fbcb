/* What depends on the compiler, the C library and the system: no other file of the core does.
 *
 * Source: GCC, "Extensions to the C Language Family" and __atomic built-ins, which clang has, too;
 * Microsoft C++, __declspec, intrinsics and _aligned_malloc.
 *
 * The branch for Microsoft's compiler is chosen by INTERCHANGE_MSVC.  It was compiled by mingw-w64,
 * which knows those intrinsics; Microsoft's own compiler has not seen it. */
#ifndef INTERCHANGE_PLATFORM_H
#define INTERCHANGE_PLATFORM_H

#if defined(__MINGW32__) && !defined(__USE_MINGW_ANSI_STDIO)
#define __USE_MINGW_ANSI_STDIO 1 /* formats of C11 */
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#define INTERCHANGE_MSVC
#endif

#include <pyconfig.h> /* first: it chooses what headers of the C library declare */

#include <stdint.h>
#include <stdlib.h>

#ifdef INTERCHANGE_MSVC
#include <intrin.h>
#endif
#ifdef _WIN32
#include <malloc.h>
#endif

/* ---------------------------------------------------------------- attributes */

#if defined(_WIN32) /* a library exports what is marked, and nothing else */
#define HIDDEN
#define INTERCHANGE_EXPORTED __declspec(dllexport) /* for interchange/interchange.h */
#else
#define HIDDEN __attribute__((visibility("hidden")))
#define INTERCHANGE_EXPORTED __attribute__((visibility("default")))
#endif

#ifdef INTERCHANGE_MSVC
#ifdef _MSC_VER
#define ALWAYS_INLINE __forceinline
#else
#define ALWAYS_INLINE inline /* for mingw-w64 the other means `extern`, too */
#endif
#define NEVER_INLINE __declspec(noinline)
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define THREAD_LOCAL __declspec(thread)
#define MAY_ALIAS /* it assumes nothing by types */
#else
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define THREAD_LOCAL _Thread_local
#define MAY_ALIAS __attribute__((may_alias))
#endif

/* ---------------------------------------------------------------- numbers that do not fit */

/* Whether a product, a sum, or an address is none; otherwise it is in `out`. */
#ifdef INTERCHANGE_MSVC
static inline int multiply_overflows(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a * (uint64_t)b);
    if (a == -1 || b == -1)
        return (a == -1 ? b : a) == INT64_MIN;
    return a != 0 && *out / a != b;
}

static inline int add_overflows(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a + (uint64_t)b);
    return ((a ^ *out) & (b ^ *out)) < 0;
}

static inline int address_overflows(uintptr_t from, int64_t step, uintptr_t *out)
{
    *out = from + (uintptr_t)step;
    return step < 0 ? 0 - (uint64_t)step > from : (uint64_t)step > UINTPTR_MAX - from;
}
#else
static ALWAYS_INLINE int multiply_overflows(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

static ALWAYS_INLINE int add_overflows(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

static ALWAYS_INLINE int address_overflows(uintptr_t from, int64_t step, uintptr_t *out)
{
    return __builtin_add_overflow(from, step, out);
}
#endif

/* ---------------------------------------------------------------- bits and bytes */

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#define IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#else
#define IS_BIG_ENDIAN 0 /* Windows */
#endif

#if defined(__x86_64__) || defined(_M_X64)
#define HAS_SSE2
#endif

/* The number of the lowest bit that is set, in a number other than 0. */
static inline int lowest_bit(uint64_t number)
{
#if defined(INTERCHANGE_MSVC) && (defined(_M_X64) || defined(_M_ARM64) || defined(__x86_64__))
    unsigned long found;

    _BitScanForward64(&found, number);
    return (int)found;
#elif defined(INTERCHANGE_MSVC)
    int found = 0;

    while (!(number >> found & 1))
        found++;
    return found;
#else
    return __builtin_ctzll(number);
#endif
}

/* The number whose bytes are these, the lowest first. */
static inline uint64_t from_little_endian(uint64_t number)
{
#if IS_BIG_ENDIAN
    return __builtin_bswap64(number);
#else
    return number;
#endif
}

#if defined __has_builtin && !defined(INTERCHANGE_MSVC)
#if __has_builtin(__builtin_shufflevector)
#define HAS_VECTORS

typedef uint8_t Bytes __attribute__((vector_size(16))); /* of the compiler, on any machine */

/* Each byte of the first or second half, twice. */
#define TWICE_LOW(v) __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)
#define TWICE_HIGH(v)                                                                              \
    __builtin_shufflevector(v, v, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15)
#endif
#endif

/* ---------------------------------------------------------------- memory */

/* Memory at a multiple of `alignment`, a power of two of which `size` is a multiple [bytes]. */
static inline void *allocate_aligned(size_t alignment, size_t size)
{
#ifdef _WIN32
    return _aligned_malloc(size, alignment);
#else
    return aligned_alloc(alignment, size);
#endif
}

static inline void free_aligned(void *memory)
{
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

/* ---------------------------------------------------------------- between threads
 *
 * Orders: LOAD_ATOMIC acquires, STORE_ATOMIC releases, EXCHANGE_ATOMIC and changes of counts do
 * both.  EXCHANGE_PLAIN is for one thread.  EXCHANGE is of pointers. */

#ifdef INTERCHANGE_MSVC /* volatile accesses acquire and release: /volatile:ms */
#define LOAD_ATOMIC(place) (*(volatile __typeof__(place) *)&(place))
#define LOAD_RELAXED(place) LOAD_ATOMIC(place)
#define STORE_ATOMIC(place, value) ((void)(*(volatile __typeof__(place) *)&(place) = (value)))
#define STORE_RELAXED(place, value) STORE_ATOMIC(place, value)
#define EXCHANGE_ATOMIC(place, value)                                                              \
    ((__typeof__(place))_InterlockedExchangePointer((void *volatile *)&(place), (void *)(value)))
#define EXCHANGE_PLAIN(place, value) EXCHANGE_ATOMIC(place, value)

static inline int replace_pointer(void *place, void *before, void *after)
{
    return _InterlockedCompareExchangePointer((void *volatile *)place, after, before) == before;
}

static inline int replace_word(uint64_t *place, uint64_t *before, uint64_t after)
{
    uint64_t found = (uint64_t)_InterlockedCompareExchange64((volatile long long *)place,
                                                             (long long)after, (long long)*before);
    int is_replaced = found == *before;

    *before = found;
    return is_replaced;
}
#define replace_word_relaxed(place, before, after) replace_word(place, before, after)

static inline long change_count(long *count, long by)
{
    return _InterlockedExchangeAdd(count, by) + by;
}

static inline int replace_count(long *count, long *before, long after)
{
    long found = _InterlockedCompareExchange(count, after, *before);
    int is_replaced = found == *before;

    *before = found;
    return is_replaced;
}
#else
#define LOAD_ATOMIC(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define LOAD_RELAXED(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define STORE_ATOMIC(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)
#define STORE_RELAXED(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define EXCHANGE_ATOMIC(place, value) __atomic_exchange_n(&(place), (value), __ATOMIC_ACQ_REL)
#define EXCHANGE_PLAIN(place, value)      \
    ({                                    \
        __typeof__(place) before_ = place; \
        (place) = (value);                \
        before_;                          \
    })

/* Put a value where `before` is; 0 where another one is, which is then in `*before`.  Of pointers
 * of any type, where `before` stays: */
#define replace_pointer(place, before, after)                                                      \
    ({                                                                                             \
        __typeof__(*(place)) before_ = before;                                                     \
        __atomic_compare_exchange_n(place, &before_, after, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
    })

static ALWAYS_INLINE int replace_word(uint64_t *place, uint64_t *before, uint64_t after)
{
    return __atomic_compare_exchange_n(place, before, after, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static ALWAYS_INLINE int replace_word_relaxed(uint64_t *place, uint64_t *before, uint64_t after)
{
    return __atomic_compare_exchange_n(place, before, after, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The count after a change. */
static ALWAYS_INLINE long change_count(long *count, long by)
{
    return __atomic_add_fetch(count, by, __ATOMIC_ACQ_REL);
}

static ALWAYS_INLINE int replace_count(long *count, long *before, long after)
{
    return __atomic_compare_exchange_n(count, before, after, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
#endif

#endif
