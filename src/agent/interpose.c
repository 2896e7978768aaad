/* interpose.c: the functions that the host calls through the library. Apart from the library's own
 * work, each call is passed on unchanged; tests/abi/exports.txt has each function with its reason.
 */
#include "agent/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int pthread_create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int dlclose_fn(void *);

typedef int execve_fn(const char *, char *const[], char *const[]);
typedef int execvpe_fn(const char *, char *const[], char *const[]);
typedef int fexecve_fn(int, char *const[], char *const[]);
typedef int execveat_fn(int, const char *, char *const[], char *const[], int);

PT_SECOND_NAME(pthread_create, "__pthread_create");
PT_SECOND_NAME(dlclose, "__dlclose");
PT_SECOND_NAME(execve, "__execve");
PT_SECOND_NAME(execvpe, "__execvpe");
PT_SECOND_NAME(fexecve, "__fexecve");   /* these two have none: */
PT_SECOND_NAME(execveat, "__execveat"); /* they only make the system call */

/* Is this a child of vfork, raw clone or _Fork? Such a child has the variables of its parent, but
 * no journal. */
__attribute__((noinline)) static bool is_foreign_process(void)
{
    return pt_agent.pid != 0 && pt_tick_getpid() != pt_agent.pid;
}

__attribute__((noinline)) static bool is_this_process(void)
{
    return pt_agent.on &&
           pt_tick_getpid() == pt_agent.pid; /* false in a child of vfork or raw clone */
}

/* Looks up, before the process has a second thread, all functions that would otherwise be looked up
 * at their first call: in a child of fork such a look-up could wait for ever for a lock of the
 * loader that another thread of the parent held. */
static void find_rest(void)
{
    (void)PT_NEXT(dlclose);
    (void)PT_NEXT(fexecve);
    (void)PT_NEXT(execveat);
    pt_signals_find_rest();
    pt_own_find_count();
    pt_libc_find_threads();
    if (pt_spawn_find_rest != NULL) pt_spawn_find_rest();
    if (pt_epoll_find_rest != NULL) pt_epoll_find_rest();
}

/* ---- threads ---- */

enum { STACK_SLACK_BYTES = 8192 };

/* By the bounds of this section the unwinder recognises return addresses in the function below. */
extern const char __start_pt_thread_start[], __stop_pt_thread_start[];

__attribute__((section("pt_thread_start"), noinline)) static void *thread_main(void *arg)
{
    pt_thread *const self = arg;
    /* libc keeps the thread's descriptor at the stack's upper end. musl does not if the program
     * supplied the stack: then the drain thread finds the bounds. */
    const uintptr_t limit = (uintptr_t)pthread_self();
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const bool is_within = limit - here < self->stack_bytes;
    /* The requested size includes libc's data at the upper end. A little is left out at the lower
     * end, so that nothing below the stack counts as part of the stack. */
    const pt_tick_stack stack = {.low =
                                     is_within ? limit - self->stack_bytes + STACK_SLACK_BYTES : 0,
                                 .limit = is_within ? limit : 0,
                                 .root_fp = here};
    pt_thread_begin(self, &stack);
    void *const result = self->start_routine(self->start_arg);
    __asm__ volatile("" ::: "memory"); /* no tail call: this frame is the root */
    return result;
}

__attribute__((noinline)) static size_t stack_bytes(const pthread_attr_t *attr)
{
    size_t bytes = 0;
    pthread_attr_t usual;
    if (attr != NULL)
        pt_libc_attr_getstacksize(attr, &bytes);
    else if (pthread_attr_init(&usual) == 0) {
        pt_libc_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes;
}

PT_PASSING int pt_real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                                      void *(*start)(void *), void *arg)
{
    pthread_create_fn *const create = PT_NEXT(pthread_create);
    return create == NULL ? ENOSYS : create(thread, attr, start, arg);
}

PT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                             void *arg)
{
    if (!is_foreign_process()) find_rest();
    pt_thread *const slot = is_foreign_process() ? NULL : pt_thread_new();
    if (slot == NULL) return pt_real_pthread_create(thread, attr, start, arg);
    slot->start_routine = start;
    slot->start_arg = arg;
    slot->stack_bytes = stack_bytes(attr);
    const int error = pt_real_pthread_create(thread, attr, thread_main, slot);
    if (error != 0) pt_thread_free(slot);
    return error;
}

/* The library's own function, whichever function the name resolves to in this process. */
extern __typeof__(pthread_create) own_pthread_create
    __attribute__((alias("pthread_create"), visibility("hidden"), nothrow));

bool pt_interposes(void)
{
    void *const first = pt_find_first("pthread_create");
    /* NULL in a static program, which has no other function of that name. */
    return first == NULL || first == (void *)(uintptr_t)own_pthread_create;
}

/* ---- unloading ---- */

/* Folds the samples so far, whose addresses belong to the libraries that are mapped now. This
 * function does not read the mappings: some programs unload many libraries at their end, and take
 * no sample between two unloadings. */
