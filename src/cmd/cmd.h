/* cmd.h: the struct of a command, and the declarations that all commands share. Each command is one
 * file; commands.def lists pitot's own commands, one X(name) per line, in the order of help.
 *
 *     typedef struct { bool gzip; } squeeze_settings;
 *     static const pt_option squeeze_rows[] = { ... base/options.h ... };
 *     static const pt_option_table squeeze_options = PT_OPTION_TABLE(squeeze_rows);
 *     static int squeeze_run(pt_cmd_context *context, void *settings) { ... return PT_EXIT_OK; }
 *     const pt_command pt_command_squeeze = {
 *         PT_COMMAND(squeeze), .group = PT_GROUP_FILES, .summary = "make a profile smaller",
 *         .arguments = "PROFILE...", .needs = PT_NEEDS_PROFILE, ...};
 *
 * The driver (run.c) parses the options into the settings, loads, symbolizes and filters the
 * profile as `needs` requires, and calls run, whose result is the exit status. Help, man page and
 * completion come from the same struct.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/options.h"
#include "base/pool.h"
#include "load/load.h"
#include "model/profile.h"
#include "render/look.h"
#include "render/report.h"
#include "terminal/message.h"
#include "transform/filter.h"
#include "transform/query.h"

typedef enum {
    PT_GROUP_COLLECT,
    PT_GROUP_ANSWER,
    PT_GROUP_FILES,
    PT_GROUP_DCPI,
    PT_GROUP_HELP,
} pt_command_group;
#define PT_GROUP_COUNT 5

/* Bits of pt_command.needs. "->x" is a field of pt_cmd_context. A name after a colon is the command
 * that has the bit. */
enum {
    /* The arguments are profiles and programs, in any order: ->loaded, ->profile. Adds the options
       of reading (--from, --strict, --max-memory). The default argument is pitot.pb.gz. */
    PT_NEEDS_PROFILE = 1 << 0,
    /* ->profile has names and lines; adds the options of symbolizing. */
    PT_NEEDS_SYMBOLS = 1 << 1,
    /* Offers the options of symbolizing; the command calls pt_cmd_symbolize itself if it needs
     * names. */
    PT_OFFERS_SYMBOLS = 1 << 4,
    /* Adds the options of finding programs and debug files. PT_NEEDS_SYMBOLS and PT_OFFERS_SYMBOLS
     * also add these options. */
    PT_OFFERS_PLACES = 1 << 5,
    /* Adds the options of the query: fills ->query, and the query's results ->answer, ->event,
     * ->whole. */
    PT_NEEDS_QUERY = 1 << 2,
    /* Keeps frames that the profile marks as uninteresting: dump, filter. */
    PT_NEEDS_ALL_FRAMES = 1 << 3,
    /* The command has the options of its other bits, but loads, symbolizes and filters by itself:
     * diff, ci. */
    PT_LOADS_ITSELF = 1 << 6,
    /* The first argument is a pattern: ->pattern. */
    PT_TAKES_PATTERN = 1 << 7,
    /* The first argument is a pattern if it is not a file. ->pattern is this pattern or NULL. */
    PT_MAY_TAKE_PATTERN = 1 << 12,
    /* Frames of an interpreter's own code stay, whatever --native says: why, filter. */
    PT_NEEDS_NATIVE_FRAMES = 1 << 13,
    /* A merge of several profiles has the events of all profiles, not only their common events. */
    PT_NEEDS_ALL_EVENTS = 1 << 8,
    /* Facts of ->diag are printed one by one, not summed up. */
    PT_TELLS_ALL = 1 << 9,
    /* The command also reads call arcs; a profile without samples may have arcs. */
    PT_READS_CALLS = 1 << 10,
    /* Fills ->as_read: serve, report. */
    PT_KEEPS_READ = 1 << 11,
    /* --base keeps the samples of both sides apart, as --diff-base does: flame, serve, report. */
    PT_MARKS_BASE = 1 << 14,
    /* Fills ->side: serve, report. */
    PT_KEEPS_SIDES = 1 << 15,
    /* Answers until the user ends it, instead of printing a report: serve, shell. */
    PT_ANSWERS_LINES = 1 << 16,
};

struct pt_cmd_context;

