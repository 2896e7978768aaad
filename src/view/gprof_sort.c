/* gprof_sort.c: a stable sort: what compares equal keeps its order, as gprof's reports rely on. */
#include <stdlib.h>
#include <string.h>

#include "view/gprof_int.h"

void pt_gprof_sort(uint32_t *ids, size_t count, pt_gprof_compare *compare, const void *context)
{
    PT_FREE uint32_t *spare = pt_alloc(count + 1, sizeof *spare);
    uint32_t *from = ids, *to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            const size_t middle = begin + width < count ? begin + width : count;
            const size_t end = middle + width < count ? middle + width : count;
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++)
                to[i] = a < middle && (b == end || compare(context, from[a], from[b]) <= 0)
                            ? from[a++]
                            : from[b++];
        }
        uint32_t *const other = from;
        from = to;
        to = other;
    }
    if (from != ids) memcpy(ids, from, count * sizeof *ids);
}
