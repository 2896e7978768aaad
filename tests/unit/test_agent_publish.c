/* test_agent_publish.c: copies of a journal's image to its file, each cut off after every number of
 * writes, as by SIGKILL or a full disk: what is in the file then is read as a journal.
 */
#include "base_check.h"

#include "agent/agent.h"
#include "base/file.h"
#include "formats/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 40, STACKS = 15000, EVERY_WRITE = 1 << 20 };

/* ---- the parts of the library that publish.c needs ---- */

pt_session pt_agent;

static int writes_left = EVERY_WRITE;

bool pt_agent_write_at(int fd, const void *bytes, size_t size, off_t at)
{
    if (writes_left == 0) return false;
    writes_left--;
    return pwrite(fd, bytes, size, at) == (ssize_t)size;
}

bool pt_agent_join(char *to, size_t size, const char *first, const char *second)
{
    return snprintf(to, size, "%s%s", first, second) < (int)size;
}

void pt_name_add_pid(char *name)
{
}

void pt_agent_wake_drain(void)
{
}

bool pt_agent_write(int fd, const void *bytes, size_t size)
{
    return write(fd, bytes, size) == (ssize_t)size;
}

void *pt_agent_map(size_t bytes)
{
    return calloc(1, bytes);
}

/* ---- an image ---- */

static char folder[64], path[sizeof folder + 16];
static pt_journal_area *area;
static pt_journal_stack *stacks[STACKS];
static unsigned stack_count;

static void add_stack(void)
{
    const size_t size = sizeof(pt_journal_stack) + DEPTH * sizeof(uint64_t);
    pt_journal_stack *stack = pt_journal_room(area, size);
    if (stack == NULL) {
        area = pt_journal_area_new(&pt_agent.journal, PT_JOURNAL_STACKS, 64 << 10);
        stack = pt_journal_room(area, size);
    }
    assert_non_null(stack);
    *stack = (pt_journal_stack){.count = 1, .depth = DEPTH};
    for (uint64_t i = 0; i < DEPTH; i++)
        ((uint64_t *)(stack + 1))[i] = 0x1000 * (stack_count + 1) + i;
    pt_journal_add(area, size);
    stacks[stack_count++] = stack;
}

static void count_again(unsigned stack)
{
    stacks[stack]->count++;
    pt_publish_note(&stacks[stack]->count, sizeof stacks[stack]->count);
}

static void work(unsigned new_stacks, unsigned old_stacks)
{
    for (unsigned i = 0; i < old_stacks; i++)
        count_again(i * 7919 % stack_count);
    for (unsigned i = 0; i < new_stacks; i++)
        add_stack();
}

static uint64_t in_image(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < stack_count; i++)
        sum += stacks[i]->count;
    return sum;
}

static int begin(void **state)
{
    /* A folder of its own: what is searched for leftovers are the first names of a folder. */
    snprintf(folder, sizeof folder, "/tmp/pitot-publish.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/profile", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_true(pt_journal_open(&pt_agent.journal));
    pt_publish_begin(path);
    *pt_agent.journal.header =
        (pt_journal_header){.magic = {'P', 'I', 'T', 'O', 'T', 'J', 'N', 'L'},
                            .byte_order = PT_JOURNAL_BYTE_ORDER,
                            .version = PT_JOURNAL_VERSION,
                            .header_bytes = PT_JOURNAL_HEADER_BYTES,
                            .word_bytes = 8,
                            .period_ns = 1000000};
    area = NULL;
    stack_count = 0;
    writes_left = EVERY_WRITE;
    return 0;
}

static int end(void **state)
{
    pt_publish_handed_over();
    pt_journal_close(&pt_agent.journal, false);
    unlink(path);
    return rmdir(folder);
}

/* ---- what the file holds ---- */

/* The weight of all stacks; PT_ERR_FORMAT if it is no journal yet. */
static pt_status in_file(uint64_t *ret_weight)
{
    pt_error error = PT_ERROR_INIT;
    pt_blob blob = PT_BLOB_INIT;
    pt_reader reader;
    pt_journal_facts facts = {0};
    assert_int_equal(pt_file_read(path, PT_FILE_EMPTY_OK, UINT64_MAX, &blob, &error), PT_OK);
    pt_builder *const builder = pt_builder_new();
    pt_journal_reading *const reading = pt_journal_reading_new(builder, false, NULL);
    pt_reader_init(&reader, blob.data, blob.size, &error);
    const pt_status status = pt_journal_reading_add(reading, &reader, &facts, &error);
    pt_journal_reading_free(reading);
    pt_builder_free(builder);
    pt_blob_done(&blob);
    *ret_weight = facts.weight;
    return status;
}

static void file_is(uint64_t weight)
{
    uint64_t found;
    assert_int_equal(in_file(&found), PT_OK);
    assert_int_equal(found, weight);
}

static bool becomes_journal(pt_status status)
{
    return status == PT_OK || status == PT_ERR_FORMAT;
}

/* ---- tests ---- */

static void file_is_whole_after_each_write_and_what_failed_follows(void **state)
{
    assert_true(pt_publish_make());
    uint64_t published = 0;
    for (int round = 0; round < 4; round++) {
        work(600, round == 0 ? 0 : 300);
        bool all = false;
        for (int writes = 0; !all; writes++) {
            uint64_t found;
            assert_true(writes < 2000);
            writes_left = writes;
            all = pt_publish_all();
            const pt_status status = in_file(&found);
            if (status == PT_ERR_FORMAT) /* before its first header it is no journal */
                assert_int_equal(round, 0);
            else
                assert_int_equal(status, PT_OK);
            assert_true(found >= published && found <= in_image());
        }
        published = in_image();
        file_is(published);
    }
}

static void only_what_has_changed_is_written(void **state)
{
    assert_true(pt_publish_make());
    work(600, 0);
    assert_true(pt_publish_all());
    count_again(300);
    writes_left = 2; /* its page, and the header */
    assert_true(pt_publish_all());
    file_is(601);
}

static void file_that_was_cut_is_written_again(void **state)
{
    static const off_t cuts[] = {0, 1, 4095, 4096, 5000, 70000};
    assert_true(pt_publish_make());
    work(600, 0);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        assert_true(pt_publish_all());
        assert_int_equal(truncate(path, cuts[i]), 0);
        work(1, 1);
        assert_true(pt_publish_all());
        file_is(in_image());
    }
}

