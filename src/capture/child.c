/* child.c: see child.h. */
#include "capture/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* Waits until the recorder writes to go_fd, then executes the command, or reports the error to
 * report_fd. Does not return. */
static void wait_and_exec(const char *const *command, int go_fd, int report_fd)
{
    char byte;
    ssize_t got;
    do
        got = recv(go_fd, &byte, 1, 0);
    while (got < 0 && errno == EINTR);
    if (got != 1) _exit(127); /* the recorder is gone */
    execvp(command[0], (char *const *)(uintptr_t)command);
    const int error = errno;
    (void)!write(report_fd, &error, sizeof error);
    _exit(127);
}

pt_status pt_record_child_start(const char *const *command, pt_record_child *ret_child,
                                pt_error *reterr)
{
    int go[2], report[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) != 0)
        return pt_error_errno(reterr, errno, "no socket can be made");
    if (pipe2(report, O_CLOEXEC) != 0) {
        const int error = errno;
        close(go[0]);
        close(go[1]);
        return pt_error_errno(reterr, error, "no pipe can be made");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        wait_and_exec(command, go[0], report[1]);
    }
    const int error = errno;
    close(go[0]);
    close(report[1]);
    *ret_child = (pt_record_child){.pid = pid, .go_fd = go[1], .report_fd = report[0]};
    if (pid > 0) return PT_OK;
    close(go[1]);
    close(report[0]);
    return pt_error_errno(reterr, error, "%s: cannot be run", command[0]);
}

/* The error for a command that was not run. For a name without a slash execvp searches PATH, and
 * returns EACCES if it could not enter some folder there. */
static pt_status explain_failure(const char *name, int error, pt_error *reterr)
{
    const bool is_sought = strchr(name, '/') == NULL;
    if (is_sought && (error == ENOENT || error == EACCES))
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "%s: there is no such command%s%s", name,
                            access(name, X_OK) == 0 ? "; the one in this folder: ./" : "",
                            access(name, X_OK) == 0 ? name : "");
    if (error == EACCES && access(name, F_OK) == 0 && access(name, X_OK) != 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "%s: cannot be run: it is not executable; chmod +x %s, or name the "
                            "program that runs it first",
                            name, name);
    pt_error_errno(reterr, error, "%s: cannot be run", name);
    return error == ENOENT ? PT_ERR_NOTFOUND : PT_ERR_SYSTEM;
}

pt_status pt_record_child_go(pt_record_child *child, const char *name, pt_error *reterr)
{
    int error = 0;
    ssize_t got;
    clockid_t clock;
    if (clock_getcpuclockid(child->pid, &clock) == 0)
        child->before_ns = (uint64_t)pt_clock_ns(clock);
    (void)!send(child->go_fd, "", 1, MSG_NOSIGNAL); /* the child may have been killed */
    close(child->go_fd);
    child->go_fd = -1;
    do
        got = read(child->report_fd, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    close(child->report_fd);
    child->report_fd = -1;
    if (got != (ssize_t)sizeof error) return PT_OK;
    pt_record_child_wait(child);
    return explain_failure(name, error, reterr);
}

void pt_record_child_refuse(pt_record_child *child)
{
    close(child->go_fd);
    close(child->report_fd);
    child->go_fd = child->report_fd = -1;
    pt_record_child_wait(child);
}

uint64_t pt_record_child_used_ns(const pt_record_child *child)
{
    const uint64_t all_ns = pt_usage_ns(&child->usage);
    return all_ns > child->before_ns ? all_ns - child->before_ns : 0;
}

void pt_record_child_wait(pt_record_child *child)
{
    while (wait4(child->pid, &child->wait_status, 0, &child->usage) < 0 && errno == EINTR)
        continue;
}

bool pt_record_child_has_ended(pt_record_child *child)
{
    return wait4(child->pid, &child->wait_status, WNOHANG, &child->usage) == child->pid;
}
