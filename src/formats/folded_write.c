/* folded_write.c: writes folded stacks; folded.c describes the format. */
#include "formats/folded_text.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <inttypes.h>

/* Distinct sequences of numbers, in order of first appearance. */
typedef struct {
    PT_VECTOR(uint32_t) pool;
    PT_VECTOR(uint64_t) end; /* end of sequence i in the pool */
    pt_index index;
} sequences;

/* The writer interns three kinds of items, so that neither long names nor deep stacks are
 * multiplied in memory:
 *   name   text without semicolons and line breaks
 *   place  the names of a location, outermost first
 *   row    the places of a stack, outermost first: a line */
typedef struct {
    const pt_profile *p;
    uint32_t event[2];        /* events to write */
    unsigned events;          /* 1 or 2 */
    pt_buf names;             /* texts, each with a closing NUL */
    PT_VECTOR(uint64_t) name; /* name -> offset in names */
    pt_index name_index;
    sequences place, row;
    uint32_t *place_of; /* location -> place, PT_NONE = not made yet */
    uint32_t *row_of;   /* stack -> row, PT_NONE = not made yet */
    int64_t (*sum)[2];  /* sums of each row; at most as many rows as stacks */
    uint64_t changed, saturated;
} writer;

static uint64_t begin_of(const sequences *s, uint32_t id)
{
    return id == 0 ? 0 : s->end.items[id - 1];
}

/* Interns the sequence from `begin` to the end of the pool and returns its id. If there is an equal
 * earlier sequence, returns the id of that one and removes the new sequence from the pool. */
static uint32_t intern_tail(sequences *s, size_t begin)
{
    const size_t bytes = (s->pool.count - begin) * sizeof *s->pool.items;
    PT_GROW(s->pool, s->pool.count + 1);
    PT_GROW(s->end, s->end.count + 1);
    const uint32_t *const tail = s->pool.items + begin;
    const uint64_t hash = pt_hash_bytes(tail, bytes);
    PT_INDEX_EACH (&s->index, hash, id) {
        const uint64_t other = begin_of(s, id);
        if ((s->end.items[id] - other) * sizeof *tail == bytes &&
            (bytes == 0 || memcmp(s->pool.items + other, tail, bytes) == 0)) {
            s->pool.count = begin;
            return id;
        }
    }
    s->end.items[s->end.count] = s->pool.count;
    pt_index_add(&s->index, hash, (uint32_t)s->end.count);
    return (uint32_t)s->end.count++;
}

static void sequences_done(sequences *s)
{
    PT_FREE_ALL(s->pool.items, s->end.items);
    pt_index_done(&s->index);
}

/* Does the text begin with a byte order mark? */
static bool begins_like_bom(const char *text, size_t size)
{
    return (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) ||
           (size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0));
}

/* Replaces bytes that end a frame or a line, or that mark an encoding. */
static bool sanitize_name(char *text, size_t size)
{
    bool changed = begins_like_bom(text, size);
    if (changed) text[0] = '?';
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == ';')
            c = ':';
        else if (c == '\n' || c == '\r' || c == '\0')
            c = ' ';
        changed |= c != text[i];
        text[i] = c;
    }
    return changed;
}

static uint32_t intern_name(writer *w, const char *text, size_t size)
{
    const size_t begin = w->names.size;
    pt_put(&w->names, text, size);
    pt_put_u8(&w->names, '\0');
    char *const name = (char *)w->names.data + begin;
    w->changed += sanitize_name(name, size);
    const uint64_t hash = pt_hash_bytes(name, size);
    PT_INDEX_EACH (&w->name_index, hash, id) {
        if (strcmp((char *)w->names.data + w->name.items[id], name) == 0) {
            w->names.size = begin;
            return id;
        }
    }
    return PT_INDEX_PUSH(&w->name_index, hash, w->name, begin);
}

static uint32_t name_of_function(writer *w, uint32_t function, uint32_t location)
{
    const pt_profile *const p = w->p;
    uint32_t name = 0;
    if (function != PT_NONE)
        name = p->function->name[function] ? p->function->name[function]
                                           : p->function->system_name[function];
    if (name != 0) return intern_name(w, pt_text(p, name), pt_text_bytes(p, name));
    char text[512];
    const int size = pt_location_text(p, location, true, text, sizeof text);
    return intern_name(w, text, size < (int)sizeof text ? (size_t)size : sizeof text - 1);
}

static void push_number(sequences *s, uint32_t number)
{
    PT_PUSH(s->pool, number);
}

static uint32_t place_of(writer *w, uint32_t location)
{
    if (w->place_of[location] != PT_NONE) return w->place_of[location];
    const pt_locations *const l = w->p->location;
    const size_t begin = w->place.pool.count;
    const uint32_t first = l->line_first[location], end = l->line_first[location + 1];
    if (first == end) push_number(&w->place, name_of_function(w, PT_NONE, location));
    for (uint32_t k = end; k > first; k--)
        push_number(&w->place, name_of_function(w, w->p->line->function[k - 1], location));
    return w->place_of[location] = intern_tail(&w->place, begin);
}

