/* disasm.c: symbols with samples whose name matches, and what objdump says of them. */
#include "personality/pprof/list.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"
#include "object/demangle.h"
#include "view/graph.h"

/* What results point into. */
struct pt_pprof_texts {
    pt_objdump_listing *items;
    size_t count, cap;
    pt_graph graph;
};

/* A node of the mapping at hand. */
typedef struct {
    uint64_t addr; /* as linked */
    const pt_graph_node *node;
} sampled;

/* A line of `nm -n`. */
typedef struct {
    uint64_t addr;
    const char *name;
} name_at;

typedef struct {
    const pt_profile *profile;
    const pt_pprof_list_request *request;
    struct pt_pprof_texts *texts;
    bool has_address; /* the pattern can be read as one, too */
    uint64_t address;
    bool found_address;
    struct {
        pt_pprof_symbol *items;
        size_t count, cap;
    } symbols;
    /* Of each symbol, until they are sorted and disassembled. */
    struct found {
        char *path;
        uint64_t start, end;
        sampled *nodes;
        size_t node_count, order;
    } * found;
    size_t found_cap;
} search;

static int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* ---- Addresses as patterns ---- */

/* What Go's strconv.ParseUint takes with base 0, but for underscores. */
static bool parse_address(const char *text, uint64_t *ret_value)
{
    unsigned base = 10;
    if (text[0] == '0' && text[1] != '\0') {
        const char kind = text[1] | 0x20;
        base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
        text += base == 8 && kind != 'o' ? 1 : 2;
    }
    uint64_t value = 0;
    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        const unsigned digit = (unsigned)pt_hex_digit(*text);
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

/* ---- Names of an image, as nm -n lists them ---- */

static int compare_names(const void *left, const void *right)
{
    const name_at *a = left, *b = right;
    if (a->addr != b->addr) return a->addr < b->addr ? -1 : 1;
    return strcmp(a->name, b->name);
}

static name_at *list_names(const pt_elf *elf, size_t *ret_count)
{
    pt_elf_symbols table;
    *ret_count = 0;
    if (!pt_elf_symbols_open(elf, SHT_SYMTAB, &table)) return NULL;
    name_at *names = pt_alloc(table.count, sizeof *names);
    pt_elf_symbol s;
    for (uint32_t i = 1; pt_elf_symbol_at(&table, i, &s); i++) {
        const bool is_undefined = s.section_index == SHN_UNDEF && !s.is_reserved_index;
        if (is_undefined || s.type == STT_FILE || s.type == STT_SECTION || s.name[0] == '\0')
            continue;
        names[(*ret_count)++] = (name_at){s.value, s.name};
    }
    qsort(names, *ret_count, sizeof *names, compare_names);
    return names;
}

/* The name under which one of a symbol's names matches, which the caller frees; *ret_name is NULL
 * if none does. */
static pt_status match_name(const search *s, const char *name, char **ret_name, pt_error *reterr)
{
    static const pt_demangle_mode modes[] = {PT_DEMANGLE_FULL, PT_DEMANGLE_TEMPLATES,
                                             PT_DEMANGLE_SIMPLE};
    bool matches = false;
    *ret_name = NULL;
    pt_status status = pt_regex_match(s->request->pattern, name, strlen(name), &matches, reterr);
    if (status == PT_OK && matches) *ret_name = pt_strdup(name);
    for (size_t i = 0; i < 3 && status == PT_OK && *ret_name == NULL; i++) {
        char *plain = pt_demangle(name, modes[i]);
        if (plain == NULL) continue;
        status = pt_regex_match(s->request->pattern, plain, strlen(plain), &matches, reterr);
        if (status == PT_OK && matches)
            *ret_name = plain;
        else
            free(plain);
    }
    return status;
}

/* Fills the names of a symbol if it is one that is asked for: all names when it holds the address,
 * else the first that matches. */
static pt_status match_symbol(const search *s, const name_at *names, size_t count, uint64_t start,
                              uint64_t end, pt_pprof_symbol *symbol, pt_error *reterr)
{
    *symbol = (pt_pprof_symbol){.names = pt_alloc(count, sizeof(char *))};
    pt_status status = PT_OK;
    if (s->has_address && s->address != 0 && s->address >= start && s->address <= end) {
        for (size_t i = 0; i < count; i++)
            symbol->names[symbol->name_count++] = pt_strdup(names[i].name);
        return PT_OK;
    }
    for (size_t i = 0; i < count && status == PT_OK && symbol->name_count == 0; i++) {
        status = match_name(s, names[i].name, &symbol->names[0], reterr);
        symbol->name_count = symbol->names[0] != NULL;
    }
    if (symbol->name_count == 0) free(symbol->names);
    return status;
}

/* ---- Samples of a mapping ---- */

static int compare_sampled(const void *left, const void *right)
{
    const sampled *a = left, *b = right;
    return (a->addr > b->addr) - (a->addr < b->addr);
}

/* The listed nodes whose address lies in the mapping, by address as linked. */
static sampled *sampled_of(const search *s, const pt_mapping *map, const pt_elf *elf,
                           size_t *ret_count)
{
    const pt_graph *g = &s->texts->graph;
    sampled *nodes = pt_alloc(g->listed_count + 1, sizeof *nodes);
    *ret_count = 0;
    for (uint32_t i = 0; i < g->listed_count; i++) {
        const pt_graph_node *node = &g->node[g->listed[i]];
        const uint64_t pc = node->info->address;
        uint64_t addr;
        if (pc < map->start || pc >= map->limit ||
            !pt_elf_addr_of_mapped(elf, map->start, map->limit, map->file_offset, pc, &addr))
            continue;
        nodes[(*ret_count)++] = (sampled){addr, node};
    }
    qsort(nodes, *ret_count, sizeof *nodes, compare_sampled);
    return nodes;
}

static void keep_symbol(search *s, pt_pprof_symbol *symbol, const char *path, uint64_t start,
                        uint64_t end, const sampled *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        symbol->flat = sum_of(symbol->flat, nodes[i].node->flat);
        symbol->cum = sum_of(symbol->cum, nodes[i].node->cum);
    }
    s->found = pt_grow(s->found, &s->found_cap, s->symbols.count + 1, sizeof *s->found);
    struct found *f = &s->found[s->symbols.count];
    *f = (struct found){.path = pt_strdup(path),
                        .start = start,
                        .end = end,
                        .nodes = pt_alloc(count, sizeof *nodes),
                        .node_count = count,
                        .order = s->symbols.count};
    memcpy(f->nodes, nodes, count * sizeof *nodes);
    PT_PUSH(s->symbols, *symbol);
}

