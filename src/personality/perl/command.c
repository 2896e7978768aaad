/* command.c: the Perl pprof as a personality: its options, its order of work, its exit status.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/options.h"
#include "personality/perl/perl.h"
#include "picture/graphviz.h"
#include "terminal/message.h"
#include "terminal/viewer.h"

void pt_perl_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pt_vprint_error(format, args);
    va_end(args);
}

/* ---- Options ---- */

#define FLAG(name_, field_, help_)                                                                 \
    PT_ROW(name_, FLAG, pt_perl_settings, field_, .flags = PT_OPT_NEGATABLE, .help = help_)
#define TEXT(name_, field_, metavar_, help_)                                                       \
    PT_ROW(name_, STRING, pt_perl_settings, field_, .metavar = metavar_, .help = help_)
#define NUMBER(name_, field_, initial_, help_)                                                     \
    PT_ROW(name_, INT, pt_perl_settings, field_, .initial = initial_, .min = INT64_MIN,            \
           .max = INT64_MAX, .metavar = "N", .help = help_)
#define SHARE(name_, field_, initial_, help_)                                                      \
    PT_ROW(name_, DOUBLE, pt_perl_settings, field_, .initial = initial_, .metavar = "F",           \
           .help = help_)

static const pt_option rows[] = {
    FLAG("text", text, "one line a procedure"),
    FLAG("stacks", stacks, "with --text: the stacks, too; of heap profiles as leaks"),
    FLAG("dot", dot, "the call graph for Graphviz"),
    FLAG("svg", svg, "the call graph as a picture on standard output"),
    FLAG("ps", ps, "the call graph as PostScript"),
    FLAG("pdf", pdf, "the call graph as PDF"),
    FLAG("gif", gif, "the call graph as GIF; needs Graphviz"),
    FLAG("gv", gv, "show the call graph with gv"),
    FLAG("evince", evince, "show the call graph with evince"),
    FLAG("web", web, "show the call graph in a browser"),
    FLAG("callgrind", callgrind, "for kcachegrind"),
    FLAG("collapsed", collapsed, "folded stacks, for flame graphs"),
    FLAG("raw", raw, "a profile that brings its symbols"),
    FLAG("symbols", symbols,
         "read mapped objects and addresses from standard input, print names; PROGRAM is the only "
         "operand"),
    FLAG("interactive", interactive, "read commands; the default on a terminal"),
    TEXT("list", list, "REGEX", "source of the procedures that match, with samples"),
    TEXT("disasm", disasm, "REGEX", "instructions of the procedures that match, with samples"),
    FLAG("cum", cum, "sort by cumulative values"),
    TEXT("base", base, "FILE", "subtract this profile"),
    NUMBER("seconds", seconds, "30", "how long a remote profile takes"),
    TEXT("add_lib", add_lib, "FILE", "one more object with symbols, which is not relocated"),
    TEXT("lib_prefix", lib_prefix, "DIR,...", "folders that libraries are searched in"),
    FLAG("no_strip_temp", no_strip_templates, "keep template arguments in names"),
    FLAG("addresses", addresses, "a node an address"),
    FLAG("lines", lines, "a node a line"),
    FLAG("functions", functions, "a node a function (the default)"),
    FLAG("files", files, "a node a file"),
    FLAG("show_addresses", show_addresses, "addresses behind names"),
    TEXT("focus", focus, "REGEX", "only stacks with a function, FILE:LINE or address that matches"),
    TEXT("ignore", ignore, "REGEX", "no stacks with a match"),
    NUMBER("nodecount", node_count, "80", "draw at most N nodes"),
    SHARE("nodefraction", node_fraction, "0.005", "drop nodes below this share"),
    SHARE("edgefraction", edge_fraction, "0.001", "drop edges below this share"),
    NUMBER("maxdegree", max_degree, "8", "draw at most N edges into a node, and N out of it"),
    NUMBER("scale", scale, "0", "the scale at which gv starts"),
    PT_ROW("heapcheck", FLAG, pt_perl_settings, heapcheck,
           .help = "show in the graph where objects are"),
    FLAG("inuse_space", inuse_space, "memory in use (the default of heap profiles)"),
    FLAG("inuse_objects", inuse_objects, "objects in use"),
    FLAG("alloc_space", alloc_space, "memory that was allocated"),
    FLAG("alloc_objects", alloc_objects, "objects that were allocated"),
    FLAG("show_bytes", show_bytes, "memory in bytes"),
    FLAG("drop_negative", drop_negative, "with --base: negative differences count as 0"),
    FLAG("total_delay", total_delay, "time waited (the default of contention profiles)"),
    FLAG("contentions", contentions, "how many times threads waited"),
    FLAG("mean_delay", mean_delay, "the mean time of a wait"),
    FLAG("no-auto-signal-frm", no_auto_signal_frames, "keep frames of the signal handler"),
    TEXT("tools", tools, "LIST", "folders of objdump, or objdump:FILE"),
    FLAG("debug", debug, "say which files are used"),
    FLAG("test", self_test, "check the arithmetic of addresses"),
    PT_ROW("test_stride", INT, pt_perl_settings, test_stride, .flags = PT_OPT_HIDDEN, .min = 0,
           .max = INT64_MAX, .help = "has no effect here: files are mapped whole"),
    FLAG("help", help, "this text"),
    FLAG("version", version, "the version of pitot"),
};
static const pt_option_table table = PT_OPTION_TABLE(rows);

