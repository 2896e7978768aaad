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
    .frame_place = 0x38, .frame_boundary = 0x46, .code_first_line = 0x44, .code_file = 0x70,       \
    .code_name = 0x78, .code_qualname = 0x80, .code_lines = 0x88, .text_ascii = 40,                \
    .text_compact = 56

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
     .code_instructions = 0xc0,
     SINCE_3_12},
    {.minor = 13,
     .key = 0x870,
     .finalizing = 0x260,
     .state_frame = 0x48,
     .code_instructions = 0xc8,
     SINCE_3_12},
};

/* Offsets that every version has. */
enum { OBJECT_TYPE = 8, VAR_SIZE = 16, BYTES_FIRST = 32, TEXT_LENGTH = 16, TEXT_STATE = 32 };

const pt_python_layout *pt_python_layout_of(unsigned major, unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (major == 3 && layouts[i].minor == minor) return &layouts[i];
    return NULL;
}

/* ---- frames ---- */

static bool read_word(pt_python_read *read, void *arg, uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % sizeof *ret == 0 && read(arg, addr, ret, sizeof *ret);
}

pt_python_step pt_python_walk_begin(pt_python_walk *walk, const pt_python_layout *layout,
                                    pt_python_read *read, void *arg, uint64_t state, uint32_t most)
{
    *walk = (pt_python_walk){.layout = layout, .read = read, .arg = arg, .left = most};
    uint64_t holder = state, offset = layout->state_frame;
    if (layout->has_cframe) {
        if (!read_word(read, arg, state + layout->state_frame, &holder)) return PT_PYTHON_BAD_READ;
        offset = layout->cframe_frame;
    }
    if (!read_word(read, arg, holder + offset, &walk->next)) return PT_PYTHON_BAD_READ;
    return walk->next != 0 ? PT_PYTHON_FRAME : PT_PYTHON_END;
}

/* The first bytes of a frame, which hold the fields of every version. */
enum { FRAME_BYTES = 0x70 };

static uint64_t word_at(const uint8_t *bytes, unsigned offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static unsigned larger_of(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static int32_t place_of(const pt_python_layout *layout, const uint8_t *frame, uint64_t code)
{
    if (!layout->points_to_instruction) {
        int32_t place;
        memcpy(&place, frame + layout->frame_place, sizeof place);
        return place < 0 || place > INT32_MAX / 2 ? -1 : place * layout->place_unit;
    }
    const uint64_t first = code + layout->code_instructions;
    const uint64_t at = word_at(frame, layout->frame_place);
    return at >= first && at - first < INT32_MAX ? (int32_t)(at - first) : -1;
}

/* Reads a frame. *ret_is_shim: the frame is a shim, which only marks an evaluator's entry. */
static pt_python_step read_frame(pt_python_walk *walk, pt_python_frame *ret, bool *ret_is_shim)
{
    const pt_python_layout *const layout = walk->layout;
    uint8_t frame[FRAME_BYTES];
    if (walk->next == 0) return PT_PYTHON_END;
    if (walk->left == 0) return PT_PYTHON_CUT;
    walk->left--;
    const unsigned size = larger_of(layout->frame_place, layout->frame_boundary) + 8;
    if (walk->next % 8 != 0 || !walk->read(walk->arg, walk->next, frame, size))
        return PT_PYTHON_BAD_READ;
    walk->next = word_at(frame, layout->frame_back);
    *ret_is_shim = layout->owner_shim != 0 && frame[layout->frame_boundary] == layout->owner_shim;
    const uint64_t code = word_at(frame, layout->frame_code);
    *ret = (pt_python_frame){.code = code, .place = place_of(layout, frame, code)};
    ret->is_entry =
        layout->owner_shim == 0 && (!layout->is_entry_field || frame[layout->frame_boundary] != 0);
    return PT_PYTHON_FRAME;
}

/* If shims mark the ends of runs, a frame is the outermost of its run when a shim or nothing
 * follows.
 */
pt_python_step pt_python_walk_next(pt_python_walk *walk, pt_python_frame *ret_frame)
{
    bool is_shim = false;
    pt_python_frame frame = walk->ahead;
    if (!walk->has_ahead) {
        const pt_python_step step = read_frame(walk, &frame, &is_shim);
        if (step != PT_PYTHON_FRAME) return step;
    }
    walk->has_ahead = false;
    if (is_shim) {
        *ret_frame = (pt_python_frame){.place = -1, .is_entry = true};
        return PT_PYTHON_FRAME;
    }
    if (walk->layout->owner_shim != 0) {
        pt_python_frame next;
        const pt_python_step step = read_frame(walk, &next, &is_shim);
        frame.is_entry = step == PT_PYTHON_END || (step == PT_PYTHON_FRAME && is_shim);
        walk->has_ahead = step == PT_PYTHON_FRAME && !is_shim;
        walk->ahead = next;
    }
    *ret_frame = frame;
    return PT_PYTHON_FRAME;
}

/* ---- code objects ---- */

void pt_python_code_at(const pt_python_layout *layout, const void *object, pt_python_code *ret_code)
{
    const uint8_t *const bytes = object;
    *ret_code = (pt_python_code){
        .type = word_at(bytes, OBJECT_TYPE),
        .name = word_at(bytes, layout->has_qualname ? layout->code_qualname : layout->code_name),
        .file = word_at(bytes, layout->code_file),
        .lines = word_at(bytes, layout->code_lines)};
    memcpy(&ret_code->first_line, bytes + layout->code_first_line, sizeof ret_code->first_line);
}

bool pt_python_text(const pt_python_layout *layout, pt_python_read *read, void *arg, uint64_t text,
                    uint64_t type, char *to, size_t cap, size_t *ret_bytes)
{
    enum { PIECE = 64 };
    uint8_t head[TEXT_STATE + 8], piece[PIECE];
    if (text == 0 || text % 8 != 0 || !read(arg, text, head, sizeof head) ||
        word_at(head, OBJECT_TYPE) != type)
        return false;
    const uint64_t length = word_at(head, TEXT_LENGTH);
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

bool pt_python_bytes(pt_python_read *read, void *arg, uint64_t object, uint64_t type,
                     uint64_t *ret_addr, uint64_t *ret_bytes)
{
    uint8_t head[VAR_SIZE + 8];
    if (object == 0 || object % 8 != 0 || !read(arg, object, head, sizeof head) ||
        word_at(head, OBJECT_TYPE) != type)
        return false;
    *ret_addr = object + BYTES_FIRST;
    *ret_bytes = word_at(head, VAR_SIZE);
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

/* The table has pairs: bytes of code in a range, line increment. -128: the range has no line; it
 * gets the first line (Objects/lnotab_notes.txt of 3.10). */
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
