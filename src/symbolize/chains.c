/* chains.c: see chains.h. */
#include "symbolize/chains.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/place.h"

/* A function. Its strings belong to the object, which never moves them, or to the index. */
typedef struct {
    const char *linkage_name, *name, *file;
    uint32_t start_line;
    uint32_t shown; /* 1 + row of `shown` with its readable names; 0: none made yet */
} function;

typedef struct {
    const char *readable[PT_NAME_MODES]; /* NULL: not made yet */
    bool is_owned[PT_NAME_MODES];
    char *unkept; /* the name in a mode that the disk cache does not have */
} shown_names;

typedef struct {
    uint64_t addr;
    uint32_t frame_first, frame_count;
    pt_name_symbol symbol;
} row;

struct pt_chains {
    pt_object *object;
    pt_source_search *search;
    pt_pool *pool;
    pt_progress *progress;
    struct { /* missing parts of the debug information, which may appear later */
        size_t split_count;
        char *first_split; /* a path at which it was searched */
        bool supplement;
    } missing;
    bool has_claims; /* a file of neither this user nor root was used: nothing is cached */
    pt_object_detail detail;
    pt_demangle_mode demangle;
    const pt_name_cache *cache;
    char *key;           /* NULL: no disk cache */
    pt_name_index index; /* the cached index */
    bool has_index;
    uint32_t *of_index; /* function of the index -> row of functions, or PT_NONE */
    size_t looked_up;   /* number of addresses resolved by the object */
    bool is_news;       /* a result is not in the disk cache yet */
    PT_VECTOR(row) rows;
    pt_index row_index; /* rows by address */
    PT_VECTOR(pt_chain_frame) frames;
    PT_VECTOR(function) functions;
    pt_index function_index; /* functions of the object, by the addresses of their strings */
    PT_VECTOR(shown_names) shown;
};

/* ---- opening ---- */

static bool find_companion(void *context, const pt_companion *wanted, pt_image_file *ret_file)
{
    pt_chains *chains = context;
    if (pt_source_find_companion(chains->search, wanted, ret_file)) {
        struct stat status;
        chains->has_claims |= ret_file->fd >= 0 && fstat(ret_file->fd, &status) == 0 &&
                              !pt_owner_is_trusted(status.st_uid);
        return true;
    }
    /* A missing package IMAGE.dwp is no fault: its units may be in .dwo files. */
    if (wanted->kind == PT_COMPANION_SUPPLEMENT) {
        char id[129];
        pt_elf_id_hex(wanted->build_id, id, sizeof id);
        pt_diag_add(chains->search->diag, 1,
                    "debug files not found: the dwz supplement of %s: %s, build id %s",
                    wanted->image_path, wanted->link_name, id);
        chains->missing.supplement = true;
    }
    if (wanted->kind == PT_COMPANION_DWO && chains->missing.split_count++ == 0) {
        const char *name = wanted->link_name != NULL ? wanted->link_name : "";
        const bool is_alone = name[0] == '/' || wanted->folder == NULL;
        chains->missing.first_split =
            is_alone ? pt_strdup(name) : pt_strf("%s/%s", wanted->folder, name);
    }
    return false;
}

