/* options_text.c: texts made from option tables: help, man page, completion, and a struct as a
 * command line. */
#include "base/grow.h"
#include "base/options.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HELP_COLUMN = 26 };

#define EACH_SHOWN_ROW(options, row)                                                               \
    for (size_t p = 0; p < (options)->part_count; p++)                                             \
        for (const pt_option *row = (options)->parts[p].table->rows;                               \
             row < (options)->parts[p].table->rows + (options)->parts[p].table->count; row++)      \
            if (!(row->flags & PT_OPT_HIDDEN))

static bool takes_argument(const pt_option *row)
{
    return row->type != PT_OPT_FLAG && row->type != PT_OPT_SET;
}

static const char *metavar_of(const pt_option *row)
{
    static const char *const by_type[] = {
        [PT_OPT_FLAG] = "",          [PT_OPT_SET] = "",          [PT_OPT_INT] = "N",
        [PT_OPT_SIZE] = "SIZE",      [PT_OPT_DOUBLE] = "NUMBER", [PT_OPT_STRING] = "TEXT",
        [PT_OPT_LIST] = "TEXT",      [PT_OPT_CHOICE] = "WHICH",  [PT_OPT_DURATION] = "TIME",
        [PT_OPT_PERCENT] = "PERCENT"};
    return row->metavar != NULL ? row->metavar : by_type[row->type];
}

/* The heading to print above the row, or NULL if the row continues the group. */
static const char *heading_of(const pt_option *row, bool first)
{
    return row->group != NULL ? row->group : first ? "Options" : NULL;
}

/* --- help --- */

/* "  -n, --rows=N" */
static void put_spelling(pt_buf *buf, const pt_option *row)
{
    if (row->letter != 0)
        pt_putf(buf, "  -%c%s", row->letter, row->name != NULL ? ", " : "");
    else
        pt_put_text(buf, "      ");
    if (row->name != NULL)
        pt_putf(buf, "--%s%s", row->flags & PT_OPT_NEGATABLE ? "[no-]" : "", row->name);
    if (!takes_argument(row)) return;
    const char *const joint = row->name != NULL ? "=" : " ";
    pt_putf(buf, row->bare != NULL ? "[%s%s]" : "%s%s", row->bare != NULL ? "=" : joint,
            metavar_of(row));
}

/* Puts the help text with the row's choices and default. */
static void put_help(pt_buf *buf, const pt_option *row)
{
    pt_put_text(buf, row->help);
    if (row->choices != NULL) {
        pt_put_text(buf, ": ");
        for (const char *c = row->choices; *c != '\0'; c++)
            if (*c == ' ')
                pt_put_text(buf, ", ");
            else
                pt_put_u8(buf, (uint8_t)*c);
    }
    if (row->initial != NULL && row->type != PT_OPT_SET &&
        !(row->type == PT_OPT_FLAG && strcmp(row->initial, "false") == 0))
        pt_putf(buf, " (default %s)",
                row->type != PT_OPT_FLAG            ? row->initial
                : strcmp(row->initial, "true") == 0 ? "on"
                                                    : "off");
}

/* Puts the words of text from the current column on, wrapped at `columns`; each further line begins
 * at HELP_COLUMN. */
static void put_wrapped(pt_out *out, const char *text, unsigned columns)
{
    size_t at = HELP_COLUMN;
    bool first = true;
    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        if (!first && at + 1 + n > columns) {
            pt_outf(out, "\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (!first) {
            pt_out_char(out, ' ');
            at++;
        }
        pt_out_put(out, text, n);
        at += n;
        first = false;
        text += n + strspn(text + n, " ");
    }
    pt_out_char(out, '\n');
}

void pt_options_help(const pt_options *options, unsigned columns, pt_out *out)
{
    bool first = true;
    if (columns < 40) columns = 40;
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    EACH_SHOWN_ROW(options, row)
    {
        const char *const heading = heading_of(row, first);
        if (heading != NULL) pt_outf(out, "%s%s:\n", first ? "" : "\n", heading);
        first = false;
        pt_buf_clear(&line);
        put_spelling(&line, row);
        pt_out_put(out, line.data, line.size);
        if (line.size + 2 > HELP_COLUMN)
            pt_outf(out, "\n%*s", HELP_COLUMN, "");
        else
            pt_outf(out, "%*s", (int)(HELP_COLUMN - line.size), "");
        pt_buf_clear(&line);
        put_help(&line, row);
        put_wrapped(out, pt_buf_text(&line), columns);
    }
}

/* --- man page --- */

/* The length of a word in roff, with its escapes. */
static size_t roff_length(const char *word, size_t size)
{
    size_t length = size;
    for (size_t i = 0; i < size; i++)
        length += word[i] == '\\' || word[i] == '-';
    return length;
}

static void put_roff_word(pt_out *out, const char *word, size_t size, bool begins_line)
{
    if (begins_line && (word[0] == '.' || word[0] == '\'')) pt_out_text(out, "\\&");
    for (size_t i = 0; i < size; i++) {
        if (word[i] == '\\')
            pt_out_text(out, "\\e");
        else if (word[i] == '-')
            pt_out_text(out, "\\-");
        else
            pt_out_char(out, word[i]);
    }
}

