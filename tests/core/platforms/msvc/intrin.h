/* The intrinsics of Microsoft's compiler that platform.h uses, for gcc and clang on Linux.
 *
 * Source: Microsoft C++, "Compiler intrinsics". */
#define _BitScanForward64(found, number) (*(found) = (unsigned long)__builtin_ctzll(number))
#define _InterlockedExchangePointer(place, value)                                                  \
    __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST)
#define _InterlockedExchangeAdd(place, by) __atomic_fetch_add(place, by, __ATOMIC_SEQ_CST)

#define DEFINE(name, type)                                                                         \
    static inline type name(type volatile *place, type after, type before)                         \
    {                                                                                              \
        __atomic_compare_exchange_n(place, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return before;                                                                             \
    }
DEFINE(_InterlockedCompareExchange, long)
DEFINE(_InterlockedCompareExchange64, long long)
DEFINE(_InterlockedCompareExchangePointer, void *)
#undef DEFINE

#define __declspec(what) MSVC_##what
#define MSVC_noinline __attribute__((noinline))
#define MSVC_thread __thread