pt_status pt_chains_open(pt_image_file *file, pt_source_search *search,
                         const pt_chains_options *options, pt_chains **ret_chains, pt_error *reterr)
{
    const bool keeps = options->detail == PT_OBJECT_LINES && options->cache != NULL &&
                       options->cache->folder != NULL;
    pt_elf elf;
    char *key = NULL;
    if (keeps && pt_elf_open(file->blob.data, file->blob.size, &elf) == PT_ELF_OK)
        key = pt_name_index_key(&elf, file->fd);
    if (key != NULL && options->keeps_clones) {
        char *own = pt_strf("%s.clones", key);
        free(key);
        key = own;
    }
    pt_chains *chains = pt_alloc(1, sizeof *chains);
    pt_object *object = NULL;
    const pt_status status = pt_object_open(file, find_companion, chains, &object, reterr);
    if (status != PT_OK) {
        PT_FREE_ALL(chains, key);
        return status;
    }
    if (options->keeps_clones) pt_object_keep_clones(object);
    *chains = (pt_chains){.object = object,
                          .search = search,
                          .pool = options->pool,
                          .progress = options->progress,
                          .detail = options->detail,
                          .demangle = options->demangle,
                          .cache = options->cache,
                          .key = key,
                          .index = PT_NAME_INDEX_INIT};
    pt_index_init(&chains->row_index);
    pt_index_init(&chains->function_index);
    if (key != NULL && pt_name_index_open(chains->cache, key, &chains->index, NULL) == PT_OK) {
        chains->has_index = true;
        chains->of_index = pt_alloc(chains->index.function_count + 1, sizeof *chains->of_index);
        memset(chains->of_index, 0xff, chains->index.function_count * sizeof *chains->of_index);
    }
    *ret_chains = chains;
    return PT_OK;
}

const pt_elf *pt_chains_elf(const pt_chains *chains)
{
    return pt_object_elf(chains->object);
}

pt_object *pt_chains_object(pt_chains *chains)
{
    return chains->object;
}

bool pt_chains_from_disk(const pt_chains *chains)
{
    return chains->has_index && chains->looked_up == 0;
}

/* ---- rows ---- */

static uint32_t row_of(const pt_chains *chains, uint64_t addr)
{
    const uint64_t hash = pt_hash_mix(addr, 1);
    return PT_INDEX_FIND(&chains->row_index, hash, i, chains->rows.items[i].addr == addr);
}

static uint32_t add_row(pt_chains *chains, uint64_t addr)
{
    return PT_INDEX_PUSH(&chains->row_index, pt_hash_mix(addr, 1), chains->rows,
                         (row){.addr = addr});
}

/* The row of a function's readable names; makes it if necessary. */
static shown_names *shown_of(pt_chains *chains, function *f)
{
    if (f->shown == 0) {
        PT_GROW(chains->shown, chains->shown.count + 1);
        chains->shown.items[chains->shown.count] = (shown_names){0};
        f->shown = (uint32_t)++chains->shown.count;
    }
    return &chains->shown.items[f->shown - 1];
}

static uint32_t add_function(pt_chains *chains, const function *f)
{
    PT_GROW(chains->functions, chains->functions.count + 1);
    chains->functions.items[chains->functions.count] = *f;
    return (uint32_t)chains->functions.count++;
}

/* ---- from disk ---- */

/* The row of a function of the index; PT_NONE when the index is damaged. */
static uint32_t function_on_disk(pt_chains *chains, uint32_t id)
{
    pt_name_text f;
    if (chains->of_index[id] != PT_NONE) return chains->of_index[id];
    if (!pt_name_index_function(&chains->index, id, &f)) return PT_NONE;
    function mine = {
        .linkage_name = f.linkage_name, .name = f.name, .file = f.file, .start_line = f.start_line};
    for (int m = 0; m < PT_NAME_MODES; m++)
        if (f.readable[m] != NULL) shown_of(chains, &mine)->readable[m] = f.readable[m];
    chains->of_index[id] = add_function(chains, &mine);
    return chains->of_index[id];
}

/* Appends the frames of a row of the index. False, with nothing appended: the index is damaged. */
static bool take_frames(pt_chains *chains, const pt_name_row *from)
{
    const size_t before = chains->frames.count;
    PT_GROW(chains->frames, chains->frames.count + from->frame_count);
    for (uint32_t i = 0; i < from->frame_count; i++) {
        const uint32_t mine = function_on_disk(chains, from->frames[i].function);
        if (mine == PT_NONE) {
            chains->frames.count = before;
            return false;
        }
        chains->frames.items[chains->frames.count++] =
            (pt_chain_frame){mine, from->frames[i].line, from->frames[i].column};
    }
    return true;
}

