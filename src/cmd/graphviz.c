/* graphviz.c: runs `dot -TTYPE` on a graph, or draws the graph itself. */
#include "cmd/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "render/layout.h"
#include "render/picture.h"

char *pt_find_program(const char *name)
{
    if (strchr(name, '/') != NULL) return access(name, X_OK) == 0 ? pt_strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path != NULL ? path : "/usr/bin:/bin"; *p != '\0';) {
        const size_t length = strcspn(p, ":");
        char *file = pt_strf("%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? p : ".", name);
        if (access(file, X_OK) == 0) return file;
        free(file);
        p += length + (p[length] == ':');
    }
    return NULL;
}

/* ---- Our own ---- */

static const struct {
    const char *type;
    void (*put)(pt_out *out, const pt_drawing *drawing);
} painters[] = {{"svg", pt_picture_svg},
                {"ps", pt_picture_ps},
                {"ps2", pt_picture_ps},
                {"pdf", pt_picture_pdf}};

static bool has_painter(const char *type)
{
    for (size_t i = 0; i < sizeof painters / sizeof painters[0]; i++)
        if (strcmp(painters[i].type, type) == 0) return true;
    return false;
}

static pt_status draw(const pt_buf *dot, const char *type, pt_buf *ret_picture, pt_error *reterr)
{
    for (size_t i = 0; i < sizeof painters / sizeof painters[0]; i++) {
        if (strcmp(painters[i].type, type) != 0) continue;
        pt_drawing drawing;
        pt_status status = pt_drawing_read((const char *)dot->data, dot->size, &drawing, reterr);
        if (status != PT_OK) return status;
        status = pt_layout(&drawing, reterr);
        if (status == PT_OK) {
            pt_out out;
            pt_out_to_buf(&out, ret_picture);
            painters[i].put(&out, &drawing);
            pt_out_done(&out, NULL);
        }
        pt_drawing_done(&drawing);
        return status;
    }
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                        "%s pictures need Graphviz (apt-get install graphviz); svg, ps and pdf "
                        "do not",
                        type);
}

/* ---- Graphviz ---- */

typedef struct {
    int in, out, said; /* ours: its standard input, output, error */
    pid_t pid;
} child;

static void close_pair(int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

/* Of the new process: it ends when the thread that waits for it does, however that happens. */
static _Noreturn void become_dot(const char *path, char *const argv[], const int fds[3],
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

static pt_status start(const char *path, const char *type, child *ret, pt_error *reterr)
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
    PT_FREE char *format = pt_strf("-T%s", type);
    char *argv[] = {(char *)(uintptr_t) "dot", format, NULL};
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_dot(path, argv, (const int[]){in[0], out[1], said[1]}, parent);
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

/* Reads what is there; false at the end. */
static bool take(int fd, pt_buf *into)
{
    pt_buf_reserve(into, 65536);
    const ssize_t got = read(fd, into->data + into->size, 65536);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    into->size += (size_t)got;
    return true;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What poll waits for until then; -1, for ever, where there is no deadline. */
static int wait_ms(int64_t deadline_ms)
{
    const int64_t left = deadline_ms - now_ms();
    return deadline_ms == 0 ? -1 : left > 0 ? (int)left : 0;
}

/* Feeds and reads at once: either side may fill a pipe. False: the deadline has passed. */
static bool talk(child *c, const pt_buf *input, int64_t deadline_ms, pt_buf *output, pt_buf *said)
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
        if (ready < 0) continue;
        if (fds[0].fd >= 0 && fds[0].revents != 0) {
            const ssize_t put = write(c->in, input->data + sent, input->size - sent);
            if (put > 0) sent += (size_t)put;
            const bool failed = put < 0 && errno != EAGAIN && errno != EINTR;
            if (failed || sent == input->size) {
                close(c->in);
                fds[0].fd = -1;
            }
        }
        if (fds[1].fd >= 0 && fds[1].revents != 0 && !take(c->out, output)) fds[1].fd = -1;
        if (fds[2].fd >= 0 && fds[2].revents != 0 && !take(c->said, said)) fds[2].fd = -1;
    }
    if (fds[0].fd >= 0) close(c->in);
    close(c->out);
    close(c->said);
    return in_time;
}

static const char *last_line(pt_buf *said)
{
    while (said->size > 0 && said->data[said->size - 1] == '\n')
        said->size--;
    const char *text = pt_buf_text(said);
    const char *newline = strrchr(text, '\n');
    return newline != NULL ? newline + 1 : text;
}

/* What dot printed, as it leaves pitot. */
static pt_status pass_on(const pt_buf *output, const char *type, pt_buf *ret_picture,
                         pt_error *reterr)
{
    if (strcmp(type, "svg") != 0) {
        pt_put(ret_picture, output->data, output->size);
        return PT_OK;
    }
    pt_buf picture = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &picture);
    const pt_status status =
        pt_picture_svg_of_dot(&out, (const char *)output->data, output->size, reterr);
    pt_out_done(&out, NULL);
    if (status == PT_OK) pt_put(ret_picture, picture.data, picture.size);
    pt_buf_done(&picture);
    return status;
}

/* limit_s: how long dot may take; 0 = any time. PT_ERR_LIMIT: it took longer. */
static pt_status run_dot(const char *path, const pt_buf *dot, const char *type, int limit_s,
                         pt_buf *ret_picture, pt_error *reterr)
{
    child c = {0};
    pt_status status = start(path, type, &c, reterr);
    if (status != PT_OK) return status;
    pt_buf output = PT_BUF_INIT, said = PT_BUF_INIT;
    const int64_t deadline_ms = limit_s > 0 ? now_ms() + (int64_t)limit_s * 1000 : 0;
    const bool in_time = talk(&c, dot, deadline_ms, &output, &said);
    if (!in_time) kill(c.pid, SIGKILL);
    int code = 0;
    while (waitpid(c.pid, &code, 0) < 0 && errno == EINTR) {
    }
    if (!in_time)
        status = pt_error_set(reterr, PT_ERR_LIMIT, "dot took more than %d s", limit_s);
    else if (!WIFEXITED(code) || WEXITSTATUS(code) != 0 || output.size == 0)
        status = pt_error_set(reterr, PT_ERR_SYSTEM, "dot failed: %s", last_line(&said));
    else
        status = pass_on(&output, type, ret_picture, reterr);
    pt_buf_done(&output);
    pt_buf_done(&said);
    return status;
}

pt_status pt_graphviz(const pt_buf *dot, const char *type, pt_engine engine, pt_buf *ret_picture,
                      const char **ret_engine, pt_error *reterr)
{
    PT_FREE char *path = engine != PT_ENGINE_OWN ? pt_find_program("dot") : NULL;
    const bool may_draw = engine != PT_ENGINE_DOT && has_painter(type);
    if (engine == PT_ENGINE_DOT && path == NULL)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "Graphviz's dot is not installed (apt-get install graphviz)");
    const char *drawn_by = "pitot's own layout";
    pt_status status = PT_ERR_LIMIT;
    if (path != NULL) {
        status = run_dot(path, dot, type, may_draw ? PT_GRAPHVIZ_LIMIT_S : 0, ret_picture, reterr);
        drawn_by = status != PT_ERR_LIMIT
                       ? "Graphviz's dot"
                       : "pitot's own layout, because dot took more than 30 s (fewer boxes take "
                         "less; graph --engine=dot waits)";
    }
    if (status == PT_ERR_LIMIT) status = draw(dot, type, ret_picture, reterr);
    if (ret_engine != NULL) *ret_engine = drawn_by;
    return status;
}
