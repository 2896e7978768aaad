// cause: counting-references walk
// A shared pointer is passed by value.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>
struct Node {
    long v = 1;
};
__attribute__((noinline)) static long visit(std::shared_ptr<Node> n)
{
    return n->v;
}
static long walk(const std::vector<std::shared_ptr<Node>> &all)
{
    long s = 0;
    for (int r = 0; r < 4000; r++)
        for (const auto &n : all)
            s += visit(n);
    return s;
}
int main()
{
    std::vector<std::shared_ptr<Node>> all;
    for (int i = 0; i < 2000; i++)
        all.push_back(std::make_shared<Node>());
    long a = 0;
    std::thread t([&] { a = walk(all); });
    t.join();
    printf("%ld\n", a);
}
