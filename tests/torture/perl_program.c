/* perl_program.c: work of several kinds in C, for diff_perl.sh to record. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile double sink;
static inline int mix(int x)
{
    for (int i = 0; i < 50; i++)
        x = x * 1103515245 + 12345 + (x >> 7);
    return x;
}
static int cmp(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) int rec(int n)
{
    if (n < 2) {
        sink += mix(n);
        return n;
    }
    return rec(n - 1) + rec(n - 2);
}
__attribute__((noinline)) void fmt(int n)
{
    char buf[200];
    for (int i = 0; i < n; i++) {
        snprintf(buf, sizeof buf, "%d %s %f", i, "hello", i * 0.5);
        sink += buf[3];
    }
}
__attribute__((noinline)) void sorts(int n)
{
    int *v = malloc(n * sizeof *v);
    for (int i = 0; i < n; i++)
        v[i] = mix(i);
    qsort(v, n, sizeof *v, cmp);
    sink += v[n / 2];
    free(v);
}
__attribute__((noinline)) void trig(int n)
{
    for (int i = 0; i < n; i++)
        sink += sin(i) * cos(i * 0.3);
}
int main(int argc, char **argv)
{
    int k = argc > 1 ? atoi(argv[1]) : 3;
    for (int i = 0; i < k; i++) {
        sink += rec(22);
        fmt(60000);
        sorts(60000);
        trig(400000);
    }
    return 0;
}
