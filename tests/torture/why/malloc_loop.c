// cause: allocating make_node
// Small nodes are made and thrown away.
#include <stdlib.h>

static void *volatile kept[64];

__attribute__((noinline)) static void make_node(int i)
{
    free(kept[i % 64]);
    kept[i % 64] = malloc(16 + (size_t)i % 800);
}

int main(void)
{
    for (int i = 0; i < 15000000; i++)
        make_node(i * 7);
    return 0;
}