static void print_usage(const pt_options *options, int fd)
{
    pt_out out;
    pt_out_to_fd(&out, fd);
    pt_out_text(&out, "usage:\n"
                      "  google-pprof [OPTIONS] PROGRAM PROFILE...\n"
                      "  google-pprof [OPTIONS] PROFILE-WITH-SYMBOLS...\n"
                      "  google-pprof [OPTIONS] HOST:PORT[/pprof/heap]...\n"
                      "  google-pprof --symbols PROGRAM <MAPS-AND-ADDRESSES\n\n");
    pt_options_help(options, 100, &out);
    pt_out_text(&out, "\nPitot answers here as the Perl pprof of gperftools does; docs/compat.md "
                      "tells what differs.\n");
    pt_out_done(&out, NULL);
}

static int say_usage(const pt_options *options, const char *message)
{
    pt_print_error("%s\n\n", message);
    print_usage(options, STDERR_FILENO);
    return PT_EXIT_FAILED;
}

/* ---- The kind of report ---- */

/* The mode that the options choose; -1 when they choose several. */
static int find_mode(const pt_perl_settings *s)
{
    const struct {
        bool asked;
        pt_perl_mode mode;
    } modes[] = {{s->text, PT_PERL_TEXT},
                 {s->callgrind, PT_PERL_CALLGRIND},
                 {pt_is_given(s->list), PT_PERL_LIST},
                 {pt_is_given(s->disasm), PT_PERL_DISASM},
                 {s->symbols, PT_PERL_SYMBOLS},
                 {s->gv, PT_PERL_GV},
                 {s->evince, PT_PERL_EVINCE},
                 {s->web, PT_PERL_WEB},
                 {s->dot, PT_PERL_DOT},
                 {s->ps, PT_PERL_PS},
                 {s->pdf, PT_PERL_PDF},
                 {s->svg, PT_PERL_SVG},
                 {s->gif, PT_PERL_GIF},
                 {s->raw, PT_PERL_RAW},
                 {s->collapsed, PT_PERL_COLLAPSED},
                 {s->interactive, PT_PERL_INTERACTIVE}};
    int mode = isatty(STDOUT_FILENO) ? PT_PERL_INTERACTIVE : PT_PERL_TEXT, count = 0;
    for (size_t i = 0; i < PT_COUNT(modes); i++) {
        if (!modes[i].asked) continue;
        mode = (int)modes[i].mode;
        count++;
    }
    return count > 1 ? -1 : mode;
}

