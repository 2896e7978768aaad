/* test_base_place.c: where paths lead, temporary files, and what ends a process while it writes. */
#include "base_check.h"

#include "base/file.h"
#include "base/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "%s", "/tmp/pitot-place-XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int remove_folder(void **state)
{
    PT_FREE char *command = pt_strf("rm -rf '%s'", folder);
    return chdir("/") != 0 || system(command) != 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *const f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static size_t entries_in_folder(void)
{
    size_t n = 0;
    DIR *const dir = opendir(".");
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

/* ---- names ---- */

static void a_name_is_joined_only_if_it_stays_below(void **state)
{
    static const char *const below[] = {"a", "a/b", "a/..b", "...", "a.", ".a/b"};
    static const char *const elsewhere[] = {"",     "/a",     "..",        "../a",
                                            "a/..", "a/../b", "a/../../b", "./.."};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        PT_FREE char *path = pt_path_below("/f", below[i]);
        PT_FREE char *wanted = pt_strf("/f/%s", below[i]);
        assert_non_null(path);
        assert_string_equal(path, wanted);
    }
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        assert_null(pt_path_below("/f", elsewhere[i]));
}

static void folders_are_made_with_those_above(void **state)
{
    struct stat st;
    umask(022);
    assert_true(pt_make_folder("a/b/c", 0700));
    assert_true(pt_make_folder("a/b/c", 0755));
    assert_int_equal(stat("a/b", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    write_file("a/file", "x");
    assert_false(pt_make_folder("a/file", 0700));
    assert_false(pt_make_folder("a/file/b", 0700));
    PT_FREE char *absolute = pt_strf("%s/d/e", folder);
    assert_true(pt_make_folder(absolute, 0700));
    if (geteuid() != 0) return;
    /* Root with another user's HOME. */
    assert_int_equal(mkdir("home", 0755), 0);
    assert_int_equal(chown("home", 65534, 65534), 0);
    assert_false(pt_make_folder("home/.cache/pitot", 0700));
    assert_int_not_equal(access("home/.cache", F_OK), 0);
    assert_false(pt_make_folder("home", 0700));
}

/* ---- reading ---- */

static void check_opens(int fd, const char *text)
{
    char got[64] = "";
    assert_true(fd >= 0);
    assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
    assert_string_equal(got, text);
    close(fd);
}

static void check_refused(int fd, int why)
{
    assert_int_equal(fd, -1);
    assert_int_equal(errno, why);
}

static void only_regular_files_are_opened(void **state)
{
    struct stat st;
    write_file("file", "text");
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    check_opens(pt_open_regular("file", &st), "text");
    assert_int_equal(st.st_size, 4);
    check_opens(pt_open_regular("link", NULL), "text");
    check_opens(pt_open_regular_nofollow("file", NULL), "text");
    check_refused(pt_open_regular_nofollow("link", NULL), ELOOP);
    check_refused(pt_open_regular("fifo", NULL), EINVAL);
    check_refused(pt_open_regular("/dev/zero", NULL), EINVAL);
    check_refused(pt_open_regular(".", NULL), EINVAL);
    check_refused(pt_open_regular("missing", NULL), ENOENT);
}

static void no_link_leads_out_of_a_root(void **state)
{
    mkdir("root", 0755);
    mkdir("root/etc", 0755);
    write_file("root/etc/name", "inside");
    write_file("outside", "outside");
    PT_FREE char *out = pt_strf("%s/outside", folder);
    assert_int_equal(symlink("/etc/name", "root/absolute"), 0);
    assert_int_equal(symlink("../../../../etc", "root/etc/up"), 0);
    assert_int_equal(symlink(out, "root/escape"), 0);
    assert_int_equal(symlink("../outside", "root/relative"), 0);
    assert_int_equal(symlink("loop", "root/loop"), 0);
    check_opens(pt_open_regular_in("root", "/etc/name", NULL), "inside");
    check_opens(pt_open_regular_in("root", "/absolute", NULL), "inside");
    check_opens(pt_open_regular_in("root", "/etc/up/name", NULL), "inside");
    check_opens(pt_open_regular_in("root", "/../../etc/name", NULL), "inside");
    check_refused(pt_open_regular_in("root", "/escape", NULL), ENOENT);
    check_refused(pt_open_regular_in("root", "/relative", NULL), ENOENT);
    check_refused(pt_open_regular_in("root", "/../outside", NULL), ENOENT);
    check_refused(pt_open_regular_in("root", "/loop", NULL), ELOOP);
    check_refused(pt_open_regular_in("missing", "/etc/name", NULL), ENOENT);
}

/* ---- writing ---- */

static void check_holds(const char *name, const char *text)
{
    check_opens(open(name, O_RDONLY), text);
}

static void links_on_the_way_are_followed(void **state)
{
    umask(022);
    mkdir("real", 0755);
    assert_int_equal(symlink("real", "folder"), 0);
    assert_int_equal(symlink("../folder/./target", "real/link"), 0);
    assert_int_equal(pt_file_replace("folder//link", "1", 1, NULL), PT_OK);
    check_holds("real/target", "1");
    assert_int_equal(pt_file_replace("real/../folder/target", "2", 1, NULL), PT_OK);
    check_holds("real/target", "2");
    PT_FREE char *absolute = pt_strf("%s/folder/link", folder);
    assert_int_equal(pt_file_replace(absolute, "3", 1, NULL), PT_OK);
    check_holds("real/target", "3");
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_file_replace("real/target/x", "4", 1, &error), PT_ERR_SYSTEM);
    assert_string_equal(error.message, "cannot create: Not a directory");
    assert_int_equal(pt_file_replace("", "5", 1, &error), PT_ERR_NOTFOUND);
}

static void standard_output_is_written_through(void **state)
{
    int ends[2];
    char got[8] = "";
    const int saved = dup(1);
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], 1);
    const pt_status to_pipe = pt_file_replace("/dev/stdout", "pipe", 4, NULL);
    const int fd = open("file", O_RDWR | O_CREAT | O_APPEND, 0600);
    dup2(fd, 1);
    const bool wrote = write(1, "a", 1) == 1;
    const pt_status to_file = pt_file_replace("/dev/fd/1", "b", 1, NULL);
    const bool wrote_again = write(1, "c", 1) == 1;
    dup2(saved, 1);
    assert_int_equal(to_pipe, PT_OK);
    assert_int_equal(read(ends[0], got, sizeof got), 4);
    assert_string_equal(got, "pipe");
    assert_int_equal(to_file, PT_OK);
    assert_true(wrote && wrote_again);
    check_holds("file", "abc");
    close(fd);
    close(saved);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(entries_in_folder(), 1);
}