static void whole_journal_is_written_over_whatever_is_there(void **state)
{
    char name[PATH_MAX];
    assert_true(pt_publish_make());
    work(600, 0);
    assert_true(pt_publish_all());
    FILE *const file = fopen(path, "r+b");
    for (int i = 0; i < 100000; i++)
        fputc(0x5a, file);
    fclose(file);
    assert_true(pt_publish_whole(name));
    assert_string_equal(name, path);
    file_is(600);
}

static void file_comes_with_the_first_tick_or_some_cpu_time(void **state)
{
    struct stat st;
    unlink(path);
    pt_agent.file.keeper_tid = gettid();
    work(1, 0);
    assert_true(pt_publish());
    assert_int_equal(stat(path, &st), -1);
    pt_agent.journal.header->ticks = 1;
    assert_true(pt_publish());
    file_is(1);
    close(pt_agent.file.keeper_fd);
}

static void file_of_another_process_by_that_name_is_left_alone(void **state)
{
    struct stat st;
    assert_true(pt_publish_make());
    pt_publish_handed_over();
    /* The keeper has the file open: its inode number is given to no other file. */
    const int keepers_fd = open(path, O_RDONLY);
    unlink(path);
    FILE *const other = fopen(path, "w");
    fclose(other);
    work(1, 0);
    assert_false(pt_publish_all());
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(keepers_fd);
}

/* As the keeper does: parts are taken under the lock and written without it. */
static void parts_leave_the_file_whole_after_each_write(void **state)
{
    pt_publisher *const publisher = pt_publisher_new();
    uint64_t published = 0, found;
    assert_true(pt_publish_make());
    pt_agent.file.keeper_fd = pt_agent.file.fd;
    pt_agent.journal.header->ticks = 1;
    for (int round = 0; round < 3; round++) {
        work(900, round == 0 ? 0 : 500);
        for (int writes = 0;; writes++) {
            assert_true(writes < 3000);
            assert_true(pt_publisher_take(publisher));
            writes_left = writes;
            const bool is_more = pt_publisher_write(publisher);
            const pt_status status = in_file(&found);
            assert_true(round == 0 ? becomes_journal(status) : status == PT_OK);
            assert_true(found >= published && found <= in_image());
            if (!is_more && writes_left > 0) break;
        }
        published = in_image();
        file_is(published);
    }
    free(publisher);
}

