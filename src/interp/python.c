/* python.c: see python.h. The offsets are those in the debug information of stock builds.
 * tests/cli/python.t.sh runs each version. */
#include "interp/python.h"

#include <string.h>

#include "interp/utf8.h"

#define CODE_UNTIL_3_10                                                                            \
    .code_first_line = 0x28, .code_file = 0x68, .code_name = 0x70, .code_lines = 0x78,             \
    .frame_back = 0x18, .frame_code = 0x20, .state_frame = 0x18, .finalizing = 0x10,               \
    .text_ascii = 48, .text_compact = 72

#define SINCE_3_12                                                                                 \
    .owner_shim = 3, .has_qualname = true, .points_to_instruction = true,                          \
    .lines = PT_PYTHON_LINES_LOCATIONS, .frame_back = 0x08, .frame_code = 0x00,                    \
    .frame_place = 0x38, .code_first_line = 0x44, .code_file = 0x70, .code_name = 0x78,            \
    .code_qualname = 0x80, .code_lines = 0x88, .text_ascii = 40, .text_compact = 56

static const pt_python_layout layouts[] = {
    {.minor = 8,
     .key = 0x570,
     .frame_place = 0x68,
     .place_unit = 1,
     .lines = PT_PYTHON_LINES_LNOTAB,
     CODE_UNTIL_3_10},
    {.minor = 9,
     .key = 0x248,
     .frame_place = 0x68,
     .place_unit = 1,
     .lines = PT_PYTHON_LINES_LNOTAB,
     CODE_UNTIL_3_10},
    {.minor = 10,
     .key = 0x248,
     .frame_place = 0x60,
     .place_unit = 2,
     .lines = PT_PYTHON_LINES_RANGES,
     CODE_UNTIL_3_10},
    {.minor = 11,
     .has_cframe = true,
     .is_entry_field = true,
     .has_qualname = true,
     .points_to_instruction = true,
     .lines = PT_PYTHON_LINES_LOCATIONS,
     .key = 0x250,
     .finalizing = 0x18,
     .state_frame = 0x38,
     .cframe_frame = 8,
     .frame_back = 0x30,
     .frame_code = 0x20,
     .frame_place = 0x38,
     .frame_boundary = 0x44,
     .code_first_line = 0x48,
     .code_file = 0x70,
     .code_name = 0x78,
     .code_qualname = 0x80,
     .code_lines = 0x88,
     .code_instructions = 0xb8,
     .text_ascii = 48,
     .text_compact = 72},
    {.minor = 12,
     .has_cframe = true,
     .key = 0x608,
     .finalizing = 0x18,
     .state_frame = 0x38,
     .cframe_frame = 0,
     .frame_boundary = 0x46,
     .code_instructions = 0xc0,
     SINCE_3_12},
    {.minor = 13,
     .key = 0x870,
     .finalizing = 0x260,
     .state_frame = 0x48,
     .frame_boundary = 0x46,
     .code_instructions = 0xc8,
     .code_traceable = 0xb8,
     SINCE_3_12},
    {.minor = 14,
     .code_tag = 1,
     .key = 0x920,
     .finalizing = 0x310,
     .state_frame = 0x48,
     .frame_boundary = 0x4a,
     .code_instructions = 0xd0,
     .code_traceable = 0xc0,
     SINCE_3_12},
};

/* Offsets that every version has. */
enum { OBJECT_TYPE = 8, VAR_SIZE = 16, BYTES_CONTENT = 32, TEXT_LENGTH = 16, TEXT_STATE = 32 };

const pt_python_layout *pt_python_layout_of(unsigned major, unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (major == 3 && layouts[i].minor == minor) return &layouts[i];
    return NULL;
}

/* ---- frames ---- */

typedef pt_python_walk python_walking;

static inline const pt_python_layout *layout_of(const pt_python_walk *walk)
{
    return walk->layout;
}

static inline bool fetch_bytes(pt_python_walk *walk, uint64_t addr, uint32_t size)
{
    return walk->read(walk->arg, addr, walk->bytes, size);
}

#include "interp/python_walk.h"

pt_python_step pt_python_walk_begin(pt_python_walk *walk, const pt_python_layout *layout,
                                    pt_interp_read *read, void *arg, uint64_t state, uint32_t most)
{
    walk->layout = layout;
    walk->read = read;
    walk->arg = arg;
    return begin_frames(walk, state, most);
}

pt_python_step pt_python_walk_next(pt_python_walk *walk, pt_python_frame *ret_frame)
{
    return next_frame(walk, ret_frame);
}

/* ---- code objects ---- */

void pt_python_code_at(const pt_python_layout *layout, const void *object, pt_python_code *ret_code)
{
    *ret_code = code_at(layout, object);
}

bool pt_python_code_read(const pt_python_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t addr, pt_python_code *ret_code, uint32_t *ret_check)
{
    pt_python_walk walk = {.layout = layout, .read = read, .arg = arg};
    return fetch_code(&walk, addr, ret_code) && check_code(&walk, ret_code, ret_check);
}

bool pt_python_is_hidden(const pt_python_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t addr, const pt_python_code *code)
{
    pt_python_walk walk = {.layout = layout, .read = read, .arg = arg};
    return is_code_hidden(&walk, addr, code);
}

static uint64_t head_word(const uint8_t *head, unsigned offset)
{
    uint64_t word;
    memcpy(&word, head + offset, sizeof word);
    return word;
}

