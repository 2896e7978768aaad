/* procmaps.c: see procmaps.h. */
#include "formats/procmaps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/span.h"
#include "process/maps.h"
#include "process/path_kind.h"

typedef struct {
    uint64_t start, limit, file_offset;
    bool executable;
    pt_span path, build_id; /* in the line */
} map_line;

/* Takes 1 to 16 hex digits, with or without 0x. */
static bool take_hex(pt_span *s, uint64_t *ret_value)
{
    if (s->size > 2 && s->at[0] == '0' && (s->at[1] | 0x20) == 'x') pt_span_drop(s, 2);
    const char *const digits = s->at;
    return pt_span_hex(s, ret_value) && s->at - digits <= 16;
}

static bool is_hex(pt_span s)
{
    while (s.size > 0 && pt_hex_digit(*s.at) >= 0)
        pt_span_drop(&s, 1);
    return s.size == 0;
}

/* Is the text a protection such as "r-xp"? */
static bool is_protection(pt_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (memchr("-rwxps", s.at[i], 6) == NULL) return false;
    return s.size > 0;
}

/* Parses the part of the brief form that follows the addresses: "[:] [PERM] PATH [(@OFFSET)]
 * [BUILD-ID]". Without a colon the path must have the form of a path. */
static bool parse_brief_tail(pt_span tail, map_line *m)
{
    const bool colon = pt_span_skip(&tail, ":");
    pt_span prot, rest = tail;
    m->executable = true;
    if (pt_span_word(&rest, &prot) && is_protection(prot)) {
        m->executable = memchr(prot.at, 'x', prot.size) != NULL;
        tail = rest;
    }
    if (!pt_span_word(&tail, &m->path) || (!colon && *m->path.at != '/' && *m->path.at != '['))
        return false;
    m->file_offset = 0;
    pt_span_skip_blanks(&tail);
    if (pt_span_skip(&tail, "(") &&
        !(pt_span_skip(&tail, "@") && take_hex(&tail, &m->file_offset) && pt_span_skip(&tail, ")")))
        return false;
    pt_span_word(&tail, &m->build_id);
    if (!is_hex(m->build_id)) m->build_id.size = 0;
    return true;
}

static bool parse_map(pt_span line, map_line *m)
{
    pt_maps_line full;
    pt_span_skip_blanks(&line);
    if (pt_maps_line_parse(line.at, line.size, &full)) {
        *m = (map_line){.start = full.start,
                        .limit = full.limit,
                        .file_offset = full.file_offset,
                        .executable = (full.prot & PROT_EXEC) != 0,
                        .path = pt_span_trim(pt_span_from(line, full.path))};
        return true;
    }
    const size_t range_bytes = pt_maps_range(line.at, line.size, &m->start, &m->limit);
    pt_span_drop(&line, range_bytes);
    return range_bytes > 0 && parse_brief_tail(line, m);
}

/* Removes glog's prefix "TEXT:DIGITS] ", if the text has no brackets. */
static void skip_log_prefix(pt_span *line)
{
    size_t i = 0;
    while (i < line->size && line->at[i] != '[' && line->at[i] != ']')
        i++;
    if (i + 1 >= line->size || line->at[i] != ']' || !pt_is_space(line->at[i + 1])) return;
    size_t digits = i;
    while (digits > 0 && pt_is_digit(line->at[digits - 1]))
        digits--;
    if (digits == i || digits < 2 || line->at[digits - 1] != ':') return;
    pt_span_drop(line, i + 2);
}

/* An attribute "NAME=VALUE", which replaces $NAME in the following lines. */
typedef struct {
    char *name, *value;
} attribute;

typedef struct {
    pt_builder *b;
    pt_diag *diag;
    PT_VECTOR(attribute) attributes;
    PT_VECTOR(pt_mapping) maps;
} procmaps;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The attribute of "$NAME" at the text's beginning, unless a character follows that could continue
 * the name. */
