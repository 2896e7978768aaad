// symbols_agree.cc: a program with deep inlining: containers, algorithms and strings over a few
// types.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace work {
namespace {
struct hidden {
    int value;
    explicit hidden(int v) : value(v) {}
    virtual ~hidden() = default;
    virtual int twice() const { return value * 2; }
    static int thrice(int v)
    {
        struct local {
            int f(int x) { return x * 3; }
        };
        return local().f(v);
    }
};
int helper(int v) { return hidden{v}.twice() + hidden::thrice(v); }
} // namespace

template <int N> struct item {
    int key;
    std::string name;
    double weight[N];
    bool operator<(const item &o) const { return key < o.key || (key == o.key && name < o.name); }
};

template <int N> long run(int seed)
{
    std::vector<item<N>> all;
    std::map<std::string, std::shared_ptr<item<N>>> by_name;
    std::unordered_map<int, std::vector<item<N>>> by_key;
    for (int i = 0; i < seed; i++) {
        item<N> one{(i * 7919) % 101, std::to_string(i), {}};
        by_name[one.name] = std::make_shared<item<N>>(one);
        by_key[one.key].push_back(one);
        all.push_back(std::move(one));
    }
    std::sort(all.begin(), all.end());
    std::ostringstream text;
    for (const auto &pair : by_name)
        text << pair.first << pair.second->key;
    return std::accumulate(all.begin(), all.end(), helper(seed),
                           [](long sum, const item<N> &x) { return sum + x.key; }) +
           static_cast<long>(text.str().size() + by_key.size());
}
} // namespace work

int main(int argc, char **)
{
    return static_cast<int>(work::run<1>(argc) + work::run<2>(argc) + work::run<3>(argc));
}
