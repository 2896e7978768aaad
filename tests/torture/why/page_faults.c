// cause: page-faults|mapping-memory|filling-memory|allocating make_frame
// Each frame gets fresh memory.
#include <stdlib.h>
#include <string.h>

static char *volatile kept;

__attribute__((noinline)) static void make_frame(void)
{
    char *frame = malloc(8 << 20);
    memset(frame, 1, 8 << 20);
    kept = frame;
    if (kept[4096] == 1) free(kept);
}

int main(void)
{
    for (int i = 0; i < 150; i++)
        make_frame();
    return 0;
}
