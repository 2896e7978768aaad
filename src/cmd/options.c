/* options.c: the rows of the options that commands share. */
#include "cmd/options.h"

static const pt_option common_rows[] = {
    {.name = "color",
     .type = PT_OPT_CHOICE,
     .offset = offsetof(pt_common_settings, color),
     .initial = "auto",
     .bare = "always",
     .choices = "auto always never",
     .aliases = "colour",
     .metavar = "WHEN",
     .help = "colour the report",
     .details = "auto colours on a terminal, unless the environment variable NO_COLOR is set to "
                "something or TERM is dumb.",
     .group = "Other"},
    {.name = "help",
     .letter = 'h',
     .type = PT_OPT_FLAG,
     .offset = offsetof(pt_common_settings, help),
     .help = "show this help",
     .details = "The same text as `pitot help COMMAND`."},
};
const pt_option_table pt_common_options = PT_OPTION_TABLE(common_rows);

static const pt_option input_rows[] = {
    {.name = "from",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_input_settings, from),
     .metavar = "FORMAT",
     .help = "read the profile as this format",
     .details = "Without it the format is known by content. `pitot formats` lists them.",
     .group = "Reading"},
    {.name = "strict",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_input_settings, strict),
     .help = "refuse a damaged file",
     .details = "Without it what can be read of a damaged file is used, a line on standard error "
                "says what is missing, and the exit status is 4."},
    {.name = "max-memory",
     .type = PT_OPT_SIZE,
     .offset = offsetof(pt_input_settings, max_memory),
     .metavar = "SIZE",
     .help = "the most memory that this may take",
     .details =
         "Of files as inflated and of all that is made of them, together; the program itself takes "
         "up to 16M more. Without it the environment variable PITOT_MAX_MEMORY says, or it is a "
         "quarter of what the machine allows: its memory, the limits of the control groups that "
         "pitot runs in, `ulimit -v` and `ulimit -d`; and a file that inflates to more than 1G and "
         "200 times its size is refused. 64k, 1.5G: steps are 1024."},
    {.name = "threads",
     .letter = 'j',
     .type = PT_OPT_INT,
     .offset = offsetof(pt_input_settings, threads),
     .min = 0,
     .max = 1024,
     .aliases = "jobs",
     .help = "work with this many threads",
     .details = "0, the default, is one a processor. The answer is the same for any number."},
    {.name = "annotate",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_input_settings, annotate),
     .initial = "true",
     .help = "take names and labels from comments, too",
     .details = "Go's text profiles (debug=1) name each address in a comment, and threadz names "
                "threads and their functions; pitot's own recordings tell what their stacks and "
                "times are worth. --no-annotate reads what `go tool pprof` does."},
    {.name = "seconds",
     .type = PT_OPT_INT,
     .offset = offsetof(pt_input_settings, seconds),
     .min = 0,
     .max = 86400,
     .metavar = "N",
     .help = "ask servers for N seconds of profile",
     .details = "For a server (HOST:PORT, a URL, unix:SOCKET) in place of a file. Without this "
                "option the address decides (?seconds=5), else a CPU profile takes 10 s."},
    {.name = "timeout",
     .type = PT_OPT_INT,
     .offset = offsetof(pt_input_settings, timeout),
     .min = 0,
     .max = 86400,
     .metavar = "N",
     .help = "give up on a server after N seconds",
     .details = "The default is one and a half times --seconds, or 60."},
    {.name = "tls-cert",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_input_settings, tls_cert),
     .metavar = "FILE",
     .help = "certificate to show to servers",
     .details = "A PEM file, for servers that ask who you are. --tls-key must be given, too."},
    {.name = "tls-key",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_input_settings, tls_key),
     .metavar = "FILE",
     .help = "the key of that certificate",
     .details = "A PEM file without a password."},
    {.name = "tls-ca",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_input_settings, tls_ca),
     .metavar = "FILE",
     .help = "CA certificates to trust",
     .details =
         "A PEM file. The default is the system's. https+insecure://HOST accepts any certificate."},
};
const pt_option_table pt_input_options = PT_OPTION_TABLE(input_rows);

