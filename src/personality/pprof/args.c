/* args.c: pprof's command line, by the rules of Go's flag package: -x, --x, -x=v, -x v; the first
 * argument that is not an option ends the options. */
#include "personality/pprof/pprof.h"
#include "personality/pprof/shell.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input.h"
#include "terminal/message.h"

/* The settings that are not part of a report's configuration. */
typedef struct {
    pt_pprof_source source;
    const char *http;
    int64_t maxdegree;
    bool inuse_space, inuse_objects, alloc_space, alloc_objects;
    bool total_delay, contentions, mean_delay;
    bool no_browser, help, h;
} own_settings;

/* The requested formats: a flag, or a pattern. */
typedef struct {
    bool asked[32];
    const char *pattern[32];
} format_settings;

#define ROW(field_, type_, initial_, help_)                                                        \
    PT_ROW(#field_, type_, own_settings, field_, .initial = initial_, .help = help_)
#define SOURCE(name_, field_, type_, initial_, help_)                                              \
    PT_ROW(#name_, type_, own_settings, source.field_, .initial = initial_, .help = help_)

static const pt_option own_rows[] = {
    SOURCE(base, base, LIST, NULL, "subtract this profile"),
    SOURCE(diff_base, diff_base, LIST, NULL, "subtract this profile; percentages are of its total"),
    SOURCE(symbolize, symbolize, STRING, NULL,
           "where names come from: none, local, fastlocal, remote, force, "
           "demangle=none|full|templates|default; joined by colons"),
    SOURCE(buildid, build_id, STRING, NULL, "build id of the main binary, if the profile has none"),
    SOURCE(add_comment, add_comment, STRING, NULL, "add this comment to the profile"),
    SOURCE(tools, tools, STRING, NULL, "where objdump is; pitot runs no addr2line and no nm"),
    SOURCE(seconds, seconds, INT, "-1", "how long to profile"),
    SOURCE(timeout, timeout, INT, "-1", "how long to wait for a profile"),
    SOURCE(tls_cert, tls_cert, STRING, NULL, "certificate of this client"),
    SOURCE(tls_key, tls_key, STRING, NULL, "private key of this client"),
    SOURCE(tls_ca, tls_ca, STRING, NULL, "certificates to trust"),
    ROW(maxdegree, INT, "0", "edges into, and out of, a node of a graph at most; 0: any number"),
    SOURCE(lib_prefix, lib_prefix, STRING, NULL,
           "folders, joined by commas, to look for programs and libraries in"),
    SOURCE(all_frames, all_frames, FLAG, NULL, "keep frames that the profile itself says to drop"),
    ROW(http, STRING, NULL, "serve a page at host:port"),
    ROW(no_browser, FLAG, NULL, "with -http: open no browser"),
    ROW(inuse_space, FLAG, NULL, "as -sample_index=inuse_space"),
    ROW(inuse_objects, FLAG, NULL, "as -sample_index=inuse_objects"),
    ROW(alloc_space, FLAG, NULL, "as -sample_index=alloc_space"),
    ROW(alloc_objects, FLAG, NULL, "as -sample_index=alloc_objects"),
    ROW(total_delay, FLAG, NULL, "as -sample_index=delay"),
    ROW(contentions, FLAG, NULL, "as -sample_index=contentions"),
    ROW(mean_delay, FLAG, NULL, "as -mean -sample_index=delay"),
    ROW(help, FLAG, NULL, "this text"),
    PT_ROW("h", FLAG, own_settings, h, .flags = PT_OPT_HIDDEN, .help = "this text"),
};
static const pt_option_table own_table = PT_OPTION_TABLE(own_rows);

typedef struct {
    pt_pprof_config config;
    own_settings own;
    format_settings formats;
    pt_option format_rows[32];
    pt_option_table format_table;
    pt_option_part parts[3];
    pt_options options;
    bool damaged; /* the report was made from damaged sources */
} flags;

static void flags_init(flags *f)
{
    _Static_assert(PT_COUNT(f->formats.asked) == 32, "as many as rows");
    PT_BUG_IF(pt_pprof_command_count > 32);
    for (size_t i = 0; i < pt_pprof_command_count; i++) {
        const pt_pprof_command *c = &pt_pprof_commands[i];
        f->format_rows[i] = (pt_option){
            .name = c->name,
            .type = c->takes_pattern ? PT_OPT_STRING : PT_OPT_FLAG,
            .offset = c->takes_pattern ? offsetof(format_settings, pattern) + i * sizeof(char *)
                                       : offsetof(format_settings, asked) + i * sizeof(bool),
            .help = c->help,
        };
    }
    f->format_table = (pt_option_table){f->format_rows, pt_pprof_command_count};
    f->parts[0] = (pt_option_part){.table = &f->format_table, .into = &f->formats};
    f->parts[1] = (pt_option_part){.table = &pt_pprof_config_options, .into = &f->config};
    f->parts[2] = (pt_option_part){.table = &own_table, .into = &f->own};
    f->options = (pt_options){.parts = f->parts, .part_count = 3, .syntax = PT_SYNTAX_GO};
    pt_options_init(&f->options);
}

/* ---- Go's flag package ---- */

static const pt_option *find_row(const flags *f, const char *name, size_t length)
{
    for (size_t p = 0; p < f->options.part_count; p++) {
        const pt_option_table *table = f->parts[p].table;
        for (size_t i = 0; i < table->count; i++)
            if (strlen(table->rows[i].name) == length &&
                strncmp(table->rows[i].name, name, length) == 0)
                return &table->rows[i];
    }
    return NULL;
}

static pt_status invalid_value(const pt_option *row, const char *value, pt_error *reterr)
{
    return pt_error_set(reterr, PT_ERR_USAGE, "invalid %svalue \"%s\" for flag -%s: parse error",
                        row->type == PT_OPT_FLAG ? "boolean " : "", value, row->name);
}

/* "true" or "false" for a text that Go's strconv.ParseBool accepts; NULL for another text. */
static const char *bool_word(const char *value)
{
    static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
                                        "0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < PT_COUNT(words); i++)
        if (strcmp(value, words[i]) == 0) return i < 6 ? "true" : "false";
    return NULL;
}

/* Parses one option at args[*at] and moves *at past it. */
static pt_status parse_one(flags *f, const char *const *args, size_t count, size_t *at,
                           pt_error *reterr)
{
    const char *arg = args[(*at)++];
    const char *name = arg + 1 + (arg[1] == '-');
    const size_t length = strcspn(name, "=");
    if (length == 0 || name[0] == '-')
        return pt_error_set(reterr, PT_ERR_USAGE, "bad flag syntax: %s", arg);
    const pt_option *row = find_row(f, name, length);
    if (row == NULL)
        return pt_error_set(reterr, PT_ERR_USAGE, "flag provided but not defined: -%.*s",
                            (int)length, name);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (row->type == PT_OPT_FLAG) {
        const char *word = bool_word(value != NULL ? value : "true");
        if (word == NULL) return invalid_value(row, value, reterr);
        return pt_options_set(&f->options, row->name, word, reterr);
    }
    if (value == NULL) {
        if (*at == count)
            return pt_error_set(reterr, PT_ERR_USAGE, "flag needs an argument: -%s", row->name);
        value = args[(*at)++];
    }
    if (pt_options_set(&f->options, row->name, value, NULL) != PT_OK)
        return invalid_value(row, value, reterr);
    return PT_OK;
}

static pt_status parse_args(flags *f, const char *const *args, size_t count, size_t *ret_operands,
                            pt_error *reterr)
{
    size_t at = 0;
    while (at < count && args[at][0] == '-' && args[at][1] != '\0') {
        if (strcmp(args[at], "--") == 0) {
            at++;
            break;
        }
        const pt_status status = parse_one(f, args, count, &at, reterr);
        if (status != PT_OK) return status;
    }
    *ret_operands = at;
    return PT_OK;
}

/* ---- The request ---- */

static void put_usage(const flags *f, int fd)
{
    pt_out out;
    pt_out_to_fd(&out, fd);
    pt_out_text(&out, "usage:\n"
                      "  pprof FORMAT [OPTIONS] [BINARY] SOURCE...   one report\n"
                      "  pprof [OPTIONS] [BINARY] SOURCE...          a shell for many\n\n"
                      "Of the formats at most one, of sort and granularity at most one each:\n\n");
    pt_options_help(&f->options, 100, &out);
    pt_out_text(&out, "\nEnvironment:\n"
                      "  PPROF_TMPDIR        where fetched profiles are kept (else $HOME/pprof)\n"
                      "  PPROF_TOOLS         as -tools\n"
                      "  PPROF_BINARY_PATH   where binaries are (else $HOME/pprof/binaries)\n");
    pt_out_done(&out, NULL);
}

static pt_status find_format(const flags *f, const pt_pprof_command **ret_command,
                             const char **ret_pattern, pt_error *reterr)
{
    *ret_command = NULL;
    *ret_pattern = NULL;
    for (size_t i = 0; i < pt_pprof_command_count; i++) {
        const char *pattern = f->formats.pattern[i];
        if (!f->formats.asked[i] && (pattern == NULL || pattern[0] == '\0')) continue;
        if (*ret_command != NULL)
            return pt_error_set(reterr, PT_ERR_USAGE, "must set at most one output format");
        *ret_command = &pt_pprof_commands[i];
        *ret_pattern = pattern;
    }
    return PT_OK;
}

/* Takes the older spellings of -sample_index; the first such option counts. */
static void choose_legacy_event(flags *f)
{
    const struct {
        bool asked;
        const char *option, *event;
    } legacy[] = {
        {f->own.total_delay, "total_delay", "delay"},
        {f->own.mean_delay, "mean_delay", "delay"},
        {f->own.contentions, "contentions", "contentions"},
        {f->own.inuse_space, "inuse_space", "inuse_space"},
        {f->own.inuse_objects, "inuse_objects", "inuse_objects"},
        {f->own.alloc_space, "alloc_space", "alloc_space"},
        {f->own.alloc_objects, "alloc_objects", "alloc_objects"},
    };
    for (size_t i = 0; i < PT_COUNT(legacy); i++) {
        if (!legacy[i].asked) continue;
        const char *chosen = f->config.sample_index;
        if (chosen == NULL || chosen[0] == '\0')
            f->config.sample_index = legacy[i].event;
        else
            pt_print_error("Multiple value selections, ignoring -%s\n", legacy[i].option);
    }
    if (f->own.mean_delay) f->config.mean = true;
    f->config.max_degree = f->own.maxdegree;
}

/* Removes empty names from the list. */
static void drop_empty(pt_option_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i][0] != '\0') list->items[kept++] = list->items[i];
    list->count = kept;
}

