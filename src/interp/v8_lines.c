/* v8_lines.c: the lines of functions in a script's source. See v8.h.
 *
 * Lines are counted once for each part of a source. The caller limits the number of characters that
 * are searched at a time. Looking up a counted part costs as much of the budget as LOOK_CHARACTERS
 * characters. */
#include "interp/v8.h"

enum { PART_CHARACTERS = 16 << 10, LOOK_CHARACTERS = 8 };

static uint64_t key_of(const pt_v8_function *f, const pt_v8_source *source, uint32_t part)
{
    const uint64_t key = ((uint64_t)(uint32_t)f->id << 32 | part) * UINT64_C(0x9e3779b97f4a7c15) ^
                         (uint64_t)source->length << 17;
    return key != 0 ? key : 1;
}

static pt_v8_part *part_of(pt_v8_lines *lines, uint64_t key)
{
    return &lines->part[(key >> 40) % PT_V8_PARTS];
}

/* The number of lines before a position. Returns false if the source is unreadable, or the budget
 * too small. */
static bool count_lines_before(pt_v8_lines *all, const pt_v8_reader *reader,
                               const pt_v8_function *f, const pt_v8_source *source,
                               uint32_t position, uint32_t *ret_lines)
{
    uint32_t part = position / PART_CHARACTERS, lines = 0, more;
    for (; part > 0; part--) {
        if (all->budget < LOOK_CHARACTERS) return false;
        all->budget -= LOOK_CHARACTERS;
        const uint64_t key = key_of(f, source, part);
        const pt_v8_part *const known = part_of(all, key);
        if (known->key == key) {
            lines = known->lines;
            break;
        }
    }
    uint32_t at = part * PART_CHARACTERS;
    while (at < position) {
        const uint32_t left = position - at;
        const uint32_t count = left < PART_CHARACTERS ? left : PART_CHARACTERS;
        if (count > all->budget) return false;
        all->budget -= count;
        if (!pt_v8_count_lines(source, reader->read, reader->arg, at, at + count, &more))
            return false;
        lines += more;
        at += count;
        if (at % PART_CHARACTERS != 0) continue;
        const uint64_t key = key_of(f, source, at / PART_CHARACTERS);
        *part_of(all, key) = (pt_v8_part){.key = key, .lines = lines};
    }
    *ret_lines = lines;
    return true;
}

bool pt_v8_line_of(pt_v8_lines *lines, const pt_v8_layout *layout, const pt_v8_reader *objects,
                   const pt_v8_reader *source, const pt_v8_function *f, int32_t *ret_line)
{
    pt_interp_read *const read = objects->read;
    pt_v8_source text;
    uint32_t before;
    *ret_line = 0;
    if (f->start < 0 || !pt_v8_source_of(layout, read, objects->arg, f->script, &text) ||
        (uint32_t)f->start > text.length)
        return true;
    if (!count_lines_before(lines, source, f, &text, (uint32_t)f->start, &before)) return false;
    const int64_t line =
        (int64_t)pt_v8_first_line(layout, read, objects->arg, f->script) + before + 1;
    if (line <= INT32_MAX) *ret_line = (int32_t)line;
    return true;
}
