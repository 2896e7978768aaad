// cause: sorting insert
// All elements are sorted after each insertion.
#include <algorithm>
#include <vector>

__attribute__((noinline)) static void insert(std::vector<int> &all, int x)
{
    all.push_back(x);
    std::sort(all.begin(), all.end());
}

int main()
{
    std::vector<int> all;
    for (int i = 0; i < 5000; i++)
        insert(all, i * 7919 % 10007);
    return all[0] == 42;
}
