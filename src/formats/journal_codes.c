/* journal_codes.c: functions of interpreters in a journal, and the frames that refer to them. */
#include "formats/journal_int.h"

#include <inttypes.h>

#include "base/grow.h"
#include "base/hash.h"
#include "interp/python.h"
#include "process/path_kind.h"

_Static_assert((int)PT_MAPPED_LANGUAGES == (int)PT_JOURNAL_LANGUAGES, "one row a language");

enum { LINES_MAX_BYTES = 64 << 10 }; /* of a code object; the writer keeps no more */

/* To find a line, the table of its code object is decoded from the start. This is the most bytes of
 * line tables that are decoded for one journal. */
#define LINES_READ_MAX (UINT64_C(1) << 30)

static uint32_t add_function(pt_journal_reading *g, const uint8_t *name, size_t name_bytes,
                             const uint8_t *file, size_t file_bytes, int32_t first_line)
{
    const uint32_t text = pt_builder_string(g->builder, (const char *)name, name_bytes).v;
    const pt_function function = {
        .name = text,
        .system_name = text,
        .file = pt_builder_string(g->builder, (const char *)file, file_bytes).v,
        .start_line = first_line};
    return pt_builder_function(g->builder, &function).v;
}

static bool read_code(pt_reader *r, pt_journal_reading *g)
{
    const uint32_t number = pt_read_u32(r), lines_bytes = pt_read_u32(r);
    const int32_t first_line = (int32_t)pt_read_u32(r);
    const uint16_t name_bytes = pt_read_u16(r), file_bytes = pt_read_u16(r);
    const uint16_t minor = pt_read_u16(r);
    const uint16_t language = pt_read_u16(r);
    pt_skip(r, 4);
    const uint8_t *const name = pt_read_bytes(r, name_bytes);
    const uint8_t *const file = pt_read_bytes(r, file_bytes);
    const uint8_t *const lines = pt_read_bytes(r, lines_bytes);
    const uint64_t tail = ((uint64_t)name_bytes + file_bytes + lines_bytes) % 8;
    pt_skip(r, tail == 0 ? 0 : 8 - tail);
    if (pt_reader_ok(r) && lines_bytes > LINES_MAX_BYTES)
        pt_reader_fail(r, PT_ERR_DAMAGED, "a line table of %" PRIu32 " bytes", lines_bytes);
    if (pt_reader_ok(r) && (number == 0 || number > PT_JOURNAL_CODES_MAX))
        pt_reader_fail(r, PT_ERR_DAMAGED, "a function of number %" PRIu32, number);
    if (pt_reader_ok(r) && language >= PT_JOURNAL_LANGUAGES)
        pt_reader_fail(r, PT_ERR_DAMAGED, "a function of language %" PRIu16, language);
    if (!pt_reader_ok(r)) return false;
    while (g->code.count <= number)
        PT_PUSH(g->code, (pt_journal_known_code){.function = PT_NONE});
    g->code.items[number] = (pt_journal_known_code){
        .function = add_function(g, name, name_bytes, file, file_bytes, first_line),
        .first_line = first_line,
        .lines_bytes = lines_bytes,
        .minor = minor,
        .language = language,
        .lines = lines};
    return true;
}

/* The mapping for the frames of a language in all processes. It contains no address. */
static uint32_t mapping_of(pt_journal_reading *g, unsigned language)
{
    if (g->language[language] != PT_NONE) return g->language[language];
    const pt_mapping mapping = {
        .file = pt_builder_text(g->builder, pt_mapped_languages[language].mapping).v,
        .flags = PT_MAPPING_HAS_FUNCTIONS | PT_MAPPING_HAS_FILENAMES | PT_MAPPING_HAS_LINES |
                 PT_MAPPING_HAS_INLINES};
    return g->language[language] = pt_builder_append_mapping(g->builder, &mapping).v;
}

static int32_t line_of(pt_journal_reading *g, const pt_journal_known_code *code, int32_t place)
{
    const pt_python_layout *const layout =
        code->language == PT_JOURNAL_LANGUAGE_PYTHON ? pt_python_layout_of(3, code->minor) : NULL;
    if (pt_mapped_languages[code->language].has_lines) return place > 0 ? place : code->first_line;
    g->lines_read += code->lines_bytes;
    if (layout == NULL || g->lines_read > LINES_READ_MAX) return code->first_line;
    return pt_python_line(layout->lines, code->lines, code->lines_bytes, code->first_line, place);
}

static const pt_journal_known_code *code_of(const pt_journal_reading *g, uint32_t number)
{
    static const pt_journal_known_code nameless = {.function = PT_NONE};
    return number < g->code.count ? &g->code.items[number] : &nameless;
}

unsigned pt_journal_language_of(const pt_journal_reading *g, uint64_t word)
{
    return code_of(g, PT_JOURNAL_CODE_NUMBER(word))->language;
}

static uint32_t make_location(pt_journal_reading *g, uint64_t word)
{
    const uint32_t number = PT_JOURNAL_CODE_NUMBER(word);
    const int32_t place = PT_JOURNAL_CODE_PLACE(word);
    const pt_journal_known_code *const code = code_of(g, number);
    PT_FREE char *unknown = pt_strf("[%s code]", pt_mapped_languages[code->language].name);
    const pt_line line = {
        .function = code->function != PT_NONE
                        ? code->function
                        : add_function(g, (const uint8_t *)unknown, strlen(unknown), NULL, 0, 0),
        .line = line_of(g, code, place)};
    const pt_location location = {.mapping = mapping_of(g, code->language),
                                  .flags = PT_LOCATION_USER};
    return pt_builder_location(g->builder, &location, &line, 1).v;
}

uint32_t pt_journal_code_location(pt_journal_reading *g, uint64_t word)
{
    const size_t slot = (size_t)(pt_hash_mix(word, 0) % PT_JOURNAL_CODES_KNOWN);
    if (g->codes_known[slot].word != word) {
        g->codes_known[slot].location = make_location(g, word);
        g->codes_known[slot].word = word;
    }
    return g->codes_known[slot].location;
}

void pt_journal_read_codes(pt_journal_reading *g, pt_reader *r)
{
    while (pt_reader_left(r) > 0 && read_code(r, g))
        continue;
}
