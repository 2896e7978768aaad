/* procmaps.c: see procmaps.h. */
#include "formats/procmaps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/text.h"
#include "process/maps.h"
#include "process/path_kind.h"

/* A position in a line, which is not NUL-terminated. */
typedef struct {
    const char *at, *end;
} cursor;

typedef struct {
    uint64_t start, limit, file_offset;
    bool executable;
    const char *path, *build_id; /* in the line; not terminated */
    size_t path_bytes, build_id_bytes;
} map_line;

static bool skip_char(cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

/* Parses 1 to 16 hex digits, with or without 0x. */
static bool take_hex(cursor *c, uint64_t *ret_value)
{
    if (c->end - c->at > 2 && c->at[0] == '0' && (c->at[1] == 'x' || c->at[1] == 'X')) c->at += 2;
    uint64_t value = 0;
    int digits = 0;
    for (int d; c->at < c->end && (d = pt_hex_digit(*c->at)) >= 0; c->at++, digits++)
        value = value << 4 | (uint64_t)d;
    *ret_value = value;
    return digits > 0 && digits <= 16;
}

/* Takes the next run of non-blanks; empty at the end. */
static size_t take_word(cursor *c, const char **ret_word)
{
    skip_blanks(c);
    *ret_word = c->at;
    while (c->at < c->end && *c->at != ' ' && *c->at != '\t')
        c->at++;
    return (size_t)(c->at - *ret_word);
}

static size_t take_rest(cursor *c, const char **ret_rest)
{
    skip_blanks(c);
    *ret_rest = c->at;
    size_t length = (size_t)(c->end - c->at);
    while (length > 0 && (c->at[length - 1] == ' ' || c->at[length - 1] == '\t'))
        length--;
    return length;
}

/* Is the text a protection such as "r-xp"? */
static bool is_protection(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (memchr("-rwxps", text[i], 6) == NULL) return false;
    }
    return size > 0;
}

/* Parses the rest of the brief form: "[:] [PERM] PATH [(@OFFSET)] [BUILD-ID]". Without a colon the
 * path must have the form of a path. */
static bool parse_brief_tail(cursor *c, map_line *m)
{
    const bool colon = skip_char(c, ':');
    const char *prot;
    cursor rest_of_line = *c;
    const size_t prot_bytes = take_word(&rest_of_line, &prot);
    m->executable = true;
    if (is_protection(prot, prot_bytes)) {
        m->executable = memchr(prot, 'x', prot_bytes) != NULL;
        *c = rest_of_line;
    }
    m->path_bytes = take_word(c, &m->path);
    if (m->path_bytes == 0 || (!colon && *m->path != '/' && *m->path != '[')) return false;
    m->file_offset = 0;
    skip_blanks(c);
    if (skip_char(c, '(') &&
        !(skip_char(c, '@') && take_hex(c, &m->file_offset) && skip_char(c, ')')))
        return false;
    m->build_id_bytes = take_word(c, &m->build_id);
    for (size_t i = 0; i < m->build_id_bytes; i++) {
        if (!isxdigit((unsigned char)m->build_id[i])) m->build_id_bytes = 0;
    }
    return true;
}

static bool parse_map(const char *line, size_t length, map_line *m)
{
    cursor c = {line, line + length};
    pt_maps_line full;
    skip_blanks(&c);
    if (pt_maps_line_parse(c.at, (size_t)(c.end - c.at), &full)) {
        cursor path = {full.path, c.end};
        *m = (map_line){.start = full.start,
                        .limit = full.limit,
                        .file_offset = full.file_offset,
                        .executable = (full.prot & PROT_EXEC) != 0};
        m->path_bytes = take_rest(&path, &m->path);
        return true;
    }
    const size_t range_bytes = pt_maps_range(c.at, (size_t)(c.end - c.at), &m->start, &m->limit);
    c.at += range_bytes;
    return range_bytes > 0 && parse_brief_tail(&c, m);
}

