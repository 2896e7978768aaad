/* torture_host.cc: everything that has broken a profiler in a program, all at once:
 * `torture_host SECONDS SHARE PLUGIN [COUNTER]`, where each thread works for SHARE percent of its
 * time. With COUNTER it starts its own profile, torture.prof, counts the ticks that the library
 * asks it about in that file, and kills itself at the end, so that the journal is left; if SECONDS
 * is negative while all threads run.
 *
 * Each thread also looks whether errno and its signal mask are as it left them, and each call that
 * SA_RESTART covers (signal(7)) must never say EINTR. Prints one "name value" a line; what must be
 * 0 is called broken_NAME.
 */
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include <gperftools/profiler.h>

#include "in_journal.h"

namespace
{

double now_s(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

std::atomic<bool> over;
double share;
const char *plugin;
std::atomic<long> broken_errno, broken_mask, broken_restart, broken_result, eintr_allowed;

/* A call did not do what it does; the number says more: a status, an errno. */
void broke(const char *what, long number)
{
    broken_result++;
    fprintf(stderr, "torture: %s: %ld\n", what, number);
}

[[gnu::noinline]] unsigned spin(unsigned n)
{
    volatile unsigned x = n;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

/* Computes with errno and mask set, and looks at them afterwards. */
void compute()
{
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    errno = 4711;
    spin(30000);
    if (errno != 4711) broken_errno++;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int signo = 1; signo < 32; signo++)
        if (sigismember(&before, signo) != sigismember(&after, signo)) broken_mask++;
}

/* Lets the others have the processor for the rest of the share. */
class turn
{
    double begin = now_s(CLOCK_MONOTONIC);

  public:
    ~turn()
    {
        const double rest = (now_s(CLOCK_MONOTONIC) - begin) * (100 - share) / share;
        usleep(rest > 0.05 ? 50000 : (useconds_t)(rest * 1e6));
    }
};

/* ---- what the threads do ---- */

void allocate()
{
    std::vector<std::string> kept;
    for (int i = 0; i < 200; i++)
        kept.push_back(std::string(1 + i * 37 % 3000, 'x'));
    for (int i = 0; i < 1000; i++)
        kept[i % 200] = std::string(1 + i * 101 % 5000, 'y');
    compute();
}

void load()
{
    void *const handle = dlopen(plugin, RTLD_NOW);
    auto const burn = handle != nullptr ? (void (*)(double))dlsym(handle, "plugin_burn") : nullptr;
    if (burn == nullptr) {
        broke(dlerror(), errno);
        return;
    }
    burn(0.002);
    if (dlclose(handle) != 0) broke("dlclose", errno);
}

void fork_only()
{
    const pid_t child = fork();
    if (child == 0) {
        spin(20000);
        _exit(7);
    }
    int status = 0;
    pid_t got;
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        broken_restart++;
    if (got != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        broke("status of a child of fork", got == child ? status : -errno);
}

void fork_and_exec()
{
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)nullptr);
        _exit(127);
    }
    int status = 0;
    const pid_t got = waitpid(child, &status, 0);
    if (got != child || status != 0)
        broke("status of a child that called exec", got == child ? status : -errno);
}

void jump()
{
    for (volatile int i = 0; i < 200; i++) {
        sigjmp_buf back;
        if (sigsetjmp(back, i & 1) == 0) {
            spin(300);
            siglongjmp(back, 1);
        }
    }
    compute();
}

[[gnu::noinline]] int throw_deep(int depth)
{
    std::string held("something to destroy on the way");
    if (depth == 0) throw std::runtime_error("thrown");
    return throw_deep(depth - 1) + (int)held.size();
}

void throw_and_catch()
{
    for (int i = 0; i < 50; i++) {
        try {
            throw_deep(i % 20);
            broke("throw came back", i);
        } catch (const std::runtime_error &) {
            spin(100);
        }
    }
    compute();
}

void *short_life(void *arg)
{
    spin(5000 + (unsigned)(uintptr_t)arg * 3000);
    return arg;
}

void churn()
{
    pthread_t threads[8];
    bool runs[8];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (uintptr_t i = 0; i < 8; i++)
        runs[i] = pthread_create(&threads[i], i & 1 ? &attr : nullptr, short_life, (void *)i) == 0;
    for (uintptr_t i = 0; i < 8; i++) {
        void *result = nullptr;
        if (!runs[i] || pthread_join(threads[i], &result) != 0 || result != (void *)i)
            broke("a short thread", runs[i]);
    }
    pthread_attr_destroy(&attr);
}

/* Reads that wait, which SA_RESTART covers, and sleeps, which nothing does. */
int pipe_ends[2];

void read_slowly()
{
    char byte;
    spin(2000);
    const ssize_t got = read(pipe_ends[0], &byte, 1);
    if (got < 0 && errno == EINTR) broken_restart++;
    const timespec pause = {0, 1000000};
    if (nanosleep(&pause, nullptr) != 0) eintr_allowed++;
    compute();
}

/* Neither end waits any more: the pipe is emptied for the writer, and given some for the reader. */
void end_pipe()
{
    char some[4096] = {};
    fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
    fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
    while (read(pipe_ends[0], some, sizeof some) > 0)
        ;
    (void)!write(pipe_ends[1], some, 16);
}

void write_slowly()
{
    spin(3000);
    if (write(pipe_ends[1], "x", 1) < 0 && errno == EINTR) broken_restart++;
    compute();
}

/* Runs off the end of its stack, is caught on another one, which computes there. */
thread_local sigjmp_buf caught;

