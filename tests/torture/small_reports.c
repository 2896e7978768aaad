/* small_reports.c: see small_files.h. */
#include "small_files.h"

#include "base/grow.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "formats/format.h"
#include "personality/pprof/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 12 };

typedef struct {
    pt_small_kind kind;
    const char *line;       /* {} is the file; {p} a program; {o} a name for output */
    const char *for_format; /* NULL: every one */
} report;

static const report reports[] = {
    {PT_SMALL_OWN, "top", NULL},
    {PT_SMALL_OWN, "top --json", NULL},
    {PT_SMALL_OWN, "top --csv --by=line", NULL},
    {PT_SMALL_OWN, "top --by=file --tag-root=key", NULL},
    {PT_SMALL_OWN, "tree", NULL},
    {PT_SMALL_OWN, "tree --json", NULL},
    {PT_SMALL_OWN, "peek .", NULL},
    {PT_SMALL_OWN, "traces", NULL},
    {PT_SMALL_OWN, "tags", NULL},
    {PT_SMALL_OWN, "list .", NULL},
    {PT_SMALL_OWN, "weblist -o {o}.html .", NULL},
    {PT_SMALL_OWN, "flame -o {o}.html", NULL},
    {PT_SMALL_OWN, "flame -o {o}.svg", NULL},
    {PT_SMALL_OWN, "flame --by=line --no-inlines -o {o}.svg", NULL},
    {PT_SMALL_OWN, "flame --in-order -o {o}.html", NULL},
    {PT_SMALL_OWN, "timeline --json", NULL},
    {PT_SMALL_OWN, "why", NULL},
    {PT_SMALL_OWN, "why --json -n 20 --least=0%", NULL},
    {PT_SMALL_OWN, "report -n 10 -o {o}.html", NULL},
    {PT_SMALL_OWN, "top --interval", NULL},
    {PT_SMALL_OWN, "graph --engine=own -o {o}.svg", NULL},
    {PT_SMALL_OWN, "graph --engine=own --by=line --labels -o {o}.svg", NULL},
    {PT_SMALL_OWN, "graph -o {o}.dot", NULL},
    {PT_SMALL_OWN, "dump", NULL},
    {PT_SMALL_OWN, "dump --json", NULL},
    {PT_SMALL_OWN, "info", NULL},
    {PT_SMALL_OWN, "info --json", NULL},
    {PT_SMALL_OWN, "top --focus=(a|b)+c --ignore=x$ --tag-focus=k=1:5", NULL},
    {PT_SMALL_OWN, "disasm .", NULL},
    {PT_SMALL_OWN, "graph --engine=own -o {o}.pdf", NULL},
    {PT_SMALL_OWN, "dcpiprof", NULL},
    {PT_SMALL_OWN, "dcpitopcounts", NULL},
    {PT_SMALL_OWN, "dcpiwhatcg", "dcpi"},
    {PT_SMALL_OWN, "dcpitopstalls", "dcpi"},
    {PT_SMALL_OWN, "dcpilist .", "dcpi"},
    {PT_SMALL_OWN, "dcpicalc .", "dcpi"},
    {PT_SMALL_OWN, "dcpicat", "dcpi"},
    {PT_SMALL_PPROF, "top", NULL},
    {PT_SMALL_PPROF, "tree -lines", NULL},
    {PT_SMALL_PPROF, "peek=.", NULL},
    {PT_SMALL_PPROF, "traces", NULL},
    {PT_SMALL_PPROF, "tags", NULL},
    {PT_SMALL_PPROF, "raw", NULL},
    {PT_SMALL_PPROF, "dot", NULL},
    {PT_SMALL_PPROF, "dot -call_tree", NULL},
    {PT_SMALL_PPROF, "callgrind", NULL},
    {PT_SMALL_PPROF, "topproto", NULL},
    {PT_SMALL_PPROF, "list=.", NULL},
    {PT_SMALL_PPROF, "comments", NULL},
    {PT_SMALL_PROGRAM, "diff {} {}", NULL},
    {PT_SMALL_PROGRAM, "merge -o {o}.pb.gz {} {}", NULL},
    {PT_SMALL_PROGRAM, "google-pprof --text {p} {}", NULL},
    {PT_SMALL_PROGRAM, "google-pprof --text --lines {p} {}", NULL},
    {PT_SMALL_PROGRAM, "google-pprof --dot {p} {}", NULL},
    {PT_SMALL_PROGRAM, "google-pprof --callgrind {p} {}", NULL},
    {PT_SMALL_PROGRAM, "google-pprof --collapsed {p} {}", NULL},
    {PT_SMALL_PROGRAM, "google-pprof --raw {p} {}", NULL},
    {PT_SMALL_PROGRAM, "gprof {p} {}", "gmon"},
    {PT_SMALL_PROGRAM, "gprof -l {p} {}", "gmon"},
    {PT_SMALL_PROGRAM, "gprof {p} {}", "gmon-bsd"},
    {PT_SMALL_PROGRAM, "dcpidiff {} {}", "dcpi"},
    {PT_SMALL_PROGRAM, "dcpistats {} {}", "dcpi"},
};
enum { REPORTS = sizeof reports / sizeof reports[0] };

