// calls.cc: what the goldens of gprof's report are made of: a cycle, a function that calls itself,
// names with blanks, one that nobody calls, and two of one name.
#include <cstdio>

namespace {
volatile unsigned long sum;

__attribute__((noinline)) void spin(long times)
{
    for (long i = 0; i < times; i++)
        sum = sum + static_cast<unsigned long>(i) * sum;
}
} // namespace

template <typename T> struct Box {
    T content;
    __attribute__((noinline)) T operator[](int index) const
    {
        spin(200000);
        return content + static_cast<T>(index);
    }
    __attribute__((noinline)) operator unsigned int() const
    {
        spin(100000);
        return static_cast<unsigned int>(content);
    }
};

struct Left {
    static __attribute__((noinline)) void half(const char *) { spin(3000000); }
};

static void odd(int depth);

static __attribute__((noinline)) void even(int depth)
{
    spin(20000);
    if (depth > 0) odd(depth - 1);
}

static __attribute__((noinline)) void odd(int depth)
{
    spin(10000);
    if (depth > 0) even(depth - 1);
}

__attribute__((noinline)) long factorial(long n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

int main()
{
    const Box<long> box{3};
    for (int i = 0; i < 100; i++) {
        sum = sum + static_cast<unsigned long>(box[i]) + static_cast<unsigned int>(box);
        even(20);
        Left::half("x");
    }
    sum = sum + static_cast<unsigned long>(factorial(10));
    for (long i = 0; i < 100000000; i++)
        sum = sum + static_cast<unsigned long>(i);
    std::puts("done");
    return 0;
}
