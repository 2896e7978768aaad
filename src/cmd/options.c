/* options.c: the rows of the options that commands share. */
#include "cmd/options.h"

#include <string.h>

#include "base/buf.h"
#include "transform/foreign.h"

static const pt_option common_rows[] = {
    PT_ROW("color", CHOICE, pt_common_settings, color, .initial = "auto", .bare = "always",
           .choices = "auto always never", .aliases = "colour", .metavar = "WHEN",
           .help = "colour the report",
           .details = "auto colours on a terminal, unless the environment variable NO_COLOR is not "
                      "empty or TERM is dumb.",
           .group = "Other"),
    PT_ROW("pager", FLAG, pt_common_settings, pager, .flags = PT_OPT_NEGATABLE, .initial = "true",
           .help = "show a report that does not fit on the screen in a pager",
           .details =
               "Only on a terminal. The pager is the one in the environment variable PITOT_PAGER, "
               "else in PAGER, else less; an empty variable or `cat` means none."),
    PT_ROW("help", FLAG, pt_common_settings, help, .letter = 'h', .help = "show this help",
           .details = "The same text as `pitot help COMMAND`."),
};
const pt_option_table pt_common_options = PT_OPTION_TABLE(common_rows);

static const pt_option input_rows[] = {
    PT_ROW(
        "from", STRING, pt_input_settings, from, .metavar = "FORMAT",
        .help = "read the profile as this format",
        .details =
            "The default is to recognise the format by content. `pitot formats` lists the formats.",
        .group = "Reading"),
    PT_ROW("strict", FLAG, pt_input_settings, strict, .flags = PT_OPT_NEGATABLE,
           .help = "refuse a damaged file",
           .details = "Without it pitot uses the readable part of a damaged file, prints a line "
                      "about the missing part on standard error, and exits with 4."),
    PT_ROW("max-memory", SIZE, pt_input_settings, max_memory, .metavar = "SIZE",
           .help = "use at most this much memory",
           .details = "Counts inflated files and everything that pitot makes of them; the program "
                      "itself takes up to 16M more. The default is the environment variable "
                      "PITOT_MAX_MEMORY, or a quarter of the memory that the machine allows: its "
                      "memory, the limits of pitot's control groups, `ulimit -v` and `ulimit -d`. "
                      "By default pitot also refuses a file that inflates to more than 1G and 200 "
                      "times its size. Units are powers of 1024: 64k, 1.5G."),
    PT_ROW("threads", INT, pt_input_settings, threads, .letter = 'j', .min = 0, .max = 1024,
           .aliases = "jobs", .help = "work with this many threads",
           .details = "0, the default, means one thread for each processor. The number does not "
                      "change the output."),
    PT_ROW(
        "annotate", FLAG, pt_input_settings, annotate, .flags = PT_OPT_NEGATABLE, .initial = "true",
        .help = "read names and labels from comments, too",
        .details =
            "Comment lines of text profiles hold data: Go's (debug=1) the names of addresses, "
            "threadz's those of threads and functions, pitot's own the share of complete stacks. "
            "pitot reads these by default. --no-annotate reads only what `go tool pprof` reads."),
    PT_ROW("seconds", INT, pt_input_settings, seconds, .min = 0, .max = 86400, .metavar = "N",
           .help = "ask servers for N seconds of profile",
           .details = "Applies to servers (HOST:PORT, a URL, unix:SOCKET). The default is "
                      "?seconds= of the address, or 10 s for a CPU profile."),
    PT_ROW("timeout", INT, pt_input_settings, timeout, .min = 0, .max = 86400, .metavar = "N",
           .help = "give up on a server after N seconds",
           .details = "The default is one and a half times --seconds plus 5, or 60."),
    PT_ROW("tls-cert", STRING, pt_input_settings, tls_cert, .metavar = "FILE",
           .help = "client certificate for servers",
           .details =
               "A PEM file, for servers that require a client certificate. It needs --tls-key."),
    PT_ROW("tls-key", STRING, pt_input_settings, tls_key, .metavar = "FILE",
           .help = "private key of --tls-cert", .details = "A PEM file without a password."),
    PT_ROW("tls-ca", STRING, pt_input_settings, tls_ca, .metavar = "FILE",
           .help = "CA certificates to trust",
           .details = "A PEM file. The default is the system's. https+insecure://HOST accepts any "
                      "certificate."),
};
const pt_option_table pt_input_options = PT_OPTION_TABLE(input_rows);

