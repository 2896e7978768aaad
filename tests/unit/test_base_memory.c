/* test_base_memory.c: the limit of memory: what the machine allows, and what is counted. */
#include "base_check.h"

#include "base/compress.h"
#include "base/file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static char root[64];

static int make_root(void **state)
{
    snprintf(root, sizeof root, "%s", "/tmp/pitot-memory-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command); /* NOLINT(cert-env33-c): a folder of our own */
}

/* Makes the file below the root, and the folders it is in. */
static void put_file(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *const f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* ---- the machine ---- */

static void test_first_version(void **state)
{
    put_file("/proc/self/cgroup", "5:cpu:/\n4:memory,hugetlb:/a/b/c\n0::/elsewhere\n");
    put_file("/proc/self/mountinfo",
             "30 20 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
             "31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
             "32 30 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory,hugetlb\n");
    put_file("/sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"); /* another hierarchy */
    put_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_file("/sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes", "300000000\n");
    assert_int_equal(pt_memory_of_machine(root), 300000000);
    put_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "200000000\n"); /* above it */
    assert_int_equal(pt_memory_of_machine(root), 200000000);
    put_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "100000000\n");
    assert_int_equal(pt_memory_of_machine(root), 100000000);
}

static void test_second_version(void **state)
{
    put_file("/proc/self/cgroup", "1:name=systemd:/x\n0::/user.slice/app.scope\n");
    put_file("/proc/self/mountinfo", "31 30 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 none rw\n");
    put_file("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    put_file("/sys/fs/cgroup/user.slice/app.scope/memory.max", "7000000\n");
    assert_int_equal(pt_memory_of_machine(root), 7000000);
    put_file("/sys/fs/cgroup/user.slice/memory.max", "6000000\n");
    assert_int_equal(pt_memory_of_machine(root), 6000000);
}

/* A container that sees the host's names of groups, and mounts its own. */
static void test_container(void **state)
{
    put_file("/proc/self/cgroup", "4:memory:/docker/0123/inner\n");
    put_file("/proc/self/mountinfo",
             "31 30 0:26 /docker/0123 /sys/fs/container rw - cgroup cgroup rw,memory\n");
    put_file("/sys/fs/container/memory.limit_in_bytes", "5000000\n");
    assert_int_equal(pt_memory_of_machine(root), 5000000);
    put_file("/sys/fs/container/inner/memory.limit_in_bytes", "4000000\n");
    assert_int_equal(pt_memory_of_machine(root), 4000000);
    put_file("/proc/self/cgroup", "4:memory:/\n"); /* in a namespace of groups */
    assert_int_equal(pt_memory_of_machine(root), 5000000);
}

static void test_no_groups(void **state)
{
    const uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(pt_memory_of_machine("/nowhere") <= physical);
    assert_true(pt_memory_of_machine("/nowhere") > 0);
}

static int limit_of_shell(void *unused)
{
    const struct rlimit limit = {.rlim_cur = 123 * MIB, .rlim_max = RLIM_INFINITY};
    (void)unused;
    return setrlimit(RLIMIT_DATA, &limit) == 0 && pt_memory_of_machine("/nowhere") == 123 * MIB;
}

/* ---- children that are limited ---- */

/* Runs body in a child; its exit status is 10 + what body returns. *ret_said is what it printed. */
static int in_child(int (*body)(void *arg), void *arg, char *ret_said, size_t room)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        _exit(10 + body(arg));
    }
    close(pipes[1]);
    size_t size = 0;
    ssize_t n;
    while ((n = read(pipes[0], ret_said + size, room - 1 - size)) > 0)
        size += (size_t)n;
    ret_said[size] = '\0';
    close(pipes[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_limit_of_shell(void **state)
{
    char said[512];
    assert_int_equal(in_child(limit_of_shell, NULL, said, sizeof said), 11);
}

enum { LIMIT = 32 << 20 };

/* Gives back what it takes: ten times the limit in all. */
static int take_and_give(void *unused)
{
    (void)unused;
    pt_memory_limit_set(LIMIT, true, "; more");
    for (size_t i = 0; i < 10 * LIMIT / MIB; i++) {
        void *const p = pt_alloc(MIB, 1);
        memset(p, 1, MIB);
        free(p);
    }
    void *p = NULL;
    for (size_t i = 1; i < 100; i++) /* a column that grows counts as what it has become */
        p = pt_realloc(p, i * MIB / 4, 1);
    free(p);
    return 1;
}

/* Bytes that were taken and given back before there was a limit do not count. */
static int limit_late(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < 10 * LIMIT / MIB; i++)
        free(pt_alloc(MIB, 1));
    pt_memory_limit_set(LIMIT, true, "; more");
    free(pt_alloc(MIB, 1));
    return 1;
}

static int take_too_much(void *arg)
{
    const size_t size = *(size_t *)arg;
    pt_memory_limit_set(LIMIT, true, "; --some=SIZE allows more");
    for (size_t i = 0; i < 4 * (LIMIT + PT_MEMORY_PROGRAM_BYTES) / size; i++)
        memset(pt_alloc(size, 1), 1, size);
    return 1;
}

/* A file that is being written when memory ends leaves nothing behind. */
static int exhaust_while_writing(void *arg)
{
    pt_file_writer writer;
    if (pt_file_create(arg, PT_MODE_USUAL, &writer, NULL) != PT_OK) return 2;
    pt_out_text(&writer.out, "half");
    pt_out_flush(&writer.out, NULL);
    size_t size = MIB;
    return take_too_much(&size);
}

static void check_one_line(const char *said)
{
    assert_non_null(
        strstr(said, "pitot: more than the limit of 33554432 bytes of memory is needed"));
    assert_non_null(strstr(said, "; --some=SIZE allows more\n"));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void test_count(void **state)
{
    char said[1024];
    assert_int_equal(in_child(take_and_give, NULL, said, sizeof said), 11);
    assert_string_equal(said, "");
    assert_int_equal(in_child(limit_late, NULL, said, sizeof said), 11);
    assert_string_equal(said, "");
    for (size_t size = 64; size <= 64 * MIB; size *= 16) {
        assert_int_equal(in_child(take_too_much, &size, said, sizeof said), 1);
        check_one_line(said);
    }
}

static void test_unfinished_files(void **state)
{
    char said[1024], path[128], command[256];
    snprintf(path, sizeof path, "%s/out/profile", root);
    put_file("/out/other", "");
    assert_int_equal(in_child(exhaust_while_writing, path, said, sizeof said), 1);
    check_one_line(said);
    snprintf(command, sizeof command, "test \"$(ls -A %s/out)\" = other", root);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_SANITIZER = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { HAS_SANITIZER = 1 };
#else
enum { HAS_SANITIZER = 0 };
#endif
#else
enum { HAS_SANITIZER = 0 };
#endif

/* Blobs ask; room that is reserved counts as what is left of it when it is cut. */
static int use_blobs(void *unused)
{
    (void)unused;
    pt_blob blob = PT_BLOB_INIT, room = PT_BLOB_INIT;
    pt_error error;
    pt_memory_limit_set(LIMIT, true, "; more");
    const uint64_t left = pt_memory_left();
    if (pt_blob_new(2 * LIMIT, &blob, &error) != PT_ERR_LIMIT) return 2;
    if (strstr(error.message, "; more") == NULL) return 3;
    if (pt_blob_reserve((size_t)LIMIT << 8, &room, &error) != PT_OK) return 4;
    if (pt_memory_left() + MIB < left) return 5;
    if (pt_blob_resize(&room, LIMIT / 2, &error) != PT_OK) return 6;
    if (pt_memory_left() + LIMIT / 4 > left) return 7;
    pt_blob_done(&room);
    if (pt_memory_left() + MIB < left) return 8;
    return 1;
}

static void test_blobs(void **state)
{
    char said[512];
    if (HAS_SANITIZER) {
        print_message("# skip: mappings are not counted under the sanitizers\n");
        skip();
    }
    assert_int_equal(in_child(use_blobs, NULL, said, sizeof said), 11);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_version),    cmocka_unit_test(test_second_version),
        cmocka_unit_test(test_container),        cmocka_unit_test(test_no_groups),
        cmocka_unit_test(test_limit_of_shell),   cmocka_unit_test(test_count),
        cmocka_unit_test(test_unfinished_files), cmocka_unit_test(test_blobs),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
