/* fold.c: finds the row of each line of each location by the facts that the rule compares. Almost
 * all frames are named and folded by name: their rows are found by the number of the name's
 * string. */
#include "view/fold.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "source/text.h"
#include "transform/called.h"

/* The only empty text of the infos, because infos are compared by pointers. */
static const char no_text[] = "";

/* ---- Texts of source files, as pprof has them ---- */

/* Texts that the fold makes. Each text is stored once, so that equal texts have the same
 * pointer. */
struct pt_text_pool {
    char **items;
    size_t count, cap;
    pt_index index;
    const char **of_function; /* NULL = not yet */
};

static const char *pool_text(struct pt_text_pool *pool, char *text)
{
    const uint64_t hash = pt_hash_bytes(text, strlen(text));
    PT_INDEX_EACH (&pool->index, hash, id) {
        if (strcmp(pool->items[id], text) != 0) continue;
        free(text);
        return pool->items[id];
    }
    PT_INDEX_PUSH(&pool->index, hash, *pool, text);
    return text;
}

static const char *pooled_file(const pt_fold *fold, uint32_t function)
{
    const char **file = &fold->files->of_function[function];
    if (*file != NULL) return *file;
    const pt_fold_rule *rule = &fold->rule;
    const char *path = pt_text(fold->profile, fold->profile->function->file[function]);
    if (rule->trims_paths) path = pt_source_trim(path, rule->trim_path, rule->source_path);
    *file = path[0] == '\0' ? no_text : pool_text(fold->files, pt_source_clean(path));
    return *file;
}

static struct pt_text_pool *pool_new(const pt_profile *p)
{
    struct pt_text_pool *pool = pt_alloc(1, sizeof *pool);
    pt_index_init(&pool->index);
    pool->of_function = pt_alloc(p->function->t.count, sizeof *pool->of_function);
    return pool;
}

static void pool_free(struct pt_text_pool *pool)
{
    if (pool == NULL) return;
    for (size_t i = 0; i < pool->count; i++)
        free(pool->items[i]);
    PT_FREE_ALL(pool->items, pool->of_function);
    pt_index_done(&pool->index);
    free(pool);
}

/* ---- Objects ---- */

static const char *text_or_empty(const pt_profile *p, uint32_t string)
{
    return pt_text_bytes(p, string) == 0 ? no_text : pt_text(p, string);
}

static bool has_object_name(const char *path, const char *name, size_t bytes)
{
    size_t own_bytes;
    const char *const own = pt_object_name(path, &own_bytes);
    return own_bytes == bytes && memcmp(own, name, bytes) == 0;
}

/* Returns for each mapping the path of its object. Mapped files with one base name are one object,
 * since reports show the same name for them. */
static const char **objects_of(const pt_profile *p)
{
    const uint32_t count = p->mapping->t.count;
    const char **object = pt_alloc((size_t)count + 1, sizeof *object);
    PT_AUTO(pt_index) index;
    pt_index_init(&index);
    for (uint32_t m = 0; m < count; m++) {
        size_t bytes;
        const char *const path = text_or_empty(p, p->mapping->row[m].file);
        const char *const name = pt_object_name(path, &bytes);
        const uint64_t hash = pt_hash_bytes(name, bytes);
        const uint32_t known =
            PT_INDEX_FIND(&index, hash, o, has_object_name(object[o], name, bytes));
        object[m] = known != PT_NONE ? object[known] : path;
        if (known == PT_NONE) pt_index_add(&index, hash, m);
    }
    return object;
}

/* ---- The facts that distinguish frames ---- */

static uint32_t function_of(const pt_profile *p, uint32_t line)
{
    return line == PT_NONE ? PT_NONE : p->line->function[line];
}

/* google/pprof's rules: internal/graph/graph.go, nodeInfo. */
static pt_node_info pprof_info(const pt_fold *fold, uint32_t location, uint32_t line)
{
    const pt_profile *p = fold->profile;
    const pt_fold_rule *rule = &fold->rule;
    const pt_grain by = rule->by;
    const uint32_t mapping = p->location->mapping[location];
    const char *object =
        mapping == PT_NONE ? no_text : text_or_empty(p, p->mapping->row[mapping].file);
    pt_node_info info = {.name = no_text, .file = no_text, .object = object};
    if (by == PT_BY_ADDRESS) info.address = p->location->address[location];
    const uint32_t function = function_of(p, line);
    if (function == PT_NONE) return info;
    if (by != PT_BY_FILE) info.name = text_or_empty(p, p->function->name[function]);
    if (by != PT_BY_FUNCTION) info.file = pooled_file(fold, function);
    if (by == PT_BY_LINE || by == PT_BY_ADDRESS) {
        const bool whole = by == PT_BY_ADDRESS && !rule->no_inlines;
        info.line = p->line->line[line];
        if (p->line->column != NULL && (whole || rule->columns))
            info.column = p->line->column[line];
    }
    if (rule->object_names || info.name[0] == '\0')
        info.start_line = p->function->start_line[function];
    else
        info.object = no_text;
    return info;
}

