/* json_profile.c: see json_profile.h. */
#include "formats/json_profile.h"

#include <math.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/units.h"

/* ---- Probing ---- */

enum { PATH_LEVELS = 8, PATH_BYTES = 256 };

/* Position of the scan: the text of the path, and the length of this text at each level. */
typedef struct {
    char text[PATH_BYTES];
    size_t end[PATH_LEVELS + 1];
} json_path;

static void set_level(json_path *path, unsigned level, const char *name, size_t bytes)
{
    const size_t begin = level == 0 ? 0 : path->end[level - 1];
    size_t at = begin;
    if (level > 0 && at + 1 < PATH_BYTES) path->text[at++] = '.';
    if (bytes > PATH_BYTES - 1 - at) bytes = PATH_BYTES - 1 - at;
    memcpy(path->text + at, name, bytes);
    path->end[level] = at + bytes;
}

static bool text_contains(const pt_json_r *r, const char *text)
{
    return text == NULL ||
           (r->token == PT_JSON_STRING && memmem(r->text, r->length, text, strlen(text)) != NULL);
}

bool pt_json_head_has(const pt_probe_input *input, const char *path, const char *text)
{
    size_t skip = 0;
    while (skip < input->head_bytes && strchr(" \t\r\n", input->head[skip]) != NULL &&
           input->head[skip] != '\0')
        skip++;
    if (skip == input->head_bytes || (input->head[skip] != '{' && input->head[skip] != '['))
        return false;
    PT_AUTO(pt_json_r) r;
    pt_json_r_init(&r, input->head, input->head_bytes, NULL);
    json_path at = {0};
    bool found = false;
    while (!found && pt_json_next(&r) > PT_JSON_EOF) {
        if (r.token == PT_JSON_OBJECT_END || r.token == PT_JSON_ARRAY_END) continue;
        const bool opens = r.token == PT_JSON_OBJECT || r.token == PT_JSON_ARRAY;
        const unsigned level = r.depth - opens; /* number of containers around the token */
        if (level == 0 || level > PATH_LEVELS) continue;
        if (r.token == PT_JSON_KEY) {
            set_level(&at, level - 1, r.text, r.length);
            if (text != NULL || strlen(path) != at.end[level - 1]) continue;
            found = memcmp(at.text, path, at.end[level - 1]) == 0;
            continue;
        }
        const bool in_object = r.in_object[(level - 1) / 8] >> (level - 1) % 8 & 1;
        if (!in_object) set_level(&at, level - 1, "[]", 2);
        found = strlen(path) == at.end[level - 1] &&
                memcmp(at.text, path, at.end[level - 1]) == 0 && text_contains(&r, text);
    }
    return found;
}

/* ---- Numbers ---- */

pt_json_num pt_json_num_of(const pt_json_r *r)
{
    if (r->token == PT_JSON_INT)
        return (pt_json_num){.integer = r->integer, .number = r->number, .whole = true};
    if (r->token == PT_JSON_NUMBER) return (pt_json_num){.number = r->number};
    return (pt_json_num){.whole = true};
}

static int64_t limit_of(pt_json_scale *s, bool negative)
{
    s->limited++;
    return negative ? -INT64_MAX : INT64_MAX;
}

/* The integer nearest to value, which may be any double. *ret_rest is the rounding error. */
static int64_t nearest_whole(pt_json_scale *s, double value, double *ret_rest)
{
    *ret_rest = 0;
    if (isnan(value)) return 0;
    if (!(fabs(value) < 9.2e18)) return limit_of(s, value < 0);
    const double whole = round(value);
    *ret_rest = value - whole;
    s->rounded += whole != value;
    return (int64_t)whole;
}

static bool take_exact(pt_json_scale *s, pt_json_num n, int64_t *ret_value)
{
    if (!n.whole) return false;
    if (__builtin_mul_overflow(n.integer, s->scale, ret_value) || *ret_value == INT64_MIN)
        *ret_value = limit_of(s, n.integer < 0);
    return true;
}

