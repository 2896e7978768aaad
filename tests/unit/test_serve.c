/* Addresses that a server takes, and Host headers that it answers. */
#include "base_check.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/address.h"
#include "serve/answers.h"
#include "serve/workers.h"

static void an_address_is_a_host_and_a_port_or_either(void **state)
{
    const struct {
        const char *text, *host, *port;
    } rows[] = {
        {"", "localhost", "0"},         {":8080", "localhost", "8080"},
        {"a.b:", "a.b", "0"},           {"127.0.0.1:65535", "127.0.0.1", "65535"},
        {"[::1]:80", "::1", "80"},      {":", "localhost", "0"},
        {"[fe80::1]:", "fe80::1", "0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pt_serve_address got;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_serve_parse(rows[i].text, &got, &error), PT_OK);
        assert_string_equal(got.host, rows[i].host);
        assert_string_equal(got.port, rows[i].port);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    char long_host[400];
    memset(long_host, 'a', sizeof long_host);
    memcpy(long_host + 300, ":1", sizeof ":1");
    const char *const texts[] = {"localhost", "8080", "::1",      "a:b",     ":65536", ":-1",
                                 ":1x",       "[::1", "[::1]x:1", ":999999", long_host};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pt_serve_address got;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_serve_parse(texts[i], &got, &error), PT_ERR_USAGE);
        assert_true(error.message[0] != '\0');
    }
}

static void loopback_is_what_rfc_1122_and_4291_say(void **state)
{
    const char *const own[] = {"localhost", "LocalHost", "127.0.0.1", "127.255.0.9", "::1"};
    const char *const others[] = {"",   "128.0.0.1",     "126.0.0.1", "0.0.0.0",
                                  "::", "localhost.com", "127.1",     "127.0.0.1.example"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_true(pt_serve_is_loopback(own[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(pt_serve_is_loopback(others[i]));
}

static void on_loopback_only_own_names_are_answered(void **state)
{
    assert_true(pt_serve_may_ask("localhost:80", "127.0.0.1"));
    assert_true(pt_serve_may_ask("[::1]:80", "localhost"));
    assert_true(pt_serve_may_ask(NULL, "localhost"));
    assert_false(pt_serve_may_ask("example.com", "localhost"));
    assert_false(pt_serve_may_ask("localhost.example.com:80", "localhost"));
    assert_false(pt_serve_may_ask("", "localhost"));
    assert_false(pt_serve_may_ask("[::1", "localhost"));
    assert_true(pt_serve_may_ask("example.com", "0.0.0.0"));
}

/* ---- Answers that are given again ---- */

static sem_t finished;

static void note_finished(pt_job *job)
{
    sem_post(&finished);
}

static void answer_with_pid(void *context, const pt_serve_request *request, pt_serve_answer *answer)
{
    pt_putf(&answer->body, "%d", (int)getpid());
    answer->type = "text/plain";
    answer->lasts = strcmp(request->path, "/lasting") == 0;
}

/* The process that made the answer. */
static int maker_of(pt_workers *workers, const char *path, const char *value)
{
    const pt_serve_parameter parameter = {"p", value};
    const pt_serve_request request = {
        .path = path, .root = "", .parameter = &parameter, .parameter_count = 1, .body = -1};
    pt_job *const job = pt_job_new(&request, -1, NULL);
    char body[32] = "";
    assert_true(pt_workers_submit(workers, job));
    while (sem_wait(&finished) != 0) {
    }
    assert_int_equal(job->answered.status, 200);
    assert_string_equal(job->answered.type, "text/plain");
    assert_true(pread(job->answered.fd, body, sizeof body - 1, (off_t)job->answered.body_at) > 0);
    pt_job_free(job);
    return atoi(body);
}

static void an_answer_that_lasts_is_given_again_to_an_equal_request(void **state)
{
    pt_workers *workers = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(sem_init(&finished, 0, 0), 0);
    assert_int_equal(pt_workers_new(answer_with_pid, NULL, note_finished, NULL, &workers, &error),
                     PT_OK);
    const int first = maker_of(workers, "/lasting", "1");
    assert_int_equal(maker_of(workers, "/lasting", "1"), first);
    const int other = maker_of(workers, "/lasting", "2");
    assert_int_not_equal(other, first);
    assert_int_equal(maker_of(workers, "/lasting", "1"), first);
    assert_int_equal(maker_of(workers, "/lasting", "2"), other);
    const int again = maker_of(workers, "/again", "1");
    assert_int_not_equal(maker_of(workers, "/again", "1"), again);
    pt_workers_stop(workers);
    pt_workers_free(workers);
    sem_destroy(&finished);
}

static void requests_differ_by_their_process_path_and_parameters(void **state)
{
    const pt_serve_parameter ab[] = {{"a", "b"}, {"c", ""}}, joined[] = {{"a", "b1:c0:"}};
    const pt_serve_request two = {.path = "/x", .parameter = ab, .parameter_count = 2};
    const pt_serve_request one = {.path = "/x", .parameter = joined, .parameter_count = 1};
    PT_FREE char *key = pt_answers_key(&two, 1);
    PT_FREE char *equal = pt_answers_key(&two, 1);
    PT_FREE char *later = pt_answers_key(&two, 2);
    PT_FREE char *other = pt_answers_key(&one, 1);
    assert_string_equal(key, equal);
    assert_string_not_equal(key, later);
    assert_string_not_equal(key, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_host_and_a_port_or_either),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(loopback_is_what_rfc_1122_and_4291_say),
        cmocka_unit_test(on_loopback_only_own_names_are_answered),
        cmocka_unit_test(an_answer_that_lasts_is_given_again_to_an_equal_request),
        cmocka_unit_test(requests_differ_by_their_process_path_and_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