/* Sets mode and granularity. Returns the error, or NULL. */
static const char *choose_report(pt_perl_session *session)
{
    const pt_perl_settings *s = session->settings;
    const int mode = find_mode(s);
    const bool by_address = pt_is_given(s->list) || pt_is_given(s->disasm) || s->symbols;
    if (s->inuse_space + s->inuse_objects + s->alloc_space + s->alloc_objects > 1)
        return "choose at most one of --inuse_space, --inuse_objects, --alloc_space and "
               "--alloc_objects";
    if (!by_address && s->functions + s->lines + s->addresses + s->files > 1)
        return "choose one of --functions, --lines, --addresses and --files";
    if (mode < 0) return "choose one kind of output";
    session->mode = (pt_perl_mode)mode;
    session->grain = by_address || s->addresses ? PT_BY_ADDRESS
                     : s->lines                 ? PT_BY_LINE
                     : s->files                 ? PT_BY_FILE
                                                : PT_BY_FUNCTION;
    return NULL;
}

/* ---- Files ---- */

static void say_local_file(const char *path)
{
    pt_print_error("Using local file %s.\n", path);
}

static bool read_files(pt_perl_session *s, const char *const *files, size_t count)
{
    if (!pt_perl_read(s, files[0], true, &s->profile)) return false;
    for (size_t i = count; i-- > 1;)
        if (!pt_perl_read(s, files[i], false, &s->profile)) return false;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_status(s->tables, &error) == PT_OK) return true;
    pt_fail(&error);
    return false;
}

/* Subtracts the base from the profile, stack by stack. */
static bool subtract_base(pt_perl_session *s)
{
    if (!pt_is_given(s->settings->base)) return true;
    pt_perl_profile base = {0};
    const bool ok = pt_perl_read(s, s->settings->base, false, &base);
    const bool drop = s->settings->drop_negative;
    pt_perl_profile result = {0};
    for (size_t i = 0; ok && i < s->profile.count; i++) {
        const double left = s->profile.value[i] - pt_perl_profile_get(&base, s->profile.stack[i]);
        pt_perl_profile_add(&result, s->profile.stack[i], drop && left < 0 ? 0 : left);
    }
    for (size_t i = 0; ok && !drop && i < base.count; i++) {
        const uint32_t stack = base.stack[i];
        if (stack >= s->profile.row_count || s->profile.row[stack] == PT_NONE)
            pt_perl_profile_add(&result, stack, -base.value[i]);
    }
    pt_perl_profile_done(&base);
    if (!ok) return false;
    pt_perl_profile_done(&s->profile);
    s->profile = result;
    return true;
}

/* ---- Reports ---- */

static int print_text(pt_perl_session *s, double total)
{
    PT_AUTO(pt_perl_reduced) reduced = {0};
    if (total != 0)
        pt_outf(s->out, "Total: %s %s\n", pt_perl_unparse(s, total).text, pt_perl_units(s));
    if (s->settings->stacks) {
        pt_out_text(s->out, "Stacks:\n\n");
        pt_perl_print_stacks(s, &s->profile);
    }
    pt_perl_reduce(s, &s->profile, &reduced);
    pt_perl_print_text(s, &reduced, -1);
    return PT_EXIT_OK;
}

/* For each mode that draws: the picture's type, and the program that shows the picture. */
static const struct {
    const char *type, *viewer;
} pictures[] = {
    [PT_PERL_GV] = {"ps", "gv"},        [PT_PERL_EVINCE] = {"pdf", "evince"},
    [PT_PERL_WEB] = {"svg", "browser"}, [PT_PERL_PS] = {"ps", NULL},
    [PT_PERL_PDF] = {"pdf", NULL},      [PT_PERL_SVG] = {"svg", NULL},
    [PT_PERL_GIF] = {"gif", NULL},
};

static int deliver_picture(pt_perl_session *s, const pt_buf *dot)
{
    PT_AUTO(pt_buf) picture = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    const char *viewer = pictures[s->mode].viewer;
    PT_FREE char *gv = pt_strf("gv --scale=%lld --noantialias", (long long)s->settings->scale);
    if (s->mode == PT_PERL_GV) viewer = gv;
    pt_status status = pt_graphviz(dot, pictures[s->mode].type, PT_ENGINE_AUTO, getenv("PATH"),
                                   NULL, &picture, NULL, &error);
    if (status == PT_OK && viewer == NULL) pt_out_put(s->out, picture.data, picture.size);
    if (status == PT_OK && viewer != NULL)
        status = pt_view(viewer, &picture, pictures[s->mode].type, false, &error);
    return status == PT_OK ? PT_EXIT_OK : pt_fail(&error);
}

