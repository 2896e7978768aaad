/* ghc.c: reads the time and allocation profiles of Haskell programs that GHC compiled with -prof.
 *
 *   total time  =        0.66 secs   (664 ticks @ 1000 us, 1 processor)            +RTS -p, -P, -pa
 *   total alloc = 647,751,824 bytes  (excludes profiling overheads)
 *                                                        individual      inherited
 *   COST CENTRE MODULE SRC             no. entries  %time %alloc   %time %alloc [ticks bytes]
 *   MAIN        MAIN   <built-in>      148       0    0.0    0.0   100.0  100.0
 *    main       Main   Shop.hs:37:1-24 296       1   ...           one more blank: a callee
 *
 *   {"total_ticks", "tick_interval": us, "total_alloc",                                    +RTS -pj
 *    "cost_centres": [{"id", "label", "module", "src_loc"}, ...],
 *    "profile": {"id", "entries", "ticks", "alloc", "children": [{...}, ...]}}
 *
 * Rule: rts/ProfilerReport.c and rts/ProfilerReportJson.c of GHC. Names and files end where the
 * head's next column begins, in characters. GHC 7 has no column SRC. Without ticks and bytes (-p) a
 * row states only its share of the totals, in tenths of a percent. */
#include "formats/plain.h"

#include "base/hash.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/json_profile.h"
#include "formats/legacy.h"

enum { TIME, ALLOC, ENTRIES, VALUES };

/* The row of a cost centre in the tree. */
typedef struct {
    uint32_t parent, node;
    int64_t id, value[VALUES];
} ghc_row;

typedef struct {
    int64_t id;
    uint32_t location;
} cost_centre;

typedef struct {
    pt_builder *b;
    pt_plain_tree calls;
    int64_t tick_ns, total_ticks, total_alloc;
    bool has_shares; /* values are tenths of a percent of the totals */
    uint64_t odd, first_odd;
    /* Used for the text. */
    size_t module_at, source_at, number_at; /* columns, in characters; source_at 0 = none */
    bool has_ticks;
    PT_VECTOR(uint32_t) open; /* nodes by depth */
    /* Used for JSON. */
    PT_VECTOR(cost_centre) centre;
    pt_index index;
    PT_VECTOR(ghc_row) row;
} ghc_reader;

/* The location of a cost centre: Module.label, at "File.hs:8:1-77" or "File.hs:(32,1)-(33,32)". */
static uint32_t make_location(ghc_reader *g, pt_span label, pt_span module, pt_span source)
{
    pt_buf name = {0};
    pt_put(&name, module.at, module.size);
    if (module.size > 0) pt_put(&name, ".", 1);
    pt_put(&name, label.at, label.size);
    pt_function function = {.name = pt_builder_string(g->b, (const char *)name.data, name.size).v};
    pt_buf_done(&name);
    int64_t line = 0, number;
    for (size_t i = 0; i < source.size && line == 0; i++) {
        if (source.at[i] != ':') continue;
        pt_span rest = {source.at + i + 1, source.size - i - 1};
        pt_span_skip(&rest, "(");
        if (!pt_span_number(&rest, false, &number)) continue;
        function.file = pt_builder_string(g->b, source.at, i).v;
        function.start_line = line = number;
    }
    return pt_plain_location(g->b, &function, line, 0);
}

static void put_row(ghc_reader *g, uint32_t node, const int64_t *values)
{
    if (values[TIME] != 0 || values[ALLOC] != 0 || values[ENTRIES] != 0)
        pt_builder_sample(g->b, pt_plain_tree_stack(&g->calls, node), PT_NO_LABELS, values);
}

/* ---- The text ---- */

/* The part of a line between two columns, which count characters of UTF-8. */
static pt_span cut_columns(pt_span line, size_t from, size_t to)
{
    size_t column = 0, begin = line.size, end = line.size;
    for (size_t i = 0; i < line.size; i++) {
        if (((uint8_t)line.at[i] & 0xc0) == 0x80) continue;
        if (column == from) begin = i;
        if (column == to) end = i;
        column++;
    }
    return pt_span_trim((pt_span){line.at + begin, end > begin ? end - begin : 0});
}

static size_t find_text(pt_span line, const char *text)
{
    const char *const at = memmem(line.at, line.size, text, strlen(text));
    return at != NULL ? (size_t)(at - line.at) : 0;
}