static pt_status check_flags(flags *f, bool has_format, pt_error *reterr)
{
    const bool http = f->own.http != NULL && f->own.http[0] != '\0';
    pt_status status = pt_pprof_config_check(&f->config, reterr);
    if (status != PT_OK) return status;
    if (has_format && http)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "-http is not compatible with an output format on the command line");
    if (f->own.no_browser && !http)
        return pt_error_set(reterr, PT_ERR_USAGE, "-no_browser only makes sense with -http");
    drop_empty(&f->own.source.base);
    drop_empty(&f->own.source.diff_base);
    if (f->own.source.base.count > 0 && f->own.source.diff_base.count > 0)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "-base and -diff_base flags cannot both be specified");
    if (f->config.normalize && f->own.source.base.count + f->own.source.diff_base.count == 0)
        return pt_error_set(reterr, PT_ERR_USAGE, "must have base profile to normalize by");
    return PT_OK;
}

/* The source that options and operands name. */
static pt_pprof_source source_of(const flags *f, const char *const *operands, size_t count)
{
    pt_pprof_source source = f->own.source;
    source.sources = operands;
    source.source_count = count;
    source.normalize = f->config.normalize;
    if (source.tools == NULL) source.tools = getenv("PPROF_TOOLS");
    if (count > 1 && pt_path_look(operands[0]) == PT_PATH_IMAGE) {
        source.program = operands[0];
        source.sources++;
        source.source_count--;
    }
    return source;
}

