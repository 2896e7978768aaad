/* test_own_commands.c: pitot without any personality: its own commands need none of them. The
 * table that the program has (src/main/commands.c) is replaced by one of these commands alone. */
#include "base_check.h"

#include "cmd/cmd.h"
#include "cmd/rows.h"

const pt_command *const pt_commands[] = {
#define X(name) &pt_command_##name,
#include "cmd/commands.def"
#undef X
    NULL,
};

static void own_commands_need_no_personality(void **state)
{
    (void)state;
    assert_non_null(pt_command_find("graph"));
    assert_null(pt_command_find("pprof"));
    assert_null(pt_command_find("google-pprof"));
    assert_null(pt_command_find("gprof"));
    assert_null(pt_command_find("dcpiprof"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_commands_need_no_personality)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
