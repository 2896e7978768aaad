/* pids.c: see pids.h. */
#include "capture/pids.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/grow.h"
#include "capture/procs.h"
#include "process/path_kind.h"

static bool is_in(const pt_pid_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == pid) return true;
    return false;
}

static void add_pid(pt_pid_list *list, pid_t pid)
{
    if (is_in(list, pid)) return;
    PT_PUSH(*list, pid);
}

/* Has the process's program file that name? */
static bool program_is(const char *root, const char *pid, const char *name)
{
    char target[PATH_MAX];
    PT_FREE char *path = pt_strf("%s/%s/exe", root, pid);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) return false;
    target[pt_mapped_path_bytes(target, (size_t)length)] = '\0';
    return strcmp(pt_base_name(target), name) == 0;
}

static bool comm_is(const char *root, const char *pid, const char *name)
{
    enum { COMM_MAX = 15 }; /* longer names are cut by the kernel */
    pt_blob blob = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/%s/comm", root, pid);
    if (pt_file_read(path, PT_FILE_EMPTY_OK, 4096, &blob, NULL) != PT_OK) return false;
    const size_t length = strlen(name);
    const bool is_it = blob.size > 0 && blob.size - 1 == length && length <= COMM_MAX &&
                       memcmp(blob.data, name, length) == 0;
    pt_blob_done(&blob);
    return is_it;
}

/* Has the process ended, with all its threads, while its parent has not waited for it yet? */
static bool is_zombie(const char *root, const char *pid)
{
    char state[32], threads[16];
    pt_proc_status(root, pid, "State", state, sizeof state);
    pt_proc_status(root, pid, "Threads", threads, sizeof threads);
    return state[0] == 'Z' && strtol(threads, NULL, 10) <= 1;
}

/* Adds all processes of that name, but not the calling process. */
static pt_status add_named(const char *root, const char *name, pt_pid_list *list, pt_error *reterr)
{
    const size_t before = list->count;
    const pid_t self = getpid();
    DIR *const dir = opendir(root);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == self ||
            is_zombie(root, entry->d_name))
            continue;
        if (comm_is(root, entry->d_name, name) || program_is(root, entry->d_name, name))
            add_pid(list, pid);
    }
    if (dir != NULL) closedir(dir);
    if (list->count > before) return PT_OK;
    return pt_error_set(reterr, PT_ERR_NOTFOUND,
                        "no process is named %s (names are those of ps -e)", name);
}

static pt_status add_number(const char *root, const char *word, pt_pids_say *say, pt_pid_list *list,
                            pt_error *reterr)
{
    char *end;
    const long pid = strtol(word, &end, 10);
    PT_FREE char *path = pt_strf("%s/%ld", root, pid);
    if (*end != '\0' || pid <= 0 || pid > INT_MAX || access(path, F_OK) != 0)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "there is no process %s", word);
    if (is_zombie(root, word))
        return pt_error_set(
            reterr, PT_ERR_NOTFOUND,
            "process %s has ended (it is a zombie: its parent has not waited for it yet)", word);
    char group[16];
    pt_proc_status(root, word, "Tgid", group, sizeof group);
    const long whole = group[0] != '\0' ? strtol(group, NULL, 10) : pid;
    if (whole != pid && say != NULL) {
        PT_FREE char *note =
            pt_strf("%ld is a thread of process %ld, which is recorded whole; with --timeline, "
                    "--tag-focus=tid=%ld shows the thread",
                    pid, whole, pid);
        say(note);
    }
    add_pid(list, (pid_t)whole);
    return PT_OK;
}

/* A process and its parent. */
typedef struct {
    pid_t pid, parent;
} kin;

typedef PT_VECTOR(kin) kin_list;

static void list_kin(const char *root, kin_list *list)
{
    DIR *const dir = opendir(root);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char parent[16];
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pt_proc_status(root, entry->d_name, "PPid", parent, sizeof parent);
        const kin one = {(pid_t)strtol(entry->d_name, NULL, 10), (pid_t)strtol(parent, NULL, 10)};
        PT_PUSH(*list, one);
    }
    if (dir != NULL) closedir(dir);
}

/* Adds the processes whose parent is in `of` or in the list. Returns the number of processes that
 * were added. */
static size_t add_kin(const char *root, const kin_list *all, const pt_pid_list *of,
                      pt_pid_list *list)
{
    const size_t before = list->count;
    const pid_t self = getpid();
    for (size_t i = 0; i < all->count; i++) {
        const kin *const k = &all->items[i];
        if (k->pid == self || is_in(of, k->pid) ||
            (!is_in(of, k->parent) && !is_in(list, k->parent)))
            continue;
        PT_FREE char *who = pt_strf("%d", k->pid);
        if (!is_zombie(root, who)) add_pid(list, k->pid);
    }
    return list->count - before;
}

void pt_record_descendants(const char *root, const pt_pid_list *of, pt_pid_list *ret_pids)
{
    *ret_pids = (pt_pid_list){0};
    /* A process may start another whose pid the reading of /proc has already passed. */
    for (size_t found = 1; found > 0;) {
        kin_list all = {0};
        found = 0;
        list_kin(root, &all);
        for (size_t more = 1; more > 0; found += more)
            more = add_kin(root, &all, of, ret_pids);
        free(all.items);
    }
}

pt_status pt_record_pids(const char *root, const char *const *words, size_t count, pt_pids_say *say,
                         pt_pid_list *ret_pids, pt_error *reterr)
{
    pt_pid_list list = {0};
    pt_status status = PT_OK;
    for (size_t i = 0; i < count && status == PT_OK; i++) {
        PT_FREE char *copy = pt_strdup(words[i]);
        char *state = NULL;
        for (const char *word = strtok_r(copy, ", ", &state); word != NULL && status == PT_OK;
             word = strtok_r(NULL, ", ", &state))
            status = isdigit((unsigned char)word[0]) ? add_number(root, word, say, &list, reterr)
                                                     : add_named(root, word, &list, reterr);
    }
    if (status == PT_OK && list.count == 0)
        status = pt_error_set(reterr, PT_ERR_USAGE, "--pid names no process");
    if (status == PT_OK)
        *ret_pids = list;
    else
        free(list.items);
    return status;
}
