/* procmaps.c: the text list of mapped objects. */
#include "formats/procmaps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* A line being taken apart; text is not NUL-terminated. */
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

/* 1 to 16 hex digits, with or without 0x. */
static bool hex(cursor *c, uint64_t *ret_value)
{
    if (c->end - c->at > 2 && c->at[0] == '0' && (c->at[1] == 'x' || c->at[1] == 'X')) c->at += 2;
    uint64_t value = 0;
    int digits = 0;
    for (; c->at < c->end && isxdigit((unsigned char)*c->at); c->at++, digits++) {
        const int d = (unsigned char)*c->at;
        value = value << 4 | (uint64_t)(isdigit(d) ? d - '0' : tolower(d) - 'a' + 10);
    }
    *ret_value = value;
    return digits > 0 && digits <= 16;
}

/* The next run of non-blanks; empty at the end. */
static size_t word(cursor *c, const char **ret_word)
{
    skip_blanks(c);
    *ret_word = c->at;
    while (c->at < c->end && *c->at != ' ' && *c->at != '\t')
        c->at++;
    return (size_t)(c->at - *ret_word);
}

static size_t rest(cursor *c, const char **ret_rest)
{
    skip_blanks(c);
    *ret_rest = c->at;
    size_t length = (size_t)(c->end - c->at);
    while (length > 0 && (c->at[length - 1] == ' ' || c->at[length - 1] == '\t'))
        length--;
    return length;
}

/* "START-LIMIT", which begins both forms. */
static bool range(cursor *c, uint64_t *ret_start, uint64_t *ret_limit)
{
    return hex(c, ret_start) && skip_char(c, '-') && hex(c, ret_limit) && *ret_limit > *ret_start;
}

/* After the range: " r-xp OFFSET DEV INODE [PATH]". */
static bool maps_tail(cursor *c, map_line *m)
{
    const char *prot, *unused;
    if (word(c, &prot) < 3) return false;
    m->executable = prot[2] == 'x';
    skip_blanks(c);
    if (!hex(c, &m->file_offset) || word(c, &unused) == 0 || word(c, &unused) == 0) return false;
    m->path_bytes = rest(c, &m->path);
    m->build_id_bytes = 0;
    return true;
}

/* After the range: ": PATH [(@OFFSET)] [BUILD-ID]". */
static bool brief_tail(cursor *c, map_line *m)
{
    if (!skip_char(c, ':')) return false;
    m->path_bytes = word(c, &m->path);
    if (m->path_bytes == 0) return false;
    m->executable = true;
    m->file_offset = 0;
    skip_blanks(c);
    if (skip_char(c, '(') && !(skip_char(c, '@') && hex(c, &m->file_offset) && skip_char(c, ')')))
        return false;
    m->build_id_bytes = word(c, &m->build_id);
    return true;
}

static bool parse_map(const char *line, size_t length, map_line *m)
{
    cursor c = {line, line + length};
    if (!range(&c, &m->start, &m->limit)) return false;
    return c.at < c.end && *c.at == ':' ? brief_tail(&c, m) : maps_tail(&c, m);
}

typedef struct {
    pt_builder *b;
    pt_diag *diag;
    char *build; /* of the last build= line; NULL before the first */
    struct {
        pt_mapping *items;
        size_t count, cap;
    } maps;
} procmaps;

/* The path with each $build that a non-word character or the end follows put in place. */
static pt_string_id expand_build(procmaps *s, const char *path, size_t size)
{
    static const char variable[] = "$build";
    const size_t skip = sizeof variable - 1;
    if (s->build == NULL || memmem(path, size, variable, skip) == NULL)
        return pt_builder_string(s->b, path, size);
    struct {
        char *items;
        size_t count, cap;
    } out = {0};
    const size_t build_bytes = strlen(s->build);
    for (size_t i = 0; i < size;) {
        const bool here = size - i >= skip && memcmp(path + i, variable, skip) == 0 &&
                          (size - i == skip ||
                           !(isalnum((unsigned char)path[i + skip]) || path[i + skip] == '_'));
        PT_GROW(out, out.count + build_bytes + 1);
        if (here) {
            memcpy(out.items + out.count, s->build, build_bytes);
            out.count += build_bytes;
            i += skip;
        } else {
            out.items[out.count++] = path[i++];
        }
    }
    const pt_string_id id = pt_builder_string(s->b, out.items, out.count);
    free(out.items);
    return id;
}