/* The choices stand in the order of the enum in pt_symbol_settings and of pt_demangle_mode. */
static const pt_option symbol_rows[] = {
    PT_ROW(
        "symbols", CHOICE, pt_symbol_settings, symbols, .initial = "auto",
        .choices = "auto full symbols off", .metavar = "HOW",
        .help = "how to name addresses without a name",
        .details =
            "full: functions, files, lines and inlined functions, from symbols and debug "
            "information. symbols: functions only, from symbol tables. off: no names. auto: full "
            "for a report; a written file gets names only if its format cannot hold addresses.",
        .group = "Names"),
    PT_ROW("demangle", CHOICE, pt_symbol_settings, demangle, .initial = "templates",
           .choices = "templates simple full none", .metavar = "HOW",
           .help = "how much of a C++ or Rust name to show",
           .details =
               "templates: no parameters. simple: neither parameters nor template arguments. full: "
               "both. none: the linker's name. Names in the profile do not change."),
    PT_ROW("long-names", FLAG, pt_symbol_settings, long_names, .flags = PT_OPT_NEGATABLE,
           .help = "show template arguments of long names, too",
           .details = "In text, a name of more than 60 characters has its template arguments shown "
                      "as <...>. JSON and CSV always have the whole name."),
    PT_ROW("rename", FLAG, pt_symbol_settings, force, .flags = PT_OPT_NEGATABLE,
           .help = "look up names even where the profile has them",
           .details =
               "Names of the profile are replaced where the program's file has better ones."),
};
const pt_option_table pt_symbol_options = PT_OPTION_TABLE(symbol_rows);

static const pt_option place_rows[] = {
    PT_ROW("binary-path", LIST, pt_place_settings, binary_dirs, .metavar = "FOLDER",
           .help = "search this folder for programs and libraries, too",
           .details = "May be given several times. pitot uses a file if its build id is the "
                      "recorded one. The environment variable PPROF_BINARY_PATH names more "
                      "folders, separated by colons; its default is ~/pprof/binaries.",
           .group = "Where names come from"),
    PT_ROW("debug-path", LIST, pt_place_settings, debug_dirs, .metavar = "FOLDER",
           .help = "search this folder for debug files instead of /usr/lib/debug",
           .details = "May be given several times. A folder holds .build-id/xx/yyyy.debug, and "
                      "files at the paths of debug links."),
    PT_ROW("debuginfod", FLAG, pt_place_settings, debuginfod, .flags = PT_OPT_NEGATABLE,
           .initial = "true", .help = "fetch missing files from the servers in DEBUGINFOD_URLS",
           .details = "Fetches programs and debug files by build id, and stores them where "
                      "elfutils and gdb store them. Without DEBUGINFOD_URLS pitot fetches nothing. "
                      "DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME, DEBUGINFOD_MAXSIZE and "
                      "DEBUGINFOD_CACHE_PATH have the meaning that they have for debuginfod-find."),
    PT_ROW("cache", FLAG, pt_place_settings, cache, .flags = PT_OPT_NEGATABLE, .initial = "true",
           .help = "cache names for the next run",
           .details = "One file for each program, by build id, in $XDG_CACHE_HOME/pitot/names or "
                      "~/.cache/pitot/names. --no-cache neither reads nor writes the cache."),
    PT_ROW("cache-size", SIZE, pt_place_settings, cache_bytes, .initial = "512M", .metavar = "SIZE",
           .help = "limit the cache to this size",
           .details = "The least recently used files go first."),
};
const pt_option_table pt_place_options = PT_OPTION_TABLE(place_rows);

