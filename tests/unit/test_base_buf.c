/* test_base_buf.c: the growing buffer, the streaming sink, places in ascending items. */
#include "base_check.h"

#include "base/buf.h"
#include "base/plain/ascending.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static void puts_bytes_in_the_order_that_was_asked(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_le(&buf, 0x01020304, 4);
    pt_put_be(&buf, 0x01020304, 4);
    pt_put_be(&buf, UINT64_C(0x1122334455667788), 8);
    pt_put_le(&buf, 0xbeef, 2);
    pt_put_varint(&buf, 150);
    assert_int_equal(buf.size, 20);
    assert_memory_equal(buf.data,
                        "\x04\x03\x02\x01\x01\x02\x03\x04\x11\x22\x33\x44\x55\x66\x77\x88"
                        "\xef\xbe\x96\x01",
                        20);
    pt_buf_done(&buf);
}

static void printf_of_any_length_fits(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_putf(&buf, "%s", "");
    assert_int_equal(buf.size, 0);
    for (int width = 0; width < 700; width += 7) {
        pt_buf_clear(&buf);
        pt_put_text(&buf, "<");
        pt_putf(&buf, "%*d>", width, 5);
        assert_int_equal(buf.size, (size_t)(width > 1 ? width : 1) + 2);
        assert_int_equal(pt_buf_text(&buf)[buf.size - 1], '>');
        assert_int_equal(pt_buf_text(&buf)[buf.size], '\0');
    }
    size_t size = 0;
    pt_buf_clear(&buf);
    pt_put_text(&buf, "kept");
    char *const text = pt_buf_take(&buf, &size);
    assert_string_equal(text, "kept");
    assert_int_equal(size, 4);
    assert_null(buf.data);
    free(text);
}

static pt_status collect(void *ctx, const void *data, size_t size, pt_error *reterr)
{
    pt_put(ctx, data, size);
    return PT_OK;
}

/* The same puts give the same bytes whatever the sink, across the internal buffer's edge. */
static void every_sink_gets_the_same_bytes(void **state)
{
    char path[] = "/tmp/pitot-out-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    pt_buf direct = PT_BUF_INIT, collected = PT_BUF_INIT;
    pt_out outs[3];
    pt_out_to_buf(&outs[0], &direct);
    pt_out_to_fn(&outs[1], collect, &collected);
    pt_out_to_fd(&outs[2], fd);
    uint64_t seed = 3;
    char *const big = pt_alloc(200000, 1);
    for (int i = 0; i < 300; i++) {
        const size_t size = random_of_any_size(&seed) % 200000 % (i % 50 == 0 ? 200000 : 3000);
        memset(big, 'a' + i % 26, size);
        for (int k = 0; k < 3; k++) {
            pt_out_put(&outs[k], big, size);
            pt_outf(&outs[k], "%d,%*d\n", i, i * 2, i);
            pt_out_char(&outs[k], '!');
        }
    }
    for (int k = 0; k < 3; k++) {
        const uint64_t count = outs[k].count;
        assert_int_equal(pt_out_done(&outs[k], NULL), PT_OK);
        assert_int_equal(count, direct.size);
    }
    assert_int_equal(collected.size, direct.size);
    assert_memory_equal(collected.data, direct.data, direct.size);
    char *const back = malloc(direct.size + 1);
    assert_int_equal(pread(fd, back, direct.size + 1, 0), direct.size);
    assert_memory_equal(back, direct.data, direct.size);
    free(back);
    free(big);
    close(fd);
    pt_buf_done(&direct);
    pt_buf_done(&collected);
}

static void a_closed_pipe_is_told_apart_from_other_failures(void **state)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    pt_error error = PT_ERROR_INIT;
    pt_out out;
    pt_out_to_fd(&out, fds[1]);
    pt_out_text(&out, "nobody reads this");
    assert_true(pt_out_ok(&out));
    assert_int_equal(pt_out_flush(&out, &error), PT_ERR_SYSTEM);
    assert_true(out.broken_pipe);
    pt_out_text(&out, "nor this");
    assert_int_equal(pt_out_done(&out, &error), PT_ERR_SYSTEM);
    close(fds[1]);

    const int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0);
    pt_out_to_fd(&out, full);
    pt_out_text(&out, "x");
    assert_int_equal(pt_out_done(&out, &error), PT_ERR_SYSTEM);
    assert_false(out.broken_pipe);
    assert_string_equal(error.message, "cannot write: No space left on device");
    close(full);
}

static pt_status refuse_third(void *ctx, const void *data, size_t size, pt_error *reterr)
{
    int *const calls = ctx;
    return ++*calls == 3 ? pt_error_set(reterr, PT_ERR_LIMIT, "enough") : PT_OK;
}

static void a_callbacks_refusal_ends_the_stream(void **state)
{
    int calls = 0;
    pt_out out;
    pt_error error = PT_ERROR_INIT;
    pt_out_to_fn(&out, refuse_third, &calls);
    for (int i = 0; i < 10; i++) {
        pt_out_text(&out, "x");
        pt_out_flush(&out, NULL);
    }
    assert_int_equal(calls, 3);
    assert_int_equal(out.count, 3);
    assert_int_equal(pt_out_done(&out, &error), PT_ERR_LIMIT);
    assert_string_equal(error.message, "enough");
}

