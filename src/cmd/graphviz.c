/* graphviz.c: runs `dot -TTYPE` on a graph, or draws the graph itself. */
#include "cmd/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

static pt_status draw(const pt_buf *dot, const char *type, pt_buf *ret_picture, pt_error *reterr)
{
    static const struct {
        const char *type;
        void (*put)(pt_out *out, const pt_drawing *drawing);
    } painters[] = {{"svg", pt_picture_svg},
                    {"ps", pt_picture_ps},
                    {"ps2", pt_picture_ps},
                    {"pdf", pt_picture_pdf}};
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
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, said[1], 2);
    const int error = posix_spawn(&ret->pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    close(said[1]);
    *ret = (child){.in = in[1], .out = out[0], .said = said[0], .pid = ret->pid};
    if (error == 0) return PT_OK;
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

/* Feeds and reads at once: either side may fill a pipe. */
static void talk(child *c, const pt_buf *input, pt_buf *output, pt_buf *said)
{
    size_t sent = 0;
    struct pollfd fds[3] = {{c->in, POLLOUT, 0}, {c->out, POLLIN, 0}, {c->said, POLLIN, 0}};
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    while (fds[1].fd >= 0 || fds[2].fd >= 0) {
        if (poll(fds, 3, -1) < 0 && errno != EINTR) break;
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
}

static const char *last_line(pt_buf *said)
{
    while (said->size > 0 && said->data[said->size - 1] == '\n')
        said->size--;
    const char *text = pt_buf_text(said);
    const char *newline = strrchr(text, '\n');
    return newline != NULL ? newline + 1 : text;
}

static pt_status run_dot(const char *path, const pt_buf *dot, const char *type, pt_buf *ret_picture,
                         pt_error *reterr)
{
    child c = {0};
    const pt_status status = start(path, type, &c, reterr);
    if (status != PT_OK) return status;
    pt_buf output = PT_BUF_INIT, said = PT_BUF_INIT;
    talk(&c, dot, &output, &said);
    int code = 0;
    while (waitpid(c.pid, &code, 0) < 0 && errno == EINTR) {
    }
    const bool ok = WIFEXITED(code) && WEXITSTATUS(code) == 0 && output.size > 0;
    if (!ok) {
        pt_error_set(reterr, PT_ERR_SYSTEM, "dot failed: %s", last_line(&said));
    } else if (strcmp(type, "svg") == 0) {
        pt_out out;
        pt_out_to_buf(&out, ret_picture);
        pt_picture_svg_of_dot(&out, (const char *)output.data, output.size);
        pt_out_done(&out, NULL);
    } else {
        pt_put(ret_picture, output.data, output.size);
    }
    pt_buf_done(&output);
    pt_buf_done(&said);
    return ok ? PT_OK : PT_ERR_SYSTEM;
}

pt_status pt_graphviz(const pt_buf *dot, const char *type, pt_engine engine, pt_buf *ret_picture,
                      const char **ret_engine, pt_error *reterr)
{
    PT_FREE char *path = engine != PT_ENGINE_OWN ? pt_find_program("dot") : NULL;
    if (engine == PT_ENGINE_DOT && path == NULL)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "Graphviz's dot is not installed (apt-get install graphviz)");
    if (ret_engine != NULL) *ret_engine = path != NULL ? "Graphviz's dot" : "pitot's own layout";
    return path != NULL ? run_dot(path, dot, type, ret_picture, reterr)
                        : draw(dot, type, ret_picture, reterr);
}
