/* dwarf.c: functions, inlined calls and lines from DWARF.
 *
 *   units' ranges  x  addresses  ->  units that contain any of them, the largest first
 *   unit's tree    x  addresses  ->  for each address the innermost node that contains it
 *   line program   x  addresses  ->  for each address its row
 *   node -> parent node -> ...   ->  the chain of inlined calls
 *
 * A unit is one task. Its thread collects the results; the caller's thread delivers them, in the
 * order of the tasks. Nothing recurses, and the size of the file limits the work: no file can make
 * this work go on without end. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "object/dwarf_int.h"

/* ---- opening ---- */

typedef struct {
    pt_dwarf *dwarf;
    pt_dwarf_unit *unit;
} unit_ranges;

static void add_range(void *context, uint64_t addr, uint64_t end_addr)
{
    const unit_ranges *to = context;
    pt_dwarf *d = to->dwarf;
    if (addr >= end_addr || !pt_dwarf_is_code(d->code, d->code_count, addr) ||
        d->ranges.count == UINT32_MAX)
        return;
    PT_PUSH(d->ranges, (pt_dwarf_range){addr, end_addr});
    to->unit->range_count++;
}

/* Collects the address ranges of all units. */
static void list_ranges(pt_dwarf *d, uint64_t *budget)
{
    PT_AUTO(pt_dwarf_abbrevs) table = {0};
    for (size_t i = 0; i<d->file.units.count && * budget> 0; i++) {
        pt_dwarf_unit *unit = &d->file.units.items[i];
        unit_ranges to = {d, unit};
        uint64_t addr, end_addr, steps = 1;
        unit->range_first = (uint32_t)d->ranges.count;
        if (!unit->is_searched) continue;
        pt_dwarf_ranges ranges;
        pt_dwarf_ranges_init(&ranges, unit, &unit->extent);
        while (pt_dwarf_ranges_next(&ranges, &addr, &end_addr) && ranges.steps < *budget)
            add_range(&to, addr, end_addr);
        steps += ranges.steps;
        if (unit->lists_too_little) {
            if (!pt_dwarf_abbrevs_are_of(&table, unit))
                steps += pt_dwarf_abbrevs_read(&table, unit);
            steps += unit->end_off - unit->off;
            if (steps < *budget)
                steps += pt_dwarf_walk_ranges(&table, unit, *budget - steps, add_range, &to);
        }
        *budget -= steps < *budget ? steps : *budget;
    }
}

static uint64_t file_bytes(const pt_dwarf_file *file)
{
    uint64_t sum = 0;
    for (int i = 0; i < PT_DWARF_SECTIONS; i++)
        sum += file->sections[i].size_bytes;
    return sum;
}

/* The limit of work on a file, in bytes and steps; real files need a few times their size. */
static uint64_t budget_for(const pt_dwarf_file *file)
{
    return (UINT64_C(1) << 24) + 64 * file_bytes(file);
}

static pt_status open_file(pt_dwarf_file *file, const pt_image_file *image, pt_pool *pool,
                           pt_error *reterr)
{
    pt_elf elf;
    const pt_elf_status status = pt_elf_open(image->blob.data, image->blob.size, &elf);
    if (status != PT_ELF_OK)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "%s", pt_elf_status_text(status));
    return pt_dwarf_file_init(file, &elf, pool, reterr);
}

static pt_status open_files(pt_dwarf *d, const pt_dwarf_source *source, pt_error *reterr)
{
    if (source->supplement != NULL) {
        const pt_status status =
            open_file(&d->supplement, source->supplement, source->pool, reterr);
        if (status != PT_OK) return status;
        uint64_t budget = budget_for(&d->supplement);
        pt_dwarf_list_units(&d->supplement, &budget);
        d->file.supplement = &d->supplement;
    }
    const pt_status status = open_file(&d->file, source->file, source->pool, reterr);
    if (status != PT_OK) return status;
    uint64_t budget = budget_for(&d->file);
    pt_dwarf_list_units(&d->file, &budget);
    list_ranges(d, &budget);
    if (d->ranges.count == 0)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "debug information describes no code");
    return PT_OK;
}

