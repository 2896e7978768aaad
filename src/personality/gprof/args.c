/* args.c: gprof's command line, parsed by the C library's getopt_long, as in gprof.
 *
 * The order of options matters: -p -P prints no flat profile, but -P -p prints it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "personality/gprof/command.h"
#include "terminal/message.h"

enum { DEMANGLE = 256, NO_DEMANGLE, INLINE_FILES, JSON };
enum { DEFAULT_WIDTH = 80, DEFAULT_TABLE = 10 };

typedef struct {
    const char *name; /* NULL: a letter only */
    int letter;       /* the option's letter, or a value of the enum above */
    int argument;     /* no_argument, ... */
    const char *metavar, *help;
} row;

static const row rows[] = {
    {"flat-profile", 'p', optional_argument, "SPEC", "the flat profile, of these functions"},
    {"no-flat-profile", 'P', optional_argument, "SPEC", "no flat profile, or not these functions"},
    {"graph", 'q', optional_argument, "SPEC", "the call graph, of these functions or arcs"},
    {"no-graph", 'Q', optional_argument, "SPEC", "no call graph, or not these functions or arcs"},
    {"annotated-source", 'A', optional_argument, "SPEC", "source files with counts of calls"},
    {"no-annotated-source", 'J', optional_argument, "SPEC", "no source, or not of these"},
    {"exec-counts", 'C', optional_argument, "SPEC", "how often functions were called, one a line"},
    {"no-exec-counts", 'Z', optional_argument, "SPEC", "no counts, or not of these"},
    {"function-ordering", 'r', no_argument, NULL, "an order of functions for the linker"},
    {"file-ordering", 'R', required_argument, "MAP", "an order of object files for the linker"},
    {"file-info", 'i', no_argument, NULL, "what records the profile has"},
    {"sum", 's', no_argument, NULL, "add the profiles up in gmon.sum"},
    {"json", JSON, no_argument, NULL, "flat profile and call graph as JSON (not gprof's)"},
    {"no-static", 'a', no_argument, NULL, "add local functions to those before them"},
    {"static-call-graph", 'c', no_argument, NULL, "callees in the code, also if never called"},
    {"ignore-non-functions", 'D', no_argument, NULL, "only local symbols that are functions"},
    {NULL, 'k', required_argument, "FROM/TO", "leave out these arcs"},
    {"line", 'l', no_argument, NULL, "a row a source line"},
    {"min-count", 'm', required_argument, "N", "source called less often is marked #####"},
    {"time", 'n', required_argument, "SPEC", "pass on time of these functions only"},
    {"no-time", 'N', required_argument, "SPEC", "pass on no time of these functions"},
    {"display-unused-functions", 'z', no_argument, NULL, "functions without calls and time, too"},
    {NULL, 'e', required_argument, "SPEC", "leave these functions out of the graph"},
    {NULL, 'E', required_argument, "SPEC", "the same, and their time"},
    {NULL, 'f', required_argument, "SPEC", "only these functions and their callees in the graph"},
    {NULL, 'F', required_argument, "SPEC", "the same, and only their time"},
    {"external-symbol-table", 'S', required_argument, "FILE", "functions by a file as nm prints"},
    {"brief", 'b', no_argument, NULL, "no explanations"},
    {"directory-path", 'I', required_argument, "DIRS", "folders of source files, with ':' between"},
    {"print-path", 'L', no_argument, NULL, "whole paths of source files"},
    {"inline-file-names", INLINE_FILES, no_argument, NULL, "the source file after each function"},
    {"file-format", 'O', required_argument, "FORMAT", "auto, magic, bsd or 4.4bsd"},
    {"table-length", 't', required_argument, "N", "lines in the table below annotated source"},
    {"traditional", 'T', no_argument, NULL, "BSD's columns"},
    {"width", 'w', required_argument, "N", "columns of the index"},
    {"all-lines", 'x', no_argument, NULL, "counts before all lines of annotated source"},
    {"separate-files", 'y', no_argument, NULL, "annotated source in files called NAME-ann"},
    {"demangle", DEMANGLE, optional_argument, "STYLE", "C++, D, Rust names as written (default)"},
    {"no-demangle", NO_DEMANGLE, no_argument, NULL, "names as linked"},
    {"debug", 'd', optional_argument, "N",
     "print numbers of symbols and arcs, and counts that are in no symbol"},
    {"help", 'h', no_argument, NULL, "this text"},
    {"version", 'v', no_argument, NULL, "which program this is"},
    {NULL, 'B', no_argument, NULL, "as -q"},
};
enum { ROWS = PT_COUNT(rows) };