/* The choices stand in the order of the enum in pt_symbol_settings and of pt_demangle_mode. */
static const pt_option symbol_rows[] = {
    {.name = "symbols",
     .type = PT_OPT_CHOICE,
     .offset = offsetof(pt_symbol_settings, symbols),
     .initial = "auto",
     .choices = "auto full symbols off",
     .metavar = "HOW",
     .help = "how to name addresses without a name",
     .details = "full: functions, files, lines and inlined functions, from symbols and debug "
                "information. symbols: functions only, from symbol tables. off: leave them. auto: "
                "full for a report; a file that is written keeps its addresses as they are if its "
                "format can hold them, and gets names if it cannot.",
     .group = "Names"},
    {.name = "demangle",
     .type = PT_OPT_CHOICE,
     .offset = offsetof(pt_symbol_settings, demangle),
     .initial = "templates",
     .choices = "templates simple full none",
     .metavar = "HOW",
     .help = "how much of a C++ or Rust name to show",
     .details =
         "templates: without parameters; simple: without template arguments either; full: with "
         "both; none: as the linker knows it. Names that the profile brings are as they are."},
    {.name = "long-names",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_symbol_settings, long_names),
     .help = "show template arguments of long names, too",
     .details = "In text, a name of more than 60 characters has its template arguments shown as "
                "<...>. JSON and CSV always have the whole name."},
    {.name = "rename",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_symbol_settings, force),
     .help = "look up names even where the profile has them",
     .details = "Names of the profile are replaced where the program's file has better ones."},
};
const pt_option_table pt_symbol_options = PT_OPTION_TABLE(symbol_rows);

static const pt_option place_rows[] = {
    {.name = "binary-path",
     .type = PT_OPT_LIST,
     .offset = offsetof(pt_place_settings, binary_dirs),
     .metavar = "FOLDER",
     .help = "look for programs and libraries here, too",
     .details = "May be given several times. A file is taken when its build id is the one that was "
                "recorded. The environment variable PPROF_BINARY_PATH names more folders, with : "
                "between them; without it there is ~/pprof/binaries.",
     .group = "Where names come from"},
    {.name = "debug-path",
     .type = PT_OPT_LIST,
     .offset = offsetof(pt_place_settings, debug_dirs),
     .metavar = "FOLDER",
     .help = "look for debug information here instead of /usr/lib/debug",
     .details = "May be given several times. Below it .build-id/xx/yyyy.debug, and the paths that "
                "debug links name."},
    {.name = "debuginfod",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_place_settings, debuginfod),
     .initial = "true",
     .help = "ask the servers of DEBUGINFOD_URLS for what is not here",
     .details = "Programs and debug files by build id; what was fetched is kept where elfutils and "
                "gdb keep it. Without that environment variable nobody is asked. "
                "DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME, DEBUGINFOD_MAXSIZE and "
                "DEBUGINFOD_CACHE_PATH mean what they mean to debuginfod-find."},
    {.name = "cache",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_place_settings, cache),
     .initial = "true",
     .help = "keep what debug information says for the next time",
     .details = "In $XDG_CACHE_HOME/pitot/names or ~/.cache/pitot/names, one file a program, by "
                "build id. --no-cache neither reads nor writes there."},
    {.name = "cache-size",
     .type = PT_OPT_SIZE,
     .offset = offsetof(pt_place_settings, cache_bytes),
     .initial = "512M",
     .metavar = "SIZE",
     .help = "the most that may be kept",
     .details = "What was used least recently goes first."},
};
const pt_option_table pt_place_options = PT_OPTION_TABLE(place_rows);

