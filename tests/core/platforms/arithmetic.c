/* Print the results of what platform.h computes, for numbers at the limits of their types. */
#include "platform.h"

#include <inttypes.h>
#include <stdio.h>

static const int64_t numbers[] = {
    0, 1, -1, 2, -2, 3, 7, -7, 1000003, INT32_MAX, INT32_MIN, 3037000499, 3037000500, -3037000500,
    INT64_MAX / 2, INT64_MAX / 2 + 1, INT64_MIN / 2, INT64_MIN / 2 - 1, INT64_MAX - 1, INT64_MAX,
    INT64_MIN + 1, INT64_MIN,
};
#define COUNT (sizeof numbers / sizeof *numbers)

int main(void)
{
    int64_t found;
    uintptr_t address;

    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            int64_t a = numbers[i], b = numbers[j];
            int product = multiply_overflows(a, b, &found);
            printf("%d %" PRId64 "\n", product, product ? 0 : found);
            int sum = add_overflows(a, b, &found);
            printf("%d %" PRId64 "\n", sum, sum ? 0 : found);
            int far = address_overflows((uintptr_t)a, b, &address);
            printf("%d %" PRIuPTR "\n", far, far ? 0 : address);
        }
    for (int bit = 0; bit < 64; bit++)
        printf("%d\n", lowest_bit(~(uint64_t)0 << bit));
    return 0;
}