/* Sets the object; and, unless rows are mapped files, the address in the object, or the address
 * where the code around it begins. If the location's address is 0, sets neither. */
static void put_place(const pt_fold *fold, uint32_t location, pt_unnamed unnamed,
                      pt_node_info *info)
{
    const pt_profile *p = fold->profile;
    const uint32_t mapping = p->location->mapping[location];
    const bool has_address = unnamed != PT_UNNAMED_OBJECT;
    if (has_address && p->location->address[location] == 0) return;
    if (mapping != PT_NONE) info->object = fold->object[mapping];
    info->whole_code =
        unnamed == PT_UNNAMED_FUNCTION && pt_location_code_start(p, location, &info->address);
    if (has_address && !info->whole_code) info->address = pt_location_in_image(p, location);
}

static pt_node_info own_info(const pt_fold *fold, uint32_t location, uint32_t line)
{
    const pt_profile *p = fold->profile;
    const pt_grain by = fold->rule.by;
    pt_node_info info = {.name = no_text, .file = no_text, .object = no_text};
    const uint32_t function = function_of(p, line);
    const uint32_t name = function == PT_NONE ? 0 : p->function->name[function];
    const uint32_t file = function == PT_NONE ? 0 : p->function->file[function];
    if (by == PT_BY_FILE && pt_text_bytes(p, file) > 0) {
        info.file = pt_text(p, file);
    } else if (by == PT_BY_MAPPING) {
        put_place(fold, location, PT_UNNAMED_OBJECT, &info);
    } else if (pt_text_bytes(p, name) == 0) {
        const bool is_each = by == PT_BY_ADDRESS && fold->rule.unnamed == PT_UNNAMED_FUNCTION;
        put_place(fold, location, is_each ? PT_UNNAMED_ADDRESS : fold->rule.unnamed, &info);
    } else {
        info.name = pt_text(p, name);
        if (by == PT_BY_FILEFUNCTION || by == PT_BY_LINE) info.file = text_or_empty(p, file);
        if (by == PT_BY_LINE) info.line = p->line->line[line];
        if (by == PT_BY_ADDRESS) put_place(fold, location, PT_UNNAMED_ADDRESS, &info);
    }
    return info;
}

static pt_node_info info_of(const pt_fold *fold, uint32_t location, uint32_t line)
{
    return fold->rule.pprof ? pprof_info(fold, location, line) : own_info(fold, location, line);
}

/* Compares texts by pointer: each text is in the profile's string table, in the pool, or "". */
static bool same_info(const pt_node_info *a, const pt_node_info *b)
{
    return a->name == b->name && a->file == b->file && a->object == b->object &&
           a->address == b->address && a->whole_code == b->whole_code &&
           a->start_line == b->start_line && a->line == b->line && a->column == b->column;
}

static uint64_t hash_info(const pt_node_info *info)
{
    uint64_t h = pt_hash_mix((uintptr_t)info->name, (uintptr_t)info->file);
    h = pt_hash_mix(h ^ info->address, (uintptr_t)info->object);
    h = pt_hash_mix(h ^ (uint64_t)info->start_line, (uint64_t)info->line);
    return pt_hash_mix(h, (uint64_t)info->column);
}

/* ---- Rows ---- */

typedef PT_VECTOR(uint32_t) column;

/* A fold being made. */
typedef struct {
    pt_fold *fold;
    column location, line, several;
    uint32_t *row_of_name; /* per string; PT_NONE = no row yet. The array is NULL if a row is more
                            * than a name */
    pt_index others;       /* rows that are not found by name */
} folding;

static void column_add(column *c, uint32_t value)
{
    PT_PUSH(*c, value);
}

static uint32_t new_row(folding *f, uint32_t location, uint32_t line)
{
    column_add(&f->location, location);
    column_add(&f->line, line);
    return (uint32_t)f->location.count - 1;
}

