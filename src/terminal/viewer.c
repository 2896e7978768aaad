/* viewer.c: finding a program that shows a file, and waiting for it. */
#include "terminal/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/program.h"
#include "base/xml.h"
#include "terminal/message.h"

static bool has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x != NULL && x[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

/* ---- The file ---- */

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

/* Writes the report to a new file in TMPDIR. The caller frees its name. */
static char *write_temporary(const pt_buf *report, const char *extension, pt_error *reterr)
{
    char *path = pt_strf("%s/pitot-XXXXXX.%s", temporary_folder(), extension);
    const int fd = mkostemps(path, (int)strlen(extension) + 1, O_CLOEXEC);
    if (fd < 0) {
        pt_error_errno(reterr, errno, "%s", path);
        free(path);
        return NULL;
    }
    pt_out out;
    pt_out_to_fd(&out, fd);
    pt_out_put(&out, report->data, report->size);
    const pt_status status = pt_out_done(&out, reterr);
    close(fd);
    if (status == PT_OK) return path;
    unlink(path);
    free(path);
    return NULL;
}

/* Files that were passed to programs, which may still have them open. They are removed at exit. */
static char **leftover;
static size_t leftover_count;

static void remove_leftovers(void)
{
    for (size_t i = 0; i < leftover_count; i++) {
        unlink(leftover[i]);
        free(leftover[i]);
    }
    free(leftover);
}

/* ---- The program ---- */

/* The words of a command with file as the last one. The caller frees words[0] and words. */
static char **words_of(const char *command, const char *file)
{
    char *text = pt_strdup(command);
    char **words = pt_alloc(strlen(command) / 2 + 4, sizeof *words);
    size_t count = 0;
    for (char *save, *word = strtok_r(text, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    if (count == 0) words[count++] = text;
    words[count++] = (char *)(uintptr_t)file;
    return words;
}

/* True if the command could be started and did not fail at once for want of a program. */
static bool start_viewer(const char *command, const char *file, pid_t *ret_pid)
{
    char **words = words_of(command, file);
    PT_FREE char *path = pt_program_find(words[0], getenv("PATH"));
    const bool started =
        path != NULL && posix_spawn(ret_pid, path, NULL, NULL, words, environ) == 0;
    PT_FREE_ALL(words[0], words);
    return started;
}

static bool start_browser(const char *file, pid_t *ret_pid)
{
    static const char *const usual[] = {"chrome",  "google-chrome",    "chromium",
                                        "firefox", "sensible-browser", NULL};
    const char *own = getenv("BROWSER");
    if (own != NULL && own[0] != '\0' && start_viewer(own, file, ret_pid)) return true;
    if (!has_display()) return false;
    if (start_viewer("xdg-open", file, ret_pid)) return true;
    for (size_t i = 0; usual[i] != NULL; i++)
        if (start_viewer(usual[i], file, ret_pid)) return true;
    return false;
}

pt_status pt_view(const char *program, const pt_buf *report, const char *extension, bool background,
                  pt_error *reterr)
{
    PT_FREE char *file = write_temporary(report, extension, reterr);
    if (file == NULL) return PT_ERR_SYSTEM;
    const bool browser = strcmp(program, "browser") == 0;
    pid_t pid = 0;
    const bool started =
        browser ? start_browser(file, &pid) : has_display() && start_viewer(program, file, &pid);
    if (!started)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "%s; the file is %s",
                            !has_display() ? "there is no display (DISPLAY is not set)"
                            : browser      ? "there is no browser; set BROWSER"
                                           : "the viewer is not installed",
                            file);
    if (background) {
        if (leftover_count == 0) atexit(remove_leftovers);
        leftover = pt_realloc(leftover, leftover_count + 1, sizeof *leftover);
        leftover[leftover_count++] = pt_strdup(file);
        return PT_OK;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    int code = 0;
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR) {
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
    unlink(file);
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0) return PT_OK;
    return pt_error_set(reterr, PT_ERR_SYSTEM, "the viewer failed (status %d)",
                        WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code));
}

/* ---- An address ---- */

/* Puts a page that redirects to an address: without a script, and without a referrer. */
static void put_leading_page(pt_out *out, const char *url)
{
    pt_out_text(out, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>pitot</title>\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta http-equiv=\"refresh\" content=\"0; url=");
    pt_xml_text(out, url, strlen(url));
    pt_out_text(out, "\">\n<p><a href=\"");
    pt_xml_text(out, url, strlen(url));
    pt_out_text(out, "\">The profile</a></p>\n");
}

static bool write_leading_page(const char *file, const char *url)
{
    const int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    pt_out out;
    pt_out_to_fd(&out, fd);
    put_leading_page(&out, url);
    const bool written = pt_out_done(&out, NULL) == PT_OK;
    close(fd);
    return written;
}

char *pt_view_address(const char *url)
{
    PT_FREE char *folder = pt_strf("%s/pitot-XXXXXX", temporary_folder());
    if (mkdtemp(folder) == NULL) return NULL;
    char *file = pt_strf("%s/open.html", folder);
    pid_t pid; /* not waited for: the program may outlive pitot */
    if (write_leading_page(file, url) && start_browser(file, &pid)) return file;
    pt_view_forget(file);
    return NULL;
}

void pt_view_forget(char *file)
{
    if (file == NULL) return;
    unlink(file);
    *strrchr(file, '/') = '\0';
    rmdir(file);
    free(file);
}

/* ---- A command of the user ---- */

void pt_shell_send(const pt_buf *report, const char *command)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, broken;
    FILE *pipe = popen(command, "we");
    if (pipe == NULL) {
        pt_print_error("%s: %s\n", command, strerror(errno));
        return;
    }
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGPIPE, &ignore, &broken);
    fwrite(report->data, 1, report->size, pipe);
    pclose(pipe);
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGPIPE, &broken, NULL);
}
