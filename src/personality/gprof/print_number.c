/* print_number.c: numbers as printf's %*.2f and %*lu write them. printf took half of the time of a
 * large report. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "personality/gprof/print_int.h"

enum { MANTISSA_BITS = 53, EXPONENT_MAX = 40 };
#define PLAIN_MAX 1e9

static size_t put_padded(char *to, const char *digits, size_t count, size_t width, bool left)
{
    const size_t blanks = count < width ? width - count : 0;
    memset(to, ' ', blanks + count);
    memcpy(to + (left ? 0 : blanks), digits, count);
    return blanks + count;
}

size_t pt_gprof_put_count(char *to, uint64_t value, size_t width, bool left)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return put_padded(to, digits + at, sizeof digits - at, width, left);
}

static const uint64_t powers[] = {1, 10, 100};

/* The value in units of the last decimal. Exact up to 2^40: the double is a whole number of parts
 * of a power of two, and its multiple is rounded as IEEE 754 says: to the nearest whole number, and
 * to the even one if two are equally near. */
static uint64_t rounded_value(double value, unsigned decimals)
{
    const double scaled = value * (double)powers[decimals], rest_of_it = scaled - floor(scaled);
    /* The product is so far from a half that its rounding error cannot matter. */
    if (scaled < PLAIN_MAX && fabs(rest_of_it - 0.5) > 1e-6) return (uint64_t)(scaled + 0.5);
    int exponent;
    const double fraction = frexp(value, &exponent); /* value = fraction * 2^exponent */
    const unsigned shift = (unsigned)(MANTISSA_BITS - exponent);
    uint64_t parts = 0;
    if (shift < 64) {
        const unsigned __int128 whole =
            (unsigned __int128)(uint64_t)ldexp(fraction, MANTISSA_BITS) * powers[decimals];
        const unsigned __int128 rest = whole & (((unsigned __int128)1 << shift) - 1);
        const unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
        parts = (uint64_t)(whole >> shift);
        parts += rest > half || (rest == half && (parts & 1) != 0);
    }
    return parts;
}

size_t pt_gprof_put_fixed(char *to, double value, size_t width, unsigned decimals)
{
    if (!(value >= 0) || value >= (double)(UINT64_C(1) << EXPONENT_MAX) || signbit(value))
        return (size_t)snprintf(to, PT_GPROF_NUMBER_MAX, "%*.*f", (int)width, (int)decimals, value);
    const uint64_t parts = rounded_value(value, decimals);
    char digits[24];
    size_t n = pt_gprof_put_count(digits, parts / powers[decimals], 1, false);
    digits[n++] = '.';
    for (unsigned i = decimals; i-- > 0;)
        digits[n++] = (char)('0' + parts / powers[i] % 10);
    return put_padded(to, digits, n, width, false);
}