static uint32_t find_row(folding *f, uint32_t location, uint32_t line)
{
    const pt_node_info info = info_of(f->fold, location, line);
    const uint64_t hash = hash_info(&info);
    PT_INDEX_EACH (&f->others, hash, row) {
        const pt_node_info other = info_of(f->fold, f->location.items[row], f->line.items[row]);
        if (same_info(&info, &other)) return row;
    }
    const uint32_t row = new_row(f, location, line);
    pt_index_add(&f->others, hash, row);
    return row;
}

static uint32_t row_of_line(folding *f, uint32_t location, uint32_t line)
{
    const pt_profile *p = f->fold->profile;
    const uint32_t function = function_of(p, line);
    const uint32_t name = function == PT_NONE ? 0 : p->function->name[function];
    if (f->row_of_name == NULL || pt_text_bytes(p, name) == 0) return find_row(f, location, line);
    if (f->row_of_name[name] == PT_NONE) f->row_of_name[name] = new_row(f, location, line);
    return f->row_of_name[name];
}

static uint32_t fold_location(folding *f, uint32_t location)
{
    const pt_locations *locations = f->fold->profile->location;
    const uint32_t first = locations->line_first[location];
    const uint32_t count = locations->line_first[location + 1] - first;
    if (count == 0) return row_of_line(f, location, PT_NONE);
    if (count == 1 || f->fold->rule.no_inlines) return row_of_line(f, location, first + count - 1);
    const uint32_t place = (uint32_t)f->several.count;
    column_add(&f->several, count);
    for (uint32_t i = 0; i < count; i++)
        column_add(&f->several, row_of_line(f, location, first + i));
    return PT_FOLD_SEVERAL | place;
}

pt_status pt_fold_init(pt_fold *fold, const pt_profile *profile, const pt_fold_rule *rule,
                       pt_error *reterr)
{
    const uint32_t locations = profile->location->t.count;
    const uint64_t most = (uint64_t)profile->line->t.count + 2 * (uint64_t)locations;
    if (most >= PT_FOLD_SEVERAL)
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "%" PRIu64 " lines of code in one profile, at most 2^31 can be shown",
                            most);
    *fold = (pt_fold){.profile = profile, .rule = *rule};
    if (rule->pprof)
        fold->files = pool_new(profile);
    else
        fold->object = objects_of(profile);
    folding f = {.fold = fold};
    pt_index_init(&f.others);
    if (rule->by == PT_BY_FUNCTION && !rule->object_names) {
        f.row_of_name = pt_alloc(profile->string->t.count, sizeof *f.row_of_name);
        memset(f.row_of_name, 0xff, profile->string->t.count * sizeof *f.row_of_name);
    }
    fold->of_location = pt_alloc(locations, sizeof *fold->of_location);
    for (uint32_t i = 0; i < locations; i++)
        fold->of_location[i] = fold_location(&f, i);
    fold->count = (uint32_t)f.location.count;
    fold->location = f.location.items;
    fold->line = f.line.items;
    fold->several = f.several.items;
    free(f.row_of_name);
    pt_index_done(&f.others);
    return PT_OK;
}

void pt_fold_done(pt_fold *fold)
{
    pool_free(fold->files);
    PT_FREE_ALL(fold->of_location, fold->several, fold->location, fold->line, fold->object);
    *fold = (pt_fold){0};
}

/* ---- The names of rows ---- */

pt_node_info pt_fold_info(const pt_fold *fold, uint32_t row)
{
    return info_of(fold, fold->location[row], fold->line[row]);
}

static char *place_text(const pt_node_info *info)
{
    char small[64];
    const int length =
        pt_place_text(info->object, info->address, info->whole_code, small, sizeof small);
    if ((size_t)length < sizeof small) return pt_strndup(small, (size_t)length);
    char *text = pt_alloc((size_t)length + 1, 1);
    pt_place_text(info->object, info->address, info->whole_code, text, (size_t)length + 1);
    return text;
}