/* ---- Help ---- */

static void print_usage(int fd)
{
    pt_out to;
    pt_out_to_fd(&to, fd);
    pt_outf(&to, "usage: gprof [OPTIONS] [PROGRAM [PROFILE...]]\n\n"
                 "Without arguments the program is a.out and the profile gmon.out.\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        char text[80] = "  ";
        size_t n = 2;
        const row *r = &rows[i];
        if (r->letter < DEMANGLE)
            n += (size_t)snprintf(text + n, sizeof text - n, "-%c%s", r->letter,
                                  r->name != NULL ? ", " : "");
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "    ");
        if (r->name != NULL) n += (size_t)snprintf(text + n, sizeof text - n, "--%s", r->name);
        if (r->metavar != NULL)
            snprintf(text + n, sizeof text - n,
                     r->argument == optional_argument ? "[=%s]"
                     : r->name != NULL                ? "=%s"
                                                      : " %s",
                     r->metavar);
        pt_outf(&to, "%-38s %s\n", text, r->help);
    }
    pt_outf(&to, "\nSPEC is FUNCTION, FILE.c, FILE.c:FUNCTION, FILE.c:LINE or LINE; FROM/TO for "
                 "arcs.\n"
                 "A PROFILE with stacks, beside gmon.out or alone, adds a column of true times.\n"
                 "Pitot answers here as GNU gprof does; docs/gprof.md tells what differs.\n");
    pt_out_done(&to, NULL);
}

static void print_version(void)
{
    pt_print(
        "pitot " PT_VERSION ", answering as GNU gprof 2.40\n"
        "Based on the rules of BSD gprof, 1983, of the Regents of the University of California."
        "\n");
}

/* ---- The effects of options ---- */

static void add_spec(pt_gprof_settings *s, pt_gprof_table table, const char *text)
{
    PT_PUSH(s->spec, (pt_gprof_spec){table, text});
}

/* Requests a report; with a spec, only of the symbols that the spec names. */
static void request_report(pt_gprof_settings *s, unsigned style, pt_gprof_table show)
{
    if (optarg != NULL) add_spec(s, show, optarg);
    s->styles |= style;
    s->touched |= style;
}

/* Rejects a report. With a spec: requests it without the symbols that the spec names. */
static void reject_report(pt_gprof_settings *s, unsigned style, pt_gprof_table hide)
{
    if (optarg != NULL) {
        add_spec(s, hide, optarg);
        s->styles |= style;
    } else {
        s->styles &= ~style;
    }
    s->touched |= style;
}

static pt_gprof_table graph_table(bool show)
{
    const bool is_arc = optarg != NULL && strchr(optarg, '/') != NULL;
    if (is_arc) return show ? PT_GPROF_SHOW_ARCS : PT_GPROF_HIDE_ARCS;
    return show ? PT_GPROF_SHOW_GRAPH : PT_GPROF_HIDE_GRAPH;
}

static void request_style(pt_gprof_settings *s, unsigned style)
{
    s->styles |= style;
    s->touched |= style;
}

static void add_folders(pt_gprof_settings *s, const char *text)
{
    const char *begin = text;
    for (;;) {
        const char *const end = begin + strcspn(begin, ":");
        PT_PUSH(s->folder, pt_strndup(begin, (size_t)(end - begin)));
        if (*end == '\0') return;
        begin = end + 1;
    }
}

static bool set_format(pt_gprof_settings *s, const char *text)
{
    s->from = NULL;
    s->is_prof = s->needs_44 = false;
    switch (text[0]) {
    case 'a': return true;
    case 'm': s->from = pt_format_find("gmon"); return true;
    case '4': s->needs_44 = true; __attribute__((fallthrough));
    case 'b': s->from = pt_format_find("gmon-bsd"); return true;
    case 'p': s->is_prof = true; return true;
    default: pt_print_error("%s: unknown file format %s\n", text, s->whoami); return false;
    }
}

