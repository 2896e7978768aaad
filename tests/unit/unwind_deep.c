/* Calls without frame pointers (see meson.build for its flags), some with frames that are not
 * simple: alloca, realigned stacks, a callback from libc. At the bottom the process signals itself.
 */
#include "unwind_deep.h"

#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;

typedef int deep_fn(int depth);
static deep_fn deep_plain, deep_alloca, deep_aligned, deep_qsort;

static deep_fn *const kinds[] = {deep_plain, deep_alloca, deep_aligned, deep_qsort};

static int next(int depth)
{
    if (depth == 0) {
        raise(SIGUSR1);
        return 1;
    }
    return kinds[depth % 4](depth - 1) + 1;
}

static int deep_plain(int depth)
{
    const int r = next(depth);
    sink += r;
    return r;
}

static int deep_alloca(int depth)
{
    char *const bytes = alloca((size_t)(16 + depth * 8));
    memset(bytes, depth, 16);
    const int r = next(depth);
    sink += bytes[r & 15];
    return r;
}

static int deep_aligned(int depth)
{
    _Alignas(64) volatile char bytes[64];
    bytes[depth & 63] = 1;
    const int r = next(depth);
    sink += bytes[r & 63] + (int)((uintptr_t)bytes & 63);
    return r;
}

static int qsort_depth;

static int compare(const void *a, const void *b)
{
    (void)a;
    (void)b;
    const int depth = qsort_depth;
    qsort_depth = -1;
    if (depth >= 0) sink += next(depth);
    return 0;
}

static int deep_qsort(int depth)
{
    int two[2] = {1, 2};
    qsort_depth = depth;
    qsort(two, 2, sizeof *two, compare);
    return two[0];
}

int unwind_deep(int depth)
{
    return next(depth);
}
