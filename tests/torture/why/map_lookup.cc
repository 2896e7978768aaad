// cause: tables-by-order price_of
// Prices are looked up in an ordered map.
#include <map>

__attribute__((noinline)) static int price_of(const std::map<int, int> &prices, int key)
{
    return prices.find(key)->second;
}

int main()
{
    std::map<int, int> prices;
    for (int i = 0; i < 100000; i++)
        prices[i * 7919 % 100003] = i;
    int sum = 0;
    for (int i = 0; i < 3000000; i++)
        sum += price_of(prices, (int)(i % 100000 * 7919L % 100003));
    return sum == 42;
}
