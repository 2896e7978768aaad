// cause: compiling-expressions is_number
// A regular expression is compiled for each line.
#include <regex>
#include <string>

__attribute__((noinline)) static bool is_number(const std::string &text)
{
    const std::regex number("^[0-9]+(\\.[0-9]+)?$");
    return std::regex_match(text, number);
}

int main()
{
    int found = 0;
    for (int i = 0; i < 3000; i++)
        found += is_number(std::to_string(i));
    return found == 42;
}