static int print_graph(pt_perl_session *s, double total)
{
    pt_perl_reduced reduced;
    pt_perl_reduce(s, &s->profile, &reduced);
    PT_AUTO(pt_buf) dot = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &dot);
    const bool drawn = pt_perl_print_dot(s, &out, &s->profile, &reduced, total);
    pt_out_done(&out, NULL);
    pt_perl_reduced_done(&reduced);
    int status = drawn ? PT_EXIT_OK : PT_EXIT_FAILED;
    if (drawn && s->mode == PT_PERL_DOT)
        pt_out_put(s->out, dot.data, dot.size);
    else if (drawn)
        status = deliver_picture(s, &dot);
    return status;
}

static int write_report(pt_perl_session *s, double total)
{
    switch (s->mode) {
    case PT_PERL_TEXT: return print_text(s, total);
    case PT_PERL_RAW: pt_perl_print_raw(s, &s->profile); return PT_EXIT_OK;
    case PT_PERL_COLLAPSED: pt_perl_print_collapsed(s, &s->profile); return PT_EXIT_OK;
    case PT_PERL_CALLGRIND: pt_perl_print_callgrind(s, &s->profile); return PT_EXIT_OK;
    case PT_PERL_LIST:
        return pt_perl_print_listing(s, &s->profile, s->settings->list) ? PT_EXIT_OK
                                                                        : PT_EXIT_FAILED;
    case PT_PERL_DISASM:
        return pt_perl_print_disasm(s, &s->profile, s->settings->disasm) ? PT_EXIT_OK
                                                                         : PT_EXIT_FAILED;
    case PT_PERL_INTERACTIVE: return pt_perl_interact(s, total);
    default: return print_graph(s, total);
    }
}

static int analyse_files(pt_perl_session *s, const char *const *files, size_t count)
{
    if (!read_files(s, files, count) || !subtract_base(s)) return PT_EXIT_FAILED;
    const double total = pt_perl_profile_total(&s->profile);
    if (s->server != NULL && !s->from_model && !pt_perl_ask_names(s)) return PT_EXIT_FAILED;
    pt_perl_symbols_extract(s);
    pt_perl_remove_uninteresting(s, &s->profile);
    const char *focus = s->settings->focus, *ignore = s->settings->ignore;
    if (pt_is_given(focus) && !pt_perl_filter(s, &s->profile, focus, true)) return PT_EXIT_FAILED;
    if (pt_is_given(ignore) && !pt_perl_filter(s, &s->profile, ignore, false))
        return PT_EXIT_FAILED;
    return write_report(s, total);
}

/* Fetches the profiles of servers, reads all profiles, and writes the report. names: files, and
 * addresses of servers. */
static int fetch_and_analyse(pt_perl_session *s, const char *const *names, size_t count)
{
    bool remote = false;
    for (size_t i = 0; i < count; i++)
        remote |= pt_perl_is_remote(names[i]);
    if (!remote) return analyse_files(s, names, count);
    char **files = NULL;
    size_t n = 0;
    const bool ok = pt_perl_fetch(s, names, count, &files, &n);
    const int status = ok ? analyse_files(s, (const char *const *)files, n) : PT_EXIT_FAILED;
    for (size_t i = 0; i < n; i++)
        free(files[i]);
    free(files);
    return status;
}

/* ---- The command line ---- */

/* Runs a report. args: a program and profiles; or profiles that contain their symbols; or servers.
 */
static int run_operands(pt_perl_session *s, const pt_options *options, const char *const *args,
                        size_t count)
{
    s->symbolized = count > 0 && pt_perl_is_symbolized(args[0]);
    if (count > 0 && pt_perl_is_remote(args[0]) && s->mode != PT_PERL_SYMBOLS) {
        if (s->settings->lines) return say_usage(options, "--lines needs a program");
        if (s->mode == PT_PERL_DISASM) return say_usage(options, "--disasm needs a program");
        pt_print_error("Using remote profile at %s.\n", args[0]);
        return pt_perl_ask_program(s, args, count) ? fetch_and_analyse(s, args, count)
                                                   : PT_EXIT_FAILED;
    }
    if (count > 0) say_local_file(args[0]);
    if (s->symbolized) {
        if (s->settings->lines) return say_usage(options, "--lines needs a program");
        if (s->mode == PT_PERL_DISASM) return say_usage(options, "--disasm needs a program");
        s->program = pt_strdup("(unknown)");
        return analyse_files(s, args, count);
    }
    if (count == 0) return say_usage(options, "no program is named");
    if (access(args[0], F_OK) != 0) {
        pt_print_error("%s does not exist.\n", args[0]);
        return PT_EXIT_FAILED;
    }
    s->program = pt_strdup(args[0]);
    if (s->mode == PT_PERL_SYMBOLS) return pt_perl_symbols_print(s);
    if (count == 1) return say_usage(options, "no profile is named");
    if (count == 2 && !pt_perl_is_remote(args[1])) say_local_file(args[1]);
    return fetch_and_analyse(s, args + 1, count - 1);
}