/* The text of the man page on patterns. */
#define PATTERN                                                                                    \
    "The pattern is a regular expression (Perl's syntax) that may match anywhere in a function's " \
    "name, its source file or the mapped file; inlined functions count. A name as any report "     \
    "shows "                                                                                       \
    "it, [app+0x1200..] too, stands for itself. "

#define TAG                                                                                        \
    "TAG is [KEY=]RANGE or [KEY=]PATTERN,PATTERN. A range is a number or two, with units: 32kb, "  \
    ":64kb (at most), 4mb: (at least), 1kb:2mb; it matches numeric labels. A pattern is a "        \
    "regular expression that is matched against key:text of text labels, or with a key against "   \
    "its texts. "

static const pt_option query_rows[] = {
    PT_ROW("event", STRING, pt_query, event, .letter = 'e', .metavar = "EVENT",
           .aliases = "sample-index",
           .help = "which values to show: a number, a type, type/unit, or a sum: cpu+off-cpu",
           .details = "The default is the profile's default event, or its last event. `pitot info` "
                      "lists the events. A sum adds up to four events of one unit; top and tree "
                      "show what each adds to the total in a column of its own.",
           .group = "Which samples and frames"),
    PT_ROW("focus", STRING, pt_query, focus, .letter = 'f', .metavar = "PATTERN",
           .help = "keep samples with a frame that matches",
           .details = PATTERN "Percentages stay those of the whole profile; see --relative."),
    PT_ROW("ignore", STRING, pt_query, ignore, .letter = 'i', .metavar = "PATTERN",
           .help = "drop samples with a frame that matches",
           .details = PATTERN "A sample that matches both --focus and --ignore is dropped."),
    PT_ROW("hide", STRING, pt_query, hide, .metavar = "PATTERN",
           .help = "remove frames that match from the stacks",
           .details =
               PATTERN "The time of a hidden function counts for its caller. A sample without "
                       "frames is dropped. --focus and --ignore apply to the stack before."),
    PT_ROW("show", STRING, pt_query, show, .metavar = "PATTERN",
           .help = "remove all other frames from the stacks",
           .details = PATTERN "The opposite of --hide; with both, a frame must pass both."),
    PT_ROW("show-from", STRING, pt_query, show_from, .metavar = "PATTERN",
           .help = "begin each stack at its first match, seen from main",
           .details = PATTERN "Seen from the root, the first frame that matches becomes the root; "
                              "a sample without one is dropped."),
    PT_ROW("prune-from", STRING, pt_query, prune_from, .metavar = "PATTERN",
           .help = "end each stack at its last match, seen from main",
           .details = "Seen from the leaf, the first frame whose function matches becomes the "
                      "leaf, with the time of its callees. The pattern is matched against names "
                      "without their parameters. A sample without such a frame stays as it is."),
    PT_ROW("time", STRING, pt_query, time, .metavar = "START,STOP",
           .help = "keep samples of this time range",
           .details = "In seconds, as `pitot info` shows times, or from the first sample on: "
                      "0.5,1. Either end may be left out. Or a part of the whole: 10%-20%, or "
                      "10%/3 for the third tenth. Several ranges: \"1,2 5,6\", 0%-5%,95%-100%. The "
                      "syntax is perf's. The samples of the profile must have times."),
    PT_ROW("base-time", STRING, pt_query, base_time, .metavar = "START,STOP",
           .help = "subtract this time range of the same profile",
           .details =
               "--time names the range from which it is subtracted; without it that is the whole "
               "profile. The report shows the difference, as with --base; `pitot diff` takes one "
               "profile and compares the ranges. --normalize compares ranges of different length."),
    PT_ROW("tag-focus", STRING, pt_query, tag_focus, .metavar = "TAG",
           .help = "keep samples with a label that matches",
           .details = TAG "With several patterns and no key, each must match some label; with a "
                          "key one of them is enough."),
    PT_ROW("tag-ignore", STRING, pt_query, tag_ignore, .metavar = "TAG",
           .help = "drop samples with a label that matches", .details = TAG),
    PT_ROW("tag-show", STRING, pt_query, tag_show, .metavar = "PATTERN",
           .help = "keep labels whose key matches",
           .details = "Removes all other labels; drops no sample."),
    PT_ROW("tag-hide", STRING, pt_query, tag_hide, .metavar = "PATTERN",
           .help = "remove labels whose key matches",
           .details = "The opposite of --tag-show; with both, a key must pass both."),
    PT_ROW("tag-root", STRING, pt_query, tag_root, .metavar = "KEY,KEY",
           .help = "turn the labels of these keys into frames at the root of each stack",
           .details = "Each label becomes a frame, the first key the root: a tree or a flame graph "
                      "is then grouped by thread, by request or by any other label. Samples "
                      "without the label get an empty frame."),
    PT_ROW("tag-leaf", STRING, pt_query, tag_leaf, .metavar = "KEY,KEY",
           .help = "turn the labels of these keys into frames at the leaf of each stack",
           .details = "The same at the other end: the last key is the leaf. Each function's "
                      "callees are then the labels of its samples."),
    PT_ROW("tag-unit", STRING, pt_query, tag_unit, .metavar = "UNIT",
           .help = "show numbers of --tag-root and --tag-leaf in this unit (kb, ms, ...)",
           .details = "The default is the largest unit in which the number is at least 1."),
    PT_ROW("mine", FLAG, pt_query, mine, .flags = PT_OPT_NEGATABLE,
           .help =
               "show the program's own functions only, with the time of libraries and the kernel",
           .details = "Frames of the kernel, of the system's libraries, of a language's runtime "
                      "and standard library, and of installed packages are hidden: their time "
                      "counts for the innermost function of the program's own code. Time that no "
                      "such function caused counts for " PT_FOREIGN_NAME
                      ", as does all time of other code in a profile of call arcs (callgrind, "
                      "gmon.out), which has no stacks. Patterns still match hidden frames."),
    PT_ROW("recursion", CHOICE, pt_query, recursion, .choices = "keep direct all",
           .initial = "keep", .help = "which frames of a function that calls itself are kept",
           .details = "keep: all frames. direct: neighbouring frames of one function become one. "
                      "all: the frames between two frames of one function are removed, too, as of "
                      "a parser whose rules call each other; the removed functions then have less "
                      "total. Self values never change. Frames with different functions inlined "
                      "into them stay apart, but for --no-inlines."),
    PT_ROW("no-inlines", FLAG, pt_query, no_inlines,
           .help = "count inlined functions for the function around them",
           .details = "Patterns still match inlined functions."),
    PT_ROW("relative", FLAG, pt_query, relative, .flags = PT_OPT_NEGATABLE,
           .help = "percentages of the remaining samples, not of the whole",
           .details = "Without it 100 % is the whole profile, whatever the other options drop."),
    PT_ROW("native", FLAG, pt_query, native, .flags = PT_OPT_NEGATABLE,
           .help = "show an interpreter's own frames, and all of the kernel's in waits",
           .details =
               "In stacks with functions of Python, PHP, Ruby or Perl, frames of the interpreter's "
               "own file are hidden: their time counts for the function that they run; of Node, "
               "the code that executes and calls functions. Frames of C extensions and of other "
               "libraries stay. In the waits of --off-cpu the kernel has one frame: the function "
               "that waits (do_nanosleep, futex_wait, pipe_read). dump always shows all frames."),
    PT_ROW("all-frames", FLAG, pt_query, all_frames, .flags = PT_OPT_NEGATABLE,
           .help = "keep frames that the profile marks as uninteresting",
           .details = "A profile may name functions to hide together with their callees, such as "
                      "the inside of an allocator (drop_frames and keep_frames of profile.proto). "
                      "dump always shows all frames."),
    PT_PRIVATE_ROWS(pt_query, no_private, keep_labels),
};
const pt_option_table pt_query_options = PT_OPTION_TABLE(query_rows);