static struct {
    report *items;
    size_t count, cap;
} chosen;

static void add_report(report r, const char *word)
{
    char *name = pt_strf("%s%s", r.kind == PT_SMALL_PPROF ? "pprof -" : "", r.line);
    if (word != NULL && strstr(name, word) == NULL) {
        free(name);
        return;
    }
    r.line = name;
    PT_GROW(chosen, chosen.count + 1);
    chosen.items[chosen.count++] = r;
}

size_t pt_small_choose(const char *word)
{
    size_t i = 0;
    for (; i < REPORTS && reports[i].kind == PT_SMALL_OWN; i++)
        add_report(reports[i], word);
    for (size_t k = 0; k < pt_format_count; k++) {
        const char *const name = pt_formats[k]->name;
        if (pt_formats[k]->write == NULL) continue;
        PT_FREE char *line = pt_strf("convert --to=%s --output={o}.%s", name, name);
        add_report((report){.kind = PT_SMALL_OWN, .line = line}, word);
    }
    for (; i < REPORTS; i++)
        add_report(reports[i], word);
    return chosen.count;
}

const char *pt_small_line(size_t index)
{
    return chosen.items[index].line;
}

bool pt_small_is_for(size_t index, pt_small_kind kind, const char *format)
{
    const report *const r = &chosen.items[index];
    return r->kind == kind && (r->for_format == NULL || strcmp(r->for_format, format) == 0);
}

/* ---- one file ---- */

static struct {
    const char *path, *program, *out_path;
    pt_out out; /* standard output, for all */
    pt_cmd_context own;
    pt_common_settings common;
    pt_input_settings input;
    pt_symbol_settings symbol;
    pt_place_settings place;
    pt_pprof_session pprof;
} at;

/* ---- words of a line ---- */

typedef struct {
    const char *items[WORDS_MAX];
    size_t count;
    char memory[512];
} words;

/* Splits the line at spaces; {}, {p} and {o} become paths. */
static void split(words *w, const char *line)
{
    snprintf(w->memory, sizeof w->memory / 2, "%s", line);
    char *room = w->memory + sizeof w->memory / 2, *state = NULL;
    w->count = 0;
    for (char *word = strtok_r(w->memory, " ", &state); word != NULL && w->count + 1 < WORDS_MAX;
         word = strtok_r(NULL, " ", &state)) {
        const char *const hole = strstr(word, "{o}");
        w->items[w->count++] = strcmp(word, "{}") == 0    ? at.path
                               : strcmp(word, "{p}") == 0 ? at.program
                               : hole != NULL             ? room
                                                          : word;
        if (hole != NULL)
            room += 1 + sprintf(room, "%.*s%s%s", (int)(hole - word), word, at.out_path, hole + 3);
    }
    w->items[w->count] = NULL;
}

