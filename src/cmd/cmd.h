/* cmd.h: what a command is to the rest of src/cmd: a constant struct. One file a command;
 * commands.def lists pitot's own, one X(name) a line, in the order in which help shows them.
 *
 *     typedef struct { bool gzip; } squeeze_settings;
 *     static const pt_option squeeze_options[] = { ... base/options.h ... };
 *     static int squeeze_run(pt_cmd_context *context, void *settings) { ... return PT_EXIT_OK; }
 *     const pt_command pt_command_squeeze = {
 *         .name = "squeeze", .group = PT_GROUP_FILES, .summary = "make a profile smaller",
 *         .arguments = "PROFILE...", .needs = PT_NEEDS_PROFILE,
 *         .options = &squeeze_table, .settings_bytes = sizeof(squeeze_settings),
 *         .run = squeeze_run, ...};
 *
 * The driver (run.c) parses the options into the settings, loads, symbolizes and filters what
 * `needs` asks for, and calls run; what run returns is the exit status. Help, man page and
 * completion come from the same struct.
 */
#ifndef PT_CMD_CMD_H
#define PT_CMD_CMD_H

#include "base/buf.h"
#include "base/error.h"
#include "base/options.h"
#include "base/pool.h"
#include "load/load.h"
#include "model/profile.h"
#include "render/look.h"
#include "render/report.h"
#include "transform/filter.h"
#include "transform/query.h"

/* The name that `record` writes to and reports read when nothing is named. */
#define PT_DEFAULT_PROFILE "pitot.pb.gz"

/* Where --max-memory is not given, and for programs that have no such option. */
#define PT_MEMORY_VARIABLE "PITOT_MAX_MEMORY"

/* Exit statuses; `pitot help` lists them. */
typedef enum {
    PT_EXIT_OK = 0,
    PT_EXIT_FAILED = 1,   /* it could not be done */
    PT_EXIT_USAGE = 2,    /* wrong usage */
    PT_EXIT_NO_MATCH = 3, /* nothing matched */
    PT_EXIT_DAMAGED = 4,  /* answered, from damaged input */
    PT_EXIT_CHANGED = 5,  /* diff --fail-above: it changed by more */
} pt_exit;

typedef enum {
    PT_GROUP_COLLECT,
    PT_GROUP_ANSWER,
    PT_GROUP_FILES,
    PT_GROUP_DCPI,
    PT_GROUP_HELP,
} pt_command_group;
#define PT_GROUP_COUNT 5

enum {
    /* The arguments are profiles and programs, in any order: context->loaded, ->profile. Adds the
     * options of reading (--from, --strict, --max-memory). Without an argument pitot.pb.gz. */
    PT_NEEDS_PROFILE = 1 << 0,
    /* ->profile has names and lines; adds the options of symbolizing. */
    PT_NEEDS_SYMBOLS = 1 << 1,
    /* Offers the options of symbolizing; the command calls pt_cmd_symbolize itself if it has to. */
    PT_OFFERS_SYMBOLS = 1 << 4,
    /* Offers the options that tell where names come from, which come with the two above. */
    PT_OFFERS_PLACES = 1 << 5,
    /* Takes the analysis options: ->query, and what it leaves: ->answer, ->event, ->whole. */
    PT_NEEDS_QUERY = 1 << 2,
    /* Frames that the profile itself calls uninteresting stay: dump. */
    PT_NEEDS_ALL_FRAMES = 1 << 3,
    /* Has the options that the others stand for, but loads, symbolizes and asks by itself: diff. */
    PT_LOADS_ITSELF = 1 << 6,
    /* The first argument is no profile but a pattern: ->pattern. */
    PT_TAKES_PATTERN = 1 << 7,
    /* The first argument is a pattern if it is no file: ->pattern, or NULL. */
    PT_MAY_TAKE_PATTERN = 1 << 12,
    /* Frames of an interpreter's own code stay, whatever --native says: why. */
    PT_NEEDS_NATIVE_FRAMES = 1 << 13,
    /* Several profiles give the events of all of them, not those that they have in common. */
    PT_NEEDS_ALL_EVENTS = 1 << 8,
    /* All that was noticed is told line by line, however much alike. */
    PT_TELLS_ALL = 1 << 9,
    /* Answers from call arcs, too: a profile without samples may have some. */
    PT_READS_CALLS = 1 << 10,
    /* ->as_read is kept. */
    PT_KEEPS_READ = 1 << 11,
};

