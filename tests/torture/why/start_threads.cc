// cause: starting-threads run_all
// A thread is started for each job.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
static std::atomic<long> n;
struct Pool {
    void run_all(int k)
    {
        for (int i = 0; i < k; i++) {
            std::thread t([i] { n += i; });
            t.join();
        }
    }
};
int main()
{
    Pool p;
    p.run_all(8000);
    std::printf("%ld\n", n.load());
}
