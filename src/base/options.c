/* options.c: parses arguments into structs. The syntaxes differ only in how they split an argument
 * into name and value; finding the row and storing the value are common. */
#include "base/options.h"

#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* A row and the struct it fills. */
struct option_at {
    const pt_option *row;
    const pt_option_part *part;
};

static void *field_of(struct option_at at)
{
    return (char *)at.part->into + at.row->offset;
}

static bool takes_argument(const pt_option *row)
{
    return row->type != PT_OPT_FLAG && row->type != PT_OPT_SET;
}

/* The words of a space-separated list; the caller frees them with words_done. */
static pt_option_list words_of(const char *list, const char *prefix)
{
    pt_option_list words = {0};
    const char *at;
    for (size_t n; (n = pt_next_word(&list, &at)) > 0;) {
        words.items = pt_realloc(words.items, words.count + 1, sizeof *words.items);
        words.items[words.count++] = pt_strf("%s%.*s", prefix, (int)n, at);
    }
    return words;
}

static void words_add(pt_option_list *words, const char *prefix, const char *list)
{
    pt_option_list more = words_of(list, prefix);
    words->items = pt_realloc(words->items, words->count + more.count, sizeof *words->items);
    for (size_t i = 0; i < more.count; i++)
        words->items[words->count++] = more.items[i];
    free(more.items);
}

static void words_done(pt_option_list *words)
{
    for (size_t i = 0; i < words->count; i++)
        free((char *)(uintptr_t)words->items[i]);
    free(words->items);
}

/* --- storing --- */

static pt_status store_choice(const pt_option *row, const char *value, int *field, pt_error *reterr)
{
    const int position = pt_word_position(row->choices, value, strlen(value));
    if (position >= 0) {
        *field = position;
        return PT_OK;
    }
    pt_option_list words = words_of(row->choices, "");
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < words.count; i++)
        pt_putf(&text, "%s%s", i == 0 ? "" : i + 1 == words.count ? " or " : ", ", words.items[i]);
    const char *const nearest = pt_nearest(value, words.items, words.count);
    pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not %s%s%s", value, pt_buf_text(&text),
                 nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "");
    pt_buf_done(&text);
    words_done(&words);
    return PT_ERR_USAGE;
}

static pt_status store_int(const pt_option *row, const char *value, int64_t *field,
                           pt_error *reterr)
{
    int64_t number;
    const pt_status status = pt_parse_int(value, &number, reterr);
    if (status != PT_OK) return status;
    if ((row->min != 0 || row->max != 0) && (number < row->min || number > row->max))
        return row->max == INT64_MAX
                   ? pt_error_set(reterr, PT_ERR_USAGE, "%s is less than %" PRId64, value, row->min)
                   : pt_error_set(reterr, PT_ERR_USAGE, "%s is not from %" PRId64 " to %" PRId64,
                                  value, row->min, row->max);
    *field = number;
    return PT_OK;
}

static pt_status store_duration(const pt_option *row, const char *value, int64_t *field,
                                pt_error *reterr)
{
    int64_t time_ns;
    const pt_status status = pt_parse_duration(value, &time_ns, reterr);
    if (status != PT_OK) return status;
    if (time_ns < row->min) return pt_error_set(reterr, PT_ERR_USAGE, "%s is too short", value);
    *field = time_ns;
    return PT_OK;
}

static pt_status store_flag(const char *value, bool *field, pt_error *reterr)
{
    static const char *const spellings[] = {"false", "true", "0",     "1",    "f",     "t",
                                            "F",     "T",    "FALSE", "TRUE", "False", "True"};
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (strcmp(value, spellings[i]) == 0) {
            *field = i % 2;
            return PT_OK;
        }
    }
    return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not true or false", value);
}