static bool take_from_disk(pt_chains *chains, uint64_t addr, uint32_t *ret_row)
{
    pt_name_row from;
    const uint32_t at = chains->has_index ? pt_name_index_find(&chains->index, addr) : PT_NONE;
    const uint32_t frame_first = (uint32_t)chains->frames.count;
    if (at == PT_NONE || !pt_name_index_row(&chains->index, at, &from) ||
        !take_frames(chains, &from))
        return false;
    *ret_row = add_row(chains, addr);
    row *r = &chains->rows.items[*ret_row];
    r->frame_first = frame_first;
    r->frame_count = from.frame_count;
    r->symbol = from.symbol;
    return true;
}

/* ---- from the object ---- */

static bool is_function(const function *known, const pt_object_frame *f)
{
    return known->linkage_name == f->linkage_name && known->name == f->name &&
           known->file == f->file && known->start_line == f->start_line;
}

static uint32_t function_of(pt_chains *chains, const pt_object_frame *f)
{
    const uint64_t hash = pt_hash_mix(pt_hash_mix((uintptr_t)f->linkage_name, (uintptr_t)f->name),
                                      pt_hash_mix((uintptr_t)f->file, f->start_line));
    const uint32_t known = PT_INDEX_FIND(&chains->function_index, hash, i,
                                         is_function(&chains->functions.items[i], f));
    if (known != PT_NONE) return known;
    const uint32_t id = add_function(chains, &(function){.linkage_name = f->linkage_name,
                                                         .name = f->name,
                                                         .file = f->file,
                                                         .start_line = f->start_line});
    pt_index_add(&chains->function_index, hash, id);
    return id;
}

enum { PROGRESS_EACH = 64 }; /* addresses */

typedef struct {
    pt_chains *chains;
    const uint32_t *rows; /* for each address that the object resolves */
    size_t last_count;    /* number of frames of the previous result, the last in chains->frames */
    size_t count;         /* number of results */
} taking;

static void take_answer(void *context, size_t index, const pt_object_frame *frames,
                        size_t frame_count, uint64_t symbol_bytes)
{
    taking *t = context;
    pt_chains *chains = t->chains;
    row *r = &chains->rows.items[t->rows[index]];
    r->frame_first = (uint32_t)chains->frames.count;
    r->frame_count = (uint32_t)frame_count;
    pt_object_symbol symbol;
    if (symbol_bytes > 0 && pt_object_symbol_at(chains->object, r->addr, &symbol))
        r->symbol = (pt_name_symbol){symbol.addr, symbol_bytes};
    PT_GROW(chains->frames, chains->frames.count + frame_count);
    /* Neighbouring addresses mostly have the same callers. So each frame, from the outermost on, is
     * first compared with that of the previous address. */
    size_t before = chains->frames.count;
    const size_t least = t->chains->frames.count - t->last_count;
    for (size_t i = frame_count; i > 0; i--) {
        const pt_object_frame *f = &frames[i - 1];
        uint32_t id = before > least ? chains->frames.items[--before].function : PT_NONE;
        if (id == PT_NONE || !is_function(&chains->functions.items[id], f))
            id = function_of(chains, f);
        chains->frames.items[chains->frames.count + i - 1] =
            (pt_chain_frame){id, f->line, f->column};
    }
    chains->frames.count += frame_count;
    t->last_count = frame_count;
    if (++t->count % PROGRESS_EACH == 0) pt_progress_add(chains->progress, PROGRESS_EACH);
}