struct pt_cmd_context;

typedef struct pt_command {
    const char *name;
    const char *const *aliases; /* NULL, or NULL-terminated */
    pt_command_group group;
    const char *summary;         /* one line for the list, without a full stop */
    const char *arguments;       /* "[PROGRAM] [PROFILE...]"; "" = takes none */
    const char *description;     /* paragraphs for help and man page, separated by empty lines */
    const char *const *examples; /* NULL, or pairs: command line, what it does; then NULL */
    unsigned needs;              /* PT_NEEDS_x */
    size_t max_args;             /* 0 = none, SIZE_MAX = any number */
    pt_option_syntax syntax;     /* of its command line; 0 = pitot's own */
    bool stands_in;              /* a link to pitot that is called like the command is it */
    bool stops_at_argument;      /* what follows the first argument is not ours: record COMMAND */
    const pt_option_table *options; /* NULL, or the command's own options */
    size_t settings_bytes;          /* of the struct that they fill */
    int (*run)(struct pt_cmd_context *context, void *settings);
    /* Of a personality instead of run: it reads its whole command line itself. A link to pitot that
     * is called like the command is the command. */
    int (*personality)(const char *const *args, size_t count);
} pt_command;

/* All commands, in the order of src/main/commands.c, which defines the table; NULL at the end. */
extern const pt_command *const pt_commands[];
/* By name or alias; NULL if there is none. */
const pt_command *pt_command_find(const char *name);
/* The command whose name is nearest to a word that is none; NULL if none is near. */
const pt_command *pt_command_nearest(const char *word);

/* What every command may use. Made by the driver; a command frees nothing of it. */
typedef struct pt_cmd_context {
    const pt_command *command;
    const char *const *args; /* what is left of the command line after the options */
    size_t arg_count;
    const char *pattern;               /* PT_TAKES_PATTERN: the argument before them */
    struct pt_common_settings *common; /* options of every command */
    struct pt_input_settings *input;   /* options of reading */
    struct pt_symbol_settings *symbol; /* options of symbolizing */
    struct pt_place_settings *place;   /* options of finding programs and debug files */
    struct pt_base_settings *base;     /* what to subtract */
    bool resident; /* in the shell: ->loaded, ->profile and ->title are there, and belong to it */
    bool brief;    /* `pitot` alone: help in ten lines */
    pt_out *out;   /* standard output; its errors are the driver's to report */
    pt_look look;  /* of standard output */
    pt_pool *pool; /* PT_NEEDS_PROFILE: as many threads as -j says */
    pt_diag diag;  /* facts that are no failure: shown on standard error at the end */

    /* PT_NEEDS_PROFILE */
    pt_loaded loaded;
    const pt_profile *profile; /* as loaded, and symbolized if so asked */
    const pt_profile *as_read; /* PT_KEEPS_READ: as it was before files gave it names; or NULL */
    bool confined;             /* a page: it shows no source that the profile alone names */
    const char *title;         /* the profile's file name, or "N profiles" */
    char *title_memory;        /* what is to be freed of it */

    /* PT_NEEDS_QUERY */
    pt_query query;
    char *query_text;         /* as it would be typed */
    pt_filtered filtered;     /* how much it dropped, and why */
    const pt_profile *answer; /* what it leaves of profile */
    uint32_t event;           /* the chosen event */
    int64_t whole;            /* what 100 % is */
    pt_report_head head;      /* for the renderers */
} pt_cmd_context;

/* "pitot: ..." on standard error. */
void pt_cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What this thread says goes into the buffer instead, without "pitot: "; NULL: no longer. */
void pt_cmd_hear(pt_buf *into);
/* Says an error and returns the exit status that it stands for. */
int pt_cmd_fail(const pt_error *error);
/* Says what is wrong with the command line and where help is; returns PT_EXIT_USAGE. */
int pt_cmd_usage(const pt_cmd_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs a command on what `base` has loaded: the shell. args are its own options, those of the query
 * and its pattern; the report goes to out. Returns the exit status. */
int pt_cmd_run_resident(const pt_cmd_context *base, const pt_command *command,
                        const char *const *args, size_t count, pt_out *out, const pt_look *look);

/* The whole program: main() is a call of this. Returns the exit status. */
int pt_cmd_main(int argc, char **argv);

#endif