static pt_status store_value(const pt_option *row, const char *value, void *field, pt_error *reterr)
{
    switch (row->type) {
    case PT_OPT_FLAG: return store_flag(value, field, reterr);
    case PT_OPT_SET: *(int *)field = (int)row->min; return PT_OK;
    case PT_OPT_INT: return store_int(row, value, field, reterr);
    case PT_OPT_SIZE: return pt_parse_size(value, field, reterr);
    case PT_OPT_DOUBLE: return pt_parse_double(value, field, reterr);
    case PT_OPT_STRING: *(const char **)field = value; return PT_OK;
    case PT_OPT_CHOICE: return store_choice(row, value, field, reterr);
    case PT_OPT_DURATION: return store_duration(row, value, field, reterr);
    case PT_OPT_PERCENT: return pt_parse_percent(value, field, reterr);
    case PT_OPT_LIST: {
        pt_option_list *const list = field;
        list->items = pt_realloc(list->items, list->count + 1, sizeof *list->items);
        list->items[list->count++] = value;
        return PT_OK;
    }
    }
    return PT_OK;
}

static void store_zero(const pt_option *row, void *field)
{
    switch (row->type) {
    case PT_OPT_FLAG: *(bool *)field = false; break;
    case PT_OPT_SET:
    case PT_OPT_CHOICE: *(int *)field = 0; break;
    case PT_OPT_INT:
    case PT_OPT_DURATION: *(int64_t *)field = 0; break;
    case PT_OPT_SIZE: *(uint64_t *)field = 0; break;
    case PT_OPT_DOUBLE: *(double *)field = 0; break;
    case PT_OPT_PERCENT: *(double *)field = (row->flags & PT_OPT_MAY_LACK) != 0 ? NAN : 0; break;
    case PT_OPT_STRING: *(const char **)field = NULL; break;
    case PT_OPT_LIST: ((pt_option_list *)field)->count = 0; break;
    }
}

#define EACH_ROW(options, at)                                                                      \
    for (size_t p = 0; p < (options)->part_count; p++)                                             \
        for (struct option_at at = {(options)->parts[p].table->rows, &(options)->parts[p]};        \
             at.row < at.part->table->rows + at.part->table->count; at.row++)

void pt_options_init(const pt_options *options)
{
    EACH_ROW(options, at)
    {
        if (at.row->type == PT_OPT_LIST)
            *(pt_option_list *)field_of(at) = (pt_option_list){0};
        else
            store_zero(at.row, field_of(at));
        if (at.part->given != NULL) at.part->given[at.row - at.part->table->rows] = false;
    }
    EACH_ROW(options, at)
    {
        if (at.row->initial == NULL || at.row->type == PT_OPT_LIST) continue;
        PT_BUG_IF(store_value(at.row, at.row->initial, field_of(at), NULL) != PT_OK);
    }
}

void pt_options_done(const pt_options *options)
{
    EACH_ROW(options, at)
    {
        if (at.row->type != PT_OPT_LIST) continue;
        pt_option_list *const list = field_of(at);
        free(list->items);
        *list = (pt_option_list){0};
    }
}

/* --- finding --- */

typedef enum { MATCH_NONE, MATCH_PREFIX, MATCH_EXACT } match;

static match match_word(const char *word, size_t word_length, const char *name, size_t length,
                        pt_option_syntax syntax)
{
    const bool prefixes = syntax == PT_SYNTAX_GETOPT || syntax == PT_SYNTAX_PERL;
    if (length > word_length || (length < word_length && !prefixes)) return MATCH_NONE;
    const int differs =
        syntax == PT_SYNTAX_PERL ? strncasecmp(word, name, length) : memcmp(word, name, length);
    if (differs != 0 || length == 0) return MATCH_NONE;
    return length == word_length ? MATCH_EXACT : MATCH_PREFIX;
}

