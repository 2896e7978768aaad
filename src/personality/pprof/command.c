/* command.c: pitot pprof: the personality's row in the table of commands. */
#include "personality/pprof/pprof.h"

#include <string.h>

#include "cmd/cmd.h"
#include "terminal/message.h"

/* Is the argument an option of that name, after one dash or two? */
static bool is_option(const char *arg, const char *name)
{
    if (arg[0] != '-') return false;
    return strcmp(arg + 1 + (arg[1] == '-'), name) == 0;
}

/* Passes the command line to the personality of the Perl pprof, and runs that. */
static int run_perl(const char *const *args, size_t count)
{
    const pt_command *perl = pt_command_find("google-pprof");
    if (perl != NULL) return perl->personality(args, count);
    pt_print_error(
        "pitot pprof: this build has no google-pprof, whose options these are; run gperftools' "
        "pprof for them\n");
    return PT_PPROF_EXIT;
}

/* Runs Go's pprof; with --compat=perl anywhere among the arguments, the Perl pprof. Requests that
 * only the Perl pprof has (--symbols, --stacks) also run the Perl pprof. */
static int pprof_main(const char *const *args, size_t count)
{
    PT_FREE const char **rest = pt_alloc(count + 1, sizeof *rest);
    size_t kept = 0;
    bool perl = false;
    for (size_t i = 0; i < count; i++) {
        const bool compat = is_option(args[i], "compat=perl");
        perl |= compat || is_option(args[i], "symbols") || is_option(args[i], "stacks");
        if (!compat) rest[kept++] = args[i];
    }
    return perl ? run_perl(rest, kept) : pt_pprof_main(args, count);
}

static const char *const pprof_examples[] = {
    "pitot pprof -top cpu.pb.gz",
    "the flat table, in pprof's columns",
    "pitot pprof -peek=malloc -symbolize=none heap.pb.gz",
    "callers and callees of malloc",
    NULL,
};

const pt_command pt_command_pprof = {
    .name = "pprof",
    .group = PT_GROUP_ANSWER,
    .summary = "what Go's pprof prints, to the byte, from its own options",
    .arguments = "FORMAT [OPTIONS] [BINARY] SOURCE...",
    .description =
        "Takes the command line of google/pprof and prints what it prints: formats (-top, -tree, "
        "-peek=REGEX, -traces, ...), options, messages and exit status are its own. `pitot pprof "
        "-help` lists them. A link to pitot called pprof does the same. With "
        "--compat=perl (and for --symbols and --stacks, which only that one has) it is `pitot "
        "google-pprof`.\n\n"
        "Every format that pitot reads is read. What differs from pprof, and why, is in "
        "docs/compat.md.",
    .examples = pprof_examples,
    .max_args = SIZE_MAX,
    .personality = pprof_main,
};
