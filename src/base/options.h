/* options.h: command lines as tables. A row tells everything about an option: how it is spelled,
 * what it takes, where the value goes, what help and man page say. Parsing, help, man page,
 * completion and printing a filled struct back as a command line all read the same rows.
 *
 *     typedef struct { int64_t rows; const char *focus; bool color; } top_settings;
 *     static const pt_option top_rows[] = {
 *         {.name = "rows", .letter = 'n', .type = PT_OPT_INT, .offset = offsetof(top_settings,
 * rows), .initial = "20", .metavar = "N", .help = "show this many rows; 0 shows all"},
 *         ...
 *     };
 *     static const pt_option_table top_table = PT_OPTION_TABLE(top_rows);
 *
 * A command's options are a list of parts, each a table and the struct that it fills.
 */
#ifndef PT_BASE_OPTIONS_H
#define PT_BASE_OPTIONS_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>

typedef enum {              /* what the field at offset is */
               PT_OPT_FLAG, /* bool; takes no argument */
               PT_OPT_SET,  /* int, or an enum; takes no argument and stores .min (--json: format =
                               1) */
               PT_OPT_INT,  /* int64_t, in [min, max] unless both are 0 */
               PT_OPT_SIZE, /* uint64_t bytes: 64k, 1.5G */
               PT_OPT_DOUBLE, /* double */
               PT_OPT_STRING, /* const char *, borrowed from the arguments or the row; NULL when not
                                 given */
               PT_OPT_LIST,   /* pt_option_list; may be given several times */
               PT_OPT_CHOICE, /* int, or an enum: the position in .choices */
               PT_OPT_DURATION, /* int64_t nanoseconds, at least min: 10s, 500ms; a bare number is
                                   seconds */
               PT_OPT_PERCENT,  /* double, a share from 0 to 1: 5% */
} pt_option_type;

typedef enum {
    PT_OPT_NEGATABLE = 1, /* --no-x: false; for the other types 0, NULL or no items */
    PT_OPT_HIDDEN = 2,    /* works, but is not shown */
} pt_option_flags;

typedef struct pt_option {
    const char *name; /* long, without dashes; NULL if there is a letter only */
    char letter;      /* or 0 */
    pt_option_type type;
    unsigned flags;
    size_t offset; /* of the field in the part's struct */
    const char
        *initial; /* what it is when not given, as one would type it; NULL = 0, false, none */
    const char
        *bare; /* the argument is optional (--color[=WHEN], -c=WHEN): what --color alone means
                */
    const char *choices; /* CHOICE: "text json csv" */
    int64_t min, max;
    const char *aliases; /* other long spellings: "no-limit all" */
    const char *metavar; /* "FILE"; a default by type if NULL */
    const char *help;    /* one line, lower case, no full stop */
    const char *details; /* more for the man page, or NULL */
    const char *group;   /* a heading that begins here; NULL continues the one before */
} pt_option;

typedef struct pt_option_table {
    const pt_option *rows;
    size_t count;
} pt_option_table;
#define PT_OPTION_TABLE(array)                                                                     \
    {                                                                                              \
        array, sizeof(array) / sizeof((array)[0])                                                  \
    }

/* Items are borrowed from the arguments; the array is freed by pt_options_done (or with free). */
typedef struct pt_option_list {
    const char **items;
    size_t count;
} pt_option_list;

typedef enum {
    PT_SYNTAX_OWN,    /* --x=v --x v -xv -x v, -ab for flags, --no-x, -- ends; exact names */
    PT_SYNTAX_GO,     /* Go's flag package: -x=v --x=v -x v, -x and -x=false for flags; the first
                         operand ends */
    PT_SYNTAX_GETOPT, /* getopt_long: as own, and unique beginnings of long names */
    PT_SYNTAX_PERL,   /* Getopt::Long: one dash or two, unique beginnings, any case, --nox */
} pt_option_syntax;

typedef struct pt_option_part {
    const pt_option_table *table;
    void *into;  /* the struct; may be NULL for help, man page and completion */
    bool *given; /* NULL, or a bool a row that parsing sets to true */
} pt_option_part;

typedef struct pt_options {
    const pt_option_part *parts;
    size_t part_count;
    pt_option_syntax syntax;
    bool stop_at_operand; /* what follows the first operand is not ours: record COMMAND... */
} pt_options;

/* Sets every field to what it is when not given (lists to empty). */
void pt_options_init(const pt_options *options);
/* Frees the arrays of lists. */
void pt_options_done(const pt_options *options);

/* Reads args (without the program's name) into the structs. What are no options go to
 * *ret_operands, to be freed with free(ret_operands->items). On failure PT_ERR_USAGE with a message
 * that names the option, what is wrong with it and what would be right, or the nearest name. */
pt_status pt_options_parse(const pt_options *options, const char *const *args, size_t count,
                           pt_option_list *ret_operands, pt_error *reterr);

/* Sets one option by its long name, as a URL or a shell does; value NULL: given without. Flags take
 * true and false. value must live as long as the struct. */
pt_status pt_options_set(const pt_options *options, const char *name, const char *value,
                         pt_error *reterr);

/* Appends the options that are not at their initial values, in own syntax and quoted for a shell,
 * with a space between: parsing that gives the same structs. */
void pt_options_print(const pt_options *options, pt_buf *buf);

/* Help: a line or more an option, wrapped at columns (at least 40). */
void pt_options_help(const pt_options *options, unsigned columns, pt_out *out);
/* The same as roff for a man page: .SS a group, .TP an option, with details. */
void pt_options_man(const pt_options *options, pt_out *out);
/* A line a spelling for completion scripts: spelling, tab, "flag", "value" or "choice", tab,
 * metavar or choices, tab, help. Optional arguments count as flags. */
void pt_options_complete(const pt_options *options, pt_out *out);

/* For a test of the tables: appends a line for everything that is wrong with them (two options of
 * one spelling, no help, an initial value that does not parse, ...) and returns how many lines. */
size_t pt_options_check(const pt_options *options, pt_buf *problems);

/* The word nearest to what was typed, by edits (letters missing, added, changed, two exchanged),
 * without regard to case; NULL if none is near enough to be meant. A word that begins with what was
 * typed is near. The first of equals. */
const char *pt_nearest(const char *typed, const char *const *words, size_t count);

/* Appends text as a shell needs it: as it is, or in single quotes. */
void pt_put_quoted(pt_buf *buf, const char *text);

#endif