/* A symbol ends a byte before the next one begins, and holds what is below that (pprof's own rule,
 * which leaves a symbol's last byte out). */
static pt_status search_image(search *s, const pt_mapping *map, const pt_elf *elf, const char *path,
                              pt_error *reterr)
{
    size_t name_count, node_count;
    PT_FREE name_at *names = list_names(elf, &name_count);
    PT_FREE sampled *nodes = sampled_of(s, map, elf, &node_count);
    pt_status status = PT_OK;
    size_t first = 0;
    for (size_t at = 0, n; at < name_count && status == PT_OK; at += n) {
        const uint64_t start = names[at].addr;
        for (n = 1; at + n < name_count && names[at + n].addr == start;)
            n++;
        /* After the last symbol nm's output ends, and pprof counts down from 0. */
        const uint64_t end = at + n < name_count ? names[at + n].addr - 1 : UINT64_MAX;
        while (first < node_count && nodes[first].addr < start)
            first++;
        size_t last = first;
        while (last < node_count && nodes[last].addr < end)
            last++;
        const bool holds = s->has_address && s->address >= start && s->address <= end;
        s->found_address |= holds;
        if (last == first) continue;
        pt_pprof_symbol symbol;
        status = match_symbol(s, names + at, n, start, end, &symbol, reterr);
        if (status == PT_OK && symbol.name_count > 0)
            keep_symbol(s, &symbol, path, start, end, nodes + first, last - first);
    }
    return status;
}

static pt_status search_mapping(search *s, const pt_mapping *map, pt_error *reterr)
{
    static const pt_source_options nowhere = {0};
    const pt_source_options *images = s->request->images;
    const pt_source_search where = {.options = images != NULL ? images : &nowhere,
                                    .diag = s->request->diag};
    const char *path = pt_text(s->profile, map->file);
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_elf elf;
    pt_error error = PT_ERROR_INIT;
    if (pt_source_find_image(&where, path, pt_text(s->profile, map->build_id), &file, &error) !=
        PT_OK) {
        pt_diag_add(s->request->diag, 1, "mapped files not used: %s: %s", path, error.message);
        return PT_OK;
    }
    pt_status status = PT_OK;
    if (pt_elf_open(file.blob.data, file.blob.size, &elf) == PT_ELF_OK)
        status = search_image(s, map, &elf, file.path, reterr);
    pt_image_file_done(&file);
    return status;
}