pt_dwarf *pt_dwarf_open(const pt_dwarf_source *source, pt_error *reterr)
{
    pt_dwarf *d = pt_alloc(1, sizeof *d);
    for (int i = 0; i < PT_DWARF_SECTIONS; i++)
        d->file.inflated[i] = d->supplement.inflated[i] = PT_BLOB_INIT;
    d->file.image = d->supplement.image = PT_IMAGE_FILE_INIT; /* the object keeps these files */
    d->code = pt_alloc(source->code_count + 1, sizeof *d->code);
    d->code_count = source->code_count;
    d->as_written = source->as_written;
    d->keeps_clones = source->keeps_clones;
    if (source->code_count) memcpy(d->code, source->code, source->code_count * sizeof *d->code);
    d->splits = (pt_dwarf_splits){.find = source->find,
                                  .find_context = source->find_context,
                                  .image_path = source->image_path};
    if (open_files(d, source, reterr) == PT_OK) return d;
    pt_error_where(reterr, source->file->path, NULL, -1);
    pt_dwarf_free(d);
    return NULL;
}

void pt_dwarf_free(pt_dwarf *d)
{
    if (d == NULL) return;
    for (unsigned i = 0; i < d->worker_count; i++)
        pt_dwarf_worker_free(d->workers[i]);
    free(d->workers);
    pt_dwarf_splits_done(&d->splits);
    pt_dwarf_file_done(&d->file);
    pt_dwarf_file_done(&d->supplement);
    PT_FREE_ALL(d->code, d->ranges.items, d);
}

/* ---- one unit ---- */

/* The part of a search that belongs to one unit: addresses [first, first + count) of `wanted`. */
typedef struct {
    const pt_dwarf_unit *unit;
    size_t first, count;
    uint64_t cost; /* size of the unit's tree and line table, in bytes */
} task;

typedef struct {
    size_t index; /* index of the address in search.addrs */
    size_t frame_first, frame_count;
    uint64_t symbol_bytes;
} answer;

typedef struct {
    PT_VECTOR(answer) answers;
    PT_VECTOR(pt_object_frame) frames;
} answers;

/* The state of one call of pt_dwarf_resolve. */
typedef struct {
    pt_dwarf *dwarf;
    const pt_symbol_index *symbols;
    const uint64_t *addrs;
    size_t count;
    bool *done;
    pt_object_sink *sink;
    void *sink_context;
    PT_VECTOR(task) tasks;
    uint64_t *wanted;     /* addresses, grouped by task and ascending in each group */
    size_t *wanted_index; /* index in addrs of each wanted address */
} search;

/* True if the symbol can be the mangled name of a function. Compilers do not record the mangled
 * name of a function that is local to its file; then its symbol has it. */
static bool symbol_names(const pt_object_symbol *symbol, const char *name)
{
    const bool is_mangled = pt_begins(symbol->name, "_Z") || pt_begins(symbol->name, "_R");
    if (!is_mangled || name == NULL) return is_mangled;
    if (strstr(name, "operator") != NULL) return true; /* operators have other mangled forms */
    const size_t length = strcspn(name, "<"); /* template arguments have other mangled forms */
    size_t last = length;
    while (last > 0 && name[last - 1] != ':' && name[last - 1] != '~')
        last--;
    return length > last &&
           memmem(symbol->name, strlen(symbol->name), name + last, length - last) != NULL;
}

/* True if the symbol is a clone of the function: the function's name, a dot and more. */
static bool is_clone(const pt_object_symbol *symbol, const char *linkage_name)
{
    if (symbol->name == NULL || linkage_name == NULL) return false;
    const size_t length = strlen(linkage_name);
    return length > 0 && strncmp(symbol->name, linkage_name, length) == 0 &&
           symbol->name[length] == '.';
}

typedef struct {
    const char *file;
    uint32_t line, column;
} place;

static void add_frame(answers *out, const char *linkage_name, const char *name, place at,
                      uint32_t start_line)
{
    PT_PUSH(out->frames, (pt_object_frame){.linkage_name = linkage_name,
                                           .name = name,
                                           .file = at.file,
                                           .line = at.line,
                                           .column = at.column,
                                           .start_line = start_line});
}