/* Is the report long, with a line for each frame of each sample? Long reports are written without a
 * buffer, since a failure is only possible before their first byte. */
static bool is_long(const pt_pprof_command *command)
{
    return command->format == PT_PPROF_TRACES || command->format == PT_PPROF_RAW;
}

static pt_status write_report(const pt_pprof_session *session, pt_pprof_config *config,
                              const pt_pprof_command *command, const char *pattern,
                              pt_error *reterr)
{
    PT_AUTO(pt_buf) bytes = PT_BUF_INIT;
    pt_out out;
    config->one_line = pt_pprof_shows(command, config);
    if (is_long(command) && (config->output == NULL || config->output[0] == '\0')) {
        pt_out_to_fd(&out, STDOUT_FILENO);
        const pt_status status = pt_pprof_run(session, config, command, pattern, &out, reterr);
        const pt_status sent = pt_out_done(&out, status == PT_OK ? reterr : NULL);
        return status != PT_OK || out.broken_pipe ? status : sent;
    }
    pt_out_to_buf(&out, &bytes);
    pt_status status = pt_pprof_run(session, config, command, pattern, &out, reterr);
    pt_out_done(&out, NULL);
    if (status == PT_OK) status = pt_pprof_deliver(command, config, false, &bytes, reterr);
    return status;
}