void pt_small_use(const char *path, const char *program, const char *out)
{
    at.path = path;
    at.program = program;
    at.out_path = out;
    const pt_option_part parts[] = {{.table = &pt_common_options, .into = &at.common},
                                    {.table = &pt_input_options, .into = &at.input},
                                    {.table = &pt_symbol_options, .into = &at.symbol},
                                    {.table = &pt_place_options, .into = &at.place}};
    pt_options_init(&(pt_options){.parts = parts, .part_count = sizeof parts / sizeof parts[0]});
    at.input.threads = 1;
    pt_out_to_fd(&at.out, STDOUT_FILENO);
}

static bool open_own(void)
{
    at.own = (pt_cmd_context){
        .command = pt_command_find("shell"),
        .args = &at.path,
        .arg_count = 1,
        .out = &at.out,
        .common = &at.common,
        .input = &at.input,
        .symbol = &at.symbol,
        .place = &at.place,
    };
    return pt_cmd_load(&at.own) == PT_EXIT_OK;
}

/* As pt_cmd_main does after a command. */
static void close_own(void)
{
    pt_profile_unref(at.own.profile);
    pt_loaded_done(&at.own.loaded);
    pt_diag_done(&at.own.diag);
    pt_pool_free(at.own.pool);
    free(at.own.title_memory);
}

static void run_own(const words *w)
{
    static const pt_look look;
    const pt_command *const command = pt_command_find(w->items[0]);
    PT_BUG_IF(command == NULL);
    pt_cmd_run_resident(&at.own, command, w->items + 1, w->count - 1, &at.out, &look);
    pt_out_flush(&at.out, NULL);
}

static bool open_pprof(void)
{
    const pt_pprof_source source = {
        .sources = &at.path, .source_count = 1, .symbolize = "none", .seconds = -1, .timeout = -1};
    return pt_pprof_fetch(&source, &at.pprof, NULL) == PT_OK;
}

/* The first two words are "pprof" and the command; the others configure it. */
static void run_pprof(const words *w)
{
    char name[32];
    const char *const equals = strchr(w->items[1], '=');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(w->items[1] + 1, "="), w->items[1] + 1);
    const pt_pprof_command *const command = pt_pprof_command_find(name);
    PT_BUG_IF(command == NULL);
    pt_pprof_config config;
    pt_option_part part = {.table = &pt_pprof_config_options, .into = &config};
    const pt_options options = {.parts = &part, .part_count = 1, .syntax = PT_SYNTAX_GO};
    pt_option_list operands = {0};
    pt_options_init(&options);
    const pt_status status =
        pt_options_parse(&options, w->items + 2, w->count - 2, &operands, NULL);
    PT_BUG_IF(status != PT_OK || operands.count > 0);
    pt_pprof_run(&at.pprof, &config, command, equals != NULL ? equals + 1 : NULL, &at.out, NULL);
    pt_out_flush(&at.out, NULL);
    free(operands.items);
    pt_options_done(&options);
}

bool pt_small_open(pt_small_kind kind)
{
    switch (kind) {
    case PT_SMALL_OWN: return open_own();
    case PT_SMALL_PPROF: return open_pprof();
    default: return true;
    }
}

void pt_small_close(pt_small_kind kind, bool is_open)
{
    if (kind == PT_SMALL_OWN) close_own();
    if (kind == PT_SMALL_PPROF && is_open) pt_pprof_session_done(&at.pprof);
}

void pt_small_run(size_t index)
{
    words w;
    const report *const r = &chosen.items[index];
    split(&w, r->line);
    switch (r->kind) {
    case PT_SMALL_OWN: run_own(&w); break;
    case PT_SMALL_PPROF: run_pprof(&w); break;
    default: {
        char *args[WORDS_MAX + 1] = {(char *)(uintptr_t) "pitot"};
        memcpy(args + 1, w.items, (w.count + 1) * sizeof *args);
        pt_cmd_main((int)w.count + 1, args);
    }
    }
}
