/* Arrays of kernels: the regions of memory that a strided array has.
 *
 * Axes without gaps between their elements make the rows of a region longer, and what two axes can
 * say together is said by one. A region has room for two axes besides its rows; an array with more
 * becomes several regions, or the whole span of its bytes where those would be many.
 */
#include "kernels.h"

#define MOST_REGIONS 64 /* of one array */

struct axis {
    size_t length; /* 2 or more */
    size_t stride; /* [bytes], 1 or more */
};

struct layout {
    uint64_t start; /* lowest address */
    size_t width;   /* of a row [bytes] */
    unsigned count;
    struct axis axis[MAX_AXES];
};

bool array_bounds(uint64_t start, const struct array *array, const int64_t *lengths,
                  const int64_t *strides, struct region *bounds)
{
    int64_t low = 0, high = (int64_t)array->itemsize, reach;
    *bounds = region_line(start, 0);
    for (unsigned i = 0; i < array->axes; i++)
        if (lengths[i] == 0)
            return true;
    for (unsigned i = 0; i < array->axes; i++) {
        int64_t *end = strides[i] < 0 ? &low : &high;
        if (lengths[i] < 0 || __builtin_mul_overflow(lengths[i] - 1, strides[i], &reach)
            || __builtin_add_overflow(*end, reach, end))
            return false;
    }
    if (__builtin_sub_overflow(high, low, &reach))
        return false;
    *bounds = region_line(start + (uint64_t)low, (size_t)reach);
    return true;
}

/* ---- the axes that matter, by growing stride ---- */

static void add_axis(struct layout *layout, struct axis axis)
{
    unsigned at = layout->count++;
    for (; at > 0 && layout->axis[at - 1].stride > axis.stride; at--)
        layout->axis[at] = layout->axis[at - 1];
    layout->axis[at] = axis;
}

static void add_axes(struct layout *layout, const struct array *array, const int64_t *lengths,
                     const int64_t *strides)
{
    for (unsigned i = 0; i < array->axes; i++) {
        if (lengths[i] == 1 || strides[i] == 0)
            continue; /* the same bytes */
        if (strides[i] < 0) /* the same bytes, seen from the other end */
            layout->start += (uint64_t)((lengths[i] - 1) * strides[i]);
        uint64_t stride = (uint64_t)strides[i];
        add_axis(layout,
                 (struct axis){(size_t)lengths[i], strides[i] < 0 ? -stride : stride});
    }
}

static void drop_axis(struct layout *layout, unsigned at)
{
    layout->count--;
    for (; at < layout->count; at++)
        layout->axis[at] = layout->axis[at + 1];
}

/* Steps no longer than a row leave no gap. */
static void widen_rows(struct layout *layout)
{
    while (layout->count && layout->axis[0].stride <= layout->width) {
        layout->width += (layout->axis[0].length - 1) * layout->axis[0].stride;
        drop_axis(layout, 0);
    }
}

/* Two axes are one where the outer one goes on, in steps of the inner one, before that has ended. */
static void join_axes(struct layout *layout)
{
    for (unsigned i = 0; i + 1 < layout->count;) {
        struct axis *inner = &layout->axis[i], *outer = inner + 1;
        size_t steps = outer->stride / inner->stride;
        if (outer->stride % inner->stride || steps > inner->length) {
            i++;
            continue;
        }
        inner->length += (outer->length - 1) * steps;
        drop_axis(layout, i + 1);
    }
}

/* ---- regions ---- */

static struct axis take_longest(struct layout *layout)
{
    unsigned longest = 0;
    for (unsigned i = 1; i < layout->count; i++)
        if (layout->axis[i].length > layout->axis[longest].length)
            longest = i;
    struct axis taken = layout->axis[longest];
    drop_axis(layout, longest);
    return taken;
}

/* One for each step along the axes that are left. */
static void touch_each(struct op *op, const struct layout *layout, struct region region,
                       unsigned axis, bool write)
{
    if (axis == layout->count) {
        op_touches(op, region, write);
        return;
    }
    for (size_t i = 0; i < layout->axis[axis].length; i++) {
        touch_each(op, layout, region, axis + 1, write);
        region.start += layout->axis[axis].stride;
    }
}

static bool too_many(const struct layout *layout)
{
    size_t regions = 1;
    for (unsigned i = 0; i < layout->count && regions <= MOST_REGIONS; i++)
        regions *= layout->axis[i].length;
    return regions > MOST_REGIONS;
}

static size_t span(const struct layout *layout)
{
    size_t bytes = layout->width;
    for (unsigned i = 0; i < layout->count; i++)
        bytes += (layout->axis[i].length - 1) * layout->axis[i].stride;
    return bytes;
}

void array_touched(struct op *op, uint64_t start, const struct array *array, const int64_t *lengths,
                   const int64_t *strides)
{
    struct layout layout;
    layout.start = start;
    layout.width = array->itemsize;
    layout.count = 0;
    add_axes(&layout, array, lengths, strides);
    widen_rows(&layout);
    join_axes(&layout);
    struct region region = region_line(layout.start, layout.width);
    struct region whole = region_line(layout.start, span(&layout));
    if (layout.count) {
        struct axis rows = take_longest(&layout);
        region.height = rows.length;
        region.pitch = rows.stride;
    }
    if (layout.count) {
        struct axis slices = take_longest(&layout);
        region.depth = slices.length;
        region.slice = slices.stride;
    }
    if (too_many(&layout))
        op_touches(op, whole, array->writes);
    else
        touch_each(op, &layout, region, 0, array->writes);
}