void pt_query_each(const pt_query *query,
                   void (*use)(void *context, const pt_option *row, const char *value),
                   void *context)
{
    PT_AUTO(pt_buf) value = PT_BUF_INIT;
    for (size_t i = 0; i < pt_query_options.count; i++) {
        const pt_option *const row = &pt_query_options.rows[i];
        const char *const usual = row->type == PT_OPT_FLAG     ? "false"
                                  : row->type == PT_OPT_CHOICE ? row->initial
                                                               : "";
        pt_buf_clear(&value);
        pt_option_put_value(&value, row, (const char *)query + row->offset);
        if (strcmp(pt_buf_text(&value), usual) != 0) use(context, row, pt_buf_text(&value));
    }
}

static const pt_option base_rows[] = {
    PT_ROW("base", LIST, pt_base_settings, base, .metavar = "PROFILE",
           .help = "subtract this profile",
           .details = "The report shows the difference, negative where the base has more. May be "
                      "given several times: the bases are added up first. 100 % is the sum of the "
                      "magnitudes of both profiles. pitot diff shows which differences are noise.",
           .group = "What to subtract"),
    PT_ROW("diff-base", LIST, pt_base_settings, diff_base, .metavar = "PROFILE",
           .help = "subtract this profile; 100 % is the base",
           .details = "The same, with percentages of the base alone: by how much each function "
                      "changed, as a share of the whole before."),
    PT_ROW("normalize", FLAG, pt_base_settings, normalize, .flags = PT_OPT_NEGATABLE,
           .help = "scale to the base's total before subtracting",
           .details = "Scales each event. Use it to compare runs of different length."),
};
const pt_option_table pt_base_options = PT_OPTION_TABLE(base_rows);