void pt_chains_resolve(pt_chains *chains, const uint64_t *addrs, size_t count, uint32_t *ret_rows)
{
    PT_FREE uint64_t *missing = pt_alloc(count + 1, sizeof *missing);
    PT_FREE uint32_t *rows = pt_alloc(count + 1, sizeof *rows);
    size_t missing_count = 0;
    for (size_t i = 0; i < count; i++) {
        ret_rows[i] = row_of(chains, addrs[i]);
        if (ret_rows[i] != PT_NONE || take_from_disk(chains, addrs[i], &ret_rows[i])) continue;
        ret_rows[i] = rows[missing_count] = add_row(chains, addrs[i]);
        missing[missing_count++] = addrs[i];
    }
    pt_progress_add(chains->progress, count - missing_count);
    if (missing_count == 0) return;
    taking t = {.chains = chains, .rows = rows};
    pt_object_resolve(chains->object, chains->detail, missing, missing_count, chains->pool,
                      take_answer, &t);
    /* take_answer is not called for an address without a name. */
    pt_progress_add(chains->progress, missing_count - t.count / PROGRESS_EACH * PROGRESS_EACH);
    chains->looked_up += missing_count;
    chains->is_news = true;
}

/* ---- addresses in any order ---- */

/* An address and its index in the request. */
typedef struct {
    uint64_t addr;
    size_t at;
} wanted_addr;

/* Radix sort by address, a byte a pass, stable. spare: room for as many items. */
static void sort_wanted(wanted_addr **items, wanted_addr **spare, size_t count)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t place[256] = {0}, sum = 0;
        for (size_t i = 0; i < count; i++)
            place[(*items)[i].addr >> shift & 0xff]++;
        if (place[(*items)[0].addr >> shift & 0xff] == count) continue; /* all bytes are equal */
        for (unsigned b = 0; b < 256; b++) {
            const size_t n = place[b];
            place[b] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            (*spare)[place[(*items)[i].addr >> shift & 0xff]++] = (*items)[i];
        wanted_addr *const swap = *items;
        *items = *spare;
        *spare = swap;
    }
}

void pt_chains_resolve_all(pt_chains *chains, const uint64_t *addrs, size_t count,
                           uint32_t *ret_rows)
{
    if (count == 0) return;
    PT_FREE wanted_addr *sorted = pt_alloc(count, sizeof *sorted);
    PT_FREE wanted_addr *spare = pt_alloc(count, sizeof *spare);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (wanted_addr){addrs[i], i};
    sort_wanted(&sorted, &spare, count);
    PT_FREE uint64_t *distinct = pt_alloc(count, sizeof *distinct);
    size_t distinct_count = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || sorted[i].addr != sorted[i - 1].addr)
            distinct[distinct_count++] = sorted[i].addr;
    PT_FREE uint32_t *rows = pt_alloc(distinct_count, sizeof *rows);
    pt_chains_resolve(chains, distinct, distinct_count, rows);
    for (size_t i = 0, k = 0; i < count; i++) {
        k += sorted[i].addr != distinct[k];
        ret_rows[sorted[i].at] = rows[k];
    }
}

pt_chain pt_chains_at(const pt_chains *chains, uint32_t id)
{
    const row *r = &chains->rows.items[id];
    return (pt_chain){.frames = r->frame_count > 0 ? chains->frames.items + r->frame_first : NULL,
                      .frame_count = r->frame_count,
                      .symbol = r->symbol};
}

void pt_chains_expect(const pt_chains *chains, uint32_t id, unsigned step)
{
    const row *r = &chains->rows.items[id];
    if (step == 0) {
        __builtin_prefetch(r);
        return;
    }
    if (r->frame_count == 0) return;
    const pt_chain_frame *frames = chains->frames.items + r->frame_first;
    if (step == 1) __builtin_prefetch(frames);
    for (uint32_t i = 0; step > 1 && i < r->frame_count; i++) {
        const function *f = &chains->functions.items[frames[i].function];
        if (step == 2) {
            __builtin_prefetch(f);
            continue;
        }
        __builtin_prefetch(f->linkage_name);
        __builtin_prefetch(f->linkage_name + 64);
        __builtin_prefetch(f->file);
    }
}

/* ---- names ---- */

size_t pt_chains_function_count(const pt_chains *chains)
{
    return chains->functions.count;
}

pt_chain_function pt_chains_function(const pt_chains *chains, uint32_t id)
{
    const function *f = &chains->functions.items[id];
    return (pt_chain_function){f->linkage_name, f->name, f->file, f->start_line};
}

