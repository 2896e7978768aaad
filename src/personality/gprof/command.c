/* command.c: pitot gprof: the personality's row in the table of commands. */
#include "personality/gprof/command.h"

#include <stdlib.h>

#include "cmd/cmd.h"

static int gprof_main(const char *const *args, size_t count)
{
    PT_FREE char **argv = pt_alloc(count + 2, sizeof *argv);
    argv[0] = (char[]){"gprof"};
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = pt_strdup(args[i]);
    pt_gprof_settings settings;
    int status = PT_EXIT_FAILED;
    switch (pt_gprof_parse(&settings, (int)count + 1, argv)) {
    case PT_GPROF_RUN: status = pt_gprof_run(&settings); break;
    case PT_GPROF_DONE: status = PT_EXIT_OK; break;
    case PT_GPROF_WRONG: break;
    }
    pt_gprof_settings_done(&settings);
    for (size_t i = 1; i <= count; i++)
        free(argv[i]);
    return status;
}

static const char *const gprof_examples[] = {
    "pitot gprof ./app gmon.out",
    "flat profile and call graph",
    "pitot gprof -b -q --no-demangle ./app",
    "the call graph of gmon.out without explanations",
    "pitot gprof ./app gmon.out app.pb.gz",
    "the same tables, with the times that whole stacks tell beside gprof's",
    NULL,
};

const pt_command pt_command_gprof = {
    .name = "gprof",
    .group = PT_GROUP_ANSWER,
    .summary = "what GNU gprof prints, to the byte, from its own options",
    .arguments = "[OPTIONS] [PROGRAM [PROFILE...]]",
    .description =
        "Takes the command line of GNU gprof and prints what it prints: flat profile, call graph "
        "with cycles, counts, annotated source, orders for the linker. `pitot gprof --help` lists "
        "the options. A link to pitot called gprof does the same.\n\n"
        "Profiles with stacks, beside gmon.out or alone, add a column of true times: what was "
        "spent below each caller, which gprof shares out by calls.\n\n"
        "docs/gprof.md tells what differs, and why.",
    .examples = gprof_examples,
    .max_args = SIZE_MAX,
    .personality = gprof_main,
};
