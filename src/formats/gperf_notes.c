/* gperf_notes.c: see gperf_notes.h. */
#include "formats/gperf_notes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/facts.h"

/* ---- reading ---- */

/* The text of the line after the prefix `head`; NULL if the line has another prefix. */
static const char *text_behind(const char *line, const char *head)
{
    const size_t bytes = strlen(head);
    return strncmp(line, head, bytes) == 0 ? line + bytes : NULL;
}

/* Parses the facts; returns true if the word that stack ends are known is among them. */
static bool take_facts(char *words, pt_provenance *into)
{
    bool ends = false;
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        pt_provenance taken = *into;
        if (strcmp(word, PT_FACTS_ENDS_WORD) == 0)
            ends = true;
        else if (pt_facts_take(word, &taken))
            *into = taken;
    }
    return ends;
}

/* Parses a positive integer; 0 if there is none. */
static uint64_t read_number(const char **at)
{
    char *end = NULL;
    const uint64_t value =
        isdigit((unsigned char)**at) ? strtoull(*at, &end, 10) : 0; /* neither sign nor blanks */
    if (end != NULL) *at = end;
    return value;
}

/* Parses "NAME: 3 17-20": the numbers of records, from 1, whose stacks ended for this reason.
 * *left: how many records these and later lines may still list, since each record is listed at most
 * once. */
static void take_ends(char *text, pt_gperf_notes *notes, uint64_t *left)
{
    char *const colon = strchr(text, ':');
    pt_stack_end end;
    if (colon == NULL) return;
    *colon = '\0';
    if (!pt_facts_end_named(text, &end)) return;
    for (const char *at = colon + 1; *at++ == ' ';) {
        const uint64_t first = read_number(&at);
        uint64_t last = first;
        if (*at == '-') {
            at++;
            last = read_number(&at);
        }
        if (first == 0 || last < first || last > notes->count || last - first >= *left) return;
        *left -= last - first + 1;
        memset(notes->end + (first - 1), (int)end, (size_t)(last - first + 1));
    }
}

pt_gperf_notes pt_gperf_notes_read(const pt_reader *text, uint64_t records, pt_provenance *into)
{
    pt_gperf_notes notes = {.count = records};
    uint64_t left = records;
    for (int pass = 0; pass < 2; pass++) { /* the first pass finds out whether ends are known */
        pt_reader lines = *text;
        lines.parent = NULL;
        lines.error = NULL;
        size_t length;
        for (const char *line; (line = pt_read_line(&lines, &length)) != NULL;) {
            if (length == 0 || line[0] != '#') continue;
            PT_FREE char *copy = pt_strndup(line, length);
            const char *const facts = text_behind(copy, PT_GPERF_FACTS_LINE);
            const char *const ends = text_behind(copy, PT_GPERF_END_LINE);
            if (pass == 0 && facts != NULL && take_facts(copy + (facts - copy), into) &&
                notes.end == NULL) {
                notes.end = pt_alloc(records, 1);
                memset(notes.end, PT_STACK_END_ROOT, (size_t)records);
            }
            if (pass == 1 && ends != NULL) take_ends(copy + (ends - copy), &notes, &left);
        }
        if (notes.end == NULL) break;
    }
    return notes;
}

void pt_gperf_notes_done(pt_gperf_notes *notes)
{
    free(notes->end);
    notes->end = NULL;
}

/* ---- writing ---- */

/* Appends the text that is complete in `runs` after one more record, which may be no text. record:
 * its number, from 1; 0 = there are no more records. */
static void put_piece(pt_buf *to, pt_gperf_ends *runs, uint64_t record)
{
    enum { PIECE_BYTES = 128 };
    uint8_t bytes[PIECE_BYTES];
    pt_wire_buf wire = pt_wire_buf_init(bytes, sizeof bytes);
    if (record > 0)
        pt_gperf_ends_take(&wire, runs, record);
    else
        pt_gperf_ends_done(&wire, runs);
    pt_put(to, bytes, wire.need_bytes);
}

void pt_gperf_notes_write(pt_buf *to, const pt_profile *p, const uint8_t *ends, size_t count)
{
    pt_provenance figures = *pt_profile_provenance(p);
    figures.true_hz = 0; /* the header states the period */
    const bool ends_known = pt_facts_ends_known(p);
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_facts_put(&text, &figures);
    if (ends_known) pt_put_text(&text, " " PT_FACTS_ENDS_WORD);
    if (text.size > 0) pt_putf(to, PT_GPERF_FACTS_LINE "%s\n", pt_buf_text(&text) + 1);
    for (int end = 0; ends_known && end < PT_STACK_END_COUNT; end++) {
        if (end == PT_STACK_END_ROOT) continue;
        pt_gperf_ends runs = {.name = pt_stack_end_name((pt_stack_end)end)};
        for (size_t i = 0; i < count; i++) {
            if (ends[i] == end) put_piece(to, &runs, i + 1);
        }
        put_piece(to, &runs, 0);
    }
}
