// cause: flushing-lines print_rows
// Each line is flushed.
#include <fstream>

__attribute__((noinline)) static void print_rows(std::ostream &out)
{
    for (int i = 0; i < 1000000; i++)
        out << 'x' << std::endl;
}

int main()
{
    std::ofstream out("/dev/null");
    print_rows(out);
}
