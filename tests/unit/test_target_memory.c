/* test_target_memory.c: memory of another process is read as far as it can be, and memory that
 * never answers is given up.
 */
#include "base_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/procs.h"

enum { PAGE = 4096, PAGES = 40 };

static pt_procs procs;

/* A process with readable pages of this process's bytes, and the last page without any. */
typedef struct {
    pid_t pid;
    uint8_t *pages;
    bool is_silent; /* the last page never answers; else it is not readable */
} other;

static bool silence(uint8_t *page)
{
    const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {.start = (uintptr_t)page, .len = PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &range) == 0;
}

static other begin_other(bool wants_silence)
{
    int said[2];
    char byte = 0;
    other o = {.pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    assert_ptr_not_equal(o.pages, MAP_FAILED);
    for (size_t i = 0; i < (PAGES - 1) * PAGE; i++)
        o.pages[i] = (uint8_t)(i / 7);
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    o.pid = fork();
    if (o.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        uint8_t *const last = o.pages + (PAGES - 1) * PAGE;
        const bool is_done = wants_silence ? silence(last) : mprotect(last, PAGE, PROT_NONE) == 0;
        if (write(said[1], is_done ? "y" : "n", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(said[0], &byte, 1), 1);
    close(said[0]);
    close(said[1]);
    o.is_silent = wants_silence && byte == 'y';
    return o;
}

static void end_other(other *o)
{
    kill(o->pid, SIGKILL);
    waitpid(o->pid, NULL, 0);
    munmap(o->pages, PAGES * PAGE);
}

static pt_proc *proc_of(const other *o)
{
    pt_proc *const proc = pt_procs_get(&procs, (uint32_t)o->pid);
    snprintf(proc->comm, sizeof proc->comm, "other");
    proc->patience.decided_ns = INT64_MAX / 2; /* as if it were another user's */
    return proc;
}

static uint64_t addr_of(const other *o, size_t at)
{
    return (uintptr_t)o->pages + at;
}

static int begin(void **state)
{
    (void)state;
    pt_procs_init(&procs, "/proc");
    return 0;
}

static int end(void **state)
{
    (void)state;
    pt_procs_done(&procs);
    return 0;
}

static void memory_is_read_as_far_as_it_can_be(void **state)
{
    (void)state;
    static uint8_t to[PAGES * PAGE];
    other o = begin_other(false);
    pt_proc *const proc = proc_of(&o);
    assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, 5), to, 100), 100);
    assert_memory_equal(to, o.pages + 5, 100);
    /* More than the task reads at a time, and the end is not readable. */
    assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, 0), to, sizeof to), (PAGES - 1) * PAGE);
    assert_memory_equal(to, o.pages, (PAGES - 1) * PAGE);
    errno = 0;
    assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, (PAGES - 1) * PAGE), to, 1), -1);
    assert_int_equal(errno, EFAULT);
    end_other(&o);
    errno = 0;
    assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, 0), to, 1), -1);
    assert_int_equal(errno, ESRCH);
    assert_string_equal(pt_target_memory_said(procs.memory), "");
}

/* The callers of the recorder wait for children of their own. */
static void the_reader_is_no_child_that_others_wait_for(void **state)
{
    (void)state;
    uint8_t byte;
    other o = begin_other(false);
    assert_int_equal(pt_proc_read_memory(proc_of(&o), addr_of(&o, 0), &byte, 1), 1);
    end_other(&o);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_true(pt_target_memory_used_ns(procs.memory) > 0);
    assert_false(pt_target_memory_is_task(procs.memory, (uint32_t)getpid()));
}

static void memory_that_does_not_answer_is_given_up(void **state)
{
    (void)state;
    uint8_t byte, text[200];
    other o = begin_other(true), good = begin_other(false);
    pt_proc *const proc = proc_of(&o);
    if (o.is_silent) {
        assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, 9), &byte, 1), 1);
        errno = 0;
        assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, (PAGES - 1) * PAGE), &byte, 1), -1);
        assert_int_equal(errno, ETIMEDOUT);
        snprintf((char *)text, sizeof text,
                 "the memory of other (pid %d) does not answer: functions of its interpreter may "
                 "have no names\n",
                 (int)o.pid);
        assert_string_equal(pt_target_memory_said(procs.memory), (char *)text);
        /* Its other pages are not read any more, but those of other processes are. */
        assert_int_equal(pt_proc_read_memory(proc, addr_of(&o, 9), &byte, 1), -1);
        assert_int_equal(errno, ETIMEDOUT);
        assert_int_equal(pt_proc_read_memory(proc_of(&good), addr_of(&good, 9), &byte, 1), 1);
        assert_int_equal(byte, good.pages[9]);
    }
    const bool is_silent = o.is_silent;
    end_other(&o);
    end_other(&good);
    if (!is_silent) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_is_read_as_far_as_it_can_be, begin, end),
        cmocka_unit_test_setup_teardown(the_reader_is_no_child_that_others_wait_for, begin, end),
        cmocka_unit_test_setup_teardown(memory_that_does_not_answer_is_given_up, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
