/* disasm.c: lists the symbols with samples whose names match, as objdump disassembles them. */
#include "personality/pprof/list.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "base/text.h"
#include "object/demangle.h"
#include "source/images.h"

/* A node of the graph in the mapping that is searched. */
typedef struct {
    uint64_t addr; /* linked address */
    const pt_graph_node *node;
} sampled;

/* A line of `nm -n`. */
typedef struct {
    uint64_t addr;
    const char *name;
} name_at;

/* A symbol that matches. */
typedef struct {
    pt_pprof_routine routine;
    char *path; /* path of the mapping's image */
    sampled *nodes;
    size_t node_count;
} found_symbol;

typedef struct {
    const pt_profile *profile;
    const pt_pprof_list_request *request;
    pt_pprof_listing *listing; /* the graph of the listing has a node for each address */
    bool has_address;          /* the pattern can also be read as an address */
    uint64_t address;
    bool found_address;
    PT_VECTOR(found_symbol) symbols;
} search;

/* ---- Addresses as patterns ---- */

/* Reads a number as Go's strconv.ParseUint does with base 0, but without underscores. */
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

/* ---- Names of an image, in the order of nm -n ---- */

PT_ORDER(compare_names, name_at, PT_UP(addr) ?: PT_TEXT_UP(name));

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

/* Compares a name and its demangled forms with the pattern. *ret_name is the first form that
 * matches, which the caller frees, or NULL if no form matches. */
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

/* Fills the names of a symbol that matches: all names if the symbol contains the address of the
 * pattern; else the first name that matches; no name if no name matches. */
static pt_status match_symbol(const search *s, const name_at *names, size_t count, uint64_t start,
                              uint64_t end, pt_pprof_routine *r, pt_error *reterr)
{
    *r = (pt_pprof_routine){.code = {.start = start, .end = end}};
    pt_status status = PT_OK;
    if (s->has_address && s->address != 0 && s->address >= start && s->address <= end) {
        r->code.made_name = pt_strdup(names[0].name);
        r->alias = pt_alloc(count, sizeof *r->alias);
        for (size_t i = 1; i < count; i++)
            r->alias[r->alias_count++] = pt_strdup(names[i].name);
    }
    for (size_t i = 0; i < count && status == PT_OK && r->code.made_name == NULL; i++)
        status = match_name(s, names[i].name, &r->code.made_name, reterr);
    r->code.name = r->code.made_name;
    return status;
}

/* ---- Samples of a mapping ---- */

PT_ORDER(compare_sampled, sampled, PT_UP(addr));

/* The listed nodes whose address lies in the mapping, ordered by address as linked. The caller
 * frees the array. */
static sampled *sampled_of(const search *s, const pt_mapping *map, const pt_elf *elf,
                           size_t *ret_count)
{
    const pt_graph *g = &s->listing->graph;
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

static void keep_symbol(search *s, pt_pprof_routine r, const char *path, const sampled *nodes,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pt_wrapping_into(&r.code.self, nodes[i].node->flat);
        pt_wrapping_into(&r.code.total, nodes[i].node->cum);
    }
    found_symbol f = {.routine = r,
                      .path = pt_strdup(path),
                      .nodes = pt_alloc(count, sizeof *nodes),
                      .node_count = count};
    memcpy(f.nodes, nodes, count * sizeof *nodes);
    PT_PUSH(s->symbols, f);
}

/* Searches the symbols of an image. pprof's rule: a symbol ends a byte before the next one begins
 * and holds the addresses below that end, so its last byte belongs to no symbol. */
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
        /* The last symbol has no end in nm's output: pprof takes 0 and subtracts a byte, so that
         * the end is the largest address. */
        const uint64_t end = at + n < name_count ? names[at + n].addr - 1 : UINT64_MAX;
        while (first < node_count && nodes[first].addr < start)
            first++;
        size_t last = first;
        while (last < node_count && nodes[last].addr < end)
            last++;
        const bool holds = s->has_address && s->address >= start && s->address <= end;
        s->found_address |= holds;
        if (last == first) continue;
        pt_pprof_routine routine;
        status = match_symbol(s, names + at, n, start, end, &routine, reterr);
        if (status == PT_OK && routine.code.name != NULL)
            keep_symbol(s, routine, path, nodes + first, last - first);
    }
    return status;
}

static pt_status search_mapping(search *s, const pt_mapping *map, pt_error *reterr)
{
    static const pt_source_options nowhere = {
        0}; /* images are only looked for at their own paths */
    const pt_source_search where = {.options = &nowhere, .diag = s->request->diag};
    const char *path = pt_text(s->profile, map->file);
    PT_AUTO(pt_image_file) file = PT_IMAGE_FILE_INIT;
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
    return status;
}