static bool set_demangling(pt_gprof_settings *s, const char *style)
{
    static const char *const styles[] = {"auto", "gnu-v3", "rust", "dlang"};
    s->mangled = style != NULL && strcmp(style, "none") == 0;
    if (style == NULL || s->mangled) return true;
    for (size_t i = 0; i < PT_COUNT(styles); i++)
        if (strcmp(style, styles[i]) == 0) return true;
    pt_print_error("%s: unknown demangling style `%s'\n", s->whoami, style);
    return false;
}

static unsigned at_least(const char *text, int least)
{
    const int n = atoi(text);
    return (unsigned)(n < least ? least : n);
}

/* Takes an option that chooses reports or symbols; false for another option. */
static bool take_choice(pt_gprof_settings *s, int letter)
{
    switch (letter) {
    case 'A': request_report(s, PT_GPROF_SOURCE, PT_GPROF_SHOW_SOURCE); return true;
    case 'J': reject_report(s, PT_GPROF_SOURCE, PT_GPROF_HIDE_SOURCE); return true;
    case 'B': request_style(s, PT_GPROF_GRAPH); return true;
    case 'C': request_report(s, PT_GPROF_COUNTS, PT_GPROF_SHOW_COUNTS); return true;
    case 'Z': reject_report(s, PT_GPROF_COUNTS, PT_GPROF_HIDE_COUNTS); return true;
    case 'p': request_report(s, PT_GPROF_FLAT, PT_GPROF_SHOW_FLAT); return true;
    case 'P': reject_report(s, PT_GPROF_FLAT, PT_GPROF_HIDE_FLAT); return true;
    case 'q': request_report(s, PT_GPROF_GRAPH, graph_table(true)); return true;
    case 'Q': reject_report(s, PT_GPROF_GRAPH, graph_table(false)); return true;
    case 'i': request_style(s, PT_GPROF_INFO); return true;
    case 'r': request_style(s, PT_GPROF_FUNCTION_ORDER); return true;
    case 'R':
        request_style(s, PT_GPROF_FILE_ORDER);
        s->map_path = optarg;
        return true;
    case 's': request_style(s, PT_GPROF_SUM); return true;
    case 'E': add_spec(s, PT_GPROF_HIDE_TIME, optarg); __attribute__((fallthrough));
    case 'e': add_spec(s, PT_GPROF_HIDE_GRAPH, optarg); return true;
    case 'F': add_spec(s, PT_GPROF_SHOW_TIME, optarg); __attribute__((fallthrough));
    case 'f': add_spec(s, PT_GPROF_SHOW_GRAPH, optarg); return true;
    case 'k': add_spec(s, PT_GPROF_HIDE_ARCS, optarg); return true;
    case 'n': add_spec(s, PT_GPROF_SHOW_TIME, optarg); return true;
    case 'N': add_spec(s, PT_GPROF_HIDE_TIME, optarg); return true;
    default: return false;
    }
}

static pt_gprof_parsed take_option(pt_gprof_settings *s, int letter)
{
    if (take_choice(s, letter)) return PT_GPROF_RUN;
    switch (letter) {
    case 'a': s->no_static = true; break;
    case 'b': s->look.brief = true; break;
    case 'c': s->static_calls = true; break;
    case 'd': s->debug = true; break;
    case 'D': s->functions_only = true; break;
    case 'h': print_usage(STDOUT_FILENO); return PT_GPROF_DONE;
    case 'I': add_folders(s, optarg); break;
    case 'l': s->by_line = true; break;
    case 'L': s->look.full_paths = true; break;
    case 'm': s->min_count = strtoul(optarg, NULL, 10); break;
    case 'O': return set_format(s, optarg) ? PT_GPROF_RUN : PT_GPROF_WRONG;
    case 'S': s->external_path = optarg; break;
    case 't': s->table_length = at_least(optarg, 0); break;
    case 'T': s->look.traditional = true; break;
    case 'v': print_version(); return PT_GPROF_DONE;
    case 'w': s->look.width = at_least(optarg, 1); break;
    case 'x': s->all_lines = true; break;
    case 'y': s->separate_files = true; break;
    case 'z': s->look.all = true; break;
    case DEMANGLE: return set_demangling(s, optarg) ? PT_GPROF_RUN : PT_GPROF_WRONG;
    case NO_DEMANGLE: s->mangled = true; break;
    case INLINE_FILES: s->look.inline_files = true; break;
    case JSON: s->json = true; break;
    default: print_usage(STDERR_FILENO); return PT_GPROF_WRONG;
    }
    return PT_GPROF_RUN;
}