static void add_part(pt_command_options *o, const pt_option_table *table, void *into)
{
    o->parts[o->options.part_count++] = (pt_option_part){.table = table, .into = into};
}

void pt_command_options_init(pt_command_options *o, const pt_command *command, void *settings,
                             pt_cmd_context *context)
{
    *o = (pt_command_options){0};
    o->options.parts = o->parts;
    o->options.stop_at_operand = command->stops_at_argument;
    o->options.keeps_dashes = command->keeps_dashes;
    o->options.syntax = command->syntax;
    if (command->options != NULL) add_part(o, command->options, settings);
    if (command->needs & PT_NEEDS_QUERY)
        add_part(o, &pt_query_options, context != NULL ? &context->query : NULL);
    const bool resident = context != NULL && context->resident;
    const bool subtracts =
        !(command->needs & PT_LOADS_ITSELF) || (command->needs & PT_KEEPS_SIDES) != 0;
    if (!resident && command->needs & PT_NEEDS_QUERY && subtracts)
        add_part(o, &pt_base_options, context != NULL ? context->base : NULL);
    if (!resident && command->needs & (PT_NEEDS_PROFILE | PT_NEEDS_QUERY))
        add_part(o, &pt_input_options, context != NULL ? context->input : NULL);
    if (!resident && command->needs & (PT_NEEDS_SYMBOLS | PT_OFFERS_SYMBOLS))
        add_part(o, &pt_symbol_options, context != NULL ? context->symbol : NULL);
    if (!resident && command->needs & (PT_NEEDS_SYMBOLS | PT_OFFERS_SYMBOLS | PT_OFFERS_PLACES))
        add_part(o, &pt_place_options, context != NULL ? context->place : NULL);
    add_part(o, &pt_common_options, context != NULL ? context->common : NULL);
}