static void settle_samples(void)
{
    if (!is_this_process()) return;
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on) {
        pt_session_collect();
        pt_maps_expire();
    }
    pt_agent_unlock(&caller);
}

/* dlclose, before which samples are counted: another library may later be mapped at the same
 * addresses. */
PT_EXPORT int dlclose(void *handle)
{
    settle_samples();
    dlclose_fn *const next = PT_NEXT(dlclose);
    const int result = next == NULL ? -1 : next(handle);
    settle_samples();
    return result;
}

/* ---- the exits that run no destructors ---- */

PT_NEAR __attribute__((noinline)) void pt_last_words(void)
{
    if (is_this_process()) {
        pt_caller caller;
        pt_agent_lock_quietly(&caller, NULL);
        pt_agent.leaving = true;
        pt_session_stop(PT_JOURNAL_EXITED_FAST, &caller);
    }
}

PT_NEAR static _Noreturn void leave_process(int status)
{
    pt_last_words();
    for (;;)
        PT_KERNEL(SYS_exit_group, status);
}

PT_EXPORT void _exit(int status)
{
    leave_process(status);
}

PT_EXPORT void _Exit(int status)
{
    leave_process(status);
}

/* ---- a debugger comes ---- */

static atomic_bool will_be_traced;

void pt_exec_will_be_traced(void)
{
    atomic_store(&will_be_traced, true);
    if (!is_this_process()) return; /* a child of vfork has its parent's memory, not its timers */
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on) pt_timers_leave_traps();
    pt_agent_unlock(&caller);
}

/* ---- exec ---- */

/* A tick that is pending during exec would end the new program: its handler is gone, and the
 * signal's default action is to end the process. So the thread's timer is stopped before exec, and
 * a pending signal of the timer is discarded. */
__attribute__((noinline)) bool pt_exec_begins(void)
{
    if (!is_this_process()) return false;
    pt_caller caller;
    pt_agent_lock(&caller);
    const bool paused = pt_agent.on;
    if (paused) {
        const uint64_t since_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        pt_timers_pause();
        pt_thread_pause_self();
        pt_signals_forget_pending();
        pt_session_collect();
        pt_session_add_own_time(since_ns);
        pt_agent.journal.header->end = PT_JOURNAL_BECAME;
        pt_agent.recording ? pt_publish_recorded() : pt_publish();
    }
    pt_agent_unlock(&caller);
    return paused;
}

__attribute__((noinline)) int pt_exec_failed(bool paused, int result)
{
    const int saved_errno = errno;
    pt_caller caller;
    if (paused) {
        pt_agent_lock(&caller);
        if (pt_agent.on) {
            pt_agent.journal.header->end = PT_JOURNAL_RUNNING;
            pt_publish();
            pt_timers_resume();
        }
        pt_thread_resume_self();
        pt_agent_unlock(&caller);
    }
    errno = saved_errno;
    return result;
}

static void note_tracer(char *const envp[])
{
    if (atomic_load(&will_be_traced)) pt_environment_note_tracer(envp);
}

/* Stands for libc's exec function if that function cannot be found. */
static int exec_at(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    return (int)syscall(SYS_execveat, fd, path, argv, envp, flags);
}

PT_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    execve_fn *const next = PT_NEXT(execve);
    note_tracer(envp);
    pt_enter_look(AT_FDCWD, path, false);
    const bool paused = pt_exec_begins();
    return pt_exec_failed(paused, next != NULL ? next(path, argv, envp)
                                               : exec_at(AT_FDCWD, path, argv, envp, 0));
}

PT_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    execvpe_fn *const next = PT_NEXT(execvpe);
    note_tracer(envp);
    pt_enter_look(AT_FDCWD, file, true);
    const bool paused = pt_exec_begins();
    return pt_exec_failed(paused, next != NULL ? next(file, argv, envp)
                                               : exec_at(AT_FDCWD, file, argv, envp, 0));
}

PT_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    fexecve_fn *const next = PT_NEXT(fexecve);
    note_tracer(envp);
    const bool paused = pt_exec_begins();
    return pt_exec_failed(paused, next != NULL ? next(fd, argv, envp)
                                               : exec_at(fd, "", argv, envp, AT_EMPTY_PATH));
}

PT_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    execveat_fn *const next = PT_NEXT(execveat);
    note_tracer(envp);
    pt_enter_look(fd, path, false);
    const bool paused = pt_exec_begins();
    return pt_exec_failed(paused, next != NULL ? next(fd, path, argv, envp, flags)
                                               : exec_at(fd, path, argv, envp, flags));
}

PT_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

PT_EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* The variadic forms pass their arguments as an array. An array of many arguments lies in memory of
 * the library. If a child of vfork executes another program, that memory stays allocated in the
 * child's parent. */
enum { FEW_ARGUMENTS = 256 };

typedef struct {
    char **argv;
    size_t bytes;      /* of memory of the library; 0 = argv is the caller's */
    char *const *envp; /* the argument after the NULL, for the forms that have such an argument */
} exec_list;