static void what_changes_while_a_part_is_written_follows(void **state)
{
    pt_publisher *const publisher = pt_publisher_new();
    assert_true(pt_publish_make());
    pt_agent.file.keeper_fd = pt_agent.file.fd;
    pt_agent.journal.header->ticks = 1;
    work(14000, 0); /* more than fits in one part */
    unsigned parts = 0;
    do {
        assert_true(pt_publisher_take(publisher));
        if (parts++ < 5) work(20, 400);
    } while (pt_publisher_write(publisher));
    assert_true(parts > 1);
    assert_true(pt_publisher_take(publisher)); /* of the last part's time */
    assert_false(pt_publisher_write(publisher));
    file_is(in_image());
    count_again(300);
    assert_true(pt_publisher_take(publisher));
    writes_left = 2; /* its page, and the header: all else is in the file */
    assert_false(pt_publisher_write(publisher));
    assert_int_equal(writes_left, 0);
    file_is(in_image());
    assert_int_equal(truncate(path, 5000), 0);
    assert_true(pt_publisher_take(publisher));
    writes_left = EVERY_WRITE;
    pt_publisher_write(publisher);
    while (pt_publisher_take(publisher) && pt_publisher_write(publisher)) {
    }
    file_is(in_image());
    free(publisher);
}

static void who_publishes_waits_for_the_keeper(void **state)
{
    pt_publisher *const publisher = pt_publisher_new();
    assert_true(pt_publish_make());
    pt_agent.journal.header->ticks = 1;
    work(100, 0);
    assert_true(pt_publisher_take(publisher));
    pt_agent.file.keeper_tid = 0; /* it was ended in the middle: nobody waits for ever */
    assert_true(pt_publish_all());
    pt_agent.file.keeper_fd = pt_agent.file.fd;
    assert_false(pt_publisher_write(publisher));
    pt_publish_settle();
    file_is(100);
    free(publisher);
}

static void journal_without_a_name_is_no_place_to_look_for_samples(void **state)
{
    char name[PATH_MAX];
    assert_true(pt_publish_make());
    work(100, 0);
    pt_agent.file.keeper_fd = pt_agent.file.fd;
    pt_agent.file.keeper_tid = gettid();
    assert_true(pt_publish_whole(name));
    char moved[sizeof path + 8];
    snprintf(moved, sizeof moved, "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_true(pt_publish_whole(name));
    assert_string_equal(name, moved);
    unlink(moved);
    assert_false(pt_publish_whole(name));
    pt_agent.file.keeper_tid = 0;
}

/* ---- leftovers ---- */

static void put_file(const char *name, bool is_old)
{
    close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    if (is_old) utimensat(AT_FDCWD, name, times, 0);
}

static bool is_file(const char *name)
{
    return access(name, F_OK) == 0;
}

static void leftovers_of_dead_processes_go_and_nothing_else(void **state)
{
    enum { NAMES = 8 };
    char names[NAMES][sizeof path + 32], room[4096];
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    snprintf(names[0], sizeof names[0], "%s.%d.tmp", path, (int)dead);
    snprintf(names[1], sizeof names[1], "%s.%d.tmp", path, (int)getpid());
    snprintf(names[2], sizeof names[2], "%s.%d.tmp2", path, (int)dead);
    snprintf(names[3], sizeof names[3], "%s.%d", path, (int)dead);
    snprintf(names[4], sizeof names[4], "%s_2.%d.tmp", path, (int)dead);
    snprintf(names[5], sizeof names[5], "%s.0%d.tmp", path, (int)dead);
    snprintf(names[6], sizeof names[6], "%s.journal", path);
    snprintf(names[7], sizeof names[7], "%s.tmp", path);
    put_file(names[0], false); /* just made: a process of another namespace may be at it */
    pt_leftovers_remove(path, room, sizeof room);
    assert_true(is_file(names[0]));
    for (int i = 0; i < NAMES; i++)
        put_file(names[i], true);
    pt_leftovers_remove(path, room, sizeof room);
    assert_false(is_file(names[0]));
    for (int i = 1; i < NAMES; i++) {
        assert_true(is_file(names[i]));
        unlink(names[i]);
    }
    assert_true(is_file(path));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)
        ROW(file_is_whole_after_each_write_and_what_failed_follows),
        ROW(only_what_has_changed_is_written),
        ROW(file_that_was_cut_is_written_again),
        ROW(whole_journal_is_written_over_whatever_is_there),
        ROW(file_comes_with_the_first_tick_or_some_cpu_time),
        ROW(file_of_another_process_by_that_name_is_left_alone),
        ROW(parts_leave_the_file_whole_after_each_write),
        ROW(what_changes_while_a_part_is_written_follows),
        ROW(who_publishes_waits_for_the_keeper),
        ROW(journal_without_a_name_is_no_place_to_look_for_samples),
        ROW(leftovers_of_dead_processes_go_and_nothing_else),
    };
    return cmocka_run_group_tests_name("agent_publish", tests, NULL, NULL);
}
