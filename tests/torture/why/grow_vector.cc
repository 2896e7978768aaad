// cause: growing-arrays read_numbers
// A vector of large elements grows by one element at a time.
#include <array>
#include <cstddef>
#include <vector>

__attribute__((noinline)) static std::size_t read_numbers(std::size_t n)
{
    std::size_t sum = 0;
    for (std::size_t round = 0; round < n; round++) {
        std::vector<std::array<long, 64>> rows;
        for (int i = 0; i < 1000; i++)
            rows.push_back({i});
        sum += rows.size();
    }
    return sum;
}

int main()
{
    return read_numbers(1500) == 42;
}
