/* enter.c: finds out, before exec, whether the loader will put the library into the program. If the
 * loader will not, the recorder names the program next to the CPU time that is in no sample.
 *
 *   static, or a static Go program   no PT_INTERP: there is no loader
 *   setuid, setgid, capabilities     the loader ignores LD_PRELOAD
 *   of another architecture          the loader ignores a library of this architecture
 *
 * All functions of this file may run in a child of vfork: they use system calls and the stack,
 * nothing else. */
#include "agent/agent.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf/image.h"

enum { HEAD_BYTES = 2048 /* headers lie at the beginning */ };

static bool gets_more_rights(int fd)
{
    struct stat st;
    if (pt_libc_fstat(fd, &st) != 0) return false;
    return ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid()) ||
           ((st.st_mode & S_ISGID) != 0 && st.st_gid != getgid()) ||
           (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

static bool is_another_machine(const pt_elf *elf)
{
    return elf->machine != PT_MACHINE_HOST->elf_machine || elf->is_64 != (sizeof(void *) == 8);
}

/* Is the file a script, whose first line is like "#! /bin/busybox sh"? *ret_interpreter: the path
 * of its interpreter, which points into `head`. */
static bool is_script(char *head, size_t bytes, const char **ret_interpreter)
{
    if (bytes < 3 || head[0] != '#' || head[1] != '!') return false;
    head[bytes - 1] = '\0';
    char *const from = head + 2 + strspn(head + 2, " \t");
    from[strcspn(from, " \t\r\n")] = '\0';
    *ret_interpreter = from;
    return true;
}

static void note_name(const char *path)
{
    char name[512], line[NAME_MAX + 2]; /* the name of the recording's folder is short */
    const char *const slash = strrchr(path, '/');
    const char *const base = slash != NULL ? slash + 1 : path;
    if (!pt_agent_join(name, sizeof name, pt_agent.base_path, "/" PT_JOURNAL_NOT_ENTERED) ||
        !pt_agent_join(line, sizeof line, base, "\n"))
        return;
    const int fd = open(name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, line, strlen(line));
    close(fd);
}

/* Notes the program in the file if the loader will not put the library into that program. The
 * program of a script is the script's interpreter. */
/* NOLINTNEXTLINE(misc-no-recursion): once, for an interpreter */
static void look_at(int fd, const char *path, bool is_interpreter)
{
    char head[HEAD_BYTES];
    const char *interpreter;
    pt_elf elf;
    const ssize_t got = pread(fd, head, sizeof head, 0);
    if (got <= 0) return;
    if (pt_elf_open(head, (uint64_t)got, &elf) == PT_ELF_OK) {
        if (is_another_machine(&elf) || !pt_elf_has_interpreter(&elf) || gets_more_rights(fd))
            note_name(path);
    } else if (!is_interpreter && is_script(head, (size_t)got, &interpreter)) {
        const int other = open(interpreter, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (other >= 0) look_at(other, interpreter, true);
        if (other >= 0) close(other);
    }
}

/* Opens a program as execvp finds it (exec(3)). */
static int open_in_path(const char *name)
{
    char path[1024]; /* a child of vfork may have a small stack */
    const char *from = pt_environment(PT_ENV_PATH);
    if (from == NULL) from = "/bin:/usr/bin";
    for (size_t length; *from != '\0'; from += length + (from[length] == ':')) {
        length = strcspn(from, ":");
        if (length + strlen(name) + 2 > sizeof path) continue;
        memcpy(path, from, length);
        path[length] = '/';
        memcpy(path + length + (length > 0), name, strlen(name) + 1);
        if (access(path, X_OK) == 0) return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    return -1;
}

void pt_enter_look(int folder, const char *path, bool look_in_path)
{
    if (!pt_agent.recording || path == NULL) return;
    const int saved_errno = errno;
    const int fd = look_in_path && strchr(path, '/') == NULL
                       ? open_in_path(path)
                       : openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) look_at(fd, path, false);
    if (fd >= 0) close(fd);
    errno = saved_errno;
}
