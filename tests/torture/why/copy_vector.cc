// cause: copying-objects append
// A vector is passed by value.
#include <vector>

struct Ledger {
    std::vector<long> rows = std::vector<long>(200000);
    long sum = 0;
    static long total(std::vector<long> all)
    {
        return all[0] + all[all.size() / 2];
    }
    void append(long x)
    {
        rows[x % rows.size()] = x;
        sum += total(rows);
    }
};

int main()
{
    Ledger ledger;
    for (long i = 0; i < 6000; i++)
        ledger.append(i);
    return ledger.sum == 42;
}