static exec_list list_of(const char *first, va_list args, bool has_envp, char *few[FEW_ARGUMENTS])
{
    va_list again;
    va_copy(again, args);
    size_t count = 1;
    while (va_arg(again, char *) != NULL)
        count++;
    va_end(again);
    const bool are_few = count + 1 <= FEW_ARGUMENTS;
    exec_list list = {.bytes = are_few ? 0 : (count + 1) * sizeof(char *), .envp = environ};
    list.argv = are_few ? few : pt_agent_map(list.bytes);
    if (list.argv == NULL) return list;
    list.argv[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i <= count; i++)
        list.argv[i] = va_arg(args, char *);
    if (has_envp) list.envp = va_arg(args, char *const *);
    return list;
}

static int exec_listed(const char *name, exec_list list, bool look_in_path)
{
    if (list.argv == NULL) {
        errno = E2BIG;
        return -1;
    }
    const int result =
        look_in_path ? execvpe(name, list.argv, list.envp) : execve(name, list.argv, list.envp);
    const int saved_errno = errno;
    if (list.bytes > 0) munmap(list.argv, list.bytes);
    errno = saved_errno;
    return result;
}

#define EXEC_LISTED(name, first, has_envp, look_in_path)                                           \
    char *few[FEW_ARGUMENTS];                                                                      \
    va_list args;                                                                                  \
    va_start(args, first);                                                                         \
    const exec_list list = list_of(first, args, has_envp, few);                                    \
    va_end(args);                                                                                  \
    return exec_listed(name, list, look_in_path)

PT_EXPORT int execl(const char *path, const char *arg, ...)
{
    EXEC_LISTED(path, arg, false, false);
}

PT_EXPORT int execle(const char *path, const char *arg, ...)
{
    EXEC_LISTED(path, arg, true, false);
}

PT_EXPORT int execlp(const char *file, const char *arg, ...)
{
    EXEC_LISTED(file, arg, false, true);
}

/* ---- where threads begin in libc ---- */

extern const char __start_pt_passing[], __stop_pt_passing[];
extern const char __start_pt_unblocking[], __stop_pt_unblocking[];

static pt_tick_code code_around(void *function, size_t before, size_t behind)
{
    const uintptr_t addr = (uintptr_t)function;
    return addr == 0 ? (pt_tick_code){0} : (pt_tick_code){addr - before, addr + behind};
}

/* Notes the range of the object's code if the object is libc or libpthread. In a static program
 * this range also has the program's own code. */
static void note_libc_code(const struct dl_phdr_info *info)
{
    const uintptr_t here = (uintptr_t)pt_libc_main_start();
    const bool has_threads =
        info->dlpi_name != NULL && strstr(info->dlpi_name, "/libpthread") != NULL;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const pt_tick_code code = {low, low + info->dlpi_phdr[i].p_memsz};
        if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_X) == 0)
            continue;
        if ((uintptr_t)__start_pt_passing - code.low < code.limit - code.low) continue;
        if (here - code.low < code.limit - code.low)
            pt_tick.libc_code[0] = code;
        else if (has_threads)
            pt_tick.libc_code[1] = code;
    }
}

/* Notes the range of the library's own code; notes none if the library is part of the program. */
static int note_own_code(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    bool *const is_found = arg;
    pt_own_note_object(info);
    note_libc_code(info);
    const uintptr_t here = (uintptr_t)__start_pt_thread_start;
    for (size_t i = 0; i < info->dlpi_phnum && !*is_found; i++) {
        const uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || here - low >= info->dlpi_phdr[i].p_memsz)
            continue;
        if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
            pt_agent.own_code = (pt_tick_code){low, low + info->dlpi_phdr[i].p_memsz};
        *is_found = true;
    }
    return 0;
}

void pt_interpose_init(void)
{
    (void)PT_NEXT(pthread_create);
    pt_signals_init();
    (void)PT_NEXT(execve);
    (void)PT_NEXT(execvpe);
    /* The functions that call main and start routines have no public names. They are in the same
     * source files as __libc_start_main and pthread_create, and lie just below these two functions
     * (glibc's csu/libc-start.c and nptl/pthread_create.c). */
    pt_tick.main_start = code_around(pt_libc_main_start(), 256, 512);
    pt_tick.thread_start = code_around((void *)(uintptr_t)PT_NEXT(pthread_create), 1024, 0);
    pt_tick.own_start =
        (pt_tick_code){(uintptr_t)__start_pt_thread_start, (uintptr_t)__stop_pt_thread_start};
    pt_agent.passing_code =
        (pt_tick_code){(uintptr_t)__start_pt_passing, (uintptr_t)__stop_pt_passing};
    pt_agent.unblocking_code =
        (pt_tick_code){(uintptr_t)__start_pt_unblocking, (uintptr_t)__stop_pt_unblocking};
    bool is_found = false;
    dl_iterate_phdr(note_own_code, &is_found);
    pt_libc_at_quick_exit(pt_last_words);
}