static char *own_text(const pt_fold *fold, uint32_t row)
{
    const pt_fold_rule *rule = &fold->rule;
    const pt_node_info info = pt_fold_info(fold, row);
    if (info.name[0] == '\0') {
        if (info.file[0] != '\0') return pt_strdup(info.file);
        const bool whole_object = rule->by == PT_BY_MAPPING || rule->unnamed == PT_UNNAMED_OBJECT;
        return whole_object ? pt_object_text(info.object) : place_text(&info);
    }
    if (rule->by == PT_BY_ADDRESS) {
        PT_FREE char *place = place_text(&info);
        return pt_strf("%s %s", place, info.name);
    }
    if (info.file[0] == '\0' && info.line == 0) return pt_strdup(info.name);
    if (info.line == 0) return pt_strf("%s %s", info.name, info.file);
    return pt_strf("%s %s:%" PRId64, info.name, info.file, info.line);
}

char *pt_fold_text(const pt_fold *fold, uint32_t row)
{
    if (!fold->rule.pprof) return own_text(fold, row);
    const pt_node_info info = pt_fold_info(fold, row);
    return pt_node_text(&info);
}

bool pt_fold_is_unnamed(const pt_fold *fold, uint32_t row)
{
    const pt_node_info info = pt_fold_info(fold, row);
    if (info.name[0] != '\0' || info.file[0] != '\0') return false;
    return fold->rule.by != PT_BY_MAPPING || info.object[0] == '\0';
}

uint32_t pt_fold_line_at(const pt_fold *fold, uint32_t row, uint32_t location)
{
    const uint32_t *line_first = fold->profile->location->line_first;
    const uint32_t first = line_first[location], end = line_first[location + 1];
    if (first == end) return PT_NONE;
    if (fold->rule.no_inlines) return end - 1;
    uint32_t one, count;
    const uint32_t *rows = pt_fold_rows(fold, location, &one, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i] == row) return first + i;
    return PT_NONE;
}

const char *pt_fold_file_at(const pt_fold *fold, uint32_t row, uint32_t location)
{
    const pt_profile *p = fold->profile;
    const uint32_t mapping = p->location->mapping[location];
    if (fold->rule.by == PT_BY_MAPPING)
        return mapping == PT_NONE ? "" : pt_text(p, p->mapping->row[mapping].file);
    const uint32_t line = pt_fold_line_at(fold, row, location);
    if (line == PT_NONE || pt_fold_is_unnamed(fold, row)) return "";
    return pt_text(p, p->function->file[p->line->function[line]]);
}

int64_t pt_fold_line_number(const pt_fold *fold, uint32_t row)
{
    const uint32_t line = fold->line[row];
    const bool is_line = fold->rule.by == PT_BY_LINE || fold->rule.by == PT_BY_ADDRESS;
    return is_line && line != PT_NONE ? fold->profile->line->line[line] : 0;
}

/* Has the row neither name nor file, so that its text is an object with the row's address? */
static bool is_place(const pt_fold *fold, const pt_node_info *info)
{
    const pt_fold_rule *const rule = &fold->rule;
    return !rule->pprof && rule->by != PT_BY_MAPPING && rule->unnamed != PT_UNNAMED_OBJECT &&
           info->name[0] == '\0' && info->file[0] == '\0' && info->address != 0;
}

static unsigned hex_digits(uint64_t number)
{
    return (67 - (unsigned)__builtin_clzll(number)) / 4;
}

/* The order of two numbers as texts: hex digits, followed by the character `behind`. Neither number
 * is 0. */
static int compare_hex(uint64_t a, uint64_t b, char behind)
{
    const unsigned a_digits = hex_digits(a), b_digits = hex_digits(b);
    const unsigned common = a_digits < b_digits ? a_digits : b_digits;
    const uint64_t x = a >> 4 * (a_digits - common), y = b >> 4 * (b_digits - common);
    if (x != y) return x < y ? -1 : 1;
    if (a_digits == b_digits) return 0;
    const uint64_t longer = a_digits > b_digits ? a : b;
    const unsigned rest = a_digits > b_digits ? a_digits - common : b_digits - common;
    const char next = "0123456789abcdef"[longer >> 4 * (rest - 1) & 15];
    return (next < behind) == (a_digits > b_digits) ? -1 : 1;
}

int pt_fold_compare(const pt_fold *fold, uint32_t a, uint32_t b)
{
    const pt_node_info x = pt_fold_info(fold, a), y = pt_fold_info(fold, b);
    if (fold->rule.by == PT_BY_FUNCTION && x.name[0] != '\0' && y.name[0] != '\0')
        return strcmp(x.name, y.name);
    /* Most rows of a profile without symbols are places. Their addresses give the order of their
     * texts; to make the texts would take far longer. */
    if (is_place(fold, &x) && is_place(fold, &y) && x.object == y.object &&
        x.whole_code == y.whole_code)
        return compare_hex(x.address, y.address, x.whole_code ? '.' : ']');
    PT_FREE char *x_text = pt_fold_text(fold, a);
    PT_FREE char *y_text = pt_fold_text(fold, b);
    return strcmp(x_text, y_text);
}

