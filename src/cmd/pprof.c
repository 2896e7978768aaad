/* pprof.c: pitot pprof: the row of the personality. */
#include "cmd/pprof.h"

#include "cmd/cmd.h"

const pt_command pt_command_pprof = {
    .name = "pprof",
    .group = PT_GROUP_ANSWER,
    .summary = "what Go's pprof prints, to the byte, from its own options",
    .arguments = "FORMAT [OPTIONS] [BINARY] SOURCE...",
    .description =
        "Takes the command line of google/pprof and prints what it prints: formats (-top, -tree, "
        "-peek=REGEX, -traces, ...), options, messages and exit status are its own. `pitot pprof "
        "-help` lists them. A link to pitot called pprof does the same.\n\n"
        "Every format that pitot reads is read. What differs from pprof, and why, is in "
        "docs/compat.md.",
    .examples = (const char *const[]){"pitot pprof -top cpu.pb.gz",
                                      "the flat table, in pprof's "
                                      "columns",
                                      "pitot pprof -peek=malloc -symbolize=none heap.pb.gz",
                                      "callers and callees of malloc", NULL},
    .max_args = SIZE_MAX,
    .personality = pt_pprof_main,
};