static void add_chain(const pt_dwarf_worker *w, answers *out, uint32_t innermost, place at,
                      const pt_object_symbol *symbol)
{
    for (uint32_t id = innermost; id != PT_NONE; id = w->nodes.items[id].parent) {
        const pt_dwarf_node *n = &w->nodes.items[id];
        const pt_dwarf_function *f = &w->functions.items[n->function];
        const char *name = f->name, *linkage_name = f->linkage_name;
        const bool is_outermost = n->parent == PT_NONE;
        if (linkage_name == NULL && is_outermost && symbol != NULL && symbol_names(symbol, name))
            linkage_name = symbol->name;
        if (name == NULL && linkage_name == NULL && is_outermost && symbol != NULL)
            name = symbol->name;
        if (w->dwarf->keeps_clones && is_outermost && symbol != NULL &&
            is_clone(symbol, linkage_name != NULL ? linkage_name : name))
            linkage_name = symbol->name;
        const bool is_here = f->declared_file != NULL && (f->declared_file == at.file ||
                                                          strcmp(f->declared_file, at.file) == 0);
        /* Some inlined functions have no name: artificial functions, and all functions if the
         * supplement of dwz is missing. The code of such a function counts as its caller's, at the
         * line in the caller. */
        if (name == NULL && linkage_name == NULL) continue;
        add_frame(out, linkage_name != NULL ? linkage_name : name, name != NULL ? name : "", at,
                  is_here ? f->declared_line : 0);
        if (!is_outermost) at = (place){n->call_file, n->call_line, n->call_column};
    }
}

/* Names each node of all chains that begin at node_of[i], once. */
static void name_chains(pt_dwarf_worker *w, const pt_dwarf_unit *tree, const uint32_t *node_of,
                        size_t count)
{
    PT_FREE bool *is_used = pt_alloc(w->nodes.count + 1, sizeof *is_used);
    PT_FREE uint32_t *used = pt_alloc(w->nodes.count + 1, sizeof *used);
    size_t used_count = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t id = node_of[i]; id != PT_NONE && !is_used[id];
             id = w->nodes.items[id].parent) {
            is_used[id] = true;
            used[used_count++] = id;
        }
    pt_dwarf_name_nodes(w, tree, used, used_count);
}

/* True for thunks, which adjust `this` and jump to the function. Compilers describe no thunk
 * (Itanium C++ ABI, 5.1.4.1: _ZTh, _ZTv, _ZTc). */
static bool is_thunk(const char *name)
{
    return pt_begins(name, "_ZT") && (name[3] == 'h' || name[3] == 'v' || name[3] == 'c');
}

/* True if a symbol covers an address but no function does: a function inside a class or function
 * that the walk skipped may contain it. */
static bool misses_a_function(const search *s, const task *t, const uint32_t *node_of)
{
    pt_object_symbol symbol;
    return !t->unit->is_assembler &&
           PT_ANY(i, t->count,
                  node_of[i] == PT_NONE &&
                      pt_symbol_index_find(s->symbols, s->wanted[t->first + i], &symbol) &&
                      !is_thunk(symbol.name));
}

static void answer_one(const search *s, pt_dwarf_worker *w, const task *t, size_t i, uint32_t node,
                       place at, answers *out)
{
    pt_object_symbol symbol;
    const bool has_symbol = pt_symbol_index_find(s->symbols, s->wanted[t->first + i], &symbol);
    const size_t first = out->frames.count;
    /* In version 2, inlined calls of scattered functions have no ranges, so they cannot be found.
     */
    const bool is_complete = t->unit->version > 2;
    if (node != PT_NONE)
        add_chain(w, out, node, at, has_symbol ? &symbol : NULL);
    else if (has_symbol && is_complete && at.file[0] != '\0')
        add_frame(out, symbol.name, symbol.name, at, 0); /* assembly, clang's -gmlt */
    else if (s->dwarf->as_written && at.file[0] != '\0')
        add_frame(out, "", "", at, 0); /* an address between functions */
    if (out->frames.count == first) return;
    PT_PUSH(out->answers, (answer){.index = s->wanted_index[t->first + i],
                                   .frame_first = first,
                                   .frame_count = out->frames.count - first,
                                   .symbol_bytes = has_symbol ? symbol.end_addr - symbol.addr : 0});
}