void pt_put_roff(pt_out *out, const char *text)
{
    enum { LINE_BYTES = 76 };
    size_t at = 0;
    while (*text != '\0') {
        const size_t blanks = strspn(text, " ");
        const size_t size = strcspn(text + blanks, " \n");
        const size_t length = roff_length(text + blanks, size);
        if (size > 0 && blanks > 0 && at > 0) {
            const bool fits = at + 1 + length <= LINE_BYTES;
            pt_out_char(out, fits ? ' ' : '\n');
            at = fits ? at + 1 : 0;
        }
        if (size > 0) put_roff_word(out, text + blanks, size, at == 0);
        at += length;
        text += blanks + size;
        if (*text != '\n') continue;
        pt_out_text(out, text[1] == '\n' ? "\n.PP\n" : "\n");
        text += strspn(text, "\n");
        at = 0;
    }
}

static void put_man_spelling(pt_out *out, const pt_option *row, const char *name)
{
    pt_out_text(out, "\\fB\\-\\-");
    if (row->flags & PT_OPT_NEGATABLE) pt_out_text(out, "\\fR[\\fBno\\-\\fR]\\fB");
    pt_put_roff(out, name);
    pt_out_text(out, "\\fR");
    if (!takes_argument(row)) return;
    pt_out_text(out, row->bare != NULL ? "[=\\fI" : "=\\fI");
    pt_put_roff(out, metavar_of(row));
    pt_out_text(out, row->bare != NULL ? "\\fR]" : "\\fR");
}

void pt_options_man(const pt_options *options, pt_out *out)
{
    bool first = true;
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    EACH_SHOWN_ROW(options, row)
    {
        const char *const heading = heading_of(row, first);
        first = false;
        if (heading != NULL) {
            pt_out_text(out, ".SS \"");
            pt_put_roff(out, heading);
            pt_out_text(out, "\"\n");
        }
        pt_out_text(out, ".TP\n");
        if (row->letter != 0) {
            pt_outf(out, "\\fB\\-%c\\fR", row->letter);
            if (row->name == NULL && takes_argument(row)) {
                pt_out_text(out, " \\fI");
                pt_put_roff(out, metavar_of(row));
                pt_out_text(out, "\\fR");
            }
            if (row->name != NULL) pt_out_text(out, ", ");
        }
        if (row->name != NULL) put_man_spelling(out, row, row->name);
        const char *alias, *rest = row->aliases;
        for (size_t n; (n = pt_next_word(&rest, &alias)) > 0;) {
            PT_FREE char *name = pt_strndup(alias, n);
            pt_out_text(out, ", ");
            put_man_spelling(out, row, name);
        }
        pt_out_char(out, '\n');
        pt_buf_clear(&text);
        put_help(&text, row);
        text.data[0] = (uint8_t)toupper(text.data[0]);
        pt_put_roff(out, pt_buf_text(&text));
        pt_out_text(out, ".\n");
        if (row->details != NULL) {
            pt_put_roff(out, row->details);
            pt_out_char(out, '\n');
        }
    }
}

/* --- completion --- */

static void put_completion(pt_out *out, const pt_option *row, const char *dashes, const char *name,
                           size_t length)
{
    const bool argument = takes_argument(row) && row->bare == NULL;
    pt_outf(out, "%s%.*s\t%s\t%s\t%s\n", dashes, (int)length, name,
            !argument              ? "flag"
            : row->choices != NULL ? "choice"
                                   : "value",
            row->choices != NULL ? row->choices : metavar_of(row), row->help);
}

void pt_options_complete(const pt_options *options, pt_out *out)
{
    EACH_SHOWN_ROW(options, row)
    {
        if (row->letter != 0) put_completion(out, row, "-", &row->letter, 1);
        if (row->name != NULL) put_completion(out, row, "--", row->name, strlen(row->name));
        const char *alias, *rest = row->aliases;
        for (size_t n; (n = pt_next_word(&rest, &alias)) > 0;)
            put_completion(out, row, "--", alias, n);
        if (row->name != NULL && (row->flags & PT_OPT_NEGATABLE))
            pt_outf(out, "--no-%s\tflag\t\tnot: %s\n", row->name, row->help);
    }
}

/* --- a struct as a command line --- */