/* True for modes that imitate other tools: these show the plain source name of a function without a
 * linkage name, without the scopes that pitot adds. */
static bool is_of_other_tools(pt_demangle_mode mode)
{
    return mode >= PT_DEMANGLE_BINUTILS;
}

const char *pt_chains_system_name(const pt_chains *chains, uint32_t id)
{
    const function *f = &chains->functions.items[id];
    const bool is_ours = f->name[0] != '\0' && strcmp(f->name, f->linkage_name) == 0;
    return is_of_other_tools(chains->demangle) && is_ours ? pt_name_unscoped(f->name)
                                                          : f->linkage_name;
}

static char *made_readable(const pt_chains *chains, uint32_t id, pt_demangle_mode mode)
{
    const function *f = &chains->functions.items[id];
    if (is_of_other_tools(mode)) return pt_demangle_pprof(pt_chains_system_name(chains, id), mode);
    char *text = pt_demangle(f->linkage_name, mode);
    if (text == NULL && f->name[0] != '\0') text = pt_demangle_source_name(f->name, mode);
    return text != NULL ? text : pt_strdup(f->linkage_name);
}

const char *pt_chains_readable(pt_chains *chains, uint32_t id)
{
    function *f = &chains->functions.items[id];
    const pt_demangle_mode mode = chains->demangle;
    if (mode == PT_DEMANGLE_NONE) return f->linkage_name;
    shown_names *shown = shown_of(chains, f);
    if ((size_t)mode >= PT_NAME_MODES) {
        if (shown->unkept == NULL) shown->unkept = made_readable(chains, id, mode);
        return shown->unkept;
    }
    if (shown->readable[mode] == NULL) {
        shown->readable[mode] = made_readable(chains, id, mode);
        shown->is_owned[mode] = true;
        chains->is_news = true;
    }
    return shown->readable[mode];
}

/* ---- the disk cache ---- */

/* All results, of memory and disk together. */
typedef struct {
    pt_name_columns columns;
    uint64_t *address;
    pt_name_symbol *symbol;
    uint32_t *first;
    PT_VECTOR(pt_name_frame) frames;
    PT_VECTOR(pt_name_text) functions;
} merged;

static pt_name_text text_of(const pt_chains *chains, const function *f)
{
    pt_name_text text = {f->linkage_name, f->name, f->file, f->start_line, {NULL}};
    for (int m = 0; f->shown != 0 && m < PT_NAME_MODES; m++)
        text.readable[m] = chains->shown.items[f->shown - 1].readable[m];
    return text;
}

static int by_address(const void *x, const void *y, void *context)
{
    const row *rows = context;
    const uint64_t a = rows[*(const uint32_t *)x].addr, b = rows[*(const uint32_t *)y].addr;
    return (a > b) - (a < b);
}

/* The rows in memory, by address; the caller frees the result. */
static uint32_t *ordered_rows(const pt_chains *chains)
{
    uint32_t *order = pt_alloc_numbers(chains->rows.count);
    qsort_r(order, chains->rows.count, sizeof *order, by_address, chains->rows.items);
    return order;
}

static void merge_own_row(merged *m, const pt_chains *chains, const row *r)
{
    PT_GROW(m->frames, m->frames.count + r->frame_count);
    for (uint32_t i = 0; i < r->frame_count; i++) {
        const pt_chain_frame *f = &chains->frames.items[r->frame_first + i];
        m->frames.items[m->frames.count++] = (pt_name_frame){f->function, f->line, f->column};
    }
}

static void merge_disk_row(merged *m, pt_chains *chains, const pt_name_row *from)
{
    PT_GROW(m->frames, m->frames.count + from->frame_count);
    for (uint32_t i = 0; i < from->frame_count; i++)
        m->frames.items[m->frames.count++] =
            (pt_name_frame){function_on_disk(chains, from->frames[i].function),
                            from->frames[i].line, from->frames[i].column};
}

