/* small_files.h: profiles of at most a kilobyte that nobody meant well, from a seed. */
#ifndef PT_SMALL_FILES_H
#define PT_SMALL_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PT_SMALL_BYTES_MAX 1024

/* A sequence of numbers, the same on every machine. */
typedef struct pt_random {
    uint64_t state;
} pt_random;

uint64_t pt_random_next(pt_random *random);
/* One of [0, n); 0 for n = 0. */
size_t pt_random_below(pt_random *random, size_t n);

/* Files of one format that others are made of. */
typedef struct pt_seeds {
    pt_buf *items;
    size_t count, cap;
} pt_seeds;

/* Makes one file of at most PT_SMALL_BYTES_MAX bytes out of the seeds, at least one, or, for
 * is_proto, of nothing but numbers of the random sequence. It may be compressed, and then inflate
 * to as much as a megabyte. */
void pt_small_file(pt_random *random, const pt_seeds *seeds, bool is_proto, pt_buf *ret_file);

#endif
