#include "sums.h"
int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int odd(int n);
int even(int n)
{
    return n == 0 ? 1 : odd(n - 1);
}
int odd(int n)
{
    return n == 0 ? 0 : even(n - 1);
}
int main(void)
{
    int s = fib(8);
    s += even(5);
    s += sum_of(20);
    return s == 12345;
}