bool pt_python_text(const pt_python_layout *layout, pt_interp_read *read, void *arg, uint64_t text,
                    uint64_t type, char *to, size_t cap, size_t *ret_bytes)
{
    enum { PIECE = 64 };
    uint8_t head[TEXT_STATE + 8], piece[PIECE];
    if (text == 0 || text % 8 != 0 || !read(arg, text, head, sizeof head) ||
        head_word(head, OBJECT_TYPE) != type)
        return false;
    const uint64_t length = head_word(head, TEXT_LENGTH);
    const unsigned unit = head[TEXT_STATE] >> 2 & 7; /* bytes per character: 1, 2 or 4 */
    const bool is_compact = (head[TEXT_STATE] >> 5 & 1) != 0;
    const bool is_ascii = (head[TEXT_STATE] >> 6 & 1) != 0;
    if (!is_compact || (unit != 1 && unit != 2 && unit != 4) || length > UINT32_MAX) return false;
    uint64_t at = text + (is_ascii ? layout->text_ascii : layout->text_compact);
    uint64_t left = length * unit;
    size_t held = 0;
    while (left > 0) {
        const size_t size = left < PIECE ? (size_t)left : PIECE;
        if (!read(arg, at, piece, size)) return false;
        for (size_t i = 0; i < size; i += unit) {
            uint32_t c = 0;
            char utf8[4];
            memcpy(&c, piece + i, unit); /* little-endian, like the supported machines */
            const size_t bytes = pt_interp_put_character(c, utf8);
            if (bytes > cap - held) {
                *ret_bytes = held;
                return true;
            }
            memcpy(to + held, utf8, bytes);
            held += bytes;
        }
        at += size;
        left -= size;
    }
    *ret_bytes = held;
    return true;
}

bool pt_python_bytes(pt_interp_read *read, void *arg, uint64_t object, uint64_t type,
                     uint64_t *ret_addr, uint64_t *ret_bytes)
{
    uint8_t head[VAR_SIZE + 8];
    if (object == 0 || object % 8 != 0 || !read(arg, object, head, sizeof head) ||
        head_word(head, OBJECT_TYPE) != type)
        return false;
    *ret_addr = object + BYTES_CONTENT;
    *ret_bytes = head_word(head, VAR_SIZE);
    return *ret_bytes < UINT32_MAX;
}

/* ---- lines ---- */

/* The sum of two numbers of a table, which may overflow. */
static int32_t moved_line(int32_t line, int32_t by)
{
    return (int32_t)((uint32_t)line + (uint32_t)by);
}

/* The table has pairs: bytes of code, line increment (Objects/lnotab_notes.txt of 3.8). */
static int32_t line_by_lnotab(const uint8_t *table, size_t bytes, int32_t line, int32_t place)
{
    int64_t addr = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        addr += table[i];
        if (addr > place) break;
        line = moved_line(line, (int8_t)table[i + 1]);
    }
    return line;
}

/* The table has pairs: bytes of code in a range, line increment. The increment -128 means that the
 * range has no line; it gets the first line (Objects/lnotab_notes.txt of 3.10). */
static int32_t line_by_ranges(const uint8_t *table, size_t bytes, int32_t first, int32_t place)
{
    int64_t end = 0;
    int32_t line = first;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        const int8_t delta = (int8_t)table[i + 1];
        end += table[i];
        if (delta != -128) line = moved_line(line, delta);
        if (place < end) return delta != -128 ? line : first;
    }
    return first;
}

/* Reads a number of six bits a byte, the lowest first; bit 6: more bytes follow. */
static uint32_t take_varint(const uint8_t *table, size_t bytes, size_t *at)
{
    uint32_t value = 0;
    for (unsigned shift = 0; *at < bytes; shift += 6) {
        const uint8_t byte = table[(*at)++];
        if (shift < 32) value |= (uint32_t)(byte & 0x3f) << shift;
        if ((byte & 0x40) == 0) break;
    }
    return value;
}

static int32_t take_signed(const uint8_t *table, size_t bytes, size_t *at)
{
    const uint32_t value = take_varint(table, bytes, at);
    const int32_t half = (int32_t)(value >> 1);
    return (value & 1) != 0 ? -half : half;
}

/* Each entry has a first byte, with bit 7 set, and operands (Objects/locations.md of 3.11). */
static int32_t line_by_locations(const uint8_t *table, size_t bytes, int32_t first, int32_t place)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15, UNIT = 2 };
    int32_t line = first;
    int64_t end = 0;
    for (size_t at = 0; at < bytes;) {
        const unsigned head = table[at++], kind = head >> 3 & 15;
        if (kind == NO_COLUMNS || kind == LONG)
            line = moved_line(line, take_signed(table, bytes, &at));
        else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
            line = moved_line(line, (int32_t)kind - ONE_LINE_0);
        end += UNIT * ((head & 7) + 1);
        if (place < end) return kind != NO_LINE ? line : first;
        while (at < bytes && (table[at] & 0x80) == 0)
            at++;
    }
    return first;
}

int32_t pt_python_line(unsigned kind, const uint8_t *table, size_t bytes, int32_t first_line,
                       int32_t place)
{
    if (place < 0) return first_line;
    switch (kind) {
    case PT_PYTHON_LINES_LNOTAB: return line_by_lnotab(table, bytes, first_line, place);
    case PT_PYTHON_LINES_RANGES: return line_by_ranges(table, bytes, first_line, place);
    default: return line_by_locations(table, bytes, first_line, place);
    }
}