int64_t pt_json_scale_time(pt_json_scale *s, pt_json_num n)
{
    int64_t value, part;
    double rest;
    if (take_exact(s, n, &value)) return value;
    /* Integer part and fraction are converted separately, so that a product beyond 2^53 stays
     * exact. */
    const double whole = trunc(n.number);
    if (!(fabs(whole) < 0x1p53)) return nearest_whole(s, n.number * (double)s->scale, &rest);
    part = nearest_whole(s, (n.number - whole) * (double)s->scale, &rest);
    take_exact(s, (pt_json_num){.integer = (int64_t)whole, .whole = true}, &value);
    return __builtin_add_overflow(value, part, &value) ? INT64_MAX : value;
}

int64_t pt_json_scale_weight(pt_json_scale *s, pt_json_num n)
{
    int64_t value;
    if (take_exact(s, n, &value)) return value;
    const uint64_t before = s->rounded;
    const double given = n.number * (double)s->scale;
    value = nearest_whole(s, given + s->rest, &s->rest);
    s->rounded = before + (given != round(given));
    return value;
}

void pt_json_put_ns(pt_json_w *json, int64_t ns, int64_t unit_ns)
{
    if (ns % unit_ns == 0)
        pt_json_int(json, ns / unit_ns);
    else
        pt_json_double(json, (double)ns / (double)unit_ns);
}

int64_t pt_json_span(int64_t from, int64_t to)
{
    int64_t span;
    if (__builtin_sub_overflow(to, from, &span)) return to > from ? INT64_MAX : INT64_MIN;
    return span;
}

void pt_json_scale_report(const pt_json_scale *s, bool silent, pt_diag *diag)
{
    if (s->rounded > 0 && !silent)
        pt_diag_add(diag, s->rounded, "values with a fraction rounded, the sum kept");
    pt_diag_add(diag, s->limited, "values too large for 64 bits, set to the largest");
}

pt_status pt_json_failed(const pt_error *json, pt_builder *builder, pt_error *reterr)
{
    const uint32_t kept = pt_builder_sample_count(builder);
    if (kept == 0) {
        if (reterr) *reterr = *json;
        return json->status;
    }
    pt_error_set(reterr, PT_ERR_DAMAGED, "%.400s; kept %s", json->message,
                 pt_count_noun(kept, "samples").text);
    if (reterr) pt_error_where(reterr, NULL, NULL, json->offset);
    return PT_ERR_DAMAGED;
}

/* ---- Frames by name ---- */

typedef struct {
    uint32_t function;
    int64_t line, column;
} line_key;

typedef struct {
    pt_named_frames *f;
    const pt_profile *p;
    pt_index index;
    PT_VECTOR(line_key) key; /* of each frame */
    PT_VECTOR(size_t) text;  /* of each frame */
} naming;

static uint32_t add_frame(naming *n, pt_named_frame frame, line_key key, size_t text)
{
    pt_named_frames *const f = n->f;
    PT_GROW(f->frame, f->frame.count + 1);
    PT_GROW(n->key, f->frame.count + 1);
    PT_GROW(n->text, f->frame.count + 1);
    n->key.items[f->frame.count] = key;
    n->text.items[f->frame.count] = text;
    f->frame.items[f->frame.count] = frame;
    return (uint32_t)f->frame.count++;
}

/* The frame of a location without a name: [lib+0x12]. */
static uint32_t nameless_frame(naming *n, uint32_t location, uint32_t line, bool inlined)
{
    char text[1024];
    pt_location_text(n->p, location, true, text, sizeof text);
    const size_t at = n->f->texts.size;
    pt_put(&n->f->texts, text, strlen(text) + 1);
    const pt_named_frame frame = {.file = "",
                                  .location = location,
                                  .inlined = inlined,
                                  .line = line == PT_NONE ? 0 : n->p->line->line[line]};
    return add_frame(n, frame, (line_key){.function = PT_NONE}, at + 1);
}

