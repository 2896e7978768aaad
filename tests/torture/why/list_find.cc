// cause: searching-lists is_known
// A list is searched from end to end.
#include <algorithm>
#include <string>
#include <vector>

__attribute__((noinline)) static bool is_known(const std::vector<std::string> &names,
                                               const std::string &name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

int main()
{
    std::vector<std::string> names;
    for (int i = 0; i < 2000; i++)
        names.push_back("a name of some length " + std::to_string(i));
    int found = 0;
    for (int i = 0; i < 60000; i++)
        found += is_known(names, names[i % 2000]);
    return found == 42;
}
