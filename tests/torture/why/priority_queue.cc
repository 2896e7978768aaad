// cause: heaps next
// A queue by priority moves whole jobs.
#include <cstdio>
#include <queue>
#include <string>
struct Job {
    int prio;
    std::string name;
    bool operator<(const Job &o) const
    {
        return prio < o.prio;
    }
};
class Queue
{
    std::priority_queue<Job> q;

  public:
    void add(Job j)
    {
        q.push(j);
    }
    int next()
    {
        Job j = q.top();
        q.pop();
        return j.prio;
    }
    bool empty()
    {
        return q.empty();
    }
};
int main()
{
    Queue q;
    long s = 0;
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < 200000; i++)
            q.add({i * 7919 % 100003, "job with a long name here"});
        while (!q.empty())
            s += q.next();
    }
    std::printf("%ld\n", s);
}
