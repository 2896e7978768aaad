/* shell.c: the Perl pprof's interactive mode: one loaded profile, a command a line. Options of
 * a line (--cum, --lines, -REGEX to ignore) last for that line. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "personality/perl/perl.h"
#include "picture/graphviz.h"
#include "terminal/line.h"
#include "terminal/state.h"
#include "terminal/viewer.h"

typedef struct {
    pt_perl_session *session;
    pt_perl_settings settings; /* the session's, changed by a line */
    double total;
    char *focus, *ignore; /* of the line; "" = none */
} shell;

static const char help[] =
    "top[N], text[N] [--cum] [-REGEX...]     the functions with most samples, 10 unless N says\n"
    "list REGEX [-REGEX...]                  source of the functions that match\n"
    "disasm REGEX [-REGEX...]                their instructions\n"
    "gv, evince, web [REGEX] [-REGEX...]     the call graph, of the stacks that match\n"
    "callgrind [FILE]                        calls, for kcachegrind; without FILE it is started\n"
    "help, quit (or ctrl-d)\n"
    "-REGEX leaves out stacks that match. --lines counts lines instead of functions.\n";

/* ---- A line ---- */

static void append_pattern(char **pattern, const char *more)
{
    char *both = pt_strf("%s%s%s", *pattern, (*pattern)[0] != '\0' ? "|" : "", more);
    free(*pattern);
    *pattern = both;
}

static void take_words(shell *s, const pt_shell_words *words)
{
    s->focus = pt_strdup("");
    s->ignore = pt_strdup("");
    for (size_t i = 1; i < words->count; i++) {
        const char *word = words->items[i];
        if (strcmp(word, "--lines") == 0 || strcmp(word, "-lines") == 0)
            s->session->grain = PT_BY_LINE;
        else if (strcmp(word, "--cum") == 0 || strcmp(word, "-cum") == 0)
            s->settings.cum = true;
        else
            append_pattern(word[0] == '-' ? &s->ignore : &s->focus, word + (word[0] == '-'));
    }
    if (s->ignore[0] != '\0')
        pt_perl_say("Ignoring samples in call stacks that match '%s'\n", s->ignore);
}

static bool narrow_profile(shell *s, pt_perl_profile *profile, const char *pattern, bool keep)
{
    pt_perl_session *session = s->session;
    if (pattern[0] == '\0') return true;
    if (!pt_perl_filter(session, profile, pattern, keep)) return false;
    const double left = pt_perl_profile_total(profile);
    pt_outf(session->out, "After %s '%s': %s %s of %s (%0.1f%%)\n",
            keep ? "focusing on" : "ignoring", pattern, pt_perl_unparse(session, left).text,
            pt_perl_units(session), pt_perl_unparse(session, s->total).text,
            s->total != 0 ? left * 100 / s->total : 0);
    return true;
}

/* Makes the profile that remains after the line's focus and ignore, and prints its share of the
 * total. The caller calls pt_perl_profile_done. */
static bool profile_of_line(shell *s, bool focuses, pt_perl_profile *ret)
{
    pt_perl_session *session = s->session;
    pt_outf(session->out, "Total: %s %s\n", pt_perl_unparse(session, s->total).text,
            pt_perl_units(session));
    *ret = (pt_perl_profile){0};
    for (size_t i = 0; i < session->profile.count; i++)
        pt_perl_profile_add(ret, session->profile.stack[i], session->profile.value[i]);
    return (!focuses || narrow_profile(s, ret, s->focus, true)) &&
           narrow_profile(s, ret, s->ignore, false);
}

/* ---- Commands ---- */

static void show_top(shell *s, const pt_perl_profile *profile, const char *digits)
{
    PT_AUTO(pt_perl_reduced) reduced = {0};
    pt_perl_reduce(s->session, profile, &reduced);
    pt_perl_print_text(s->session, &reduced, digits[0] != '\0' ? strtoll(digits, NULL, 10) : 10);
}

static void show_picture(shell *s, const pt_perl_profile *profile, const char *word)
{
    static const struct {
        const char *word, *type, *viewer;
    } ways[] = {
        {"gv", "ps", "gv --noantialias"}, {"evince", "pdf", "evince"}, {"web", "svg", "browser"}};
    size_t way = 0;
    while (strcmp(ways[way].word, word) != 0)
        way++;
    PT_AUTO(pt_perl_reduced) reduced = {0};
    PT_AUTO(pt_buf) dot = PT_BUF_INIT, picture = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    pt_out out;
    pt_perl_reduce(s->session, profile, &reduced);
    pt_out_to_buf(&out, &dot);
    const bool drawn = pt_perl_print_dot(s->session, &out, profile, &reduced, s->total);
    pt_out_done(&out, NULL);
    if (drawn && (pt_graphviz(&dot, ways[way].type, PT_ENGINE_AUTO, getenv("PATH"), NULL, &picture,
                              NULL, &error) != PT_OK ||
                  pt_view(ways[way].viewer, &picture, ways[way].type, true, &error) != PT_OK))
        pt_fail(&error);
}

