/* rows.h: a vectorised check that row numbers are in range, since stacks hold tens of millions of
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PT_ROWS_BLOCK 16

/* Are all rows below limit? Checks only whole blocks of PT_ROWS_BLOCK rows; the caller checks the
 * remaining rows. A row is out of range if the top bit of the row, or of limit - 1 - row, is set.
 * This holds only for limits from 1 to INT32_MAX; for other limits the result is always false. */
static inline bool pt_rows_below(const uint32_t *rows, size_t count, uint32_t limit)
{
    typedef uint32_t four __attribute__((vector_size(16)));
    if (limit == 0 || limit > INT32_MAX) return false;
    const four last = {limit - 1, limit - 1, limit - 1, limit - 1};
    four bad = {0}, high = {0};
    for (size_t i = 0; i + PT_ROWS_BLOCK <= count; i += PT_ROWS_BLOCK) {
        four x[PT_ROWS_BLOCK / 4];
        memcpy(x, rows + i, sizeof x);
        bad |= (last - x[0]) | (last - x[1]) | (last - x[2]) | (last - x[3]);
        high |= x[0] | x[1] | x[2] | x[3];
    }
    const four signs = bad | high;
    return (signs[0] | signs[1] | signs[2] | signs[3]) >> 31 == 0;
}