/* Merges two ascending lists. For an address in both, the row in memory counts, since it may have
 * more readable names. */
static void merge_rows(merged *m, pt_chains *chains)
{
    PT_FREE uint32_t *order = ordered_rows(chains);
    const size_t own = chains->rows.count;
    const bool has_disk = chains->has_index && pt_name_index_verify(&chains->index);
    const uint32_t on_disk = has_disk ? chains->index.address_count : 0;
    m->address = pt_alloc(own + on_disk + 1, sizeof *m->address);
    m->symbol = pt_alloc(own + on_disk + 1, sizeof *m->symbol);
    m->first = pt_alloc(own + on_disk + 2, sizeof *m->first);
    size_t count = 0;
    uint32_t d = 0;
    for (size_t i = 0; i < own || d < on_disk; count++) {
        const row *r = i < own ? &chains->rows.items[order[i]] : NULL;
        pt_name_row from = {0};
        if (d < on_disk) pt_name_index_row(&chains->index, d, &from);
        const bool is_own = r != NULL && (d >= on_disk || r->addr <= from.address);
        m->first[count] = (uint32_t)m->frames.count;
        m->address[count] = is_own ? r->addr : from.address;
        m->symbol[count] = is_own ? r->symbol : from.symbol;
        if (is_own) {
            merge_own_row(m, chains, r);
            if (d < on_disk && from.address == r->addr) d++;
            i++;
        } else {
            merge_disk_row(m, chains, &from);
            d++;
        }
    }
    m->first[count] = (uint32_t)m->frames.count;
    m->columns.address_count = count;
}

static void write_cache(pt_chains *chains)
{
    pt_object_facts facts;
    if (chains->missing.supplement || chains->missing.split_count > 0) return;
    if (chains->has_claims) return;
    if (pt_object_shrunk(chains->object) != NULL) return;
    if (chains->looked_up > 0) {
        pt_object_look(chains->object, chains->detail, &facts);
        if (!facts.has_lines) return;
    }
    merged m = {0};
    merge_rows(&m, chains);
    m.functions.items = pt_alloc(chains->functions.count + 1, sizeof *m.functions.items);
    for (size_t i = 0; i < chains->functions.count; i++)
        m.functions.items[i] = text_of(chains, &chains->functions.items[i]);
    m.columns.frame_count = m.frames.count;
    m.columns.function_count = chains->functions.count;
    m.columns.address = m.address;
    m.columns.symbol = m.symbol;
    m.columns.first = m.first;
    m.columns.frame = m.frames.items;
    m.columns.function = m.functions.items;
    /* A failed write makes later runs slower, not wrong. */
    pt_name_index_save(chains->cache, chains->key, &m.columns, NULL);
    PT_FREE_ALL(m.address, m.symbol, m.first, m.frames.items, m.functions.items);
}

void pt_chains_free(pt_chains *chains)
{
    if (chains == NULL) return;
    /* Reports missing files that are counted instead of reported one by one. */
    pt_diag_add(chains->search->diag, chains->missing.split_count,
                "debug files not found: split units, which have the functions: %s%s",
                chains->missing.first_split, chains->missing.split_count > 1 ? " and others" : "");
    if (chains->key != NULL && (chains->is_news || chains->index.is_broken)) write_cache(chains);
    for (size_t i = 0; i < chains->shown.count; i++) {
        shown_names *shown = &chains->shown.items[i];
        for (int m = 0; m < PT_NAME_MODES; m++)
            if (shown->is_owned[m]) free((char *)(uintptr_t)shown->readable[m]);
        free(shown->unkept);
    }
    pt_name_index_done(&chains->index);
    pt_object_free(chains->object);
    pt_index_done(&chains->row_index);
    pt_index_done(&chains->function_index);
    PT_FREE_ALL(chains->of_index, chains->rows.items, chains->frames.items, chains->functions.items,
                chains->shown.items, chains->key, chains->missing.first_split, chains);
}
