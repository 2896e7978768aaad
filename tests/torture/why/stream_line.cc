// cause: making-streams Row::parse
// A string stream is made for each line.
#include <cstdio>
#include <sstream>
#include <string>

struct Row {
    int a = 0, b = 0, c = 0;
    static Row parse(const std::string &line)
    {
        Row row;
        std::istringstream in(line);
        in >> row.a >> row.b >> row.c;
        return row;
    }
};

int main()
{
    long sum = 0;
    for (int i = 0; i < 1200000; i++) {
        const Row row = Row::parse("12 345 " + std::to_string(i));
        sum += row.a + row.b + row.c;
    }
    std::printf("%ld\n", sum);
}