static void a_private_file_is_private_whatever_was_there(void **state)
{
    struct stat st;
    pt_file_writer w;
    umask(0);
    write_file("out", "old");
    chmod("out", 0666);
    assert_int_equal(pt_file_create("out", PT_MODE_PRIVATE, &w, NULL), PT_OK);
    fstat(w.fd, &st);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(pt_file_commit(&w, true, NULL), PT_OK);
    stat("out", &st);
    assert_int_equal(st.st_mode & 0777, 0600);
    umask(077);
    assert_int_equal(pt_file_create("out", 0644, &w, NULL), PT_OK);
    assert_int_equal(pt_file_commit(&w, true, NULL), PT_OK);
    stat("out", &st);
    assert_int_equal(st.st_mode & 0777, 0644);
    umask(022);
}

static void an_addition_replaces_nothing(void **state)
{
    bool is_taken = true;
    pt_file_writer w;
    assert_int_equal(pt_file_add("new", PT_MODE_USUAL, "1", 1, &is_taken, NULL), PT_OK);
    assert_false(is_taken);
    assert_int_equal(pt_file_add("new", PT_MODE_USUAL, "2", 1, &is_taken, NULL), PT_ERR_SYSTEM);
    assert_true(is_taken);
    check_holds("new", "1");
    assert_int_equal(pt_file_create("late", PT_MODE_USUAL, &w, NULL), PT_OK);
    w.is_addition = true;
    write_file("late", "another's");
    assert_int_equal(pt_file_commit(&w, true, NULL), PT_ERR_SYSTEM);
    check_holds("late", "another's");
    assert_int_equal(entries_in_folder(), 2);
}