static void resolve_task(const search *s, pt_dwarf_worker *w, const task *t, answers *out)
{
    const pt_dwarf_unit *unit = t->unit, *tree = unit->split != NULL ? unit->split : unit;
    const uint64_t *addrs = s->wanted + t->first;
    PT_FREE uint32_t *node_of = pt_alloc(t->count + 1, sizeof *node_of);
    PT_FREE pt_dwarf_row *rows = pt_alloc(t->count + 1, sizeof *rows);
    for (size_t i = 0; i < t->count; i++) {
        node_of[i] = PT_NONE;
        rows[i].file = PT_NONE;
    }
    pt_dwarf_worker_next_unit(w);
    if (!pt_dwarf_spend(s->dwarf, tree->end_off - tree->off)) return;
    for (pt_dwarf_depth depth = PT_DWARF_QUICK; depth <= PT_DWARF_THOROUGH; depth++)
        if (!pt_dwarf_walk(w, tree, addrs, t->count, node_of, depth) ||
            !misses_a_function(s, t, node_of))
            break;
    name_chains(w, tree, node_of, t->count);
    pt_dwarf_line_table *lines = pt_dwarf_line_table_for(w, unit);
    if (lines != NULL && pt_dwarf_spend(s->dwarf, pt_dwarf_left(&lines->program)))
        pt_dwarf_run_lines(lines, s->dwarf->code, s->dwarf->code_count, addrs, t->count, rows);
    for (size_t i = 0; i < t->count; i++) {
        const bool is_known = rows[i].file != PT_NONE;
        const place at = {is_known ? pt_dwarf_path(w, lines, rows[i].file) : "", rows[i].line,
                          rows[i].column};
        answer_one(s, w, t, i, node_of[i], at, out);
    }
}

/* ---- all units ---- */

static pt_status produce_unit(void *context, unsigned worker, size_t index, void **ret_item,
                              pt_error *reterr)
{
    (void)reterr;
    search *s = context;
    answers *out = pt_alloc(1, sizeof *out);
    resolve_task(s, s->dwarf->workers[worker], &s->tasks.items[index], out);
    *ret_item = out;
    return PT_OK;
}

static pt_status commit_unit(void *context, size_t index, void *item, pt_error *reterr)
{
    (void)index;
    (void)reterr;
    search *s = context;
    PT_FREE answers *out = item;
    for (size_t i = 0; i < out->answers.count; i++) {
        const answer *a = &out->answers.items[i];
        s->sink(s->sink_context, a->index, out->frames.items + a->frame_first, a->frame_count,
                a->symbol_bytes);
        s->done[a->index] = true;
    }
    PT_FREE_ALL(out->answers.items, out->frames.items);
    return PT_OK;
}

/* The index of the first wanted address not below addr. The ranges of a unit mostly ascend, so the
 * search starts at the last result. */
static size_t first_from(const search *s, size_t hint, uint64_t addr)
{
    size_t low = 0, high = s->count;
    if (hint < s->count && s->addrs[hint] < addr) {
        size_t step = 1;
        for (low = hint + 1; low + step < s->count && s->addrs[low + step] < addr; step *= 2)
            low += step;
        high = low + step < s->count ? low + step : s->count;
    } else if (hint == 0 || (hint <= s->count && s->addrs[hint - 1] < addr)) {
        return hint;
    }
    return low + pt_first_from(s->addrs + low, high - low, sizeof *s->addrs, 0, addr);
}

enum { ROUNDS = 4 }; /* of units that claim one address, the first four are tried */

/* Assigns each address without an answer to one of the units that claim it: in file order, to the
 * unit with number `turn`, counted from 0. owner[i]: number of the unit or PT_NONE. claims[i]:
 * number of units that claim the address, at most ROUNDS. */