/* Flags the mappings whose file has a node that matches. */
static pt_status find_matching_files(const search *s, bool *matched, pt_error *reterr)
{
    const pt_graph *g = &s->listing->graph;
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

static pt_status search_mappings(search *s, pt_error *reterr)
{
    const pt_mappings *mappings = s->profile->mapping;
    PT_FREE bool *matched = pt_alloc(mappings->t.count + 1, sizeof *matched);
    pt_status status = find_matching_files(s, matched, reterr);
    for (uint32_t m = 0; m < mappings->t.count && status == PT_OK; m++) {
        const pt_mapping *map = &mappings->row[m];
        const bool has_address =
            s->has_address && map->start <= s->address && s->address <= map->limit;
        if (matched[m] || has_address) status = search_mapping(s, map, reterr);
    }
    return status;
}

/* ---- Instructions ---- */

/* Adds the samples from a row's address up to the next row's address, and moves *at past them. If
 * objdump has no place for the row, takes the place of a sample. */
static void take_samples(pt_code_row *row, pt_code_frame *frame, const found_symbol *f, size_t *at,
                         uint64_t next)
{
    int64_t flat = 0, flat_div = 0, cum = 0, cum_div = 0;
    for (; *at < f->node_count && f->nodes[*at].addr < next; ++*at) {
        const pt_graph_node *node = f->nodes[*at].node;
        pt_wrapping_into(&flat, node->flat);
        pt_wrapping_into(&flat_div, node->flat_div);
        pt_wrapping_into(&cum, node->cum);
        pt_wrapping_into(&cum_div, node->cum_div);
        if (frame->file[0] == '\0') frame->file = pt_base_name(node->info->file);
        if (frame->line == 0) frame->line = node->info->line;
        if (frame->function[0] == '\0') frame->function = node->info->name;
    }
    row->self = pt_graph_mean(flat, flat_div);
    row->total = pt_graph_mean(cum, cum_div);
}

static pt_status disassemble_symbol(search *s, pt_code_function *code, const found_symbol *f,
                                    pt_error *reterr)
{
    pt_objdump_listing l;
    const pt_status status = pt_objdump_run(s->request->objdump, f->path, code->start, code->end,
                                            s->request->intel_syntax, &l, reterr);
    if (status != PT_OK) return status;
    PT_PUSH(s->listing->objdump, l);
    code->row = pt_alloc(l.count, sizeof *code->row);
    code->frame = pt_alloc(l.count, sizeof *code->frame);
    size_t at = 0;
    for (size_t i = 0; i < l.count; i++) {
        const pt_objdump_line *line = &l.line[i];
        pt_code_frame *frame = &code->frame[i];
        *frame = (pt_code_frame){
            .function = line->function, .file = pt_base_name(line->file), .line = line->line};
        pt_code_row *row = &code->row[code->row_count++];
        *row = (pt_code_row){.at = line->addr,
                             .text = line->text,
                             .text_size = strlen(line->text),
                             .frame = frame,
                             .frame_count = 1};
        take_samples(row, frame, f, &at, i + 1 < l.count ? l.line[i + 1].addr : UINT64_MAX);
    }
    return PT_OK;
}

static int compare_symbols(const void *left, const void *right, void *context)
{
    const search *s = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const pt_code_function *a = &s->symbols.items[i].routine.code;
    const pt_code_function *b = &s->symbols.items[k].routine.code;
    return PT_TEXT_UP(name) ?: PT_UP(start) ?: PT_COMPARE(i, k);
}

/* Moves the routines of the symbols to the listing, in order. disassembles: also makes their rows,
 * up to the first failure. */
static pt_status take_symbols(search *s, bool disassembles, pt_error *reterr)
{
    const size_t count = s->symbols.count;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    qsort_r(order, count, sizeof *order, compare_symbols, s);
    s->listing->routine = pt_alloc(count + 1, sizeof *s->listing->routine);
    pt_status status = PT_OK;
    for (size_t i = 0; i < count; i++) {
        found_symbol *f = &s->symbols.items[order[i]];
        pt_pprof_routine *r = &s->listing->routine[s->listing->count++];
        *r = f->routine;
        if (disassembles && status == PT_OK) status = disassemble_symbol(s, &r->code, f, reterr);
        PT_FREE_ALL(f->path, f->nodes);
    }
    free(s->symbols.items);
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

pt_status pt_pprof_disasm_init(pt_pprof_listing *ret_listing, const pt_profile *profile,
                               const pt_pprof_list_request *request, pt_error *reterr)
{
    pt_pprof_listing listing = {0};
    search s = {.profile = profile, .request = request, .listing = &listing};
    s.has_address = parse_address(request->pattern_text, &s.address);
    pt_status status = pt_pprof_list_graph(&listing, profile, request, PT_BY_ADDRESS, reterr);
    if (status == PT_OK) status = search_mappings(&s, reterr);
    if (status == PT_OK && s.symbols.count == 0) status = say_no_match(&s, reterr);
    if (status == PT_OK && request->objdump == NULL)
        status =
            pt_error_set(reterr, PT_ERR_UNSUPPORTED, "cannot disasm: no objdump tool available");
    const pt_status taken = take_symbols(&s, status == PT_OK, reterr);
    if (status == PT_OK) status = taken;
    if (status == PT_OK)
        *ret_listing = listing;
    else
        pt_pprof_listing_done(&listing);
    return status;
}