static pt_status answer_flags(flags *f, const char *const *operands, size_t count, pt_error *reterr)
{
    const pt_pprof_command *command;
    const char *pattern;
    if (count == 0) {
        put_usage(f, STDERR_FILENO);
        return pt_error_set(reterr, PT_ERR_USAGE, "no profile source specified");
    }
    pt_status status = find_format(f, &command, &pattern, reterr);
    if (status == PT_OK) status = check_flags(f, command != NULL, reterr);
    if (status != PT_OK) return status;
    choose_legacy_event(f);
    const pt_pprof_source source = source_of(f, operands, count);
    if (f->own.http != NULL && f->own.http[0] != '\0')
        return pt_pprof_http(&source, &f->config, f->own.http, f->own.no_browser, &f->damaged,
                             reterr);
    PT_AUTO(pt_pprof_session) session = {0};
    status = pt_pprof_fetch(&source, &session, reterr);
    if (status != PT_OK) return status;
    if (command != NULL)
        status = write_report(&session, &f->config, command, pattern, reterr);
    else
        pt_pprof_shell(&session, &f->config);
    f->damaged = session.damaged;
    return status;
}

int pt_pprof_main(const char *const *args, size_t count)
{
    flags f = {0};
    flags_init(&f);
    size_t first;
    int exit_status = 0;
    pt_error error = PT_ERROR_INIT;
    if (parse_args(&f, args, count, &first, &error) != PT_OK) {
        pt_print_error("%s\n", error.message);
        put_usage(&f, STDERR_FILENO);
        exit_status = PT_PPROF_EXIT;
    } else if (f.own.help || f.own.h) {
        put_usage(&f, STDOUT_FILENO);
    } else if (answer_flags(&f, args + first, count - first, &error) != PT_OK) {
        pt_print_error("%s\n", error.message);
        exit_status = PT_PPROF_EXIT;
    } else if (f.damaged) {
        exit_status = PT_EXIT_DAMAGED;
    }
    pt_options_done(&f.options);
    return exit_status;
}