/* ---- what ends a writer ---- */

/* Begins to replace "out" in a child, which then waits; returns it once the file is there. */
static pid_t start_writer(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        pt_file_writer w;
        for (int s = 1; s < 32; s++)
            signal(s, SIG_DFL);
        pt_temp_guard();
        if (pt_file_create("out", PT_MODE_USUAL, &w, NULL) != PT_OK) _exit(1);
        pt_out_text(&w.out, "new");
        pt_out_flush(&w.out, NULL);
        if (write(ready[1], "x", 1) != 1) _exit(2);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static int end_writer(pid_t child, int signal_number)
{
    int status = 0;
    assert_int_equal(kill(child, signal_number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void a_signal_that_ends_a_writer_leaves_nothing(void **state)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    write_file("out", "old");
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        const pid_t child = start_writer();
        assert_int_equal(entries_in_folder(), 2);
        assert_int_equal(end_writer(child, ending[i]), ending[i]);
        assert_int_equal(entries_in_folder(), 1);
        check_holds("out", "old");
    }
}

/* A process cleans a folder when it first writes there after it wrote to another. */
static void clean_again(void)
{
    assert_int_equal(mkdir("elsewhere", 0755), 0);
    assert_int_equal(pt_file_replace("elsewhere/x", "x", 1, NULL), PT_OK);
    assert_int_equal(unlink("elsewhere/x"), 0);
    assert_int_equal(rmdir("elsewhere"), 0);
}

static void what_a_killed_writer_left_goes_with_the_next_that_writes(void **state)
{
    write_file("out", "old");
    write_file(".mine.tmp", "");                                 /* none of ours */
    write_file(".out.pitot-00000000-1-1-0.tmp", "");             /* of another boot, a moment ago */
    const pid_t alive = start_writer(), killed = start_writer(); /* each cleans before it creates */
    assert_int_equal(entries_in_folder(), 5);
    assert_int_equal(end_writer(killed, SIGKILL), SIGKILL);
    assert_int_equal(entries_in_folder(), 5);
    clean_again();
    assert_int_equal(pt_file_replace("other", "x", 1, NULL), PT_OK);
    assert_int_equal(entries_in_folder(), 5); /* out, other, the living one's, the two */
    check_holds("out", "old");
    assert_int_equal(end_writer(alive, SIGTERM), SIGTERM);
    assert_int_equal(access(".mine.tmp", F_OK), 0);
    assert_int_equal(access(".out.pitot-00000000-1-1-0.tmp", F_OK), 0);
    assert_int_equal(entries_in_folder(), 4);
}

/* Replaces "out" for ever by `bytes` equal letters. */
static _Noreturn void replace_for_ever(size_t bytes)
{
    char *const text = pt_alloc(bytes, 1);
    for (unsigned n = 0;; n++) {
        memset(text, 'a' + (int)(n % 26), bytes);
        if (pt_file_replace("out", text, bytes, NULL) != PT_OK) _exit(1);
    }
}

static void a_writer_killed_at_any_moment_leaves_a_whole_file(void **state)
{
    enum { BYTES = 300000, ROUNDS = 40 };
    static char text[BYTES + 1];
    uint64_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        const pid_t child = fork();
        if (child == 0) replace_for_ever(BYTES);
        while (access("out", F_OK) != 0) /* the first time */
            usleep(1000);
        usleep((useconds_t)(next_random(&seed) % 5000));
        assert_int_equal(end_writer(child, SIGKILL), SIGKILL);
        const int fd = open("out", O_RDONLY);
        assert_int_equal(read(fd, text, sizeof text), BYTES);
        close(fd);
        for (size_t i = 1; i < BYTES; i++)
            if (text[i] != text[0])
                fail_msg("byte %zu is %c, the first is %c", i, text[i], text[0]);
    }
    assert_true(entries_in_folder() <= 2); /* of the last child */
    clean_again();
    assert_int_equal(pt_file_replace("out", "x", 1, NULL), PT_OK);
    assert_int_equal(entries_in_folder(), 1);
}

/* ---- keys ---- */

static void a_kept_key_is_of_one_file_as_it_was(void **state)
{
    const struct stat file = {.st_mode = S_IFREG | 0644,
                              .st_uid = geteuid(),
                              .st_dev = 1,
                              .st_ino = 2,
                              .st_size = 3,
                              .st_ctim = {.tv_sec = 1000000000, .tv_nsec = 5}};
    PT_FREE char *key = pt_kept_key("id", &file);
    assert_string_equal(key, "id-1-2-3-3b9aca00.5");
    struct stat other = file;
    assert_true(pt_same_file(&file, &other));
    other.st_ctim.tv_nsec++;
    assert_false(pt_same_file(&file, &other));
    other = file;
    other.st_uid = geteuid() + 1; /* somebody's claim */
    assert_null(pt_kept_key("id", &other));
    other = file;
    other.st_mode = S_IFIFO;
    assert_null(pt_kept_key("id", &other));
    other = file;
    clock_gettime(CLOCK_REALTIME, &other.st_ctim); /* the next change might not show */
    assert_null(pt_kept_key("id", &other));
}

/* Saves a byte to the cache. A listing removes files of other versions: was the folder listed? */
static bool is_listed_at_save(const pt_kept_folder *cache, const char *key)
{
    PT_FREE char *old = pt_strf("%s/old.1%s", cache->path, cache->suffix);
    if (access(cache->path, F_OK) == 0) write_file(old, "");
    const bool was_there = access(old, F_OK) == 0;
    assert_int_equal(pt_kept_save(cache, key, "x", 1, NULL), PT_OK);
    return was_there && access(old, F_OK) != 0;
}

static void saves_to_two_caches_by_turns_list_each_folder_once(void **state)
{
    PT_FREE char *other = pt_strf("%s/other", folder);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(mkdir(other, 0700), 0);
    const pt_kept_folder caches[] = {
        {folder, ".table", 2, 6400}, {folder, ".names", 2, 6400}, {other, ".names", 2, 6400}};
    for (size_t i = 0; i < 3; i++)
        assert_true(is_listed_at_save(&caches[i], "first"));
    for (size_t i = 0; i < 3; i++)
        assert_false(is_listed_at_save(&caches[i], "second"));
    const char part[99] = ""; /* with the byte of "second" a 64th of the limit */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pt_kept_save(&caches[i], "third", part, sizeof part, NULL), PT_OK);
        PT_FREE char *old = pt_strf("%s/old.1%s", caches[i].path, caches[i].suffix);
        assert_int_not_equal(access(old, F_OK), 0);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_joined_only_if_it_stays_below),
        IN_FOLDER(folders_are_made_with_those_above),
        IN_FOLDER(only_regular_files_are_opened),
        IN_FOLDER(no_link_leads_out_of_a_root),
        IN_FOLDER(links_on_the_way_are_followed),
        IN_FOLDER(standard_output_is_written_through),
        IN_FOLDER(a_private_file_is_private_whatever_was_there),
        IN_FOLDER(an_addition_replaces_nothing),
        IN_FOLDER(a_signal_that_ends_a_writer_leaves_nothing),
        IN_FOLDER(what_a_killed_writer_left_goes_with_the_next_that_writes),
        IN_FOLDER(a_writer_killed_at_any_moment_leaves_a_whole_file),
        cmocka_unit_test(a_kept_key_is_of_one_file_as_it_was),
        IN_FOLDER(saves_to_two_caches_by_turns_list_each_folder_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