/* What patterns match, for the man page. */
#define PATTERN                                                                                    \
    "The pattern is a regular expression (Perl's syntax) that may match anywhere in a function's " \
    "name, its source file or the mapped file; inlined functions count. "

#define TAG                                                                                        \
    "TAG is [KEY=]RANGE or [KEY=]PATTERN,PATTERN. A range is a number or two, with units: 32kb, "  \
    ":64kb (at most), 4mb: (at least), 1kb:2mb; it matches numeric labels. A pattern is a "        \
    "regular expression that is matched against key:text of text labels, or with a key against "   \
    "its texts. "

static const pt_option query_rows[] = {
    {.name = "event",
     .letter = 'e',
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, event),
     .metavar = "EVENT",
     .aliases = "sample-index",
     .help = "which values to show: a number, a type, or type/unit",
     .details = "Without it the event that the profile names as its default, else its last one. "
                "`pitot info` lists them.",
     .group = "Which samples and frames"},
    {.name = "focus",
     .letter = 'f',
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, focus),
     .metavar = "PATTERN",
     .help = "only samples with a frame that matches",
     .details = PATTERN "Percentages stay those of the whole profile; see --relative."},
    {.name = "ignore",
     .letter = 'i',
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, ignore),
     .metavar = "PATTERN",
     .help = "no samples with a frame that matches",
     .details = PATTERN "A sample that matches both --focus and --ignore is dropped."},
    {.name = "hide",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, hide),
     .metavar = "PATTERN",
     .help = "take frames that match out of the stacks",
     .details = PATTERN "What a hidden function took counts for its caller. A sample without any "
                        "frame left is dropped. --focus and --ignore look at the stack as it was."},
    {.name = "show",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, show),
     .metavar = "PATTERN",
     .help = "take all other frames out of the stacks",
     .details = PATTERN "The opposite of --hide; with both, a frame must pass both."},
    {.name = "show-from",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, show_from),
     .metavar = "PATTERN",
     .help = "cut stacks above the first frame that matches",
     .details = PATTERN "Seen from the root, the first frame that matches becomes the root; a "
                        "sample without one is dropped."},
    {.name = "prune-from",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, prune_from),
     .metavar = "PATTERN",
     .help = "cut stacks below the last frame that matches",
     .details = "Seen from the leaf, the first frame whose function matches becomes the leaf: what "
                "it called counts as its own. The pattern is matched against names without their "
                "parameters; a sample without such a frame stays as it is."},
    {.name = "time",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, time),
     .metavar = "START,STOP",
     .help = "only samples that were taken then",
     .details =
         "In seconds, as `pitot info` tells them; either end may be left out. Or a part of the "
         "whole: 10%-20%, or 10%/3 for the third tenth. Several: \"1,2 5,6\", 0%-5%,95%-100%. As "
         "perf has it; of profiles whose samples tell when they were taken."},
    {.name = "tag-focus",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_focus),
     .metavar = "TAG",
     .help = "only samples with a label that matches",
     .details = TAG "With several patterns and no key, each must match some label; with a key one "
                    "of them is enough."},
    {.name = "tag-ignore",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_ignore),
     .metavar = "TAG",
     .help = "no samples with a label that matches",
     .details = TAG},
    {.name = "tag-show",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_show),
     .metavar = "PATTERN",
     .help = "only labels whose key matches",
     .details = "Takes all other labels off the samples; drops no sample."},
    {.name = "tag-hide",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_hide),
     .metavar = "PATTERN",
     .help = "no labels whose key matches",
     .details = "The opposite of --tag-show; with both, a key must pass both."},
    {.name = "tag-root",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_root),
     .metavar = "KEY,KEY",
     .help = "begin each stack with its labels of these keys",
     .details = "Makes a frame of each label, the first one the root, so that a tree or a flame "
                "graph is grouped by thread, by request, by whatever samples are labelled with. "
                "Samples without such a label have an empty frame there."},
    {.name = "tag-leaf",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_leaf),
     .metavar = "KEY,KEY",
     .help = "end each stack with its labels of these keys",
     .details = "The same at the other end: the last key is the leaf, so that each function's "
                "callees are the labels of its samples."},
    {.name = "tag-unit",
     .type = PT_OPT_STRING,
     .offset = offsetof(pt_query, tag_unit),
     .metavar = "UNIT",
     .help = "show numbers in such frames in this unit",
     .details = "Without it each in the largest unit of which it is at least one."},
    {.name = "no-inlines",
     .type = PT_OPT_FLAG,
     .offset = offsetof(pt_query, no_inlines),
     .help = "count inlined functions for what they were inlined into",
     .details = "Patterns still see inlined functions; reports do not."},
    {.name = "relative",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_query, relative),
     .help = "percentages of what is left, not of the whole",
     .details = "Without it 100 % is the whole profile, whatever is focused on or ignored."},
    {.name = "native",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_query, native),
     .help = "show an interpreter's own frames among those that it runs",
     .details = "Where a stack has the frames of Python functions, those of the interpreter's own "
                "file are left out: their time is the time of the function that they run. Frames "
                "of extensions in C and of other libraries stay. dump always shows all frames."},
    {.name = "all-frames",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_query, all_frames),
     .help = "keep frames that the profile itself calls uninteresting",
     .details = "A profile may name functions to leave out with all that they called, such as the "
                "inside of an allocator (drop_frames and keep_frames of profile.proto). dump "
                "always shows all frames."},
};
const pt_option_table pt_query_options = PT_OPTION_TABLE(query_rows);

