// cause: sorting rank
// A comparison of the program is called by qsort.
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    int weight = 0;
    for (int i = 0; i < 20; i++)
        weight += (x >> i & 1) - (y >> i & 1);
    return x < y ? -1 : x > y ? 1 : weight;
}

__attribute__((noinline)) static int rank(int *all, int n)
{
    for (int i = 0; i < n; i++)
        all[i] = (int)(i * 7919L % 100003);
    qsort(all, n, sizeof *all, compare);
    return all[0];
}

int main(void)
{
    static int all[20000];
    int sum = 0;
    for (int i = 0; i < 40; i++)
        sum += rank(all, 20000);
    return sum == 42;
}
