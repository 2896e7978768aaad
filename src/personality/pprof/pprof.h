/* pprof.h: the pprof personality: `pitot pprof ARGS`, or a link to pitot called pprof, acts as
 * google/pprof: it has the same options, messages, exit status and output.
 *
 *   config.c         options -> pt_pprof_config, one table for command line and shell
 *   args.c           the command line (Go's flag package) -> the requested formats
 *   fetch.c          sources and bases -> one profile with names -> pt_pprof_session
 *   run.c            session, config, command -> a report's bytes
 *   http.c           -http: session, config -> a page that is served
 *   output.c         bytes -> standard output, a file, a program that shows them
 *
 * The rules are those of google/pprof's internal/driver and of cmd/pprof in Go 1.23.
 */
#pragma once

#include "base/buf.h"
#include "base/options.h"
#include "base/pool.h"
#include "load/load.h"
#include "model/profile.h"
#include "personality/pprof/print.h"
#include "transform/query.h"

#define PT_PPROF_EXIT 2 /* the exit status of every failure */

/* pprof's configuration: the options that every report obeys and that the shell can set. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of pprof's own list */
typedef struct pt_pprof_config {
    const char *output;
    bool call_tree, relative_percentages;
    const char *unit;
    bool compact_labels;
    const char *source_path, *trim_path;
    bool intel_syntax, mean;
    const char *sample_index;
    double divide_by;
    bool normalize;
    bool flat, cum; /* sort: at most one */
    const char *tagroot, *tagleaf;
    bool drop_negative;
    int64_t nodecount;
    double nodefraction, edgefraction;
    bool trim;
    const char *focus, *ignore, *prune_from, *hide, *show, *show_from;
    const char *tagfocus, *tagignore, *tagshow, *taghide;
    bool noinlines, showcolumns;
    bool functions, filefunctions, files, lines, addresses; /* granularity: at most one */
    bool one_line;      /* not an option: each text is put on one line, since the report goes to a
                         * terminal */
    int64_t max_degree; /* edges of a node in a graph, each way; 0 = any number. Can be set only on
                         * the command line, since google/pprof has no such option */
} pt_pprof_config;

extern const pt_option_table pt_pprof_config_options;
/* Checks the configuration: PT_ERR_USAGE if several choices of one group are set. */
pt_status pt_pprof_config_check(const pt_pprof_config *config, pt_error *reterr);

/* The query of a configuration: filters, and frames made of labels. The event is not set. */
pt_query pt_pprof_query(const pt_pprof_config *config);

/* A command, which is an output format. */
typedef enum {
    PT_PPROF_TEXT,
    PT_PPROF_TREE,
    PT_PPROF_TRACES,
    PT_PPROF_TAGS,
    PT_PPROF_RAW,
    PT_PPROF_COMMENTS,
    PT_PPROF_CALLGRIND,
    PT_PPROF_PROTO,
    PT_PPROF_TOPPROTO,
    PT_PPROF_DOT,
    PT_PPROF_LIST,
    PT_PPROF_DISASM,
    PT_PPROF_WEBLIST,
    PT_PPROF_COLLAPSED,
} pt_pprof_format;

typedef struct pt_pprof_command {
    const char *name;
    pt_pprof_format format;
    bool takes_pattern;      /* -peek=REGEX */
    const char *graphviz;    /* the report is dot, sent through `dot -Tgraphviz`; or NULL */
    const char *file_suffix; /* of the numbered file that replaces output to a terminal, or NULL */
    const char *viewer; /* programs that show the output, tried in order: "evince"; "browser"; or
                            * NULL */
    const char *help;
} pt_pprof_command;
extern const pt_pprof_command pt_pprof_commands[];
extern const size_t pt_pprof_command_count;
/* The command with this name; NULL if there is none. */
const pt_pprof_command *pt_pprof_command_find(const char *name);

/* The sources of profiles, and the options of their names. */
typedef struct pt_pprof_source {
    const char *const *sources;
    size_t source_count;
    const char *program; /* object file of the main mapping, or NULL */
    pt_option_list base, diff_base;
    const char *symbolize, *build_id, *add_comment, *tools;
    int64_t seconds, timeout;
    const char *tls_cert, *tls_key, *tls_ca;
    const char *lib_prefix; /* "a,b": further folders of programs and libraries; or NULL */
    bool all_frames;
    bool normalize;
} pt_pprof_source;

/* A loaded and symbolized profile, on which commands and the shell work. */
typedef struct pt_pprof_session {
    const pt_profile *profile;
    const pt_profile *as_read; /* the profile before files gave it names; or NULL */
    pt_pool *pool;
    const char *tools; /* -tools, PPROF_TOOLS; or NULL */
    bool damaged;      /* some source could be read only in part: exit status 4 */
} pt_pprof_session;

/* Fetches and merges the sources, subtracts bases and symbolizes. Prints pprof's messages on
 * standard error. After a success the caller calls pt_pprof_session_done. */
pt_status pt_pprof_fetch(const pt_pprof_source *source, pt_pprof_session *ret_session,
                         pt_error *reterr);
void pt_pprof_session_done(pt_pprof_session *session);

/* Makes a report's bytes. pattern: the pattern of a command that takes one, else NULL. Does not
 * change the session, so that a shell never loads or symbolizes again. Notices ("Focus expression
 * matched no samples") go to standard error. */
pt_status pt_pprof_run(const pt_pprof_session *session, const pt_pprof_config *config,
                       const pt_pprof_command *command, const char *pattern, pt_out *out,
                       pt_error *reterr);

/* -weblist: pitot's own page (render/weblist.h), with the profile that the filters left. -mean is
 * refused. */
pt_status pt_pprof_weblist(const pt_pprof_session *session, const pt_pprof_config *config,
                           const pt_graph_report *report, const pt_regex *pattern,
                           const char *pattern_text, pt_out *out, pt_error *reterr);

/* The first lines of a shell: the lines of the profile's legend. *ret_total is the value of 100 %.
 * The caller frees the text. Returns NULL, with the reason, if the configuration names no event. */
char *pt_pprof_legend(const pt_pprof_session *session, const pt_pprof_config *config,
                      int64_t *ret_total, pt_error *reterr);

/* Writes a report's bytes: to -output; to a viewer; to a numbered file if the command has a
 * file_suffix and standard output is a terminal (or `interactive`); else to standard output. */
pt_status pt_pprof_deliver(const pt_pprof_command *command, const pt_pprof_config *config,
                           bool interactive, const pt_buf *report, pt_error *reterr);

/* Does pt_pprof_deliver put the report on a terminal? */
bool pt_pprof_shows(const pt_pprof_command *command, const pt_pprof_config *config);

/* -http: fetches, and serves pitot's page until a signal. */
pt_status pt_pprof_http(const pt_pprof_source *source, const pt_pprof_config *config,
                        const char *address, bool no_browser, bool *ret_damaged, pt_error *reterr);

/* The whole personality; args without the program's name. Returns the exit status. */
int pt_pprof_main(const char *const *args, size_t count);