/* Mapped files that a matching node lies in: per string id. */
static pt_status matching_files(const search *s, bool *matched, pt_error *reterr)
{
    const pt_graph *g = &s->texts->graph;
    const pt_profile *p = s->profile;
    for (uint32_t i = 0; i < g->listed_count; i++) {
        const pt_graph_node *node = &g->node[g->listed[i]];
        bool matches = false;
        if (node->info->object[0] == '\0') continue;
        const pt_status status =
            pt_regex_match(s->request->pattern, node->text, strlen(node->text), &matches, reterr);
        if (status != PT_OK) return status;
        for (uint32_t m = 0; matches && m < p->mapping->t.count; m++)
            matched[m] |= strcmp(pt_text(p, p->mapping->row[m].file), node->info->object) == 0;
    }
    return PT_OK;
}

static pt_status search_all(search *s, pt_error *reterr)
{
    const pt_mappings *mappings = s->profile->mapping;
    PT_FREE bool *matched = pt_alloc(mappings->t.count + 1, sizeof *matched);
    pt_status status = matching_files(s, matched, reterr);
    for (uint32_t m = 0; m < mappings->t.count && status == PT_OK; m++) {
        const pt_mapping *map = &mappings->row[m];
        const bool has_address =
            s->has_address && map->start <= s->address && s->address <= map->limit;
        if (matched[m] || has_address) status = search_mapping(s, map, reterr);
    }
    return status;
}

/* ---- Instructions ---- */

/* Adds the samples from here up to the next instruction; *at moves past them. */
static void take_samples(pt_pprof_instruction *i, const struct found *f, size_t *at, uint64_t next)
{
    int64_t flat = 0, flat_div = 0, cum = 0, cum_div = 0;
    for (; *at < f->node_count && f->nodes[*at].addr < next; ++*at) {
        const pt_graph_node *node = f->nodes[*at].node;
        flat = sum_of(flat, node->flat);
        flat_div = sum_of(flat_div, node->flat_div);
        cum = sum_of(cum, node->cum);
        cum_div = sum_of(cum_div, node->cum_div);
        if (i->file[0] == '\0') i->file = pt_base_name(node->info->file);
        if (i->line == 0) i->line = node->info->line;
        if (i->function[0] == '\0') i->function = node->info->name;
    }
    i->flat = pt_graph_mean(flat, flat_div);
    i->cum = pt_graph_mean(cum, cum_div);
}

static pt_status disassemble_symbol(search *s, pt_pprof_symbol *symbol, const struct found *f,
                                    pt_error *reterr)
{
    pt_objdump_listing l;
    const pt_status status = pt_objdump_run(s->request->objdump, f->path, f->start, f->end,
                                            s->request->intel_syntax, &l, reterr);
    if (status != PT_OK) return status;
    PT_PUSH(*s->texts, l);
    symbol->instruction = pt_alloc(l.count, sizeof *symbol->instruction);
    size_t at = 0;
    for (size_t i = 0; i < l.count; i++) {
        pt_pprof_instruction *to = &symbol->instruction[i];
        *to = (pt_pprof_instruction){.addr = l.line[i].addr,
                                     .text = pt_strdup(l.line[i].text),
                                     .function = l.line[i].function,
                                     .file = pt_base_name(l.line[i].file),
                                     .line = l.line[i].line};
        take_samples(to, f, &at, i + 1 < l.count ? l.line[i + 1].addr : UINT64_MAX);
        symbol->instruction_count++;
    }
    return PT_OK;
}

static int compare_symbols(const void *left, const void *right, void *context)
{
    const search *s = context;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int name = strcmp(s->symbols.items[a].names[0], s->symbols.items[b].names[0]);
    if (name != 0) return name;
    if (s->found[a].start != s->found[b].start)
        return s->found[a].start < s->found[b].start ? -1 : 1;
    return (a > b) - (a < b);
}

