/* options.h: command lines as tables. A row holds every fact about an option: spelling, argument,
 * the field for its value, the texts of help and man page. The same rows serve for parsing, help,
 * man page and completion, and to print a filled struct as a command line.
 *
 *     typedef struct { int64_t rows; const char *focus; bool color; } top_settings;
 *     static const pt_option top_rows[] = {
 *         PT_ROW("rows", INT, top_settings, rows, .letter = 'n', .initial = "20", .metavar = "N",
 *                .help = "show this many rows; 0 shows all"),
 *         ...
 *     };
 *     static const pt_option_table top_table = PT_OPTION_TABLE(top_rows);
 *
 * The options of a command are a list of parts. A part is a table and the struct that it fills.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>

typedef enum {              /* type of the field at offset */
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
    PT_OPT_NEGATABLE = 1, /* --no-x sets the field to false, 0, NULL or no items, by its type */
    PT_OPT_HIDDEN = 2,    /* parsed, but absent from help */
    PT_OPT_MAY_LACK = 4,  /* PERCENT: the field is NAN, not 0, when the option is not given */
} pt_option_flags;

typedef struct pt_option {
    const char *name; /* long, without dashes; NULL if there is a letter only */
    char letter;      /* or 0 */
    pt_option_type type;
    unsigned flags;
    size_t offset; /* of the field, in the part's struct */
    const char
        *initial; /* default value, in the spelling of the command line; NULL = 0, false or none */
    const char
        *bare; /* not NULL: the argument is optional (--color[=WHEN], -c=WHEN), and this is the
                  value of --color alone */
    const char *choices; /* CHOICE: "text json csv" */
    int64_t min, max;
    const char *aliases; /* other long spellings: "no-limit all" */
    const char *metavar; /* "FILE"; a default by type if NULL */
    const char *help;    /* description: one line, lower case, no full stop */
    const char *details; /* further text for the man page, or NULL */
    const char *group; /* heading of the group that begins at this row; NULL continues the group */
} pt_option;

typedef struct pt_option_table {
    const pt_option *rows;
    size_t count;
} pt_option_table;
#define PT_OPTION_TABLE(array)                                                                     \
    {                                                                                              \
        array, sizeof(array) / sizeof((array)[0])                                                  \
    }

/* The values of a PT_OPT_LIST. Items are borrowed from the arguments; pt_options_done (or free)
 * frees the array. */
typedef struct pt_option_list {
    const char **items;
    size_t count;
} pt_option_list;

/* A row: PT_ROW(NAME, TYPE, STRUCT, FIELD, ...). TYPE is a pt_option_type without PT_OPT_; a FIELD
 * that a value of TYPE cannot fill does not compile. The further arguments are initialisers of
 * other members of pt_option. */
#define PT_ROW(spelling, kind, settings, field, ...)                                               \
    {                                                                                              \
        .name = (spelling), .type = PT_OPT_##kind,                                                 \
        .offset = offsetof(settings, field) *                                                      \
                  _Generic(((settings *)NULL)->field, PT_OPTION_FIELD_##kind : 1),                 \
        __VA_ARGS__                                                                                \
    }
#define PT_OPTION_FIELD_FLAG     bool
#define PT_OPTION_FIELD_SET      int : 1, unsigned
#define PT_OPTION_FIELD_CHOICE   int : 1, unsigned
#define PT_OPTION_FIELD_INT      int64_t
#define PT_OPTION_FIELD_SIZE     uint64_t
#define PT_OPTION_FIELD_DOUBLE   double
#define PT_OPTION_FIELD_STRING   const char *
#define PT_OPTION_FIELD_LIST     pt_option_list
#define PT_OPTION_FIELD_DURATION int64_t
#define PT_OPTION_FIELD_PERCENT  double

typedef enum {
    PT_SYNTAX_OWN,    /* --x=v --x v -xv -x v, -ab for flags, --no-x, -- ends; exact names */
    PT_SYNTAX_GO,     /* Go's flag package: -x=v --x=v -x v, -x and -x=false for flags; the first
                         operand ends */
    PT_SYNTAX_GETOPT, /* getopt_long: as own, and unique beginnings of long names */
    PT_SYNTAX_PERL,   /* Getopt::Long: one dash or two, unique beginnings, any case, --nox */
} pt_option_syntax;

typedef struct pt_option_part {
    const pt_option_table *table;
    void *into;  /* the struct to fill; may be NULL for help, man page and completion */
    bool *given; /* NULL, or one bool for each row; parsing sets the bools of the given options to
                  * true */
} pt_option_part;

typedef struct pt_options {
    const pt_option_part *parts;
    size_t part_count;
    pt_option_syntax syntax;
    bool stop_at_operand; /* the first operand ends the options: record COMMAND... */
    bool keeps_dashes;    /* "--" ends the options and is itself an operand: diff A... -- B... */
    /* May be NULL. Called before an option is refused. Returns the message for an option that users
     * of other tools type, or NULL for the usual message. `value` is NULL if the option is unknown.
     */
    const char *(*answer)(const void *arg, const char *spelling, const char *value);
    const void *answer_arg;
} pt_options;

/* Sets every field to its default (lists to empty). */
void pt_options_init(const pt_options *options);
/* Frees the arrays of all lists. */
void pt_options_done(const pt_options *options);

/* Parses args (without the program's name) into the structs. *ret_operands receives the arguments
 * that are not options; the caller frees ret_operands->items. PT_ERR_USAGE with a message that
 * names the option, the fault, and the valid values or the nearest name. */
pt_status pt_options_parse(const pt_options *options, const char *const *args, size_t count,
                           pt_option_list *ret_operands, pt_error *reterr);

/* Sets one option by its long name, for a URL or a shell. If value is NULL, the option is set as if
 * it was given without an argument. Flags accept true and false. value must live as long as the
 * struct. */
pt_status pt_options_set(const pt_options *options, const char *name, const char *value,
                         pt_error *reterr);

/* Appends the value of an option as a user would type it, unquoted: "true", "json", "1.5s". NULL
 * strings and lists append nothing. */
void pt_option_put_value(pt_buf *buf, const pt_option *row, const void *field);
/* Appends the options whose values differ from their defaults, in PT_SYNTAX_OWN, quoted for a shell
 * and separated by spaces. Parsing the text gives the same structs. */
void pt_options_print(const pt_options *options, pt_buf *buf);

/* Writes the help: each option in one or more lines, wrapped at columns (at least 40). */
void pt_options_help(const pt_options *options, unsigned columns, pt_out *out);
/* Writes the help as roff for a man page: .SS for a group, .TP for an option, with details. */
void pt_options_man(const pt_options *options, pt_out *out);
/* Puts text for a man page: roff's characters escaped, lines of at most 76 bytes unless a word is
 * longer, .PP (a new paragraph) for each empty line of the text. */
void pt_put_roff(pt_out *out, const char *text);
/* Writes one line for each spelling, for completion scripts. Its fields, separated by tabs, are:
 * spelling; "flag", "value" or "choice"; metavar or choices; help. An option with an optional
 * argument counts as a flag. */
void pt_options_complete(const pt_options *options, pt_out *out);

/* The word nearest to `typed` by edit distance (insertion, deletion, substitution, transposition),
 * in which upper and lower case are equal. A word that begins with `typed` is near. If several
 * words are equally near, returns the first. Returns NULL if no word is near enough. */
const char *pt_nearest(const char *typed, const char *const *words, size_t count);

/* Appends text as one word of a shell command, in single quotes where necessary. */
void pt_put_quoted(pt_buf *buf, const char *text);