/* Reads a total: "664 ticks @ 1000 us", or "647,751,824 bytes". */
static void read_totals(ghc_reader *g, pt_span line)
{
    const size_t open = find_text(line, "(");
    if (find_text(line, "total time") > 0 && open > 0) {
        pt_span rest = {line.at + open + 1, line.size - open - 1};
        int64_t ticks, us;
        if (pt_span_number(&rest, false, &ticks) && pt_span_skip(&rest, " ticks @ ") &&
            pt_span_number(&rest, false, &us)) {
            g->total_ticks = ticks;
            g->tick_ns = pt_saturating_product(us, pt_span_begins(rest, " ms") ? 1000000 : 1000);
        }
    } else if (find_text(line, "total alloc") > 0) {
        g->total_alloc = 0;
        for (size_t i = find_text(line, "=") + 1; i < line.size && line.at[i] != 'b'; i++)
            if (pt_is_digit(line.at[i]) &&
                __builtin_add_overflow(pt_saturating_product(g->total_alloc, 10), line.at[i] - '0',
                                       &g->total_alloc))
                g->total_alloc = INT64_MAX;
    }
}

/* Reads the head of the tree's table. Returns false for any other line. The head of the flat table,
 * which comes first in the file, lacks the column "entries". */
static bool read_head(ghc_reader *g, pt_span line)
{
    if (!pt_span_begins(line, "COST CENTRE") || find_text(line, "entries") == 0) return false;
    g->module_at = find_text(line, "MODULE");
    g->source_at = find_text(line, "SRC");
    g->number_at = find_text(line, "no.");
    g->has_ticks = find_text(line, "ticks") > 0;
    g->has_shares = !g->has_ticks;
    return g->module_at > 0 && g->number_at > g->module_at;
}

/* Parses a number with one decimal and sets *ret to its tenths: 473 for "47.3". */
static bool take_tenths(pt_span *s, int64_t *ret)
{
    int64_t whole, tenth = 0;
    pt_span_skip_blanks(s);
    if (!pt_span_number(s, false, &whole)) return false;
    if (pt_span_skip(s, ".") && !pt_span_number(s, false, &tenth)) return false;
    *ret = pt_saturating_product(whole, 10);
    return tenth <= 9 && !__builtin_add_overflow(*ret, tenth, ret);
}

static int64_t share_of(int64_t tenths, int64_t total)
{
    return tenths > 1000 ? total : (int64_t)((__int128)tenths * total / 1000);
}

/* Parses the numbers from the column "no." on. */
static bool read_values(ghc_reader *g, pt_span rest, int64_t values[static VALUES])
{
    int64_t number[7] = {0};
    const size_t wanted = g->has_ticks ? 7 : 5; /* entries, 4 shares, ticks, bytes */
    if (!take_tenths(&rest, &number[0])) return false;
    for (size_t i = 0; i < wanted; i++) {
        pt_span_skip_blanks(&rest);
        const bool is_share = i >= 1 && i < 5;
        if (!(is_share ? take_tenths(&rest, &number[i]) : pt_span_number(&rest, false, &number[i])))
            return false;
    }
    values[ENTRIES] = number[0];
    const int64_t total_ns = pt_saturating_product(g->total_ticks, g->tick_ns);
    values[TIME] =
        g->has_ticks ? pt_saturating_product(number[5], g->tick_ns) : share_of(number[1], total_ns);
    values[ALLOC] = g->has_ticks ? number[6] : share_of(number[2], g->total_alloc);
    return true;
}

/* Reads a row of the tree. The number of blanks before the row's name is its depth, which is the
 * number of its callers. Returns false for another line. */
static bool read_row(ghc_reader *g, pt_span line)
{
    size_t depth = 0;
    int64_t values[VALUES];
    while (depth < line.size && line.at[depth] == ' ')
        depth++;
    const size_t module_end = g->source_at > 0 ? g->source_at : g->number_at;
    const pt_span label = cut_columns(line, depth, g->module_at);
    const pt_span module = cut_columns(line, g->module_at, module_end);
    const pt_span source =
        g->source_at > 0 ? cut_columns(line, g->source_at, g->number_at) : (pt_span){0};
    const pt_span numbers = cut_columns(line, g->number_at, SIZE_MAX);
    if (label.size == 0 || depth > g->open.count || !read_values(g, numbers, values)) return false;
    const uint32_t parent = depth > 0 ? g->open.items[depth - 1] : PT_NONE;
    const uint32_t node =
        pt_plain_tree_add(&g->calls, parent, make_location(g, label, module, source));
    g->open.count = depth;
    PT_PUSH(g->open, node);
    put_row(g, node, values);
    return true;
}