static pt_status disassemble_all(search *s, pt_pprof_disasm *disasm, pt_error *reterr)
{
    const size_t count = s->symbols.count;
    PT_FREE size_t *order = pt_alloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, compare_symbols, s);
    disasm->symbol = pt_alloc(count, sizeof *disasm->symbol);
    for (size_t i = 0; i < count; i++)
        disasm->symbol[disasm->count++] = s->symbols.items[order[i]];
    pt_status status = PT_OK;
    for (size_t i = 0; i < count && status == PT_OK; i++)
        status = disassemble_symbol(s, &disasm->symbol[i], &s->found[order[i]], reterr);
    return status;
}

static pt_status say_no_match(const search *s, pt_error *reterr)
{
    const unsigned long long address = s->address;
    if (!s->has_address)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no matches found for regexp %s",
                            s->request->pattern_text);
    if (!s->found_address)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no matches found for address 0x%llx",
                            address);
    return pt_error_set(reterr, PT_ERR_NOTFOUND,
                        "address 0x%llx found in binary, but the corresponding symbols do not "
                        "have samples in the profile",
                        address);
}

static pt_status make_graph(const pt_profile *profile, const pt_pprof_list_request *request,
                            pt_graph *ret_graph, pt_error *reterr)
{
    const pt_graph_request graph_request = {
        .event = request->event,
        .mean = request->mean,
        .fold = {.pprof = true,
                 .by = PT_BY_ADDRESS,
                 .no_inlines = true,
                 .columns = request->columns,
                 .object_names = true,
                 .trims_paths = true,
                 .trim_path = request->trim_path,
                 .source_path = request->source_path},
        .drop_negative = request->drop_negative,
        .edges = PT_EDGES_NONE,
    };
    return pt_graph_init(ret_graph, profile, &graph_request, reterr);
}

static void found_done(search *s)
{
    for (size_t i = 0; i < s->symbols.count; i++) {
        free(s->found[i].path);
        free(s->found[i].nodes);
    }
    free(s->found);
    free(s->symbols.items);
}

pt_status pt_pprof_disasm_init(pt_pprof_disasm *ret_disasm, const pt_profile *profile,
                               const pt_pprof_list_request *request, pt_error *reterr)
{
    pt_pprof_disasm disasm = {.texts = pt_alloc(1, sizeof *disasm.texts)};
    search s = {.profile = profile, .request = request, .texts = disasm.texts};
    s.has_address = parse_address(request->pattern_text, &s.address);
    pt_status status = make_graph(profile, request, &disasm.texts->graph, reterr);
    if (status == PT_OK) status = search_all(&s, reterr);
    if (status == PT_OK && s.symbols.count == 0) status = say_no_match(&s, reterr);
    if (status == PT_OK && request->objdump == NULL)
        status =
            pt_error_set(reterr, PT_ERR_UNSUPPORTED, "cannot disasm: no objdump tool available");
    /* From here on the symbols are the result's, in order or, after a failure, as they are. */
    const pt_status found = status;
    if (found == PT_OK) status = disassemble_all(&s, &disasm, reterr);
    if (found != PT_OK && s.symbols.count > 0) {
        disasm.symbol = pt_alloc(s.symbols.count, sizeof *disasm.symbol);
        memcpy(disasm.symbol, s.symbols.items, s.symbols.count * sizeof *disasm.symbol);
        disasm.count = s.symbols.count;
    }
    found_done(&s);
    if (status == PT_OK)
        *ret_disasm = disasm;
    else
        pt_pprof_disasm_done(&disasm);
    return status;
}

void pt_pprof_disasm_done(pt_pprof_disasm *disasm)
{
    for (size_t i = 0; i < disasm->count; i++) {
        pt_pprof_symbol *symbol = &disasm->symbol[i];
        for (size_t k = 0; k < symbol->name_count; k++)
            free(symbol->names[k]);
        for (size_t k = 0; k < symbol->instruction_count; k++)
            free(symbol->instruction[k].text);
        free(symbol->names);
        free(symbol->instruction);
    }
    free(disasm->symbol);
    if (disasm->texts != NULL) {
        for (size_t i = 0; i < disasm->texts->count; i++)
            pt_objdump_listing_done(&disasm->texts->items[i]);
        free(disasm->texts->items);
        pt_graph_done(&disasm->texts->graph);
        free(disasm->texts);
    }
    *disasm = (pt_pprof_disasm){0};
}
