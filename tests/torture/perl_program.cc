/* perl_program.cc: templates, inlined and overloaded functions, an anonymous namespace, closures
 * and a Callback, for diff_perl.sh to record. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
namespace app
{
namespace
{
int hidden(int x)
{
    volatile int s = 0;
    for (int i = 0; i < 300; i++)
        s += i * x;
    return s;
}
} // namespace
template <typename T> struct Table {
    std::map<std::string, T> m;
    void put(const std::string &k, T v)
    {
        m[k] += v;
    }
    T get(const std::string &k) const
    {
        auto it = m.find(k);
        return it == m.end() ? T() : it->second;
    }
};
struct Base {
    virtual ~Base()
    {
    }
    virtual long run(int n) = 0;
};
struct Callback : Base {
    std::function<long(int)> f;
    long Run(int n)
    {
        return f(n);
    }
    long run(int n) override
    {
        return Run(n);
    }
};
class Widget : public Base
{
    std::vector<long> v;

  public:
    long run(int n) override
    {
        v.clear();
        for (int i = 0; i < n; i++)
            v.push_back((i * 7919L) % 10007);
        std::sort(v.begin(), v.end());
        return v[n / 2];
    }
    bool operator<(const Widget &o) const
    {
        return v.size() < o.v.size();
    }
};
long overload(int x)
{
    return hidden(x);
}
long overload(double x)
{
    return hidden((int)x) + 1;
}
long overload(const std::string &s)
{
    long h = 0;
    for (int k = 0; k < 200; k++)
        for (char c : s)
            h = h * 31 + c;
    return h;
}
} // namespace app
int main(int argc, char **argv)
{
    int k = argc > 1 ? atoi(argv[1]) : 3;
    app::Table<long> t;
    app::Table<double> d;
    app::Widget w;
    app::Callback c;
    volatile long sink = 0;
    c.f = [&](int n) {
        long s = 0;
        for (int i = 0; i < n; i++)
            s += app::overload(i) + app::overload(i * 0.5);
        return s;
    };
    for (int r = 0; r < k; r++) {
        for (int i = 0; i < 40000; i++) {
            std::string key = "key" + std::to_string(i % 977);
            t.put(key, i);
            d.put(key, i * .5);
            sink += t.get(key);
            sink += app::overload(key);
        }
        sink += w.run(300000);
        sink += c.run(60000);
        std::unordered_map<int, std::string> u;
        for (int i = 0; i < 50000; i++)
            u[i * 7] = std::string(i % 40, 'x');
        sink += u.size();
    }
    std::printf("%ld\n", (long)sink);
}
