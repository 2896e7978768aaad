// What an unwinder meets: calls of all kinds, small enough to be run instruction by instruction.
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

static volatile int sink;

struct Shape {
    virtual ~Shape() = default;
    virtual int area(int depth) const = 0;
};
struct Square : Shape {
    APART int area(int depth) const override { return depth == 0 ? 1 : area(depth - 1) + 1; }
};
struct Guard {
    int value;
    APART ~Guard() { sink = sink + value; }
};

APART static int with_alloca(int n)
{
    char *const bytes = static_cast<char *>(alloca(static_cast<size_t>(n)));
    memset(bytes, n, static_cast<size_t>(n));
    sink = bytes[n / 2];
    return sink;
}

APART static int aligned(int n)
{
    alignas(64) volatile char bytes[128];
    for (int i = 0; i < 128; i += 8)
        bytes[i] = static_cast<char>(i + n);
    return bytes[n & 120] + with_alloca(40 + n);
}

APART static int many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
    Guard guard{a};
    return b + c * d - e + f * g + h - i + aligned(a & 7);
}

[[noreturn]] APART static void fail(int n)
{
    throw std::runtime_error(n > 2 ? "more than two" : "two at most");
}

APART static int thrower(int n)
{
    Guard guard{n};
    if (n > 0) return thrower(n - 1) + 1;
    fail(3);
}

APART static int catcher()
{
    try {
        return thrower(4);
    } catch (const std::exception &e) {
        return static_cast<int>(strlen(e.what()));
    }
}

static void on_signal(int)
{
    sink = sink + many(1, 2, 3, 4, 5, 6, 7, 8, 9);
}

APART static int compare(const void *a, const void *b)
{
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static jmp_buf back;
APART static int jumps(int n)
{
    if (n == 0) longjmp(back, 1);
    return jumps(n - 1) + 1;
}

APART static int tail(int n)
{
    return n == 0 ? with_alloca(24) : tail(n - 1);
}

int main()
{
    const std::unique_ptr<Shape> shape(new Square);
    sink = shape->area(6) + many(9, 8, 7, 6, 5, 4, 3, 2, 1) + catcher() + tail(5);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    int numbers[] = {3, 1, 2, 9, 4};
    qsort(numbers, 5, sizeof *numbers, compare);
    if (setjmp(back) == 0) jumps(5);
    std::map<std::string, int> words;
    for (const char *word : {"one", "two", "three"})
        words[word] = numbers[words.size()];
    const std::function<int(int)> f = [&](int n) { return n + words["two"]; };
    std::vector<int> all;
    for (int i = 0; i < 20; i++)
        all.push_back(f(i));
    char text[32];
    snprintf(text, sizeof text, "%d %.3f", all.back(), 1.5);
    return text[0] == 'x';
}