static const attribute *attribute_at(const procmaps *s, pt_span text)
{
    if (!pt_span_skip(&text, "$")) return NULL;
    for (size_t i = s->attributes.count; i-- > 0;) {
        pt_span rest = text;
        if (pt_span_skip(&rest, s->attributes.items[i].name) &&
            (rest.size == 0 || !is_word(*rest.at)))
            return &s->attributes.items[i];
    }
    return NULL;
}

enum { LINE_MAX_BYTES = 64 << 10 }; /* limit of a line after replacement */

/* The line with the values of names in place of the names ($build). The result is in *into if the
 * line has such names. */
static pt_span expand_line(const procmaps *s, pt_span line, pt_buf *into)
{
    if (s->attributes.count == 0 || memchr(line.at, '$', line.size) == NULL) return line;
    while (line.size > 0 && into->size < LINE_MAX_BYTES) {
        const attribute *const a = attribute_at(s, line);
        if (a != NULL)
            pt_put_text(into, a->value);
        else
            pt_put_u8(into, (uint8_t)*line.at);
        pt_span_drop(&line, a != NULL ? strlen(a->name) + 1 : 1);
    }
    return (pt_span){pt_buf_text(into), into->size};
}

static bool attribute_line(procmaps *s, pt_span line)
{
    pt_span name, value;
    if (!pt_span_pair(line, &name, &value) || name.size == 0) return false;
    for (size_t i = 0; i < name.size; i++)
        if (!is_word(name.at[i])) return false;
    attribute *found = NULL;
    for (size_t i = 0; i < s->attributes.count && found == NULL; i++)
        if (pt_span_is(name, s->attributes.items[i].name)) found = &s->attributes.items[i];
    enum { ATTRIBUTES_MAX = 64 };
    if (found == NULL && s->attributes.count == ATTRIBUTES_MAX) return false;
    if (found == NULL) {
        PT_PUSH(s->attributes, (attribute){.name = pt_strndup(name.at, name.size)});
        found = &s->attributes.items[s->attributes.count - 1];
    }
    free(found->value);
    found->value = pt_strndup(value.at, value.size);
    return true;
}

/* Parses "# build-id START-LIMIT HEX [PATH]", which sets the build id of an earlier mapping. */
static bool build_id_line(procmaps *s, pt_span line)
{
    uint64_t start, limit;
    pt_span id;
    if (!pt_span_skip(&line, PT_PROCMAPS_BUILD_ID)) return false;
    const size_t range_bytes = pt_maps_range(line.at, line.size, &start, &limit);
    pt_span_drop(&line, range_bytes);
    if (range_bytes == 0 || !pt_span_word(&line, &id) || id.size % 2 != 0 || !is_hex(id))
        return false;
    for (size_t i = 0; i < s->maps.count; i++) {
        if (s->maps.items[i].start == start && s->maps.items[i].limit == limit)
            s->maps.items[i].build_id = pt_builder_string(s->b, id.at, id.size).v;
    }
    return true;
}

static void take_line(procmaps *s, pt_span line)
{
    PT_AUTO(pt_buf) expanded = PT_BUF_INIT;
    map_line m = {0};
    pt_span text = line;
    skip_log_prefix(&text);
    if (parse_map(expand_line(s, text, &expanded), &m)) {
        if (m.executable) {
            PT_PUSH(s->maps,
                    (pt_mapping){.start = m.start,
                                 .limit = m.limit,
                                 .file_offset = m.file_offset,
                                 .file = pt_builder_string(s->b, m.path.at, m.path.size).v,
                                 .build_id =
                                     pt_builder_string(s->b, m.build_id.at, m.build_id.size).v});
        }
    } else if (line.size != 0 && !pt_span_begins(line, PT_PROCMAPS_OURS) &&
               !build_id_line(s, line) && !attribute_line(s, text)) {
        pt_diag_add(s->diag, 1, "unknown lines of the mapping list kept");
        pt_builder_extra(s->b, pt_builder_text(s->b, PT_PROCMAPS_EXTRA),
                         pt_builder_string(s->b, line.at, line.size));
    }
}

/* Are a and b equal, if both are known? */
static bool strings_agree(uint32_t a, uint32_t b)
{
    return a == 0 || b == 0 || a == b;
}

