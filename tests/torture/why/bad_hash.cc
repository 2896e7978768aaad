// cause: tables-by-hash Registry::find
// All keys of a hash table have one of eight hashes.
#include <cstdio>
#include <string>
#include <unordered_map>

struct Key {
    int x, y;
    bool operator==(const Key &other) const { return x == other.x && y == other.y; }
};

struct KeyHash {
    size_t operator()(const Key &key) const { return static_cast<size_t>(key.x & 7); }
};

class Registry
{
    std::unordered_map<Key, int, KeyHash> table_;

  public:
    void add(Key key, int value) { table_[key] = value; }
    __attribute__((noinline)) int find(Key key) const
    {
        const auto it = table_.find(key);
        return it == table_.end() ? 0 : it->second;
    }
};

int main()
{
    Registry registry;
    for (int i = 0; i < 10000; i++)
        registry.add({i, i * 3}, i);
    long sum = 0;
    for (int i = 0; i < 200000; i++)
        sum += registry.find({i % 10000, (i % 10000) * 3});
    std::printf("%ld\n", sum);
}