static match match_row(const pt_option *row, const char *name, size_t length,
                       pt_option_syntax syntax)
{
    match best = MATCH_NONE;
    if (row->name != NULL) best = match_word(row->name, strlen(row->name), name, length, syntax);
    const char *alias, *rest = row->aliases;
    for (size_t n; (n = pt_next_word(&rest, &alias)) > 0;) {
        const match m = match_word(alias, n, name, length, syntax);
        if (m > best) best = m;
    }
    const bool letters_are_names = syntax == PT_SYNTAX_GO || syntax == PT_SYNTAX_PERL;
    if (letters_are_names && length == 1 && row->letter == name[0]) best = MATCH_EXACT;
    return best;
}

/* Sets the message to the caller's answer to this option (pt_options.answer). Returns false if the
 * caller has no answer. */
static bool set_answer(const pt_options *options, const char *spelling, const char *value,
                       pt_error *reterr)
{
    if (options->answer == NULL) return false;
    const char *const answer = options->answer(options->answer_arg, spelling, value);
    if (answer == NULL) return false;
    if (value != NULL)
        pt_error_set(reterr, PT_ERR_UNSUPPORTED, "%s %s: %s", spelling, value, answer);
    else
        pt_error_set(reterr, PT_ERR_UNSUPPORTED, "there is no %s; %s", spelling, answer);
    return true;
}

static void set_unknown(const pt_options *options, const char *name, size_t length,
                        pt_error *reterr)
{
    const char *const dashes = options->syntax == PT_SYNTAX_GO ? "-" : "--";
    PT_FREE char *typed = pt_strndup(name, length);
    PT_FREE char *spelling = pt_strf("%s%s", dashes, typed);
    if (set_answer(options, spelling, NULL, reterr)) return;
    pt_option_list words = {0};
    EACH_ROW(options, at)
    {
        if (at.row->flags & PT_OPT_HIDDEN) continue;
        if (at.row->name != NULL) words_add(&words, "", at.row->name);
        words_add(&words, "", at.row->aliases);
        if ((at.row->flags & PT_OPT_NEGATABLE) && at.row->name != NULL &&
            options->syntax != PT_SYNTAX_GO)
            words_add(&words, "no-", at.row->name);
    }
    const char *const nearest = pt_nearest(typed, words.items, words.count);
    if (nearest != NULL)
        pt_error_set(reterr, PT_ERR_USAGE, "unknown option %s; did you mean %s%s", spelling, dashes,
                     nearest);
    else
        pt_error_set(reterr, PT_ERR_USAGE, "unknown option %s", spelling);
    words_done(&words);
}

/* Finds the row of a name, which is exact or, where the syntax allows, a unique beginning. */
static pt_status find_name(const pt_options *options, const char *name, size_t length,
                           struct option_at *ret_at, pt_error *reterr)
{
    struct option_at found = {0}, other = {0};
    match best = MATCH_NONE;
    EACH_ROW(options, at)
    {
        const match m = match_row(at.row, name, length, options->syntax);
        if (m == MATCH_NONE || m < best) continue;
        other = m == best ? found : (struct option_at){0};
        found = at;
        best = m;
    }
    if (best == MATCH_NONE) return PT_ERR_NOTFOUND;
    if (best == MATCH_PREFIX && other.row != NULL)
        return pt_error_set(reterr, PT_ERR_USAGE, "--%.*s may be --%s or --%s", (int)length, name,
                            other.row->name, found.row->name);
    *ret_at = found;
    return PT_OK;
}

/* Finds the row of a name, also with "no-" (in Perl's syntax also "no") before the name of an
 * option that can be negated. */
static pt_status find_option(const pt_options *options, const char *name, size_t length,
                             struct option_at *ret_at, bool *ret_negated, pt_error *reterr)
{
    *ret_negated = false;
    pt_status status = find_name(options, name, length, ret_at, reterr);
    if (status != PT_ERR_NOTFOUND) return status;
    size_t skip = length > 3 && pt_begins(name, "no-") ? 3 : 0;
    if (skip == 0 && options->syntax == PT_SYNTAX_PERL && length > 2 &&
        strncasecmp(name, "no", 2) == 0)
        skip = 2;
    if (skip > 0 && options->syntax != PT_SYNTAX_GO) {
        status = find_name(options, name + skip, length - skip, ret_at, reterr);
        if (status == PT_ERR_USAGE) return status;
        if (status == PT_OK && (ret_at->row->flags & PT_OPT_NEGATABLE)) {
            *ret_negated = true;
            return PT_OK;
        }
    }
    set_unknown(options, name, length, reterr);
    return PT_ERR_USAGE;
}

