// own: sum_of_column
// A matrix is read column by column, so each element is in another line of the cache.
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096 };

__attribute__((noinline)) static long sum_of_column(const int *m, int column)
{
    long sum = 0;
    for (int row = 0; row < N; row++)
        sum += m[(size_t)row * N + column];
    return sum;
}

int main(void)
{
    int *const m = malloc(sizeof *m * N * N);
    for (size_t i = 0; i < (size_t)N * N; i++)
        m[i] = (int)(i % 10);
    long sum = 0;
    for (int turn = 0; turn < 5; turn++)
        for (int column = 0; column < N; column++)
            sum += sum_of_column(m, column);
    printf("%ld\n", sum);
    return 0;
}