/* Removes glog's prefix "TEXT:DIGITS] ", if the text has no brackets. */
static void skip_log_prefix(const char **line, size_t *length)
{
    size_t i = 0;
    while (i < *length && (*line)[i] != '[' && (*line)[i] != ']')
        i++;
    if (i + 1 >= *length || (*line)[i] != ']' || !isspace((unsigned char)(*line)[i + 1])) return;
    size_t digits = i;
    while (digits > 0 && isdigit((unsigned char)(*line)[digits - 1]))
        digits--;
    if (digits == i || digits < 2 || (*line)[digits - 1] != ':') return;
    *line += i + 2;
    *length -= i + 2;
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

/* The attribute of "$NAME" at text, unless a character follows that could continue the name. */
static const attribute *attribute_at(const procmaps *s, const char *text, size_t size)
{
    for (size_t i = s->attributes.count; i-- > 0 && size > 1 && text[0] == '$';) {
        const size_t bytes = strlen(s->attributes.items[i].name);
        if (bytes < size && memcmp(text + 1, s->attributes.items[i].name, bytes) == 0 &&
            (bytes + 1 == size || !is_word(text[bytes + 1])))
            return &s->attributes.items[i];
    }
    return NULL;
}

enum { LINE_MAX_BYTES = 64 << 10 }; /* limit of a line after replacement */

/* The line with values in place of names; it is in *into if there were names. */
static pt_reader expand_line(const procmaps *s, const char *line, size_t length, pt_buf *into)
{
    pt_reader text;
    pt_reader_init(&text, line, length, NULL);
    if (s->attributes.count == 0 || memchr(line, '$', length) == NULL) return text;
    pt_buf_clear(into);
    for (size_t i = 0; i < length && into->size < LINE_MAX_BYTES;) {
        const attribute *const a = attribute_at(s, line + i, length - i);
        if (a != NULL) {
            pt_put_text(into, a->value);
            i += strlen(a->name) + 1;
        } else {
            pt_put_u8(into, (uint8_t)line[i++]);
        }
    }
    pt_reader_init(&text, into->data, into->size, NULL);
    return text;
}

static bool attribute_line(procmaps *s, const char *line, size_t length)
{
    const char *const sign = memchr(line, '=', length);
    if (sign == NULL) return false;
    cursor name = {line, sign}, value = {sign + 1, line + length};
    const char *name_at, *value_at;
    const size_t name_bytes = take_rest(&name, &name_at),
                 value_bytes = take_rest(&value, &value_at);
    for (size_t i = 0; i < name_bytes; i++) {
        if (!is_word(name_at[i])) return false;
    }
    if (name_bytes == 0) return false;
    attribute *found = NULL;
    for (size_t i = 0; i < s->attributes.count && found == NULL; i++) {
        attribute *const a = &s->attributes.items[i];
        if (strlen(a->name) == name_bytes && memcmp(a->name, name_at, name_bytes) == 0) found = a;
    }
    enum { ATTRIBUTES_MAX = 64 };
    if (found == NULL && s->attributes.count == ATTRIBUTES_MAX) return false;
    if (found == NULL) {
        PT_GROW(s->attributes, s->attributes.count + 1);
        found = &s->attributes.items[s->attributes.count++];
        *found = (attribute){.name = pt_strndup(name_at, name_bytes)};
    }
    free(found->value);
    found->value = pt_strndup(value_at, value_bytes);
    return true;
}

/* Parses "# build-id START-LIMIT HEX [PATH]", which sets the build id of an earlier mapping. */
static bool build_id_line(procmaps *s, const char *line, size_t length)
{
    static const char head[] = PT_PROCMAPS_BUILD_ID;
    if (length < sizeof head - 1 || memcmp(line, head, sizeof head - 1) != 0) return false;
    cursor c = {line + sizeof head - 1, line + length};
    uint64_t start, limit;
    const char *id;
    const size_t range_bytes = pt_maps_range(c.at, (size_t)(c.end - c.at), &start, &limit);
    if (range_bytes == 0) return false;
    c.at += range_bytes;
    const size_t id_bytes = take_word(&c, &id);
    if (id_bytes == 0 || id_bytes % 2 != 0) return false;
    for (size_t i = 0; i < id_bytes; i++) {
        if (!isxdigit((unsigned char)id[i])) return false;
    }
    for (size_t i = 0; i < s->maps.count; i++) {
        if (s->maps.items[i].start == start && s->maps.items[i].limit == limit)
            s->maps.items[i].build_id = pt_builder_string(s->b, id, id_bytes).v;
    }
    return true;
}

static void take_line(procmaps *s, const char *line, size_t length)
{
    pt_buf expanded = PT_BUF_INIT;
    map_line m = {0};
    const char *text = line;
    size_t text_bytes = length;
    skip_log_prefix(&text, &text_bytes);
    const pt_reader whole = expand_line(s, text, text_bytes, &expanded);
    if (parse_map((const char *)whole.pos, pt_reader_left(&whole), &m)) {
        if (m.executable) {
            PT_PUSH(
                s->maps,
                (pt_mapping){.start = m.start,
                             .limit = m.limit,
                             .file_offset = m.file_offset,
                             .file = pt_builder_string(s->b, m.path, m.path_bytes).v,
                             .build_id = pt_builder_string(s->b, m.build_id, m.build_id_bytes).v});
        }
    } else if (length != 0 && !pt_begins_n(line, length, PT_PROCMAPS_OURS) &&
               !build_id_line(s, line, length) && !attribute_line(s, text, text_bytes)) {
        pt_diag_add(s->diag, 1, "unknown lines of the mapping list kept");
        pt_builder_extra(s->b, pt_builder_text(s->b, PT_PROCMAPS_EXTRA),
                         pt_builder_string(s->b, line, length));
    }
    pt_buf_done(&expanded);
}

/* Are a and b equal, if both are known? */
static bool strings_agree(uint32_t a, uint32_t b)
{
    return a == 0 || b == 0 || a == b;
}

/* Is b the next part of the same file behind a? */
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

/* The name of huge pages that a main binary was moved to, which stands for it. */
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
    size_t length;
    for (const char *line; (line = pt_read_line(&lines, &length)) != NULL;) {
        if (pt_begins_n(line, length, PT_PROCMAPS_OURS) ||
            pt_begins_n(line, length, PT_PROCMAPS_BUILD_ID))
            return true;
    }
    return false;
}

void pt_procmaps_read(pt_reader *r, pt_builder *b, pt_diag *diag)
{
    procmaps s = {.b = b, .diag = diag};
    size_t length;
    for (const char *line; (line = pt_read_line(r, &length)) != NULL;)
        take_line(&s, line, length);
    join_pieces(&s);
    move_main_first(&s);
    for (size_t i = 0; i < s.maps.count; i++)
        pt_builder_append_mapping(b, &s.maps.items[i]);
    free(s.maps.items);
    for (size_t i = 0; i < s.attributes.count; i++) {
        free(s.attributes.items[i].name);
        free(s.attributes.items[i].value);
    }
    free(s.attributes.items);
}
