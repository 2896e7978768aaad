// cause: filling-memory request_begin
// A table of a megabyte is cleared for each request.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int seen[1 << 18];
    size_t used;
} request;

static request *shared;

__attribute__((noinline)) static request *request_begin(void)
{
    memset(shared, 0, sizeof *shared);
    return shared;
}

__attribute__((noinline)) static int handle(unsigned id)
{
    request *const r = request_begin();
    for (int i = 0; i < 2000; i++)
        r->seen[(id * 31 + (unsigned)i * 7919) & ((1 << 18) - 1)]++;
    return r->seen[id & 1023];
}

int main(void)
{
    int sum = 0;
    shared = malloc(sizeof *shared);
    for (unsigned id = 0; id < 20000; id++)
        sum += handle(id);
    printf("%d\n", sum);
    return 0;
}