/* Is b the part of the same file that follows a? */
static bool continues_mapping(const pt_mapping *a, const pt_mapping *b)
{
    if (!strings_agree(a->file, b->file) || !strings_agree(a->build_id, b->build_id) ||
        a->limit != b->start)
        return false;
    /* The brief form may omit offsets. google/pprof treats every 0 as unknown, and so joins
     * mappings that do not belong together. */
    return (a->file_offset == 0 && b->file_offset == 0) ||
           a->file_offset + (a->limit - a->start) == b->file_offset;
}

static void join_pieces(procmaps *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->maps.count; i++) {
        const pt_mapping *const next = &s->maps.items[i];
        pt_mapping *const last = &s->maps.items[kept - (kept > 0)];
        if (kept == 0 || !continues_mapping(last, next)) {
            s->maps.items[kept++] = *next;
            continue;
        }
        last->limit = next->limit;
        if (next->file != 0) last->file = next->file;
        if (next->build_id != 0) last->build_id = next->build_id;
    }
    s->maps.count = kept;
}

/* The name of a mapping of huge pages to which code of the main binary was moved. It may be the
 * first part of the main binary, and is never a library. */
static const char huge[] = "/anon_hugepage";

/* Is the path a shared object by its name ("libfoo.so", "libfoo.so.6", "x.so_1"), or not a file? */
static bool is_library(const char *path)
{
    path += strspn(path, " \t");
    const size_t bytes = pt_mapped_path_bytes(path, strlen(path));
    if (pt_begins(path, huge)) return false;
    if (pt_mapped_kind_of(path, bytes) != PT_MAPPED_FILE) return true;
    for (const char *so = strstr(path, ".so"); so != NULL; so = strstr(so + 1, ".so")) {
        if ((so[3] == '.' || so[3] == '_') && isdigit((unsigned char)so[4])) return true;
        if ((size_t)(so + 3 - path) == bytes) return true;
    }
    return false;
}

static const char *path_of(const procmaps *s, const pt_mapping *m)
{
    return pt_builder_get_text(s->b, (pt_string_id){m->file});
}

/* Moves the main binary to row 0, which readers rely on: it is the first file that is not a
 * library. */
static void move_main_first(procmaps *s)
{
    enum { USUAL_START = 0x400000 };
    pt_mapping *const maps = s->maps.items;
    for (size_t i = 0; i < s->maps.count; i++) {
        if (is_library(path_of(s, &maps[i]))) continue;
        const pt_mapping main_binary = maps[i];
        maps[i] = maps[0];
        maps[0] = main_binary;
        break;
    }
    if (s->maps.count > 1 && pt_begins(path_of(s, &maps[0]), huge) &&
        maps[0].limit == maps[1].start)
        memmove(maps, maps + 1, --s->maps.count * sizeof *maps);
    if (s->maps.count > 0 && maps[0].start - maps[0].file_offset == USUAL_START) {
        maps[0].start = USUAL_START;
        maps[0].file_offset = 0;
    }
}

bool pt_procmaps_ours(const pt_reader *r)
{
    pt_reader lines = *r;
    lines.parent = NULL;
    lines.error = NULL;
    for (pt_span line; pt_span_line(&lines, &line);)
        if (pt_span_begins(line, PT_PROCMAPS_OURS) || pt_span_begins(line, PT_PROCMAPS_BUILD_ID))
            return true;
    return false;
}

void pt_procmaps_read(pt_reader *r, pt_builder *b, pt_diag *diag)
{
    procmaps s = {.b = b, .diag = diag};
    for (pt_span line; pt_span_line(r, &line);)
        take_line(&s, line);
    join_pieces(&s);
    move_main_first(&s);
    for (size_t i = 0; i < s.maps.count; i++)
        pt_builder_append_mapping(b, &s.maps.items[i]);
    free(s.maps.items);
    for (size_t i = 0; i < s.attributes.count; i++)
        PT_FREE_ALL(s.attributes.items[i].name, s.attributes.items[i].value);
    free(s.attributes.items);
}