void pt_put_quoted(pt_buf *buf, const char *text)
{
    bool plain = *text != '\0';
    for (const char *c = text; *c != '\0' && plain; c++)
        plain = isalnum((unsigned char)*c) || strchr("_./:=,@%+-", *c) != NULL;
    if (plain) {
        pt_put_text(buf, text);
        return;
    }
    pt_put_u8(buf, '\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            pt_put_text(buf, "'\\''");
        else
            pt_put_u8(buf, (uint8_t)*text);
    pt_put_u8(buf, '\'');
}

/* Puts the value in the largest unit that divides it: with the units 1000 = "us" and 1 = "ns", 1500
 * is "1500ns".
 */
static void put_exact(pt_buf *buf, uint64_t value, const uint64_t *steps, const char *const *names)
{
    size_t i = 0;
    while (steps[i] != 1 && (value % steps[i] != 0 || value == 0))
        i++;
    pt_putf(buf, "%" PRIu64 "%s", value / steps[i], names[i]);
}

static void put_double(pt_buf *buf, double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    pt_put_text(buf, text);
}

/* Puts the fewest decimals that parse back to the same share. */
static void put_share(pt_buf *buf, double share)
{
    char text[64];
    for (int decimals = 0; decimals <= 40; decimals++) {
        double back = 0;
        snprintf(text, sizeof text, "%.*Lf%%", decimals, (long double)share * 100);
        if (pt_parse_percent(text, &back, NULL) == PT_OK && back == share) break;
    }
    pt_put_text(buf, text);
}

void pt_option_put_value(pt_buf *buf, const pt_option *row, const void *field)
{
    static const uint64_t sizes[] = {1 << 30, 1 << 20, 1 << 10, 1};
    static const char *const size_names[] = {"G", "M", "k", ""};
    static const uint64_t times[] = {1000000000, 1000000, 1000, 1};
    static const char *const time_names[] = {"s", "ms", "us", "ns"};
    switch (row->type) {
    case PT_OPT_FLAG: pt_put_text(buf, *(const bool *)field ? "true" : "false"); break;
    case PT_OPT_SET: pt_putf(buf, "%d", *(const int *)field); break;
    case PT_OPT_INT: pt_putf(buf, "%" PRId64, *(const int64_t *)field); break;
    case PT_OPT_SIZE: put_exact(buf, *(const uint64_t *)field, sizes, size_names); break;
    case PT_OPT_DURATION:
        put_exact(buf, (uint64_t) * (const int64_t *)field, times, time_names);
        break;
    case PT_OPT_DOUBLE: put_double(buf, *(const double *)field); break;
    case PT_OPT_PERCENT:
        if (!isnan(*(const double *)field)) put_share(buf, *(const double *)field);
        break;
    case PT_OPT_STRING:
        if (*(const char *const *)field != NULL) pt_put_text(buf, *(const char *const *)field);
        break;
    case PT_OPT_CHOICE: {
        const char *word = "", *rest = row->choices;
        size_t length = 0;
        for (int i = *(const int *)field; i >= 0; i--)
            length = pt_next_word(&rest, &word);
        pt_put(buf, word, length);
        break;
    }
    case PT_OPT_LIST: break;
    }
}

static void put_option(pt_buf *buf, const pt_option *row, const char *value)
{
    if (buf->size > 0) pt_put_u8(buf, ' ');
    if (row->name != NULL)
        pt_putf(buf, "--%s", row->name);
    else
        pt_putf(buf, "-%c", row->letter);
    if (value == NULL) return;
    pt_put_text(buf, row->name != NULL ? "=" : "");
    pt_put_quoted(buf, value);
}

static bool has_choice_at(const pt_option_table *table, size_t offset)
{
    return PT_ANY(i, table->count,
                  table->rows[i].type == PT_OPT_CHOICE && table->rows[i].offset == offset);
}

static void print_row(pt_buf *buf, const pt_option_part *part, const pt_option *row)
{
    const void *const field = (const char *)part->into + row->offset;
    if (row->type == PT_OPT_LIST) {
        const pt_option_list *const list = field;
        for (size_t i = 0; i < list->count; i++)
            put_option(buf, row, list->items[i]);
        return;
    }
    if (row->type == PT_OPT_SET) { /* the field is 0 if no option of this field was given */
        if (*(const int *)field == row->min && row->min != 0 &&
            !has_choice_at(part->table, row->offset))
            put_option(buf, row, NULL);
        return;
    }
    union {
        bool flag;
        int choice;
        int64_t number;
        double real;
        const char *text;
    } initial = {.number = 0};
    if (row->initial != NULL || (row->flags & PT_OPT_MAY_LACK) != 0) {
        pt_option copy = *row;
        copy.offset = 0;
        const pt_option_table table = {&copy, 1};
        const pt_option_part initial_part = {&table, &initial, NULL};
        pt_options_init(&(pt_options){.parts = &initial_part, .part_count = 1});
    }
    PT_AUTO(pt_buf) now = PT_BUF_INIT, then = PT_BUF_INIT;
    pt_option_put_value(&now, row, field);
    pt_option_put_value(&then, row, &initial);
    if (strcmp(pt_buf_text(&now), pt_buf_text(&then)) != 0) {
        const bool off = (row->type == PT_OPT_FLAG && !*(const bool *)field) ||
                         (row->type == PT_OPT_STRING && *(const char *const *)field == NULL);
        if (off && row->name != NULL)
            pt_putf(buf, "%s--no-%s", buf->size > 0 ? " " : "", row->name);
        else
            put_option(buf, row, row->type == PT_OPT_FLAG ? NULL : pt_buf_text(&now));
    }
}

void pt_options_print(const pt_options *options, pt_buf *buf)
{
    for (size_t p = 0; p < options->part_count; p++) {
        const pt_option_part *const part = &options->parts[p];
        for (size_t i = 0; i < part->table->count; i++)
            print_row(buf, part, &part->table->rows[i]);
    }
}
