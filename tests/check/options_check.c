/* options_check.c: see options_check.h. */
#include "options_check.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/text.h"

/* "--rows", or "-n" when there is no long name. */
static const char *spelling_of(const pt_option *row, char letter[3])
{
    letter[0] = '-';
    letter[1] = row->letter != 0 ? row->letter : '?';
    letter[2] = '\0';
    return row->name != NULL ? row->name : letter;
}

static bool bad_value(const pt_option *row, const char *value, pt_error *reterr)
{
    union {
        bool flag;
        int choice;
        int64_t number;
        uint64_t size;
        double real;
        const char *text;
        pt_option_list list;
    } field = {.list = {0}};
    pt_option alone = *row;
    alone.name = "x";
    alone.offset = 0;
    alone.initial = NULL;
    const pt_option_table table = {&alone, 1};
    const pt_option_part part = {&table, &field, NULL};
    const pt_options options = {.parts = &part, .part_count = 1};
    pt_options_init(&options);
    const bool bad = pt_options_set(&options, "x", value, reterr) != PT_OK;
    pt_options_done(&options);
    return bad;
}

/* The reason part of the error "x=VALUE: reason". */
static const char *reason_of(const pt_error *error, const char *value)
{
    const size_t skip = strlen("x=: ") + strlen(value);
    return strlen(error->message) > skip ? error->message + skip : error->message;
}

static size_t check_row(const pt_option *row, pt_buf *problems)
{
    char letter[3];
    const char *const name = spelling_of(row, letter);
    const char *const dashes = row->name != NULL ? "--" : "";
    size_t n = 0;
    if (row->name == NULL && row->letter == 0) {
        pt_putf(problems, "%s: an option without a name and a letter\n", name);
        return 1;
    }
    if (row->help == NULL || row->help[0] == '\0') {
        pt_putf(problems, "%s%s has no help\n", dashes, name);
        return 1;
    }
    const char last = row->help[strlen(row->help) - 1];
    const bool capital =
        isupper((unsigned char)row->help[0]) && islower((unsigned char)row->help[1]);
    if (capital || last == '.') {
        pt_putf(problems, "%s%s: help begins with a capital or ends with a full stop\n", dashes,
                name);
        n++;
    }
    if (row->type == PT_OPT_CHOICE && row->choices == NULL) {
        pt_putf(problems, "%s%s has no choices\n", dashes, name);
        return n + 1;
    }
    pt_error error = PT_ERROR_INIT;
    if (row->initial != NULL && bad_value(row, row->initial, &error)) {
        pt_putf(problems, "%s%s: default value: %s\n", dashes, name,
                reason_of(&error, row->initial));
        n++;
    }
    if (row->bare != NULL && bad_value(row, row->bare, &error)) {
        pt_putf(problems, "%s%s: value without argument: %s\n", dashes, name,
                reason_of(&error, row->bare));
        n++;
    }
    if (row->type == PT_OPT_FLAG && row->initial != NULL && strcmp(row->initial, "true") == 0 &&
        !(row->flags & PT_OPT_NEGATABLE)) {
        pt_putf(problems, "%s%s is on and cannot be turned off\n", dashes, name);
        n++;
    }
    return n;
}

/* --- spellings --- */

/* Every spelling with its dashes, separated by NULs. */
static void put_spellings(pt_buf *all, const pt_option *row)
{
    if (row->letter != 0) pt_putf(all, "-%c%c", row->letter, '\0');
    if (row->name != NULL) pt_putf(all, "--%s%c", row->name, '\0');
    if (row->name != NULL && (row->flags & PT_OPT_NEGATABLE))
        pt_putf(all, "--no-%s%c", row->name, '\0');
    const char *alias, *rest = row->aliases;
    for (size_t n; (n = pt_next_word(&rest, &alias)) > 0;)
        pt_putf(all, "--%.*s%c", (int)n, alias, '\0');
}

static size_t check_spellings(const pt_buf *all, pt_buf *problems)
{
    size_t n = 0;
    for (size_t i = 0; i < all->size;) {
        const char *const word = (const char *)all->data + i;
        const size_t next = i + strlen(word) + 1;
        /* Reported once: at the second occurrence. */
        size_t before = 0;
        for (size_t k = 0; k < i; k += strlen((const char *)all->data + k) + 1)
            before += strcmp((const char *)all->data + k, word) == 0;
        if (before == 1) {
            pt_putf(problems, "%s is there twice\n", word);
            n++;
        }
        i = next;
    }
    return n;
}

size_t pt_options_check(const pt_options *options, pt_buf *problems)
{
    size_t n = 0;
    pt_buf all = PT_BUF_INIT;
    for (size_t p = 0; p < options->part_count; p++) {
        const pt_option_table *const table = options->parts[p].table;
        for (size_t i = 0; i < table->count; i++) {
            n += check_row(&table->rows[i], problems);
            put_spellings(&all, &table->rows[i]);
        }
    }
    n += check_spellings(&all, problems);
    pt_buf_done(&all);
    return n;
}
