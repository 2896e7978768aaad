/* fuzz_options.c: any words as a command line, in every syntax; and that what a struct prints is
 * the command line that gives the same struct.
 *
 *   byte 0: the syntax; then the words, each ended by a NUL
 */
#include "base/options.h"

#include <stdlib.h>

typedef struct {
    int64_t rows, wait;
    uint64_t limit;
    double scale, cut;
    const char *focus;
    pt_option_list tags;
    int format, colour;
    bool verbose, trim;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const pt_option rows[] = {
    {.name = "rows",
     .letter = 'n',
     .type = PT_OPT_INT,
     AT(rows),
     .initial = "20",
     .min = -5,
     .max = 1000,
     .aliases = "nodecount top-rows",
     .help = "show this many rows",
     .group = "What is shown"},
    {.name = "focus",
     .letter = 'f',
     .type = PT_OPT_STRING,
     AT(focus),
     .flags = PT_OPT_NEGATABLE,
     .help = "keep samples with a frame that matches"},
    {.name = "cut", .type = PT_OPT_PERCENT, AT(cut), .initial = "0.5%", .help = "hide less"},
    {.name = "scale", .type = PT_OPT_DOUBLE, AT(scale), .initial = "1", .help = "divide by"},
    {.name = "trim",
     .type = PT_OPT_FLAG,
     AT(trim),
     .flags = PT_OPT_NEGATABLE,
     .initial = "true",
     .help = "drop what is small"},
    {.name = "tag", .letter = 't', .type = PT_OPT_LIST, AT(tags), .help = "add a tag"},
    {.name = "format",
     .type = PT_OPT_CHOICE,
     AT(format),
     .choices = "text json csv",
     .initial = "text",
     .help = "how it is written"},
    {.name = "json", .type = PT_OPT_SET, AT(format), .min = 1, .help = "same as --format=json"},
    {.name = "color",
     .letter = 'c',
     .type = PT_OPT_CHOICE,
     AT(colour),
     .bare = "always",
     .choices = "auto always never",
     .initial = "auto",
     .help = "colour"},
    {.name = "max-memory", .type = PT_OPT_SIZE, AT(limit), .initial = "1G", .help = "use no more"},
    {.name = "wait", .letter = 'w', .type = PT_OPT_DURATION, AT(wait), .help = "wait"},
    {.name = "verbose", .letter = 'v', .type = PT_OPT_FLAG, AT(verbose), .help = "say more"},
};
static const pt_option_table table = PT_OPTION_TABLE(rows);

enum { MAX_WORDS = 64 };

struct words {
    const char *items[MAX_WORDS];
    size_t count;
};

/* Text with a NUL after each word; what follows the last NUL is a word too. */
static struct words split_at_nul(const char *text, size_t size)
{
    struct words words = {.count = 0};
    for (size_t i = 0; i < size && words.count < MAX_WORDS;) {
        words.items[words.count++] = text + i;
        i += strlen(text + i) + 1;
    }
    return words;
}

/* Undoes pt_put_quoted on a line of words, in place: the shell's rules for ' and \'. */
static struct words split_as_shell(char *line)
{
    struct words words = {.count = 0};
    char *to = line;
    while (*line != '\0' && words.count < MAX_WORDS) {
        words.items[words.count++] = to;
        bool quoted = false;
        for (; *line != '\0' && (quoted || *line != ' '); line++) {
            if (*line == '\'')
                quoted = !quoted;
            else if (*line == '\\' && !quoted)
                *to++ = *++line;
            else
                *to++ = *line;
        }
        if (*line == ' ') line++;
        *to++ = '\0';
    }
    return words;
}

static void print_and_parse_again(const pt_options *options)
{
    settings again;
    const pt_option_part part = {&table, &again, NULL};
    const pt_options same = {.parts = &part, .part_count = 1};
    pt_buf first = PT_BUF_INIT, second = PT_BUF_INIT;
    pt_option_list operands;
    pt_options_print(options, &first);
    char *const line = pt_strdup(pt_buf_text(&first));
    const struct words words = split_as_shell(line);
    pt_options_init(&same);
    if (pt_options_parse(&same, words.items, words.count, &operands, NULL) != PT_OK) abort();
    if (operands.count != 0) abort();
    pt_options_print(&same, &second);
    if (strcmp(pt_buf_text(&first), pt_buf_text(&second)) != 0) abort();
    free(operands.items);
    free(line);
    pt_options_done(&same);
    pt_buf_done(&first);
    pt_buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *const text = pt_strndup((const char *)data + 1, size - 1);
    const struct words words = split_at_nul(text, size - 1);
    settings got;
    const pt_option_part part = {&table, &got, NULL};
    const pt_options options = {.parts = &part,
                                .part_count = 1,
                                .syntax = (pt_option_syntax)(data[0] % 4),
                                .stop_at_operand = data[0] & 4};
    pt_option_list operands;
    pt_error error = PT_ERROR_INIT;
    pt_options_init(&options);
    if (pt_options_parse(&options, words.items, words.count, &operands, &error) == PT_OK) {
        free(operands.items);
        print_and_parse_again(&options);
    } else if (error.message[0] == '\0') {
        abort();
    }
    for (size_t i = 0; i + 1 < words.count; i += 2)
        if (words.items[i][0] != '\0')
            (void)pt_options_set(&options, words.items[i], words.items[i + 1], &error);
    pt_options_done(&options);
    free(text);
    return 0;
}