static void write_callgrind(shell *s, const char *file)
{
    pt_perl_session *session = s->session;
    PT_AUTO(pt_buf) report = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    pt_out out, *before = session->out;
    pt_out_to_buf(&out, &report);
    session->out = &out;
    pt_perl_print_callgrind(session, &session->profile);
    session->out = before;
    pt_out_done(&out, NULL);
    pt_status status;
    if (file == NULL) {
        status = pt_view("kcachegrind", &report, "callgrind", true, &error);
    } else {
        pt_perl_say("Writing callgrind file to '%s'.\n", file);
        status = pt_file_replace(file, report.data, report.size, &error);
    }
    if (status != PT_OK) pt_fail(&error);
}

/* Is the word "top" or "text", with or without digits after it? *ret_digits points to the digits.
 */
static bool is_top(const char *word, const char **ret_digits)
{
    if (pt_begins(word, "top"))
        *ret_digits = word + 3;
    else if (pt_begins(word, "text"))
        *ret_digits = word + 4;
    else
        return false;
    return strspn(*ret_digits, "0123456789") == strlen(*ret_digits);
}

static void show_listing(shell *s, const pt_perl_profile *profile, bool instructions)
{
    pt_perl_session *session = s->session;
    session->mode = instructions ? PT_PERL_DISASM : PT_PERL_LIST;
    session->grain = PT_BY_ADDRESS;
    if (s->focus[0] == '\0')
        pt_perl_say("name the functions: %s REGEX\n", instructions ? "disasm" : "list");
    else if (instructions)
        pt_perl_print_disasm(session, profile, s->focus);
    else
        pt_perl_print_listing(session, profile, s->focus);
}

static void run_line(shell *s, const pt_shell_words *words)
{
    const char *word = words->items[0], *digits = "";
    const bool draws =
        strcmp(word, "gv") == 0 || strcmp(word, "web") == 0 || strcmp(word, "evince") == 0;
    const bool lists = strcmp(word, "list") == 0, disassembles = strcmp(word, "disasm") == 0;
    if (strcmp(word, "help") == 0) {
        pt_perl_say("%s", help);
        return;
    }
    if (strcmp(word, "callgrind") == 0) {
        write_callgrind(s, words->count > 1 ? words->items[1] : NULL);
        return;
    }
    if (!draws && !lists && !disassembles && !is_top(word, &digits)) {
        pt_perl_say("Unknown command: try 'help'.\n");
        return;
    }
    pt_perl_profile profile;
    take_words(s, words);
    if (profile_of_line(s, draws, &profile)) {
        if (draws)
            show_picture(s, &profile, word);
        else if (lists || disassembles)
            show_listing(s, &profile, disassembles);
        else
            show_top(s, &profile, digits);
    }
    pt_perl_profile_done(&profile);
    PT_FREE_ALL(s->focus, s->ignore);
}

int pt_perl_interact(pt_perl_session *session, double total)
{
    const pt_perl_settings *settings = session->settings;
    const pt_grain grain = session->grain;
    const bool asks = isatty(STDIN_FILENO); /* without a terminal no prompt is printed */
    PT_FREE char *history = pt_state_path("google_pprof_history");
    const pt_line_options options = {.prompt = asks ? "(pprof) " : "", .history_path = history};
    pt_perl_say("Welcome to pprof!  For help, type 'help'.\n");
    pt_line *input = pt_line_open(&options);
    for (const char *line;;) {
        if (!asks) pt_perl_say("(pprof) ");
        if ((line = pt_line_read(input)) == NULL) break;
        PT_AUTO(pt_shell_words) words = {0};
        if (!pt_shell_split(line, false, &words)) continue;
        const bool leave = words.count > 0 && strcmp(words.items[0], "quit") == 0;
        if (words.count > 0 && !leave) {
            shell s = {.session = session, .settings = *settings, .total = total};
            session->settings = &s.settings;
            session->mode = PT_PERL_INTERACTIVE;
            run_line(&s, &words);
            session->settings = settings;
            session->grain = grain;
            pt_out_flush(session->out, NULL);
        }
        if (leave) break;
    }
    pt_line_close(input);
    return PT_EXIT_OK;
}
