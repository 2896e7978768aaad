/* pprof.c: pitot pprof: the row of the personality. */
#include "cmd/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/perl.h"

/* --compat=perl anywhere among the options: the Perl pprof's options, words and bytes. */
static int pprof_main(const char *const *args, size_t count)
{
    size_t at = 0;
    while (at < count && strcmp(args[at], "--compat=perl") != 0 &&
           strcmp(args[at], "-compat=perl") != 0)
        at++;
    if (at == count) return pt_pprof_main(args, count);
    PT_FREE const char **rest = pt_alloc(count, sizeof *rest);
    for (size_t i = 0; i + 1 < count; i++)
        rest[i] = args[i < at ? i : i + 1];
    return pt_perl_main(rest, count - 1);
}

const pt_command pt_command_pprof = {
    .name = "pprof",
    .group = PT_GROUP_ANSWER,
    .summary = "what Go's pprof prints, to the byte, from its own options",
    .arguments = "FORMAT [OPTIONS] [BINARY] SOURCE...",
    .description =
        "Takes the command line of google/pprof and prints what it prints: formats (-top, -tree, "
        "-peek=REGEX, -traces, ...), options, messages and exit status are its own. `pitot pprof "
        "-help` lists them. A link to pitot called pprof does the same. With "
        "--compat=perl it is `pitot google-pprof`.\n\n"
        "Every format that pitot reads is read. What differs from pprof, and why, is in "
        "docs/compat.md.",
    .examples = (const char *const[]){"pitot pprof -top cpu.pb.gz",
                                      "the flat table, in pprof's "
                                      "columns",
                                      "pitot pprof -peek=malloc -symbolize=none heap.pb.gz",
                                      "callers and callees of malloc", NULL},
    .max_args = SIZE_MAX,
    .personality = pprof_main,
};