/* Like getopt_long, but pitot prints the error message, since a message contains arguments, which
 * may hold control characters. */
static int next_letter(int argc, char **argv, const char *letters, const struct option *names)
{
    PT_FREE char *said = NULL;
    size_t size;
    FILE *const terminal = stderr, *const memory = open_memstream(&said, &size);
    if (memory != NULL) stderr = memory;
    const int letter = getopt_long(argc, argv, letters, names, NULL);
    stderr = terminal;
    if (memory != NULL && fclose(memory) == 0 && size > 0) pt_print_error("%s", said);
    return letter;
}

static pt_gprof_parsed parse_all(pt_gprof_settings *s, int argc, char **argv)
{
    struct option names[ROWS + 1] = {{0}};
    char letters[3 * ROWS + 1];
    size_t name_count = 0, n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].name != NULL)
            names[name_count++] =
                (struct option){rows[i].name, rows[i].argument, NULL, rows[i].letter};
        if (rows[i].letter >= DEMANGLE) continue;
        letters[n++] = (char)rows[i].letter;
        for (int k = 0; k < rows[i].argument;
             k++) /* one colon for an argument, two for an optional one */
            letters[n++] = ':';
    }
    letters[n] = '\0';
    pt_gprof_parsed parsed = PT_GPROF_RUN;
    optind = 0;
    for (int letter;
         parsed == PT_GPROF_RUN && (letter = next_letter(argc, argv, letters, names)) != -1;)
        parsed = take_option(s, letter);
    return parsed;
}

/* Leaves the profiler's own functions out of the reports. */
static void leave_out_profiler(pt_gprof_settings *s)
{
    static const char *const own[] = {"_gprof_mcount",     "mcount",     "_mcount",  "__mcount",
                                      "__mcount_internal", "__mcleanup", "<locore>", "<hicore>"};
    for (size_t i = 0; i < PT_COUNT(own); i++) {
        add_spec(s, PT_GPROF_HIDE_TIME, own[i]);
        add_spec(s, PT_GPROF_HIDE_GRAPH, own[i]);
        add_spec(s, PT_GPROF_HIDE_FLAT, own[i]);
    }
}

pt_gprof_parsed pt_gprof_parse(pt_gprof_settings *s, int argc, char **argv)
{
    static const char *const usual_profile[] = {"gmon.out"};
    *s = (pt_gprof_settings){.whoami = argv[0],
                             .min_count = 1,
                             .table_length = DEFAULT_TABLE,
                             .image = "a.out",
                             .profiles = usual_profile,
                             .profile_count = 1};
    s->look.width = DEFAULT_WIDTH;
    const pt_gprof_parsed parsed = parse_all(s, argc, argv);
    if (parsed != PT_GPROF_RUN) return parsed;
    const unsigned orders = PT_GPROF_FUNCTION_ORDER | PT_GPROF_FILE_ORDER;
    if ((s->touched & orders) == orders) {
        pt_print_error(
            "\n%s: Only one of --function-ordering and --file-ordering may be specified.\n",
            s->whoami);
        return PT_GPROF_WRONG;
    }
    if (s->styles & PT_GPROF_SUM) s->by_line = true;
    const char *const path = getenv("GPROF_PATH");
    if (path != NULL) add_folders(s, path);
    if (optind < argc) s->image = argv[optind++];
    if (optind < argc) {
        s->profiles = (const char *const *)argv + optind;
        s->profile_count = (size_t)(argc - optind);
    }
    leave_out_profiler(s);
    return PT_GPROF_RUN;
}

void pt_gprof_settings_done(pt_gprof_settings *s)
{
    for (size_t i = 0; i < s->folder.count; i++)
        free((void *)(uintptr_t)s->folder.items[i]);
    PT_FREE_ALL(s->folder.items, s->spec.items);
}