/* The function's name as a string id; 0 if it has none. */
static uint32_t name_of(const pt_profile *p, uint32_t function)
{
    const uint32_t name = p->function->name[function];
    return name != 0 ? name : p->function->system_name[function];
}

static bool same_line(const line_key *a, const line_key *b)
{
    return a->function == b->function && a->line == b->line && a->column == b->column;
}

static uint32_t named_frame(naming *n, uint32_t location, uint32_t line, bool inlined,
                            bool by_location)
{
    const pt_profile *const p = n->p;
    const uint32_t function = p->line->function[line];
    if (function == PT_NONE || pt_text_bytes(p, name_of(p, function)) == 0)
        return nameless_frame(n, location, line, inlined);
    const line_key key = {.function = function,
                          .line = p->line->line[line],
                          .column = p->line->column ? p->line->column[line] : 0};
    const uint64_t hash =
        pt_hash_mix(pt_hash_mix(key.function, (uint64_t)key.line), (uint64_t)key.column);
    const uint32_t found =
        PT_INDEX_FIND(&n->index, hash, id, !by_location && same_line(&n->key.items[id], &key));
    if (found != PT_NONE) return found;
    const uint32_t name = name_of(p, function), file = p->function->file[function];
    const pt_named_frame frame = {.name = pt_text(p, name),
                                  .name_bytes = pt_text_bytes(p, name),
                                  .file = pt_text(p, file),
                                  .file_bytes = pt_text_bytes(p, file),
                                  .line = key.line,
                                  .column = key.column,
                                  .start_line = p->function->start_line[function],
                                  .location = location,
                                  .inlined = inlined};
    const uint32_t id = add_frame(n, frame, key, 0);
    if (!by_location) pt_index_add(&n->index, hash, id);
    return id;
}

void pt_named_frames_init(pt_named_frames *f, const pt_profile *p, bool by_location)
{
    *f = (pt_named_frames){0};
    naming n = {.f = f, .p = p};
    pt_index_init(&n.index);
    const uint32_t locations = p->location->t.count;
    f->first = pt_alloc((size_t)locations + 1, sizeof *f->first);
    f->of = pt_alloc((size_t)locations + p->line->t.count + 1, sizeof *f->of);
    uint32_t count = 0;
    for (uint32_t i = 0; i < locations; i++) {
        const uint32_t from = p->location->line_first[i], to = p->location->line_first[i + 1];
        f->first[i] = count;
        if (from == to) f->of[count++] = nameless_frame(&n, i, PT_NONE, false);
        for (uint32_t line = from; line < to; line++)
            f->of[count++] = named_frame(&n, i, line, line + 1 < to, by_location);
    }
    f->first[locations] = count;
    for (size_t i = 0; i < f->frame.count; i++) {
        if (n.text.items[i] == 0) continue;
        f->frame.items[i].name = (const char *)f->texts.data + n.text.items[i] - 1;
        f->frame.items[i].name_bytes = strlen(f->frame.items[i].name);
    }
    PT_FREE_ALL(n.key.items, n.text.items);
    pt_index_done(&n.index);
}

void pt_named_frames_done(pt_named_frames *f)
{
    PT_FREE_ALL(f->frame.items, f->first, f->of);
    pt_buf_done(&f->texts);
}

pt_out *pt_json_open_event(const pt_profile *p, const pt_output *output,
                           const pt_write_options *options, uint32_t *ret_event, pt_error *reterr)
{
    const uint32_t shown = pt_profile_default_event(p);
    *ret_event = options->event != PT_NONE ? options->event : shown;
    if (shown != PT_NONE) return output->open(output->context, "", reterr);
    pt_error_set(reterr, PT_ERR_USAGE, "the profile has no values to write");
    return NULL;
}