void on_fault(int)
{
    spin(20000);
    siglongjmp(caught, 1);
}

[[gnu::noinline]] unsigned recurse(volatile char *above)
{
    volatile char room[512];
    room[0] = above[0];
    spin(20);
    return recurse(room) + room[0];
}

void *overflow(void *)
{
    std::vector<char> other(64 << 10);
    stack_t there = {};
    there.ss_sp = other.data();
    there.ss_size = other.size();
    sigaltstack(&there, nullptr);
    if (sigsetjmp(caught, 1) == 0) {
        volatile char first = 0;
        recurse(&first);
        broke("endless recursion ended", 0);
    }
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    return nullptr;
}

void overflow_stacks()
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 131072);
    const int error = pthread_create(&thread, &attr, overflow, nullptr);
    if (error != 0)
        broke("pthread_create", error);
    else
        pthread_join(thread, nullptr);
    pthread_attr_destroy(&attr);
}

/* Runs on a stack of its own between two pages that nobody may touch. */
thread_local ucontext_t home, away;

void run_away()
{
    spin(50000);
    swapcontext(&away, &home);
}

void change_stacks()
{
    const size_t page = 4096, room = 16 * page;
    char *const stack =
        (char *)mmap(nullptr, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack + page, room, PROT_READ | PROT_WRITE) != 0) {
        broke("a stack", errno);
        return;
    }
    getcontext(&away);
    away.uc_stack.ss_sp = stack + page;
    away.uc_stack.ss_size = room;
    away.uc_link = &home;
    makecontext(&away, run_away, 0);
    swapcontext(&home, &away);
    munmap(stack, room + 2 * page);
}

/* Registers that hold anything: a walk must read nothing that it does not know. */
void hide_frames()
{
#if defined(__x86_64__)
    static const unsigned long wild[] = {0, 1, 8, 4096, ~0ul, ~7ul, 1ul << 47, 0xdeadbeefdeadbeef};
    for (unsigned long value : wild) {
        unsigned long count = 20000;
        __asm__ volatile("push %%rbp\n\tmov %1, %%rbp\n1:\tdec %0\n\tjnz 1b\n\tpop %%rbp"
                         : "+r"(count)
                         : "r"(value)
                         : "cc", "memory");
    }
#endif
    compute();
}

/* Every signal but the one above goes back to its default, again and again. */
void reset_signals()
{
    for (int signo = 1; signo < 65; signo++)
        if (signo != SIGSEGV && signo != 32 && signo != 33) signal(signo, SIG_DFL);
    compute();
}

void (*const works[])() = {
    allocate,        load,        fork_only,     fork_and_exec, jump,
    throw_and_catch, churn,       read_slowly,   write_slowly,  overflow_stacks,
    change_stacks,   hide_frames, reset_signals, compute};
constexpr int WORKS = sizeof works / sizeof works[0];
std::atomic<long> rounds[WORKS];

void *worker(void *arg)
{
    const int mine = (int)(intptr_t)arg;
    while (!over) {
        turn one;
        works[mine]();
        rounds[mine]++;
    }
    return nullptr;
}

/* Behind it the CPU time when it ends itself, in ns, and how many there were when all other threads
 * had ended. */
std::atomic<long> *ticks;
pid_t self;

std::atomic<bool> refuses;

int count_tick(void *)
{
    if (getpid() == self) ticks->fetch_add(1, std::memory_order_relaxed); /* not a child's */
    return !refuses;
}

bool start_counting(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    self = getpid();
    if (fd < 0 || ftruncate(fd, 4096) != 0) return false;
    ticks = (std::atomic<long> *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    ProfilerOptions options = {};
    options.filter_in_thread = count_tick;
    return ticks != MAP_FAILED && ProfilerStartWithOptions("torture.prof", &options);
}

void end_now()
{
    ticks[1] = (long)(now_s(CLOCK_PROCESS_CPUTIME_ID) * 1e9);
    kill(getpid(), SIGKILL);
}

/* No sample follows, since the filter refuses. */
void wait_for_journal()
{
    ticks[2] = ticks->load();
    refuses = true;
    wait_until_in_journal("torture.prof");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 4 || pipe(pipe_ends) != 0) return 2;
    const double seconds = atof(argv[1]), end = now_s(CLOCK_MONOTONIC) + fabs(seconds);
    share = atof(argv[2]);
    plugin = argv[3];
    if (argc > 4 && !start_counting(argv[4])) return 2;
    struct sigaction act = {};
    act.sa_handler = on_fault;
    act.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &act, nullptr);
    pthread_t threads[WORKS];
    for (int i = 0; i < WORKS; i++)
        pthread_create(&threads[i], nullptr, worker, (void *)(intptr_t)i);
    while (now_s(CLOCK_MONOTONIC) < end)
        usleep(5000);
    if (seconds < 0) end_now();
    over = true;
    end_pipe();
    for (int i = 0; i < WORKS; i++) {
        pthread_join(threads[i], nullptr);
    }
    printf("broken_errno %ld\nbroken_mask %ld\nbroken_restart %ld\nbroken_result %ld\n",
           broken_errno.load(), broken_mask.load(), broken_restart.load(), broken_result.load());
    printf("eintr_allowed %ld\ncpu %.3f\n", eintr_allowed.load(), now_s(CLOCK_PROCESS_CPUTIME_ID));
    for (int i = 0; i < WORKS; i++)
        printf("rounds_%d %ld\n", i, rounds[i].load());
    fflush(stdout);
    if (argc > 4) {
        wait_for_journal();
        end_now();
    }
    return 0;
}
