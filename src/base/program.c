/* program.c: see program.h. */
#include "base/program.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    int in, out, said; /* the parent's ends of the pipes to the program's standard input, output and
                        * error */
    pid_t pid;
} child;

static void close_pair(int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

/* Runs in the child after fork, and starts the program by exec. The kernel kills the program if the
 * thread that waits for it dies. */
static _Noreturn void become_program(const char *path, char *const argv[], const int fds[3],
                                     pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (int i = 0; i < 3; i++)
        dup2(fds[i], i);
    execv(path, argv);
    dprintf(2, "%s: %s\n", path, strerror(errno));
    _exit(127);
}

static pt_status start_program(const char *path, char *const argv[], child *ret, pt_error *reterr)
{
    int in[2], out[2], said[2];
    if (pipe2(in, O_CLOEXEC) != 0) return pt_error_errno(reterr, errno, "pipe");
    if (pipe2(out, O_CLOEXEC) != 0) {
        close_pair(in);
        return pt_error_errno(reterr, errno, "pipe");
    }
    if (pipe2(said, O_CLOEXEC) != 0) {
        close_pair(in);
        close_pair(out);
        return pt_error_errno(reterr, errno, "pipe");
    }
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_program(path, argv, (const int[]){in[0], out[1], said[1]}, parent);
    const int error = errno;
    close(in[0]);
    close(out[1]);
    close(said[1]);
    *ret = (child){.in = in[1], .out = out[0], .said = said[0], .pid = pid};
    if (pid > 0) return PT_OK;
    close(ret->in);
    close(ret->out);
    close(ret->said);
    return pt_error_errno(reterr, error, "%s", path);
}

/* Reads the available bytes; false at the end. */
static bool read_available(int fd, pt_buf *into)
{
    pt_buf_reserve(into, 65536);
    const ssize_t got = read(fd, into->data + into->size, 65536);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    into->size += (size_t)got;
    return true;
}

/* The timeout for poll until the deadline; -1 (no timeout) if there is no deadline. */
static int wait_ms(int64_t deadline_ms)
{
    const int64_t left = deadline_ms - pt_now_ms();
    return deadline_ms == 0 ? -1 : left > 0 ? (int)left : 0;
}

/* Writes the input and reads both outputs at the same time, since a full pipe would block the
 * program. False if the deadline has passed. */
static bool feed_and_read(child *c, const pt_buf *input, int64_t deadline_ms, pt_buf *output,
                          pt_buf *said)
{
    size_t sent = 0;
    bool in_time = true;
    struct pollfd fds[3] = {{c->in, POLLOUT, 0}, {c->out, POLLIN, 0}, {c->said, POLLIN, 0}};
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    while (fds[1].fd >= 0 || fds[2].fd >= 0) {
        const int ready = poll(fds, 3, wait_ms(deadline_ms));
        if (ready < 0 && errno != EINTR) break;
        in_time = ready != 0;
        if (!in_time) break;
        if (ready <= 0) continue;
        if (fds[0].fd >= 0 && fds[0].revents != 0) {
            const ssize_t put = write(c->in, input->data + sent, input->size - sent);
            if (put > 0) sent += (size_t)put;
            const bool failed = put < 0 && errno != EAGAIN && errno != EINTR;
            if (failed || sent == input->size) {
                close(c->in);
                fds[0].fd = -1;
            }
        }
        if (fds[1].fd >= 0 && fds[1].revents != 0 && !read_available(c->out, output))
            fds[1].fd = -1;
        if (fds[2].fd >= 0 && fds[2].revents != 0 && !read_available(c->said, said)) fds[2].fd = -1;
    }
    if (fds[0].fd >= 0) close(c->in);
    close(c->out);
    close(c->said);
    return in_time;
}

pt_status pt_program_run(const char *path, char *const argv[], const pt_buf *input, int limit_s,
                         pt_program_result *ret_result, pt_error *reterr)
{
    child c = {0};
    const pt_status status = start_program(path, argv, &c, reterr);
    if (status != PT_OK) return status;
    pt_program_result result = {.output = PT_BUF_INIT, .said = PT_BUF_INIT};
    const int64_t deadline_ms = limit_s > 0 ? pt_now_ms() + (int64_t)limit_s * 1000 : 0;
    result.in_time = feed_and_read(&c, input, deadline_ms, &result.output, &result.said);
    if (!result.in_time) kill(c.pid, SIGKILL);
    int code = 0;
    while (waitpid(c.pid, &code, 0) < 0 && errno == EINTR) {
    }
    result.has_succeeded = result.in_time && WIFEXITED(code) && WEXITSTATUS(code) == 0;
    *ret_result = result;
    return PT_OK;
}

void pt_program_result_done(pt_program_result *result)
{
    pt_buf_done(&result->output);
    pt_buf_done(&result->said);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *pt_program_find(const char *name, const char *search)
{
    if (strchr(name, '/') != NULL) return is_program(name) ? pt_strdup(name) : NULL;
    for (const char *p = search != NULL ? search : "/usr/local/bin:/usr/bin:/bin"; *p != '\0';) {
        const size_t length = strcspn(p, ":");
        char *file = pt_strf("%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? p : ".", name);
        if (is_program(file)) return file;
        free(file);
        p += length + (p[length] == ':');
    }
    return NULL;
}
