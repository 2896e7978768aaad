// cause: page-faults|mapping-memory load_block
// Memory is mapped and unmapped for each block.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static long load_block(int i)
{
    size_t n = 4 << 20;
    char *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t k = 0; k < n; k += 4096)
        p[k] = (char)i;
    long s = p[n / 2];
    munmap(p, n);
    return s;
}
int main(void)
{
    long s = 0;
    for (int i = 0; i < 1200; i++)
        s += load_block(i);
    return s == 1;
}
