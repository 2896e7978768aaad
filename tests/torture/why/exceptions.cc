// cause: exceptions parse
// An exception is thrown for each bad number.
#include <stdexcept>

__attribute__((noinline)) static int parse(int i)
{
    try {
        if (i >= 0) throw std::runtime_error("bad number");
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

int main()
{
    int bad = 0;
    for (int i = 0; i < 400000; i++)
        bad += parse(i);
    return bad == 42;
}
