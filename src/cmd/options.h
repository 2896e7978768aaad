/* options.h: the options that commands share, and a command's options as a whole. */
#pragma once

#include "cmd/cmd.h"
#include "symbolize/symbolize.h"

typedef enum { PT_WHEN_AUTO, PT_WHEN_ALWAYS, PT_WHEN_NEVER } pt_when;

/* Options of every command. */
typedef struct pt_common_settings {
    bool help, pager;
    pt_when color;
} pt_common_settings;

/* Options of commands that read profiles. */
typedef struct pt_input_settings {
    const char *from;
    uint64_t max_memory;
    bool strict, annotate;
    int64_t threads;
    int64_t seconds, timeout; /* duration and time limit of requests to servers; 0 = the default of
                               * load/fetch.h */
    const char *tls_cert, *tls_key, *tls_ca;
} pt_input_settings;

/* Options of commands that show names. */
typedef struct pt_symbol_settings {
    enum { PT_SYMBOLS_AUTO, PT_SYMBOLS_FULL, PT_SYMBOLS_SYMBOLS, PT_SYMBOLS_OFF } symbols;
    pt_demangle_mode demangle;
    bool force, long_names;
} pt_symbol_settings;

/* Options of commands that search for programs, libraries and debug files. */
typedef struct pt_place_settings {
    pt_option_list binary_dirs, debug_dirs;
    bool debuginfod; /* ask servers */
    bool cache;      /* keep names and files that were found, for later runs */
    uint64_t cache_bytes;
} pt_place_settings;

/* The options that name the profiles to subtract, for commands that report on one profile. */
typedef struct pt_base_settings {
    pt_option_list base, diff_base;
    bool normalize;
} pt_base_settings;

extern const pt_option_table pt_base_options;
extern const pt_option_table pt_common_options;
extern const pt_option_table pt_input_options;
extern const pt_option_table pt_symbol_options;
extern const pt_option_table pt_place_options;
extern const pt_option_table pt_query_options; /* fill a pt_query */
/* Calls `use` for each option of a query that is not at its default, with the option's value as a
 * user would type it ("true" for a flag). */
void pt_query_each(const pt_query *query,
                   void (*use)(void *context, const pt_option *row, const char *value),
                   void *context);

/* The options of a command: first its own options, then the options that it shares with other
 * commands. */
typedef struct pt_command_options {
    pt_option_part parts[7];
    pt_options options; /* points into this struct, so do not copy the struct */
} pt_command_options;

/* Lists the options of a command. Parsing puts values into *settings (the command's own options)
 * and *context (shared options); both are NULL for help, man page and completion. */
void pt_command_options_init(pt_command_options *ret, const pt_command *command, void *settings,
                             pt_cmd_context *context);

/* Rows for a struct with a flag and a list of labels: --private, --keep-labels. */
#define PT_PRIVATE_ROWS(settings, flag, keep)                                                      \
    PT_ROW("private", FLAG, settings, flag,                                                        \
                                                                                                   \
           .help = "remove what identifies people and machines, before you send it",               \
           .details =                                                                              \
               "Of paths the file's name stays, and the first folders of the system's files; "     \
               "addresses (https://...) and paths in names go; of labels those of pitot stay: "    \
               "process, thread, cpu, time, wait, mark; host, system, processor, command line "    \
               "and comments go. Names of functions, files, processes and threads, build ids, "    \
               "times and values stay. A report then has neither source nor instructions."),       \
    {                                                                                              \
        .name = "keep-labels", .type = PT_OPT_STRING, .offset = offsetof(settings, keep),          \
        .metavar = "KEY,KEY", .help = "with --private: keep these labels as they are",             \
        .details = "Such as handler,status: labels that the program has set, and data of marks "   \
                   "(data.URI)."                                                                   \
    }