static int run_session(const pt_perl_settings *settings, const pt_options *options,
                       const pt_option_list *operands)
{
    pt_out out;
    pt_common_settings common = {0};
    pt_input_settings input = {0};
    pt_symbol_settings symbol = {0};
    pt_place_settings place = {0};
    pt_cmd_context context = {.command = pt_command_find("google-pprof"),
                              .out = &out,
                              .common = &common,
                              .input = &input,
                              .symbol = &symbol,
                              .place = &place};
    pt_perl_session session = {
        .settings = settings, .context = &context, .out = &out, .address_digits = 16};
    const char *wrong = choose_report(&session);
    if (wrong != NULL) return say_usage(options, wrong);
    session.tables = pt_builder_new();
    pt_out_to_fd(&out, STDOUT_FILENO);
    context.pool = pt_pool_new(0);
    int status = run_operands(&session, options, operands->items, operands->count);
    pt_perl_session_done(&session);
    pt_error error = PT_ERROR_INIT;
    if (pt_out_done(&out, &error) != PT_OK && !out.broken_pipe) {
        pt_fail(&error);
        status = PT_EXIT_FAILED;
    }
    pt_profile_unref(context.profile);
    pt_loaded_done(&context.loaded);
    pt_diag_done(&context.diag);
    pt_pool_free(context.pool);
    return status;
}

int pt_perl_main(const char *const *args, size_t count)
{
    pt_perl_settings settings = {0};
    const pt_option_part part = {.table = &table, .into = &settings};
    const pt_options options = {.parts = &part, .part_count = 1, .syntax = PT_SYNTAX_PERL};
    pt_option_list operands = {0};
    pt_error error = PT_ERROR_INIT;
    pt_options_init(&options);
    int status = PT_EXIT_OK;
    if (pt_options_parse(&options, args, count, &operands, &error) != PT_OK) {
        pt_print_error("%s\n", error.message);
        status = say_usage(&options, "Invalid option(s)");
    } else if (settings.help) {
        print_usage(&options, STDOUT_FILENO);
    } else if (settings.version) {
        pt_print("pitot " PT_VERSION ", answering as pprof (part of gperftools 2.0)\n");
    } else {
        status = run_session(&settings, &options, &operands);
    }
    free(operands.items);
    pt_options_done(&options);
    return status;
}

const pt_command pt_command_google_pprof = {
    .name = "google-pprof",
    .group = PT_GROUP_ANSWER,
    .summary = "what gperftools' Perl pprof prints, to the byte",
    .arguments = "[OPTIONS] PROGRAM PROFILE...",
    .description =
        "Takes the command line of the pprof that gperftools shipped until 2.16 (Debian's "
        "google-pprof) and prints what it prints: --text, --dot, --callgrind, --collapsed, --list, "
        "--disasm, --raw, --symbols and the rest, in its units and with its rules. `pitot pprof "
        "--compat=perl` is the same, and so is a link to pitot called google-pprof.\n\n"
        "Names and lines come from our own reader: no addr2line, nm or c++filt is needed. Every "
        "format that pitot reads is read. What differs, and why, is in docs/compat.md.",
    .examples =
        (const char *const[]){"pitot google-pprof --text ./app app.prof", "samples by function",
                              "pitot google-pprof --dot --focus=parse ./app app.prof",
                              "the call graph below parse, for Graphviz", NULL},
    .max_args = SIZE_MAX,
    .personality = pt_perl_main,
};
