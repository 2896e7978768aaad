/* Addresses that a server takes, and Host headers that it answers. */
#include "base_check.h"

#include <string.h>

#include "serve/address.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_host_and_a_port_or_either),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(loopback_is_what_rfc_1122_and_4291_say),
        cmocka_unit_test(on_loopback_only_own_names_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