static pt_status find_letter(const pt_options *options, char letter, struct option_at *ret_at,
                             pt_error *reterr)
{
    EACH_ROW(options, at)
    {
        if (at.row->letter != letter) continue;
        *ret_at = at;
        return PT_OK;
    }
    const char spelling[3] = {'-', letter, '\0'};
    if (set_answer(options, spelling, NULL, reterr)) return PT_ERR_USAGE;
    return pt_error_set(reterr, PT_ERR_USAGE, "unknown option %s", spelling);
}

/* --- taking arguments apart --- */

struct parsing {
    const pt_options *options;
    const char *const *args;
    size_t count, next;
    pt_error *reterr;
};

/* Stores the value. An error names the option in the spelling that was typed. */
static pt_status store_argument(const pt_options *options, struct option_at at, const char *value,
                                const char *spelling, size_t length, const char *joint,
                                pt_error *reterr)
{
    pt_error why = PT_ERROR_INIT;
    if (store_value(at.row, value, field_of(at), &why) != PT_OK) {
        PT_FREE char *typed = pt_strndup(spelling, length);
        if (set_answer(options, typed, value, reterr)) return PT_ERR_USAGE;
        return pt_error_set(reterr, PT_ERR_USAGE, "%s%s%s: %s", typed, joint, value, why.message);
    }
    if (at.part->given != NULL) at.part->given[at.row - at.part->table->rows] = true;
    return PT_OK;
}

/* Stores the value of an option without "=": a flag, an option with an optional argument, or an
 * option that takes the next argument. */
static pt_status store_next_argument(struct parsing *in, struct option_at at, const char *spelling,
                                     size_t length)
{
    if (!takes_argument(at.row))
        return store_argument(in->options, at, "true", spelling, length, "", in->reterr);
    if (at.row->bare != NULL)
        return store_argument(in->options, at, at.row->bare, spelling, length, "", in->reterr);
    if (in->next == in->count) {
        const char *const example = at.row->metavar != NULL ? at.row->metavar : "VALUE";
        return pt_error_set(in->reterr, PT_ERR_USAGE, "%.*s needs an argument: %.*s%s%s",
                            (int)length, spelling, (int)length, spelling,
                            length > 2 && spelling[1] == '-' ? "=" : " ", example);
    }
    return store_argument(in->options, at, in->args[in->next++], spelling, length, " ", in->reterr);
}

/* Parses --name, --name=value or --no-name; name begins after one dash or two. */
static pt_status parse_long(struct parsing *in, const char *arg, size_t dashes)
{
    const char *const name = arg + dashes;
    const size_t length = strcspn(name, "=");
    const char *const value = name[length] == '=' ? name + length + 1 : NULL;
    const size_t spelled = dashes + length;
    struct option_at at;
    bool negated;
    const pt_status status = find_option(in->options, name, length, &at, &negated, in->reterr);
    if (status != PT_OK) return status;
    const bool go = in->options->syntax == PT_SYNTAX_GO;
    if (value != NULL && (negated || (!takes_argument(at.row) && !go)))
        return pt_error_set(in->reterr, PT_ERR_USAGE, "%.*s takes no argument", (int)spelled, arg);
    if (negated) {
        store_zero(at.row, field_of(at));
        if (at.part->given != NULL) at.part->given[at.row - at.part->table->rows] = true;
        return PT_OK;
    }
    if (value != NULL) return store_argument(in->options, at, value, arg, spelled, "=", in->reterr);
    return store_next_argument(in, at, arg, spelled);
}