static void *drain_slowly(void *arg)
{
    const int fd = *(int *)arg;
    char buf[4096];
    size_t *const total = pt_alloc(1, sizeof *total);
    for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;)
        *total += (size_t)n;
    return total;
}

static void a_full_non_blocking_pipe_is_waited_for(void **state)
{
    int fds[2];
    assert_int_equal(pipe2(fds, 0), 0);
    assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, drain_slowly, &fds[0]), 0);
    pt_out out;
    pt_out_to_fd(&out, fds[1]);
    char line[1000];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 1000; i++)
        pt_out_put(&out, line, sizeof line);
    assert_int_equal(pt_out_done(&out, NULL), PT_OK);
    close(fds[1]);
    void *total;
    pthread_join(thread, &total);
    assert_int_equal(*(size_t *)total, 1000 * 1000);
    free(total);
    close(fds[0]);
}

/* The bytes that arrive at the other side of a pseudo terminal. */
static size_t on_a_terminal(const char *const *pieces, size_t count, char *got, size_t room)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master) | unlockpt(master), 0);
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    struct termios raw;
    assert_int_equal(tcgetattr(terminal, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(terminal, TCSANOW, &raw), 0);
    pt_out out;
    pt_out_to_fd(&out, terminal);
    for (size_t i = 0; i < count; i++)
        pt_out_text(&out, pieces[i]);
    pt_out_sequence(&out, "\033[0m");
    assert_int_equal(pt_out_done(&out, NULL), PT_OK);
    size_t size = 0;
    while (size < 4 || memcmp(got + size - 4, "\033[0m", 4) != 0) {
        const ssize_t n = read(master, got + size, room - 1 - size);
        assert_true(n > 0);
        size += (size_t)n;
    }
    got[size - 4] = '\0';
    close(terminal);
    close(master);
    return size - 4;
}

static void a_terminal_gets_nothing_to_obey(void **state)
{
    static const struct {
        const char *pieces[4], *shown;
    } rows[] = {
        {{"\tplain \u00e9 \u95a2\n"}, "\tplain \u00e9 \u95a2\n"},
        {{"\033[2J\a\b\r\f\177"}, "^[[2J^G^H^M^L^?"},
        {{"\xc2\x9b"
          "31m",
          "\x9b"
          "31m"},
         "\\xc2\\x9b31m\\x9b31m"},
        {{"\u202e", "\u2066", "\u061c"}, "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xd8\\x9c"},
        {{"\xe9\x96", "\xa2", "\xf0", "\x9f\x94\xa5"}, "\u95a2\U0001f525"}, /* in pieces */
        {{"\xc2", "\x9b"}, "\\xc2\\x9b"},
        {{"\xe9\x96", "x\xe2", "\x80", "\xae"}, "\\xe9\\x96x\\xe2\\x80\\xae"},
        {{"\xed\xa0\x80", "\xff", "\xf0\x9f"}, "\\xed\\xa0\\x80\\xff\\xf0\\x9f"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[512];
        size_t count = 0;
        while (count < 4 && rows[i].pieces[count] != NULL)
            count++;
        on_a_terminal(rows[i].pieces, count, got, sizeof got);
        assert_string_equal(got, rows[i].shown);
    }
}

/* Against the definition: the number of keys below, or not above, the key. */
static void places_in_ascending_items_are_counts_of_lesser_keys(void **state)
{
    const struct {
        char before;
        uint64_t key;
    } items[] = {{'a', 0}, {'b', 10}, {'c', 20}, {'d', 20}, {'e', 30}, {'f', UINT64_MAX}};
    const uint64_t wanted[] = {0, 1, 10, 19, 20, 21, 30, 31, UINT64_MAX - 1, UINT64_MAX};
    for (size_t count = 0; count <= sizeof items / sizeof *items; count++)
        for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
            size_t below = 0, upto = 0;
            for (size_t i = 0; i < count; i++) {
                below += items[i].key < wanted[w];
                upto += items[i].key <= wanted[w];
            }
            assert_int_equal(PT_FIRST_FROM(items, count, key, wanted[w]), below);
            assert_int_equal(PT_FIRST_AFTER(items, count, key, wanted[w]), upto);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_bytes_in_the_order_that_was_asked),
        cmocka_unit_test(printf_of_any_length_fits),
        cmocka_unit_test(every_sink_gets_the_same_bytes),
        cmocka_unit_test(a_closed_pipe_is_told_apart_from_other_failures),
        cmocka_unit_test(a_callbacks_refusal_ends_the_stream),
        cmocka_unit_test(a_full_non_blocking_pipe_is_waited_for),
        cmocka_unit_test(a_terminal_gets_nothing_to_obey),
        cmocka_unit_test(places_in_ascending_items_are_counts_of_lesser_keys),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