/* "# build-id START-LIMIT HEX [PATH]": names the build of a mapping listed before it. */
static bool build_id_line(procmaps *s, const char *line, size_t length)
{
    static const char head[] = PT_PROCMAPS_BUILD_ID;
    if (length < sizeof head - 1 || memcmp(line, head, sizeof head - 1) != 0) return false;
    cursor c = {line + sizeof head - 1, line + length};
    uint64_t start, limit;
    const char *id;
    if (!range(&c, &start, &limit)) return false;
    const size_t id_bytes = word(&c, &id);
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

static bool begins_with(const char *line, size_t length, const char *head)
{
    const size_t bytes = strlen(head);
    return length >= bytes && memcmp(line, head, bytes) == 0;
}

static void take_line(procmaps *s, const char *line, size_t length)
{
    cursor c = {line, line + length};
    skip_blanks(&c);
    static const char build[] = "build=";
    if ((size_t)(c.end - c.at) >= sizeof build - 1 && memcmp(c.at, build, sizeof build - 1) == 0) {
        c.at += sizeof build - 1;
        const char *value;
        const size_t bytes = rest(&c, &value);
        free(s->build);
        s->build = pt_strndup(value, bytes);
        return;
    }
    map_line m;
    if (parse_map(line, length, &m)) {
        if (!m.executable) return;
        PT_GROW(s->maps, s->maps.count + 1);
        s->maps.items[s->maps.count++] =
            (pt_mapping){.start = m.start,
                         .limit = m.limit,
                         .file_offset = m.file_offset,
                         .file = expand_build(s, m.path, m.path_bytes).v,
                         .build_id = pt_builder_string(s->b, m.build_id, m.build_id_bytes).v};
        return;
    }
    if (length == 0 || begins_with(line, length, PT_PROCMAPS_OURS) ||
        build_id_line(s, line, length))
        return;
    pt_diag_add(s->diag, 1, "lines of the mapping list not understood (kept)");
    pt_builder_extra(s->b, pt_builder_text(s->b, PT_PROCMAPS_EXTRA),
                     pt_builder_string(s->b, line, length));
}

/* Does b continue a: the next addresses of the same file? */
static bool continues(const pt_mapping *a, const pt_mapping *b)
{
    return a->limit == b->start && a->file == b->file && a->file != 0 &&
           a->build_id == b->build_id && a->file_offset + (a->limit - a->start) == b->file_offset;
}

/* A shared object by its name: "libfoo.so", "libfoo.so.6", or in brackets. */
static bool is_library(const char *path)
{
    if (path[0] == '[' || path[0] == '\0' || strncmp(path, "/anon_hugepage", 14) == 0) return true;
    for (const char *so = strstr(path, ".so"); so != NULL; so = strstr(so + 1, ".so")) {
        if (so[3] == '\0' || so[3] == '.' || so[3] == ' ' || so[3] == '-') return true;
    }
    return false;
}

/* The main binary is the first file that is not a library; readers rely on slot 0. */
static void main_first(procmaps *s)
{
    for (size_t i = 0; i < s->maps.count; i++) {
        if (is_library(pt_builder_get_text(s->b, (pt_string_id){s->maps.items[i].file}))) continue;
        const pt_mapping main_binary = s->maps.items[i];
        memmove(s->maps.items + 1, s->maps.items, i * sizeof main_binary);
        s->maps.items[0] = main_binary;
        return;
    }
}

bool pt_procmaps_ours(const pt_reader *r)
{
    pt_reader lines = *r;
    lines.parent = NULL;
    lines.error = NULL;
    size_t length;
    for (const char *line; (line = pt_read_line(&lines, &length)) != NULL;) {
        if (begins_with(line, length, PT_PROCMAPS_OURS) ||
            begins_with(line, length, PT_PROCMAPS_BUILD_ID))
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
    size_t kept = 0;
    for (size_t i = 0; i < s.maps.count; i++) {
        if (kept > 0 && continues(&s.maps.items[kept - 1], &s.maps.items[i]))
            s.maps.items[kept - 1].limit = s.maps.items[i].limit;
        else
            s.maps.items[kept++] = s.maps.items[i];
    }
    s.maps.count = kept;
    main_first(&s);
    for (size_t i = 0; i < s.maps.count; i++)
        pt_builder_append_mapping(b, &s.maps.items[i]);
    free(s.maps.items);
    free(s.build);
}
