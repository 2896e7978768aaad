/* Calls that are inlined in several places of a caller, whose parts the compiler separates. */
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
static inline int least(int n)
{
    return n < sink ? n : sink * 3;
}
static inline int middle(int n)
{
    if (__builtin_expect(n == 77, 0)) {
        fprintf(stderr, "%d\n", least(n));
        sink += least(n + 1);
    }
    return least(n) + least(n - sink);
}
static inline int most(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += middle(i) ^ middle(sum);
    if (__builtin_expect(sum == 9, 0)) sink = middle(sum), abort();
    return sum;
}
__attribute__((noinline)) int work(int n)
{
    return most(n) + most(n / 2) * most(sink);
}
int main(int argc, char **argv)
{
    return work(argc) + most(argc + sink);
}
