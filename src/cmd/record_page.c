/* record_page.c: see record_page.h. */
#include "cmd/record_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/signals.h"
#include "cmd/cmd.h"

enum { NICE = 10 }; /* the priority of the page's process: the recorded programs run first */

/* A number for the file at the path, which changes if the file is replaced or written to; 0 if
 * there is no file. */
static uint64_t identity_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    return (uint64_t)st.st_ino * 31 + (uint64_t)st.st_mtim.tv_sec * 1000000000 +
           (uint64_t)st.st_mtim.tv_nsec;
}

/* ---- The process of the page ---- */

/* Closes standard input and output, which belong to the recorded command. Messages still go to the
 * recorder's standard error. */
static void leave_streams(void)
{
    PT_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
}

static _Noreturn void run_page(const char *address, int folder_fd, pid_t recorder)
{
    char folder[PATH_MAX];
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != recorder) _exit(0);
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    setpriority(PRIO_PROCESS, 0, NICE);
    const ssize_t length = read(folder_fd, folder, sizeof folder - 1);
    if (length <= 0) _exit(0); /* nothing was recorded */
    folder[length] = '\0';
    close(folder_fd);
    leave_streams();
    *strrchr(folder, '/') = '\0'; /* keeps the outer folder (capture/folder.h), by which users name
                                   * the recording */
    PT_FREE char *http = pt_strf("--http=%s", address != NULL ? address : "");
    char pitot[] = "pitot", serve[] = "serve", live[] = "--live", quiet[] = "--no-browser";
    char *words[] = {pitot, serve, live, quiet, http, folder, NULL};
    _exit(pt_cmd_main(PT_COUNT(words) - 1, words));
}

/* ---- The recorder's side ---- */

pt_status pt_record_page_start(const char *address, const char *output, pt_record_page *ret_page,
                               pt_error *reterr)
{
    int ends[2];
    const pid_t self = getpid();
    *ret_page = (pt_record_page){.folder_fd = -1, .before = identity_of(output)};
    if (pipe2(ends, O_CLOEXEC) != 0) return pt_error_errno(reterr, errno, "a pipe for the page");
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        run_page(address, ends[0], self);
    }
    const int why = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return pt_error_errno(reterr, why, "the process of the page");
    }
    setpgid(pid, pid);
    ret_page->pid = pid;
    ret_page->folder_fd = ends[1];
    return PT_OK;
}

static void close_pipe(pt_record_page *page)
{
    if (page->folder_fd >= 0) close(page->folder_fd);
    page->folder_fd = -1;
}

void pt_record_page_begins(void *page_memory, const char *folder)
{
    pt_record_page *const page = page_memory;
    const size_t length = strlen(folder);
    if (page->folder_fd >= 0 && write(page->folder_fd, folder, length) != (ssize_t)length)
        pt_say("the page cannot show the recording: %s", strerror(errno));
    close_pipe(page);
}

/* Waits until a signal asks for the end, or the page's process has ended by itself. */
static void wait_for_stop(const pt_record_page *page)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    siginfo_t child = {0};
    sigset_t awaited, before;
    int number = 0;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < PT_COUNT(stops); i++)
        sigaddset(&awaited, stops[i]);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    do {
        const bool asks = waitid(P_PID, (id_t)page->pid, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
        if (!asks || child.si_pid == page->pid) break;
        sigwait(&awaited, &number);
    } while (number == SIGCHLD);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void pt_record_page_end(pt_record_page *page, const char *output)
{
    if (page->pid <= 0) return;
    const uint64_t now = identity_of(output);
    const bool was_folder_sent = page->folder_fd < 0;
    close_pipe(page);
    const int end = pt_record_stop != 0 ? pt_record_stop : pt_record_end_signal;
    const bool ends_all = end == SIGTERM || end == SIGHUP;
    if (was_folder_sent && now != 0 && now != page->before && !ends_all) {
        pt_say("the page stays open until Ctrl-C");
        wait_for_stop(page);
    }
    kill(page->pid, SIGTERM);
    while (waitpid(page->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    page->pid = 0;
}