static const pt_option base_rows[] = {
    {.name = "base",
     .type = PT_OPT_LIST,
     .offset = offsetof(pt_base_settings, base),
     .metavar = "PROFILE",
     .help = "subtract this profile",
     .details = "What is shown is the difference, negative where the base has more. May be given "
                "several times: they are added up first. 100 % is the sum of the magnitudes of "
                "both. For what of a difference is noise see pitot diff.",
     .group = "What to subtract"},
    {.name = "diff-base",
     .type = PT_OPT_LIST,
     .offset = offsetof(pt_base_settings, diff_base),
     .metavar = "PROFILE",
     .help = "subtract this profile; 100 % is the base",
     .details = "The same, with percentages of the base alone: by how much each function changed, "
                "as a share of the whole before."},
    {.name = "normalize",
     .type = PT_OPT_FLAG,
     .flags = PT_OPT_NEGATABLE,
     .offset = offsetof(pt_base_settings, normalize),
     .help = "scale to the base's total before subtracting",
     .details = "For each event, so that runs of different length can be compared."},
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
    o->options.syntax = command->syntax;
    if (command->options != NULL) add_part(o, command->options, settings);
    if (command->needs & PT_NEEDS_QUERY)
        add_part(o, &pt_query_options, context != NULL ? &context->query : NULL);
    const bool resident = context != NULL && context->resident;
    if (!resident && command->needs & PT_NEEDS_QUERY && !(command->needs & PT_LOADS_ITSELF))
        add_part(o, &pt_base_options, context != NULL ? context->base : NULL);
    if (!resident && command->needs & (PT_NEEDS_PROFILE | PT_NEEDS_QUERY))
        add_part(o, &pt_input_options, context != NULL ? context->input : NULL);
    if (!resident && command->needs & (PT_NEEDS_SYMBOLS | PT_OFFERS_SYMBOLS))
        add_part(o, &pt_symbol_options, context != NULL ? context->symbol : NULL);
    if (!resident && command->needs & (PT_NEEDS_SYMBOLS | PT_OFFERS_SYMBOLS | PT_OFFERS_PLACES))
        add_part(o, &pt_place_options, context != NULL ? context->place : NULL);
    add_part(o, &pt_common_options, context != NULL ? context->common : NULL);
}
