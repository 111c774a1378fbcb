/* Regions: the bytes that a 1-D, 2-D or 3-D operation touches, and whether two of them share one.
 *
 * Columns that interleave without touching are different bytes: the test goes row by row, not by
 * bounds.
 */
#include "accesses.h"

struct region region_line(uint64_t start, size_t size)
{
    return (struct region){start, size, 1, size, 1, size};
}

uint64_t region_end(const struct region *r)
{
    return r->start + (r->depth - 1) * r->slice + (r->height - 1) * r->pitch + r->width;
}

/* Wide arithmetic: the caller's sizes may be out of range. */
bool region_within(const struct region *r, uint64_t start, size_t size)
{
    unsigned __int128 extent = r->width;
    extent += (unsigned __int128)(r->depth - 1) * r->slice;
    extent += (unsigned __int128)(r->height - 1) * r->pitch;
    uint64_t offset = r->start - start;
    return offset <= size && extent <= size - offset;
}

bool region_part(const struct region *region, uint64_t low, uint64_t high, size_t *row,
                 struct region *part)
{
    for (; *row < region->height * region->depth; ++*row) {
        size_t y = *row % region->height, count = 1;
        uint64_t start = region->start + *row / region->height * region->slice + y * region->pitch;
        uint64_t end = start + region->width;
        uint64_t first = start > low ? start : low, last = end < high ? end : high;
        if (first >= last)
            continue;
        if (first == start && last == end)
            while (y + count < region->height && end + count * region->pitch <= high)
                count++;
        *part = region_line(first, last - first);
        if (count > 1)
            part->height = count, part->pitch = region->pitch;
        *row += count;
        return true;
    }
    return false;
}

bool region_empty(const struct region *r)
{
    return r->width == 0 || r->height == 0 || r->depth == 0;
}

/* Without gaps: its bounds describe all of it. */
bool region_solid(const struct region *r)
{
    return (r->height == 1 || r->pitch == r->width)
           && (r->depth == 1 || r->slice == r->width * r->height);
}

bool region_same(const struct region *a, const struct region *b)
{
    return a->start == b->start && a->width == b->width && a->height == b->height
           && a->depth == b->depth && (a->height == 1 || a->pitch == b->pitch)
           && (a->depth == 1 || a->slice == b->slice);
}

/* The first of `count` blocks of `size` bytes, `step` apart, that ends after `low`. */
static size_t first_after(uint64_t start, size_t size, size_t count, size_t step, uint64_t low)
{
    if (count == 1 || step == 0 || start + size > low)
        return 0;
    size_t index = (low - (start + size)) / step + 1;
    return index < count ? index : count;
}

/* Does [low, high) share a byte with the rows of a slice that begins at `start`? */
static bool overlaps_slice(const struct region *r, uint64_t start, uint64_t low, uint64_t high)
{
    size_t row = first_after(start, r->width, r->height, r->pitch, low);
    if (row >= r->height)
        return false;
    uint64_t at = start + row * r->pitch;
    return at < high && low < at + r->width;
}

static bool overlaps_interval(const struct region *r, uint64_t low, uint64_t high)
{
    size_t extent = (r->height - 1) * r->pitch + r->width;
    size_t slice = first_after(r->start, extent, r->depth, r->slice, low);
    for (; slice < r->depth; slice++) {
        uint64_t start = r->start + slice * r->slice;
        if (start >= high)
            return false;
        if (overlaps_slice(r, start, low, high))
            return true;
    }
    return false;
}

bool regions_overlap(const struct region *a, const struct region *b)
{
    if (a->start >= region_end(b) || b->start >= region_end(a))
        return false;
    if (region_solid(a))
        return overlaps_interval(b, a->start, region_end(a));
    if (region_solid(b))
        return overlaps_interval(a, b->start, region_end(b));
    if (a->height * a->depth > b->height * b->depth) {
        const struct region *fewer = b;
        b = a;
        a = fewer;
    }
    for (size_t z = 0; z < a->depth; z++)
        for (size_t y = 0; y < a->height; y++) {
            uint64_t row = a->start + z * a->slice + y * a->pitch;
            if (overlaps_interval(b, row, row + a->width))
                return true;
        }
    return false;
}