static void read_text(ghc_reader *g, pt_reader *r)
{
    pt_span line;
    bool in_table = false;
    for (uint64_t at = pt_reader_offset(r); pt_span_line(r, &line); at = pt_reader_offset(r)) {
        if (!in_table) {
            read_totals(g, line);
            in_table = read_head(g, line);
        } else if (pt_span_trim(line).size > 0 && !read_row(g, line) && g->odd++ == 0) {
            g->first_odd = at;
        }
    }
}

/* ---- JSON ---- */

static void read_centre(ghc_reader *g, pt_json_r *r)
{
    pt_buf text[3] = {0}; /* label, module, source */
    static const char *const keys[] = {"label", "module", "src_loc"};
    int64_t id = -1;
    while (pt_json_next(r) == PT_JSON_KEY) {
        size_t field = 0;
        while (field < 3 && !pt_json_is(r, keys[field]))
            field++;
        const bool is_id = pt_json_is(r, "id");
        pt_json_next(r);
        if (field < 3 && r->token == PT_JSON_STRING && text[field].size == 0)
            pt_put(&text[field], r->text, r->length);
        if (is_id && r->token == PT_JSON_INT) id = r->integer;
        pt_json_skip(r);
    }
    pt_span span[3];
    for (size_t i = 0; i < 3; i++)
        span[i] = (pt_span){(const char *)text[i].data, text[i].size};
    const uint64_t hash = pt_hash_mix((uint64_t)id, 1);
    if (PT_INDEX_FIND(&g->index, hash, i, g->centre.items[i].id == id) == PT_NONE) {
        pt_index_add(&g->index, hash, (uint32_t)g->centre.count);
        PT_PUSH(g->centre,
                (cost_centre){.id = id, .location = make_location(g, span[0], span[1], span[2])});
    }
    for (size_t i = 0; i < 3; i++)
        pt_buf_done(&text[i]);
}

static uint32_t add_row(ghc_reader *g, uint32_t parent)
{
    PT_PUSH(g->row, (ghc_row){.parent = parent, .id = -1});
    return (uint32_t)g->row.count - 1;
}

/* Reads the tree, whose opening brace was read. */
static void read_tree(ghc_reader *g, pt_json_r *r)
{
    const unsigned outside = r->depth - 1;
    uint32_t at = add_row(g, PT_NONE);
    while (r->depth > outside && pt_json_next(r) > PT_JSON_EOF) {
        ghc_row *const row = &g->row.items[at];
        if (r->token == PT_JSON_OBJECT) {
            at = add_row(g, at);
        } else if (r->token == PT_JSON_OBJECT_END) {
            at = row->parent == PT_NONE ? at : row->parent;
        } else if (r->token == PT_JSON_KEY) {
            const bool is_children = pt_json_is(r, "children");
            int64_t *const to = pt_json_is(r, "id")        ? &row->id
                                : pt_json_is(r, "ticks")   ? &row->value[TIME]
                                : pt_json_is(r, "alloc")   ? &row->value[ALLOC]
                                : pt_json_is(r, "entries") ? &row->value[ENTRIES]
                                                           : NULL;
            pt_json_next(r);
            if (is_children && r->token == PT_JSON_ARRAY) continue;
            if (to != NULL && r->token == PT_JSON_INT && r->integer >= 0) *to = r->integer;
            pt_json_skip(r);
        } else if (r->token != PT_JSON_ARRAY_END) {
            pt_json_skip(r);
        }
    }
}

