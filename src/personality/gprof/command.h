/* command.h: declarations that the files of the gprof personality share. */
#pragma once

#include "base/error.h"
#include "base/grow.h"
#include "base/options.h"
#include "formats/format.h"
#include "personality/gprof/print.h"

/* The reports that may be printed. */
typedef enum {
    PT_GPROF_INFO = 1 << 0,
    PT_GPROF_FLAT = 1 << 1,
    PT_GPROF_GRAPH = 1 << 2,
    PT_GPROF_COUNTS = 1 << 3,
    PT_GPROF_SOURCE = 1 << 4,
    PT_GPROF_FUNCTION_ORDER = 1 << 5,
    PT_GPROF_FILE_ORDER = 1 << 6,
    PT_GPROF_SUM = 1 << 7,
} pt_gprof_style;

typedef struct pt_gprof_settings {
    const char *whoami;             /* for messages */
    unsigned styles;                /* pt_gprof_style bits */
    unsigned touched;               /* the bits that options have set or cleared */
    PT_VECTOR(pt_gprof_spec) spec;  /* the latest first */
    PT_VECTOR(const char *) folder; /* folders of source files */
    pt_gprof_look look;
    bool no_static, functions_only, by_line, static_calls, mangled, json, debug;
    bool all_lines;      /* -x */
    bool separate_files; /* -y */
    uint64_t min_count;
    int64_t table_length;
    const char *external_path, *map_path; /* -S, -R */
    const pt_format *from;                /* -O; NULL = the format is recognized */
    bool is_prof;                         /* -O prof, a format that is not supported */
    bool needs_44;                        /* -O 4.4bsd */
    const char *image;
    const char *const *profiles;
    size_t profile_count;
} pt_gprof_settings;

typedef enum { PT_GPROF_RUN, PT_GPROF_DONE, PT_GPROF_WRONG } pt_gprof_parsed;

/* Reads a command line in gprof's syntax. PT_GPROF_DONE: --help or --version was answered;
 * PT_GPROF_WRONG: an error was printed. */
pt_gprof_parsed pt_gprof_parse(pt_gprof_settings *s, int argc, char **argv);
void pt_gprof_settings_done(pt_gprof_settings *s);

/* Reads the inputs, and computes and prints the reports. Returns the exit status. */
int pt_gprof_run(pt_gprof_settings *s);

/* Prints "gprof: ..." on standard error. */
void pt_gprof_say(const pt_gprof_settings *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
