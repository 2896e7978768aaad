/* saturate.h: sums and products that stop at the limit of their type; and sums that wrap, for Go's
 * rules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Adds to *sum. Returns true if the sum was clipped to the limit. */
static inline bool pt_saturating_into(int64_t *sum, int64_t more)
{
    if (__builtin_expect(!__builtin_add_overflow(*sum, more, sum), 1)) return false;
    *sum = more < 0 ? INT64_MIN : INT64_MAX;
    return true;
}

/* The sum, clipped to the type. */
static inline int64_t pt_saturating_add(int64_t a, int64_t b)
{
    pt_saturating_into(&a, b);
    return a;
}

/* Adds to *sum as Go does: a sum beyond the limits wraps. */
static inline void pt_wrapping_into(int64_t *sum, int64_t more)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)more);
}

/* The distance between two values. to >= from. */
static inline uint64_t pt_distance(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

/* A count as a signed value, at most INT64_MAX. */
static inline int64_t pt_saturating_signed(uint64_t count)
{
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static inline uint64_t pt_saturating_count(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The absolute value, also of INT64_MIN. */
static inline uint64_t pt_magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Comparison for qsort: the larger magnitude comes first. */
static inline int pt_compare_magnitudes(int64_t a, int64_t b)
{
    const uint64_t x = pt_magnitude(a), y = pt_magnitude(b);
    return (x < y) - (x > y);
}

/* The product of two counts as a signed value, at most INT64_MAX. */
static inline int64_t pt_saturating_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > INT64_MAX ? INT64_MAX
                                                                         : (int64_t)product;
}

/* The integer part of a number, converted as x86-64 (and so Go) does: NaN and values out of range
 * become INT64_MIN. */
static inline int64_t pt_whole_part(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}
