// cause: yielding wait_for_result
// A thread asks for a result again and again.
#include <atomic>
#include <chrono>
#include <thread>
static std::atomic<bool> done{false};
static void wait_for_result()
{
    while (!done.load())
        std::this_thread::yield();
}
int main()
{
    std::thread t([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        done = true;
    });
    wait_for_result();
    t.join();
}