static void put_tree(ghc_reader *g)
{
    for (size_t i = 0; i < g->row.count; i++) {
        ghc_row *const row = &g->row.items[i];
        const uint32_t centre = PT_INDEX_FIND(&g->index, pt_hash_mix((uint64_t)row->id, 1), id,
                                              g->centre.items[id].id == row->id);
        g->odd += centre == PT_NONE;
        const uint32_t location = centre != PT_NONE ? g->centre.items[centre].location
                                                    : make_location(g, (pt_span){"[unknown]", 9},
                                                                    (pt_span){0}, (pt_span){0});
        row->node = pt_plain_tree_add(
            &g->calls, row->parent == PT_NONE ? PT_NONE : g->row.items[row->parent].node, location);
        row->value[TIME] = pt_saturating_product(row->value[TIME], g->tick_ns);
        put_row(g, row->node, row->value);
    }
}

static void read_json(ghc_reader *g, pt_reader *reader, pt_error *error)
{
    PT_AUTO(pt_json_r) r;
    pt_json_r_init(&r, reader->pos, pt_reader_left(reader), error);
    if (pt_json_next(&r) == PT_JSON_OBJECT) {
        while (pt_json_next(&r) == PT_JSON_KEY) {
            const bool is_centres = pt_json_is(&r, "cost_centres"),
                       is_tree = pt_json_is(&r, "profile"),
                       is_interval = pt_json_is(&r, "tick_interval");
            pt_json_next(&r);
            if (is_interval && r.token == PT_JSON_INT && r.integer > 0)
                g->tick_ns = pt_saturating_product(r.integer, 1000);
            if (is_centres && r.token == PT_JSON_ARRAY)
                while (pt_json_next(&r) == PT_JSON_OBJECT)
                    read_centre(g, &r);
            else if (is_tree && r.token == PT_JSON_OBJECT && g->row.count == 0)
                read_tree(g, &r);
            else
                pt_json_skip(&r);
        }
    }
    put_tree(g);
}

/* ---- The whole ---- */

static pt_status conclude_profile(const ghc_reader *g, const pt_error *json, pt_diag *diag,
                                  pt_error *reterr)
{
    const uint32_t kept = pt_builder_sample_count(g->b);
    if (g->has_shares && kept > 0)
        pt_diag_add(diag, kept,
                    "rows with shares of the totals in tenths of a percent; +RTS -P or -pj writes "
                    "ticks and bytes");
    if (json->status != PT_OK) return pt_json_failed(json, g->b, reterr);
    if (g->calls.node.count == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "GHC's profile without a tree of cost centres");
    if (g->row.count > 0 && g->odd > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "rows of missing cost centres; kept %s",
                            pt_count_noun(kept, "rows").text);
    return pt_malformed_lines(g->b, g->odd, g->first_odd, reterr);
}

static pt_status ghc_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                          pt_error *reterr)
{
    ghc_reader g = {.b = builder, .tick_ns = 1000000};
    pt_error error = PT_ERROR_INIT;
    pt_index_init(&g.index);
    pt_plain_tree_init(&g.calls, builder);
    pt_plain_event(builder, "time", "nanoseconds");
    pt_plain_event(builder, "alloc_space", "bytes");
    pt_plain_event(builder, "entries", "count");
    pt_builder_set_default_event(builder, TIME);
    const uint8_t *first = reader->pos;
    while (first < reader->end && pt_is_space((char)*first))
        first++;
    if (first < reader->end && *first == '{')
        read_json(&g, reader, &error);
    else
        read_text(&g, reader);
    const pt_status status = conclude_profile(&g, &error, hooks->diag, reterr);
    pt_plain_tree_done(&g.calls);
    pt_index_done(&g.index);
    PT_FREE_ALL(g.open.items, g.centre.items, g.row.items);
    return status;
}

static int probe_ghc(const pt_probe_input *input)
{
    static const char title[] = "Time and Allocation Profiling Report";
    const size_t look = input->head_bytes < 512 ? input->head_bytes : 512;
    if (memmem(input->head, look, title, sizeof title - 1) != NULL) return 90;
    return pt_json_head_has(input, "tick_interval", NULL) &&
                   pt_json_head_has(input, "cost_centres", NULL)
               ? 85
               : 0;
}

const pt_format pt_format_ghc = {
    .name = "ghc",
    .aliases = "haskell",
    .summary = "GHC's .prof of Haskell programs: +RTS -p, -P and -pj",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_DEFAULT | PT_CAN_LINES | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_ghc,
    .read = ghc_read,
};