/* Refuses a long name after a single dash, such as pprof's "-focus=x", instead of parsing the
 * letters f, o ... */
static pt_status refuse_one_dash(struct parsing *in, const char *name)
{
    const size_t length = strcspn(name, "=");
    EACH_ROW(in->options, at)
    {
        if (length > 1 && match_row(at.row, name, length, PT_SYNTAX_OWN) == MATCH_EXACT)
            return pt_error_set(in->reterr, PT_ERR_USAGE, "unknown option -%.*s; did you mean --%s",
                                (int)length, name, name);
    }
    return PT_OK;
}

/* Parses -abc, the options a, b and c. An option that takes an argument gets the remaining letters
 * of the word, or the next argument if the word ends there. */
static pt_status parse_letters(struct parsing *in, const char *arg)
{
    if (in->options->syntax == PT_SYNTAX_OWN) {
        const pt_status status = refuse_one_dash(in, arg + 1);
        if (status != PT_OK) return status;
    }
    for (const char *letter = arg + 1; *letter != '\0'; letter++) {
        struct option_at at = {0};
        pt_status status = find_letter(in->options, *letter, &at, in->reterr);
        if (status != PT_OK) return status;
        const char spelling[3] = {'-', *letter, '\0'};
        /* An optional argument follows "=", so that -Cfi is three letters. */
        const bool is_optional = at.row->bare != NULL;
        const bool rest =
            takes_argument(at.row) && (is_optional ? letter[1] == '=' : letter[1] != '\0');
        status = rest ? store_argument(in->options, at, letter + 1 + is_optional, spelling, 2, "",
                                       in->reterr)
                      : store_next_argument(in, at, spelling, 2);
        if (status != PT_OK || rest) return status;
    }
    return PT_OK;
}

static pt_status parse_option(struct parsing *in, const char *arg)
{
    const pt_option_syntax syntax = in->options->syntax;
    if (arg[1] == '-') return parse_long(in, arg, 2);
    if (syntax == PT_SYNTAX_GO || syntax == PT_SYNTAX_PERL) return parse_long(in, arg, 1);
    return parse_letters(in, arg);
}

pt_status pt_options_parse(const pt_options *options, const char *const *args, size_t count,
                           pt_option_list *ret_operands, pt_error *reterr)
{
    struct parsing in = {.options = options, .args = args, .count = count, .reterr = reterr};
    const bool stop = options->stop_at_operand || options->syntax == PT_SYNTAX_GO;
    pt_option_list operands = {.items = pt_alloc(count + 1, sizeof *operands.items)};
    bool ended = false;
    while (in.next < count) {
        const char *const arg = args[in.next++];
        if (ended || arg[0] != '-' || arg[1] == '\0') {
            operands.items[operands.count++] = arg;
            ended |= stop;
        } else if (strcmp(arg, "--") == 0) {
            ended = true;
            if (options->keeps_dashes) operands.items[operands.count++] = arg;
        } else if (parse_option(&in, arg) != PT_OK) {
            free(operands.items);
            return PT_ERR_USAGE;
        }
    }
    *ret_operands = operands;
    return PT_OK;
}

pt_status pt_options_set(const pt_options *options, const char *name, const char *value,
                         pt_error *reterr)
{
    struct option_at at;
    bool negated;
    const pt_status status = find_option(options, name, strlen(name), &at, &negated, reterr);
    if (status != PT_OK) return status;
    if (value == NULL && takes_argument(at.row)) value = at.row->bare;
    if (negated && value == NULL) {
        store_zero(at.row, field_of(at));
        return PT_OK;
    }
    if (negated || (value == NULL && takes_argument(at.row)))
        return pt_error_set(reterr, PT_ERR_USAGE, "%s %s", name,
                            negated ? "takes no value" : "needs a value");
    return store_argument(options, at, value != NULL ? value : "true", name, strlen(name), "=",
                          reterr);
}
