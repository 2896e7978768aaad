// cause: locks count
// Threads fight for one lock.
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static long counter;

__attribute__((noinline)) static void count()
{
    const std::lock_guard<std::mutex> hold(lock);
    counter++;
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            for (int k = 0; k < 2000000; k++)
                count();
        });
    for (auto &thread : threads)
        thread.join();
    return counter == 42;
}