/* ---- The rows with a name ---- */

/* For each row: does a sample have it? The caller frees the array. */
static bool *sampled_rows(const pt_fold *fold)
{
    const pt_profile *p = fold->profile;
    bool *sampled = pt_alloc((size_t)fold->count + 1, sizeof *sampled);
    PT_FREE bool *seen = pt_alloc((size_t)p->stack->t.count + 1, sizeof *seen);
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        seen[p->sample->stack[i]] = true;
    for (uint32_t s = 0; s < p->stack->t.count; s++) {
        for (uint64_t i = p->stack->offset[s]; seen[s] && i < p->stack->offset[s + 1]; i++) {
            uint32_t one, count;
            const uint32_t *rows = pt_fold_rows(fold, p->stack->frame[i], &one, &count);
            for (uint32_t k = 0; k < count; k++)
                sampled[rows[k]] = true;
        }
    }
    return sampled;
}

static bool find_rows(const pt_fold *fold, const bool *shown, size_t meaning, const char *name,
                      bool *found)
{
    const pt_profile *p = fold->profile;
    bool any = false;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t first = p->location->line_first[l], end = p->location->line_first[l + 1];
        uint32_t one, count;
        const uint32_t *rows = pt_fold_rows(fold, l, &one, &count);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t line = first == end ? PT_NONE : end - count + i;
            if (shown[rows[i]] && pt_called[meaning](p, l, line, name)) found[rows[i]] = any = true;
        }
    }
    return any;
}

bool *pt_fold_find(const pt_fold *fold, const char *name, const bool *shown)
{
    if (name[0] == '\0') return NULL;
    PT_FREE bool *sampled = shown == NULL ? sampled_rows(fold) : NULL;
    bool *found = pt_alloc((size_t)fold->count + 1, sizeof *found);
    for (size_t i = 0; i < PT_CALLED_COUNT; i++)
        if (find_rows(fold, shown != NULL ? shown : sampled, i, name, found)) return found;
    free(found);
    return NULL;
}

pt_status pt_fold_choose(const pt_fold *fold, const char *name, const pt_regex *pattern,
                         bool **ret_rows, pt_error *reterr)
{
    *ret_rows = name != NULL ? pt_fold_find(fold, name, NULL) : NULL;
    if (*ret_rows != NULL || pattern == NULL) return PT_OK;
    PT_FREE bool *sampled = sampled_rows(fold);
    bool any = false;
    bool *const rows = pt_alloc((size_t)fold->count + 1, sizeof *rows);
    pt_status status = PT_OK;
    for (uint32_t i = 0; i < fold->count && status == PT_OK; i++) {
        if (!sampled[i]) continue;
        PT_FREE char *text = pt_fold_text(fold, i);
        status = pt_regex_match(pattern, text, strlen(text), &rows[i], reterr);
        any = any || rows[i];
    }
    if (any && status == PT_OK)
        *ret_rows = rows;
    else
        free(rows);
    return status;
}

/* ---- pprof's spelling ---- */

char *pt_last_part(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (length == 0) return pt_strdup(".");
    return begin == length ? pt_strdup("/") : pt_strndup(path + begin, length - begin);
}

char *pt_node_text(const pt_node_info *info)
{
    pt_buf buf = PT_BUF_INIT;
    if (info->address != 0) pt_putf(&buf, "%016" PRIx64 " ", info->address);
    if (info->name[0] != '\0') pt_putf(&buf, "%s ", info->name);
    if (info->line != 0) {
        pt_putf(&buf, "%s:%" PRId64, info->file, info->line);
        if (info->column != 0) pt_putf(&buf, ":%" PRId64, info->column);
    } else if (info->file[0] != '\0') {
        pt_put_text(&buf, info->file);
    } else if (info->name[0] != '\0') {
        buf.size--; /* only the name is shown: the separator goes */
    } else if (info->object[0] != '\0') {
        PT_FREE char *base = pt_last_part(info->object);
        pt_putf(&buf, "[%s]", base);
    } else {
        pt_put_text(&buf, "<unknown>");
    }
    return pt_buf_take(&buf, NULL);
}
