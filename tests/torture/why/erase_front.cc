// cause: moving-elements take
// The first element of a vector is erased, which moves all others.
#include <cstdio>
#include <string>
#include <vector>

template <typename T> class Queue
{
    std::vector<T> items_;

  public:
    void put(T item) { items_.push_back(item); }
    bool empty() const { return items_.empty(); }
    T take()
    {
        const T first = items_.front();
        items_.erase(items_.begin());
        return first;
    }
};

int main()
{
    Queue<long> queue;
    for (long i = 0; i < 120000; i++)
        queue.put(i);
    long sum = 0;
    while (!queue.empty())
        sum ^= queue.take();
    std::printf("%ld\n", sum);
}