typedef struct pt_command {
    const char *name;
    const char *const *aliases; /* NULL, or NULL-terminated */
    pt_command_group group;
    const char *summary;         /* one line for the list, without a full stop */
    const char *arguments;       /* "[PROGRAM] [PROFILE...]"; "" = takes none */
    const char *description;     /* paragraphs for help and man page, separated by empty lines */
    const char *const *examples; /* NULL, or pairs of a command line and its description, ended by
                                  * NULL */
    unsigned needs;              /* PT_NEEDS_x */
    size_t max_args;             /* 0 = none, SIZE_MAX = any number */
    pt_option_syntax syntax;     /* syntax of the command line; 0 = pitot's own */
    bool stands_in;              /* a link to pitot with the command's name runs it */
    bool stops_at_argument;      /* words after the first argument are no options: record COMMAND */
    bool keeps_dashes; /* "--" is itself an argument, which divides the other arguments: diff A...
                        * -- B... */
    const pt_option_table *options; /* NULL, or the command's own options */
    size_t settings_bytes;          /* size of the settings struct that the options fill */
    int (*run)(struct pt_cmd_context *context, void *settings);
    /* A personality (a stand-in for another tool) has this function instead of `run`. The function
     * parses the whole command line. It is also called for a link to pitot with the command's
     * name. */
    int (*personality)(const char *const *args, size_t count);
} pt_command;

/* The fields that follow from a command's name: NAME_options, NAME_settings, NAME_run. */
#define PT_COMMAND(command)                                                                        \
    .name = #command, .options = &command##_options, .settings_bytes = sizeof(command##_settings), \
    .run = command##_run

/* All commands, in the order of src/main/commands.c, which defines the table; NULL at the end. */
extern const pt_command *const pt_commands[];
/* Finds a command by its name or alias; NULL if there is none. */
const pt_command *pt_command_find(const char *name);
/* The command whose name is most similar to a wrong word; NULL if none is similar. */
const pt_command *pt_command_nearest(const char *word);

/* The data of one run of a command. The driver makes and frees it. */
typedef struct pt_cmd_context {
    const pt_command *command;
    const char *const *args; /* the command line without options */
    size_t arg_count;
    const char *pattern;               /* PT_TAKES_PATTERN: the first argument */
    struct pt_common_settings *common; /* options of every command */
    struct pt_input_settings *input;   /* options of reading */
    struct pt_symbol_settings *symbol; /* options of symbolizing */
    struct pt_place_settings *place;   /* options of finding programs and debug files */
    struct pt_base_settings *base;     /* options of subtracting other profiles */
    bool resident;          /* in the shell, which owns ->loaded, ->profile and ->title */
    bool brief;             /* `pitot` alone: help in ten lines */
    pt_out *out;            /* standard output; the driver reports its errors */
    struct pt_pager *pager; /* gets the bytes that are written to out; NULL if there is no pager */
    pt_look look;           /* of standard output */
    pt_pool *pool;          /* PT_NEEDS_PROFILE: as many threads as -j says */
    pt_progress *progress;  /* NULL if nobody waits at a terminal */
    pt_diag diag;           /* facts for standard error, printed at the end */

    /* PT_NEEDS_PROFILE */
    pt_loaded loaded;
    const pt_profile *profile; /* as loaded; symbolized if the command or its user requests it */
    const pt_profile *as_read; /* PT_KEEPS_READ: the profile before symbolizing; or NULL */
    /* PT_KEEPS_SIDES, if ->profile is a difference: [PT_BEFORE] is the subtracted profile,
     * [PT_AFTER] the profile from which it was subtracted (view/diff.h); else both are NULL */
    const pt_profile *side[2];
    bool confined;                /* for a page: shows no source file that only the profile names */
    struct pt_peek_shared *peeks; /* the graph that all peeks of a page share; NULL: each peek makes
                                   * its own graph */
    const char *stdin_name;       /* the name of standard input; NULL: "standard input" */
    const char *title;            /* the profile's file name, or "N profiles" */
    char *title_memory;           /* the part of title to free */

    /* PT_NEEDS_QUERY */
    pt_query query;
    char *query_text;         /* the query as options of a command line */
    pt_filtered filtered;     /* the dropped samples, by reason */
    const pt_profile *answer; /* the part of profile that matches */
    uint32_t event;           /* the chosen event */
    int64_t whole;            /* the value of 100 % */
    pt_report_head head;      /* for the renderers */
} pt_cmd_context;

/* Prints a message about a wrong command line, with the command for help. Returns PT_EXIT_USAGE. */
int pt_cmd_usage(const pt_cmd_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs a command on the profile that `base` has loaded, for the shell and for pages. args: options
 * of the command and of the query, and the command's pattern. The report goes to out. Returns the
 * exit status. */
int pt_cmd_run_resident(const pt_cmd_context *base, const pt_command *command,
                        const char *const *args, size_t count, pt_out *out, const pt_look *look);

/* The memory limit of a command, in bytes: --max-memory (chosen; 0 = not given), else
 * PT_MEMORY_VARIABLE of the environment, else a quarter of the machine's or container's memory.
 * *ret_is_chosen is true if the limit comes from the option or the variable. Returns PT_EXIT_OK, or
 * PT_EXIT_USAGE, after a message, if the variable is not a size. */
int pt_cmd_memory_allowed(uint64_t chosen, uint64_t *ret_bytes, bool *ret_is_chosen);

/* The whole program, called by main(). Returns the exit status. */
int pt_cmd_main(int argc, char **argv);