static uint32_t row_of(writer *w, uint32_t stack)
{
    if (w->row_of[stack] != PT_NONE) return w->row_of[stack];
    const uint32_t *const frames = pt_stack_frames(w->p, stack);
    const size_t begin = w->row.pool.count;
    for (uint32_t i = pt_stack_depth(w->p, stack); i > 0; i--)
        push_number(&w->row, place_of(w, frames[i - 1]));
    return w->row_of[stack] = intern_tail(&w->row, begin);
}

static void add_up(writer *w)
{
    const pt_samples *const s = w->p->sample;
    for (uint32_t i = 0; i < s->t.count; i++) {
        const uint32_t row = row_of(w, s->stack[i]);
        for (unsigned e = 0; e < w->events; e++) {
            w->saturated += pt_saturating_into(&w->sum[row][e], s->value[w->event[e]][i]);
        }
    }
}

static const char *name_text(const writer *w, uint32_t name)
{
    return (const char *)w->names.data + w->name.items[name];
}

/* The innermost name of a row; NULL for the empty stack. */
static const char *leaf_name(const writer *w, uint32_t row)
{
    const uint64_t end = w->row.end.items[row];
    if (end == begin_of(&w->row, row)) return NULL;
    const uint32_t place = w->row.pool.items[end - 1];
    return name_text(w, w->place.pool.items[w->place.end.items[place] - 1]);
}

/* Do the names of every line end in a number? A reader would then take the number for a count. */
static bool looks_like_two(const writer *w)
{
    for (uint32_t row = 0; row < w->row.end.count; row++) {
        const char *const name = leaf_name(w, row);
        PT_FREE char *line = pt_strf("x;%s 1", name ? name : "");
        pt_folded_line parsed;
        if (pt_folded_parse(line, strlen(line), &parsed) != PT_FOLDED_STACK || !parsed.has_two)
            return false;
    }
    return w->row.end.count > 0;
}

static void put_row(const writer *w, uint32_t row, bool mark, pt_out *out)
{
    bool is_first = true;
    for (uint64_t i = begin_of(&w->row, row); i < w->row.end.items[row]; i++) {
        const uint32_t place = w->row.pool.items[i];
        for (uint64_t k = begin_of(&w->place, place); k < w->place.end.items[place]; k++) {
            if (!is_first) pt_out_char(out, ';');
            is_first = false;
            pt_out_text(out, name_text(w, w->place.pool.items[k]));
        }
    }
    if (is_first) pt_out_text(out, "[no stack]");
    if (mark) pt_out_char(out, '_'); /* keeps a number at the end from being read as a count */
    for (unsigned e = 0; e < w->events; e++)
        pt_outf(out, " %" PRId64, w->sum[row][e]);
    pt_out_char(out, '\n');
}

static bool is_event(const pt_profile *p, uint32_t event, const char *type)
{
    return strcmp(pt_text(p, p->event->row[event].type), type) == 0 &&
           strcmp(pt_text(p, p->event->row[event].unit), "count") == 0;
}

/* Chooses a single event, or both events of a profile that was read from lines with two counts. */
static pt_status choose_events(writer *w, const pt_write_options *options, pt_error *reterr)
{
    const pt_profile *const p = w->p;
    w->events = 1;
    w->event[0] = options->event;
    if (options->event != PT_NONE) return PT_OK;
    w->event[0] = pt_profile_default_event(p);
    if (w->event[0] == PT_NONE)
        return pt_error_set(reterr, PT_ERR_USAGE, "the profile has no values to write");
    if (p->event->t.count == 2 && is_event(p, 0, "before") && is_event(p, 1, "after")) {
        w->events = 2;
        w->event[0] = 0;
        w->event[1] = 1;
    }
    return PT_OK;
}

pt_status pt_folded_write(const pt_profile *profile, const pt_output *output,
                          const pt_write_options *options, pt_error *reterr)
{
    writer w = {.p = profile};
    pt_status status = choose_events(&w, options, reterr);
    if (status != PT_OK) return status;
    pt_out *const out = output->open(output->context, "", reterr);
    if (!out) return PT_ERR_SYSTEM;
    w.row_of = pt_alloc((size_t)profile->stack->t.count + 1, sizeof *w.row_of);
    memset(w.row_of, 0xff, profile->stack->t.count * sizeof *w.row_of);
    w.place_of = pt_alloc((size_t)profile->location->t.count + 1, sizeof *w.place_of);
    memset(w.place_of, 0xff, profile->location->t.count * sizeof *w.place_of);
    w.sum = pt_alloc((size_t)profile->stack->t.count + 1, sizeof *w.sum);
    add_up(&w);
    const bool mark = w.events == 1 && looks_like_two(&w);
    for (uint32_t row = 0; row < w.row.end.count && pt_out_ok(out); row++)
        put_row(&w, row, mark, out);
    if (mark) w.changed += w.row.end.count;
    pt_diag_add(options->diag, w.changed,
                "names changed: a name cannot contain ; or a line break, or end in a count");
    pt_diag_add(options->diag, w.saturated, "sums that hit the limit of 2^63");
    status = pt_out_flush(out, reterr);
    sequences_done(&w.place);
    sequences_done(&w.row);
    pt_index_done(&w.name_index);
    pt_buf_done(&w.names);
    PT_FREE_ALL(w.name.items, w.sum, w.row_of, w.place_of);
    return status;
}
