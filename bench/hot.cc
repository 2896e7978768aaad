// hot.cc: a C++ program whose time goes into templates, lambdas and inlined functions of the
// standard library; the bench records it and looks at how long the first table takes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace app
{

template <class Key, class Value> struct table {
    std::map<Key, Value> entries;
    void fill(int count)
    {
        for (int i = 0; i < count; i++)
            entries[Key(i * 7 % count)] = Value(i);
    }
    __attribute__((noinline)) Value lookup(const Key &key)
    {
        auto found = entries.find(key);
        return found == entries.end() ? Value() : found->second;
    }
};

template <class Function> __attribute__((noinline)) int repeat(int count, Function function)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += function(i);
    return sum;
}

int mix(int value)
{
    for (int i = 0; i < 50; i++)
        value = static_cast<int>(static_cast<unsigned>(value) * 1103515245u + 12345u);
    return value;
}

__attribute__((noinline)) int sort(int count)
{
    std::vector<int> values(static_cast<size_t>(count));
    for (int i = 0; i < count; i++)
        values[static_cast<size_t>(i)] = static_cast<int>(i * 7919L % 10007);
    std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
    return values[values.size() / 2];
}

__attribute__((noinline)) std::string text(int count)
{
    std::string letters;
    for (int i = 0; i < count; i++)
        letters += static_cast<char>('a' + (mix(i) & 15));
    return letters;
}

} // namespace app

int main()
{
    app::table<int, long> table;
    table.fill(100000);
    long sum = 0;
    for (int round = 0; round < 12; round++) {
        sum += app::repeat(200000,
                           [&](int i) { return static_cast<int>(table.lookup(i)) + app::mix(i); });
        sum += app::sort(200000);
        sum += static_cast<long>(app::text(100000).size());
    }
    std::printf("%ld\n", sum);
}
