// cause: copying-objects total_of
// A std::map is passed by value to a method.
#include <cstdio>
#include <map>
#include <string>

class Prices
{
  public:
    using Table = std::map<std::string, double>;
    double discount(Table table, const std::string &key) const
    {
        const auto found = table.find(key);
        return found == table.end() ? 0 : found->second * 0.9;
    }
};

template <typename Shop> static double total_of(const Shop &shop, const Prices::Table &table)
{
    double total = 0;
    for (const auto &entry : table)
        total += shop.discount(table, entry.first);
    return total;
}

int main()
{
    Prices::Table table;
    for (int i = 0; i < 2500; i++)
        table["an article with a long name " + std::to_string(i)] = i;
    std::printf("%f\n", total_of(Prices(), table));
}