static void choose_owners(search *s, unsigned turn, uint32_t *owner, uint8_t *claims)
{
    const pt_dwarf *d = s->dwarf;
    PT_FREE uint32_t *last = pt_alloc(s->count + 1, sizeof *last); /* the last unit that counted */
    for (size_t i = 0; i < s->count; i++)
        owner[i] = last[i] = PT_NONE;
    memset(claims, 0, s->count);
    for (size_t u = 0; u < d->file.units.count; u++) {
        const pt_dwarf_unit *unit = &d->file.units.items[u];
        size_t i = 0, work = 0;
        for (uint32_t r = 0; r < unit->range_count; r++) {
            const pt_dwarf_range *range = &d->ranges.items[unit->range_first + r];
            i = first_from(s, i, range->addr);
            for (size_t k = i; k < s->count && s->addrs[k] < range->end_addr; k++, work++) {
                if (s->done[k] || last[k] == u) continue;
                last[k] = (uint32_t)u;
                if (claims[k]++ == turn) owner[k] = (uint32_t)u;
                if (claims[k] > ROUNDS) claims[k] = ROUNDS;
            }
        }
        if (work > 4096 && !pt_dwarf_spend(s->dwarf, work)) return;
    }
}

PT_ORDER(by_cost, task, PT_DOWN(cost) ?: PT_UP(first));

/* Makes a task of each unit that owns addresses. */
static void make_tasks(search *s, const uint32_t *owner, uint64_t *budget)
{
    pt_dwarf *d = s->dwarf;
    const size_t unit_count = d->file.units.count;
    PT_FREE size_t *place_of = pt_alloc(unit_count + 1, sizeof *place_of);
    for (size_t i = 0; i < s->count; i++)
        if (owner[i] != PT_NONE) place_of[owner[i] + 1]++;
    s->tasks.count = 0;
    for (size_t u = 0; u < unit_count; u++) {
        const size_t count = place_of[u + 1];
        place_of[u + 1] += place_of[u];
        if (count == 0) continue;
        pt_dwarf_unit *unit = &d->file.units.items[u];
        pt_dwarf_find_split(&d->splits, unit, budget);
        const pt_dwarf_unit *tree = unit->split != NULL ? unit->split : unit;
        PT_PUSH(s->tasks, (task){.unit = unit,
                                 .first = place_of[u],
                                 .count = count,
                                 .cost = tree->end_off - tree->off});
    }
    for (size_t i = 0; i < s->count; i++) {
        if (owner[i] == PT_NONE) continue;
        const size_t at = place_of[owner[i]]++;
        s->wanted[at] = s->addrs[i];
        s->wanted_index[at] = i;
    }
    PT_SORT(s->tasks, by_cost);
}

static void with_workers(pt_dwarf *d, unsigned count)
{
    if (count <= d->worker_count) return;
    d->workers = pt_realloc(d->workers, count, sizeof *d->workers);
    while (d->worker_count < count)
        d->workers[d->worker_count++] = pt_dwarf_worker_new(d);
}

void pt_dwarf_resolve(pt_dwarf *d, const uint64_t *addrs, size_t count, bool *done,
                      const pt_symbol_index *symbols, pt_pool *pool, pt_object_sink *sink,
                      void *context)
{
    search s = {.dwarf = d,
                .symbols = symbols,
                .addrs = addrs,
                .count = count,
                .done = done,
                .sink = sink,
                .sink_context = context};
    PT_FREE uint32_t *owner = pt_alloc(count + 1, sizeof *owner);
    PT_FREE uint8_t *claims = pt_alloc(count + 1, sizeof *claims);
    s.wanted = pt_alloc(count + 1, sizeof *s.wanted);
    s.wanted_index = pt_alloc(count + 1, sizeof *s.wanted_index);
    uint64_t budget = budget_for(&d->file);
    atomic_store(&d->work_left, budget + 4096 * (uint64_t)count);
    with_workers(d, pt_pool_threads(pool));
    for (unsigned turn = 0; turn < ROUNDS; turn++) {
        choose_owners(&s, turn, owner, claims);
        make_tasks(&s, owner, &budget);
        const pt_ordered how = {
            .ctx = &s, .produce = produce_unit, .commit = commit_unit, .ahead = s.tasks.count};
        pt_pool_ordered(pool, s.tasks.count, &how, NULL);
        bool any = false;
        for (size_t i = 0; i < count; i++)
            any |= !done[i] && claims[i] > turn + 1;
        if (!any) break;
    }
    for (unsigned i = 0; i < d->worker_count; i++)
        pt_dwarf_worker_clear(d->workers[i]);
    PT_FREE_ALL(s.tasks.items, s.wanted, s.wanted_index);
}
