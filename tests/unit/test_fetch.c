/* test_fetch.c: names of servers become addresses. What is asked of servers is in
 * tests/cli/remote.t.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "load/fetch.h"

static void expect_address(pt_fetch_rule rule, int64_t seconds, const char *name,
                           const char *address, int64_t asks, int64_t timeout_s)
{
    const pt_fetch_options options = {.rule = rule, .seconds = seconds};
    int64_t found_seconds = -1, found_timeout = -1;
    char *found = pt_fetch_address(name, &options, &found_seconds, &found_timeout);
    if (address == NULL) {
        if (found != NULL) fail_msg("%s became %s", name, found);
        assert_false(pt_fetch_is_remote(rule, name));
        return;
    }
    if (found == NULL) fail_msg("%s is no address", name);
    assert_string_equal(found, address);
    assert_int_equal(found_seconds, asks);
    assert_int_equal(found_timeout, timeout_s);
    free(found);
}

static void own_names_are_urls_sockets_and_hosts_with_a_port(void **state)
{
    (void)state;
    expect_address(PT_FETCH_OWN, 0, "localhost:6060",
                   "http://localhost:6060/debug/pprof/profile?seconds=10", 10, 20);
    expect_address(PT_FETCH_OWN, 4, "h:1/", "http://h:1/debug/pprof/profile?seconds=4", 4, 11);
    expect_address(PT_FETCH_OWN, 0, "h:1/debug/pprof/heap", "http://h:1/debug/pprof/heap", 0, 60);
    expect_address(PT_FETCH_OWN, 0, "[::1]:80/x?a=b", "http://[::1]:80/x?a=b", 0, 60);
    expect_address(PT_FETCH_OWN, 7, "https+insecure://h/p?seconds=2&b",
                   "https+insecure://h/p?seconds=7&b=", 7, 15);
    expect_address(PT_FETCH_OWN, 0, "unix:/run/s", "unix:/run/s:/debug/pprof/profile?seconds=10",
                   10, 20);
    expect_address(PT_FETCH_OWN, 0, "unix:@name:/pprof/heap", "unix:@name:/pprof/heap", 0, 60);
}

static void own_names_of_files_are_no_servers(void **state)
{
    (void)state;
    static const char *const names[] = {"a.prof", "dir/a:1", "localhost", "C:x",       "2023-11-02",
                                        "a b:1",  ":80",     "h:99999",   "ftp://h/x", "h:1x",
                                        "x:",     "http://", "unix:",     "http:///x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        expect_address(PT_FETCH_OWN, 0, names[i], NULL, 0, 0);
}

/* cmd/pprof of Go 1.23: adjustURL; url.Values.Encode sorts. */
static void names_of_go_are_what_net_url_makes_of_them(void **state)
{
    (void)state;
    expect_address(PT_FETCH_GO, 0, "localhost:6060", "http://localhost:6060/debug/pprof/profile", 0,
                   60);
    expect_address(PT_FETCH_GO, 5, "localhost:6060",
                   "http://localhost:6060/debug/pprof/profile?seconds=5", 5, 7);
    expect_address(PT_FETCH_GO, 0, "http://h/?z=1&seconds=20&a=%41+b",
                   "http://h/debug/pprof/profile?a=A+b&seconds=20&z=1", 20, 30);
    expect_address(PT_FETCH_GO, 0, "https+insecure://h:1/x", "https+insecure://h:1/x", 0, 60);
    expect_address(PT_FETCH_GO, 0, "127.0.0.1:80/x", "http://127.0.0.1:80/x", 0, 60);
    expect_address(PT_FETCH_GO, 0, "no-such-file", NULL, 0, 0);
    expect_address(PT_FETCH_GO, 0, "dir/file:1", NULL, 0, 0);
    expect_address(PT_FETCH_GO, 0, "file:///x", NULL, 0, 0);
    expect_address(PT_FETCH_GO, 0, "h:port/x", NULL, 0, 0);
}

/* gperftools' pprof: ParseProfileURL, FetchDynamicProfile. */
static void names_of_perl_end_in_a_page_or_get_one(void **state)
{
    (void)state;
    expect_address(PT_FETCH_PERL, 0, "h:80", "http://h:80/pprof/profile?seconds=30", 30, 90);
    expect_address(PT_FETCH_PERL, 9, "http://h/", "http://h/pprof/profile?seconds=9", 9, 69);
    expect_address(PT_FETCH_PERL, 0, "h/pprof/heap", "http://h/pprof/heap", 0, 60);
    expect_address(PT_FETCH_PERL, 0, "h/prefix", "http://h/prefix/pprof/profile?seconds=30", 30,
                   90);
    expect_address(PT_FETCH_PERL, 2, "h/pprof/pmuprofile?event=x",
                   "http://h/pprof/pmuprofile?event=x&seconds=2", 2, 62);
    assert_int_equal(pt_fetch_expand_count("machine@3/pprof/heap"), 3);
    assert_int_equal(pt_fetch_expand_count("user@host/x"), 1);
    char *name = pt_fetch_expand("machine@3/pprof/heap", 2);
    assert_string_equal(name, "2.machine/pprof/heap");
    free(name);
}

/* internal/symbolz of google/pprof, and the pages of gperftools. */
static void the_neighbour_of_a_profile_is_in_its_folder_or_at_the_top(void **state)
{
    (void)state;
    static const struct {
        const char *url, *word, *neighbour;
    } cases[] = {
        {"http://h:1/debug/pprof/profile?seconds=5", "symbol", "http://h:1/debug/pprof/symbol"},
        {"http://h/token/pprof/heap", "symbol", "http://h/token/pprof/symbol"},
        {"http://h/pprof/growth?x", "cmdline", "http://h/pprof/cmdline"},
        {"http://h/heapz", "symbol", "http://h/symbolz"},
        {"http://h/", "cmdline", "http://h/cmdline"},
        {"unix:/run/s:/pprof/profile?seconds=1", "symbol", "unix:/run/s:/pprof/symbol"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *found = pt_fetch_neighbour(cases[i].url, cases[i].word);
        assert_string_equal(found, cases[i].neighbour);
        free(found);
    }
    assert_null(pt_fetch_neighbour("/a/file", "symbol"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_names_are_urls_sockets_and_hosts_with_a_port),
        cmocka_unit_test(own_names_of_files_are_no_servers),
        cmocka_unit_test(names_of_go_are_what_net_url_makes_of_them),
        cmocka_unit_test(names_of_perl_end_in_a_page_or_get_one),
        cmocka_unit_test(the_neighbour_of_a_profile_is_in_its_folder_or_at_the_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
