/* symbolize.c: finds functions, lines and inlined frames of a profile's addresses. See symbolize.h.
 */
#include "symbolize/symbolize.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/rows.h"
#include "model/builder.h"
#include "model/process_user.h"
#include "process/path_kind.h"
#include "source/code.h"
#include "symbolize/chains.h"
#include "symbolize/doubt.h"

/* A function; owns its strings. */
typedef struct {
    char *name, *system_name;
    uint32_t file; /* row of image.files */
    uint32_t start_line;
    pt_function_id id; /* row of the builder; v == PT_NONE until it is used */
} function;

typedef struct {
    uint32_t function, line, column;
} frame;

/* The frames of one linked address. */
typedef struct {
    uint32_t frame_first, frame_count;
    uint64_t code_offset; /* without frames: as in pt_locations */
} answer;

typedef struct {
    uint64_t addr; /* as linked */
    uint32_t location;
    uint32_t answer; /* row of the distinct addresses */
} wanted;

typedef enum {
    IMAGE_FILE,
    IMAGE_KERNEL,  /* with its modules */
    IMAGE_PROCESS, /* code of just-in-time compilers in one process */
} image_kind;

/* String ids of images without a file, besides PT_NONE. */
#define KERNEL_STRING  (PT_NONE - 1)
#define PROCESS_STRING (PT_NONE - 2)

/* A file with all its mappings; or the kernel; or a process. */
typedef struct {
    image_kind kind;
    uint32_t pid;          /* PROCESS */
    const char *dump_path; /* PROCESS: path of its dump's mapping, or NULL */
    const char *path, *build_id;
    /* Strings of the profile; PT_NONE: given by the caller. */
    uint32_t path_string, build_id_string;
    PT_VECTOR(wanted) wanted;
    /* Results. */
    uint64_t *addrs; /* distinct, ascending */
    answer *answers; /* one for each address */
    size_t addr_count;
    PT_VECTOR(frame) frames;
    PT_VECTOR(function) functions;
    struct {
        const char **raw; /* strings of the pt_chains; their addresses identify files while it
                           * exists */
        char **items;
        size_t count, cap;
    } files;
    pt_index file_index;
    bool has_lines;
    pt_diag diag;
} image;

typedef struct {
    const pt_profile *profile;
    const pt_symbolize_options *options;
    image *images;
    size_t image_count, image_cap;
    pt_index image_index;
    uint32_t *order;    /* images, those with most addresses first */
    size_t first_small; /* in order: images from here on are resolved in parallel */
    uint32_t *
        image_of; /* image of each mapping, or PT_NONE; the last row: addresses without a mapping */
    uint32_t *image_of_location; /* image of each location, or PT_NONE */
    uint64_t *bias;              /* load bias of each mapping */
    bool *has_bias;
} work;

/* ---- which addresses need names ---- */

/* Finds or adds an image. path: its text, if the string is not of the profile. For a process the
 * second string is its pid. */
static uint32_t image_named(work *w, uint32_t path_string, uint32_t build_id_string,
                            const char *path)
{
    const uint64_t hash = pt_hash_u32_pair(path_string, build_id_string);
    const uint32_t known = PT_INDEX_FIND(&w->image_index, hash, i,
                                         w->images[i].path_string == path_string &&
                                             w->images[i].build_id_string == build_id_string);
    if (known != PT_NONE) return known;
    w->images = pt_grow(w->images, &w->image_cap, w->image_count + 1, sizeof *w->images);
    image *m = &w->images[w->image_count];
    const bool is_process = path_string == PROCESS_STRING;
    *m = (image){.kind = is_process                     ? IMAGE_PROCESS
                         : path_string == KERNEL_STRING ? IMAGE_KERNEL
                                                        : IMAGE_FILE,
                 .pid = is_process ? build_id_string : 0,
                 .path = path,
                 .build_id = is_process ? "" : pt_text(w->profile, build_id_string),
                 .path_string = path_string,
                 .build_id_string = build_id_string};
    pt_index_init(&m->file_index);
    pt_diag_init(&m->diag);
    pt_index_add(&w->image_index, hash, (uint32_t)w->image_count);
    return (uint32_t)w->image_count++;
}

/* True for [kernel.kallsyms], [kernel], and modules in perf's form: [ext4] at a kernel address. */
static bool is_kernel(const pt_mapping *m, const char *path)
{
    return (m->flags & PT_MAPPING_KERNEL) != 0 ||
           pt_mapped_kind_of_text(path) == PT_MAPPED_KERNEL ||
           (path[0] == '[' && m->start >> 63 != 0 && strcmp(path, "[vsyscall]") != 0);
}

/* Finds the image of each mapping. */
static void choose_images(work *w)
{
    const pt_profile *p = w->profile;
    const uint32_t count = p->mapping->t.count;
    const char *program = w->options->program;
    for (uint32_t i = 0; i < count; i++) {
        const pt_mapping *m = &p->mapping->row[i];
        const bool is_given = i == 0 && program != NULL;
        const char *path = is_given ? program : pt_text(p, m->file);
        const bool has_names = (m->flags & PT_MAPPING_HAS_FUNCTIONS) != 0 && !w->options->force;
        w->image_of[i] = PT_NONE;
        if (has_names) continue;
        if (w->options->names_code && is_kernel(m, path))
            w->image_of[i] = image_named(w, KERNEL_STRING, m->build_id, "[kernel]");
        else if ((m->flags & (PT_MAPPING_KERNEL | PT_MAPPING_JIT)) == 0 &&
                 (is_given || pt_mapped_is_image(pt_mapped_kind_of_text(path))))
            w->image_of[i] = image_named(w, is_given ? PT_NONE : m->file, m->build_id, path);
    }
    w->image_of[count] =
        count == 0 && program != NULL ? image_named(w, PT_NONE, 0, program) : PT_NONE;
}

/* ---- code without a file ---- */

/* The process of each stack, from its first sample: column pid, or label "pid". NULL when no sample
 * has one. The caller frees the result. */
static uint32_t *processes_of_stacks(const pt_profile *p)
{
    const pt_samples *s = p->sample;
    PT_FREE uint32_t *of_labels = pt_alloc(p->labels->t.count + 1, sizeof *of_labels);
    bool any = s->pid != NULL;
    for (uint32_t i = 0; i < p->labels->t.count; i++) {
        of_labels[i] = PT_NONE;
        for (uint64_t k = p->labels->offset[i]; k < p->labels->offset[i + 1]; k++) {
            const pt_label *label = &p->labels->row[k];
            const int64_t pid =
                label->kind == PT_LABEL_NUMBER ? label->num : atoll(pt_text(p, label->str));
            if (strcmp(pt_text(p, label->key), "pid") != 0 || pid <= 0 || pid >= INT32_MAX)
                continue;
            of_labels[i] = (uint32_t)pid;
            any = true;
        }
    }
    if (!any) return NULL;
    uint32_t *of_stacks = pt_alloc(p->stack->t.count + 1, sizeof *of_stacks);
    memset(of_stacks, 0xff, p->stack->t.count * sizeof *of_stacks);
    for (uint32_t i = 0; i < s->t.count; i++) {
        uint32_t pid = s->pid != NULL ? s->pid[i] : PT_NONE;
        if (pid == PT_NONE) pid = of_labels[s->labels[i]];
        if (of_stacks[s->stack[i]] == PT_NONE) of_stacks[s->stack[i]] = pid;
    }
    return of_stacks;
}

/* True if the mapping may have code made at run time: anonymous memory, a jitdump. */
static bool may_be_compiled(const pt_profile *p, uint32_t mapping)
{
    if (mapping == PT_NONE) return true;
    const pt_mapping *m = &p->mapping->row[mapping];
    const pt_mapped_kind kind = pt_mapped_kind_of_text(pt_text(p, m->file));
    return (m->flags & PT_MAPPING_JIT) != 0 ||
           ((m->flags & PT_MAPPING_KERNEL) == 0 &&
            (pt_mapped_is_memory(kind) || kind == PT_MAPPED_JITDUMP || kind == PT_MAPPED_DEVICE));
}

/* For each location with code without a file, finds its process and makes that the image. */
static void choose_processes(work *w, const bool *used)
{
    const pt_profile *p = w->profile;
    const uint32_t mapping_count = p->mapping->t.count;
    PT_FREE bool *may_be = pt_alloc(mapping_count + 1, sizeof *may_be);
    bool any = false;
    for (uint32_t i = 0; i <= mapping_count; i++)
        may_be[i] =
            w->image_of[i] == PT_NONE && may_be_compiled(p, i < mapping_count ? i : PT_NONE);
    for (uint32_t i = 0; i < p->location->t.count && !any; i++)
        any = used[i] &&
              may_be[p->location->mapping[i] != PT_NONE ? p->location->mapping[i] : mapping_count];
    PT_FREE uint32_t *of_stacks = any ? processes_of_stacks(p) : NULL;
    for (uint32_t s = 0; of_stacks != NULL && s < p->stack->t.count; s++) {
        for (uint64_t k = p->stack->offset[s];
             of_stacks[s] != PT_NONE && k < p->stack->offset[s + 1]; k++) {
            const uint32_t location = p->stack->frame[k];
            const uint32_t mapping = p->location->mapping[location];
            if (!may_be[mapping != PT_NONE ? mapping : mapping_count] ||
                w->image_of_location[location] != PT_NONE)
                continue;
            const uint32_t id = image_named(w, PROCESS_STRING, of_stacks[s], "[code]");
            w->image_of_location[location] = id;
            const char *path = mapping != PT_NONE ? pt_text(p, p->mapping->row[mapping].file) : "";
            if (pt_mapped_kind_of_text(path) == PT_MAPPED_JITDUMP) w->images[id].dump_path = path;
        }
    }
}

/* The locations that some stack or arc uses; the caller frees the result. Rows are mostly in order
 * of first use: soon all rows below some number are known to be used, and nearly every block of
 * frames lies below it. */
static bool *used_locations(const pt_profile *p)
{
    const uint32_t count = p->location->t.count;
    const uint64_t frame_count = p->stack->offset[p->stack->t.count];
    bool *used = pt_alloc((size_t)count + 1, sizeof *used);
    const uint32_t *const frames = p->stack->frame;
    uint32_t all_below = 0;
    for (uint64_t i = 0; i < frame_count;) {
        const uint64_t left = frame_count - i;
        const uint64_t end = i + (left < PT_ROWS_BLOCK ? left : PT_ROWS_BLOCK);
        if (left >= PT_ROWS_BLOCK && pt_rows_below(frames + i, PT_ROWS_BLOCK, all_below)) i = end;
        for (; i < end; i++)
            used[frames[i]] = true;
        while (all_below < count && used[all_below])
            all_below++;
    }
    for (uint32_t i = 0; i < p->arc->t.count; i++)
        used[p->arc->from[i]] = used[p->arc->to[i]] = true;
    return used;
}

/* Reports addresses of a mapping (PT_NONE: without one) that no file can name, by the reason. */
static void count_without_file(const pt_profile *p, uint32_t mapping, uint64_t count, pt_diag *diag)
{
    if (mapping == PT_NONE) {
        pt_diag_add(diag, count, PT_SYMBOLIZE_NAMELESS "they are in no mapping");
        return;
    }
    const pt_mapping *m = &p->mapping->row[mapping];
    const char *path = pt_text(p, m->file);
    const bool is_nameless = pt_mapped_kind_of_text(path) == PT_MAPPED_ANONYMOUS;
    if ((m->flags & PT_MAPPING_HAS_FUNCTIONS) != 0) return;
    if ((m->flags & PT_MAPPING_KERNEL) != 0)
        pt_diag_add(diag, count,
                    PT_SYMBOLIZE_NAMELESS
                    "they are in the kernel, whose names the profile does not have");
    else if ((m->flags & PT_MAPPING_JIT) != 0 || is_nameless)
        pt_diag_add(diag, count, PT_SYMBOLIZE_NAMELESS "their code is in no file");
    else
        pt_diag_add(diag, count, PT_SYMBOLIZE_NAMELESS "%s is not a file", path);
}

/* True if any location needs a name, used or not. Mostly all locations have names or none, so the
 * stacks need not be read. */
static bool any_lacks_name(const work *w)
{
    const pt_locations *l = w->profile->location;
    return PT_ANY(i, l->t.count,
                  l->address[i] != 0 &&
                      (w->options->force || l->line_first[i + 1] == l->line_first[i]));
}

static bool is_seen(const work *w, uint32_t location)
{
    return w->options->unseen == NULL || !w->options->unseen[location];
}

static void gather_images(work *w, pt_diag *diag)
{
    const pt_profile *p = w->profile;
    const pt_locations *l = p->location;
    if (!any_lacks_name(w)) return;
    const uint32_t mapping_count = p->mapping->t.count;
    PT_FREE bool *used = used_locations(p);
    if (w->options->names_code) choose_processes(w, used);
    PT_FREE uint64_t *without_file = pt_alloc(mapping_count + 1, sizeof *without_file);
    for (uint32_t i = 0; i < l->t.count; i++) {
        const bool has_lines = l->line_first[i + 1] > l->line_first[i];
        if (!used[i] || l->address[i] == 0 || (has_lines && !w->options->force)) continue;
        const uint32_t mapping = l->mapping[i] != PT_NONE ? l->mapping[i] : mapping_count;
        uint32_t *const id = &w->image_of_location[i];
        if (*id == PT_NONE) *id = w->image_of[mapping];
        if (*id == PT_NONE && l->mapping[i] == PT_NONE && l->address[i] >> 63 != 0 &&
            w->options->names_code)
            *id = image_named(w, KERNEL_STRING, 0, "[kernel]");
        if (*id == PT_NONE) {
            without_file[mapping] += !has_lines && is_seen(w, i);
            continue;
        }
        image *m = &w->images[*id];
        PT_PUSH(m->wanted, (wanted){.location = i});
    }
    for (uint32_t i = 0; i <= mapping_count; i++)
        if (without_file[i] > 0)
            count_without_file(p, i < mapping_count ? i : PT_NONE, without_file[i], diag);
}

static int by_most_addresses(const void *x, const void *y, void *context)
{
    const work *w = context;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const size_t m = w->images[a].wanted.count, n = w->images[b].wanted.count;
    return m != n ? (m > n ? -1 : 1) : (a > b) - (a < b);
}

/* ---- one image, on any thread ---- */

/* The wanted addresses whose names reports show. */
static size_t count_seen(const work *w, const image *m)
{
    size_t seen = 0;
    for (size_t i = 0; i < m->wanted.count; i++)
        seen += is_seen(w, m->wanted.items[i].location);
    return seen;
}

PT_ORDER(by_address, wanted, PT_UP(addr) ?: PT_UP(location));

/* Sorts the wanted addresses and makes the list of distinct ones. */
static void sort_addresses(image *m)
{
    const size_t count = m->wanted.count;
    if (count > 0) qsort(m->wanted.items, count, sizeof *m->wanted.items, by_address);
    m->addrs = pt_alloc(count + 1, sizeof *m->addrs);
    m->answers = pt_alloc(count + 1, sizeof *m->answers);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || m->wanted.items[i].addr != m->addrs[m->addr_count - 1])
            m->addrs[m->addr_count++] = m->wanted.items[i].addr;
        m->wanted.items[i].answer = (uint32_t)(m->addr_count - 1);
    }
}

/* Takes addresses that need no conversion: of the kernel, of code without a file. */
static void take_addresses(const work *w, image *m)
{
    const pt_locations *l = w->profile->location;
    for (size_t i = 0; i < m->wanted.count; i++) {
        wanted *at = &m->wanted.items[i];
        const bool is_return = (l->flags[at->location] & PT_LOCATION_RETURN_ADDR) != 0;
        at->addr = l->address[at->location] - (is_return ? 1 : 0);
    }
    sort_addresses(m);
}

/* Converts addresses of the process to linked addresses, sorts them, and drops those outside the
 * image. Returns the number dropped that reports show. */
static size_t place_addresses(const work *w, image *m, const pt_elf *elf)
{
    const pt_locations *l = w->profile->location;
    const uint32_t mapping_count = w->profile->mapping->t.count;
    const size_t all = m->wanted.count;
    size_t kept = 0, dropped = 0;
    for (size_t i = 0; i < all; i++) {
        wanted at = m->wanted.items[i];
        const uint32_t mapping = l->mapping[at.location];
        const pt_mapping whole = {0};
        const pt_mapping *map = mapping != PT_NONE ? &w->profile->mapping->row[mapping] : &whole;
        const bool is_return = (l->flags[at.location] & PT_LOCATION_RETURN_ADDR) != 0;
        const uint64_t pc = l->address[at.location] - (is_return ? 1 : 0);
        if (!pt_elf_addr_of_mapped(elf, map->start, map->limit, map->file_offset, pc, &at.addr)) {
            dropped += is_seen(w, at.location);
            continue;
        }
        if (mapping < mapping_count && !w->has_bias[mapping]) {
            w->bias[mapping] = pc - at.addr;
            w->has_bias[mapping] = true;
        }
        m->wanted.items[kept++] = at;
    }
    m->wanted.count = kept;
    sort_addresses(m);
    return dropped;
}

static uint32_t file_of(image *m, const char *raw)
{
    const uint64_t hash = pt_hash_mix((uintptr_t)raw, 2);
    const uint32_t known = PT_INDEX_FIND(&m->file_index, hash, i, m->files.raw[i] == raw);
    if (known != PT_NONE) return known;
    const uint32_t id = (uint32_t)m->files.count++;
    size_t raw_cap = m->files.cap;
    m->files.raw = pt_grow(m->files.raw, &raw_cap, m->files.count, sizeof *m->files.raw);
    PT_GROW(m->files, m->files.count);
    m->files.raw[id] = raw;
    m->files.items[id] = pt_strdup(raw);
    pt_index_add(&m->file_index, hash, id);
    return id;
}

/* Copies the results of the set, which is freed with the image's file. */
static void take_chains(image *m, pt_chains *chains, const uint32_t *rows)
{
    const size_t function_count = pt_chains_function_count(chains);
    PT_GROW(m->functions, function_count + 1);
    for (uint32_t i = 0; i < function_count; i++) {
        const pt_chain_function f = pt_chains_function(chains, i);
        m->functions.items[m->functions.count++] =
            (function){.name = pt_strdup(pt_chains_readable(chains, i)),
                       .system_name = pt_strdup(pt_chains_system_name(chains, i)),
                       .file = file_of(m, f.file),
                       .start_line = f.start_line,
                       .id = {PT_NONE}};
    }
    for (size_t i = 0; i < m->addr_count; i++) {
        const pt_chain chain = pt_chains_at(chains, rows[i]);
        m->answers[i] =
            (answer){.frame_first = (uint32_t)m->frames.count, .frame_count = chain.frame_count};
        PT_GROW(m->frames, m->frames.count + chain.frame_count);
        for (uint32_t k = 0; k < chain.frame_count; k++)
            m->frames.items[m->frames.count++] =
                (frame){chain.frames[k].function, chain.frames[k].line, chain.frames[k].column};
    }
}

/* Finds the bounds of code for the addresses without a name. Returns whether it found any. */
static bool take_code_offsets(image *m, pt_object *object)
{
    bool any = false;
    for (size_t i = 0; i < m->addr_count; i++) {
        pt_object_symbol code;
        if (m->answers[i].frame_count > 0 || !pt_object_code_at(object, m->addrs[i], &code))
            continue;
        m->answers[i].code_offset = m->addrs[i] - code.addr + 1;
        any = true;
    }
    return any;
}

/* The end of a message about such addresses. */
#define CODE_SHOWN "; its functions are shown by their first addresses"

static void report_missing(image *m, pt_chains *chains, pt_object_detail detail, size_t outside,
                           size_t nameless)
{
    pt_diag_add(&m->diag, outside, PT_SYMBOLIZE_NAMELESS "no segment of %s covers them", m->path);
    pt_object_facts facts = {.has_lines = true};
    if (!pt_chains_from_disk(chains)) pt_object_look(pt_chains_object(chains), detail, &facts);
    m->has_lines = facts.has_lines;
    if (facts.lines_error != NULL)
        pt_diag_add(&m->diag, m->wanted.count, "addresses without lines: %s: %s", m->path,
                    facts.lines_error);
    const char *const shrunk = pt_object_shrunk(pt_chains_object(chains));
    if (shrunk != NULL)
        pt_diag_add(&m->diag, m->wanted.count,
                    "addresses whose names may be missing or wrong: %s " PT_FILE_SHRANK, shrunk);
    const char *const shown = take_code_offsets(m, pt_chains_object(chains)) ? CODE_SHOWN : "";
    if (nameless == 0) return;
    if (facts.symbol_count == 0 && !facts.has_lines)
        pt_diag_add(&m->diag, nameless,
                    PT_SYMBOLIZE_NAMELESS "%s is stripped and no debug file was found%s", m->path,
                    shown);
    else if (facts.is_dynamic_only && !facts.has_lines)
        pt_diag_add(&m->diag, nameless,
                    PT_SYMBOLIZE_NAMELESS "%s has only exported symbols and no debug file "
                                          "was found%s",
                    m->path, shown);
    else
        pt_diag_add(&m->diag, nameless, PT_SYMBOLIZE_NAMELESS "no symbol of %s covers them",
                    pt_base_name(m->path));
}

/* The addresses that got a name, or that got none and whose names reports show. */
static size_t count_answers(const work *w, const image *m, bool named)
{
    size_t count = 0;
    for (size_t i = 0; i < m->wanted.count; i++)
        count += (m->answers[m->wanted.items[i].answer].frame_count > 0) == named &&
                 (named || is_seen(w, m->wanted.items[i].location));
    return count;
}

/* Adds one frame for each address that a table names, with its line if the table has it. */
static void take_code_names(image *m, const pt_code_names *names, pt_demangle_mode mode)
{
    for (size_t i = 0; i < m->addr_count; i++) {
        pt_code_answer a;
        if (m->answers[i].frame_count > 0 || !pt_code_names_find(names, m->addrs[i], &a)) continue;
        char *readable = pt_demangle(a.name, mode);
        m->answers[i] = (answer){.frame_first = (uint32_t)m->frames.count, .frame_count = 1};
        /* Neighbouring addresses often lie in one function. */
        const function *last =
            m->functions.count > 0 ? &m->functions.items[m->functions.count - 1] : NULL;
        const bool is_same = last != NULL && strcmp(last->system_name, a.name) == 0 &&
                             strcmp(m->files.items[last->file], a.file) == 0;
        if (is_same) {
            free(readable);
        } else {
            PT_PUSH(m->functions,
                    (function){.name = readable != NULL ? readable : pt_strdup(a.name),
                               .system_name = pt_strdup(a.name),
                               .file = file_of(m, a.file),
                               .id = {PT_NONE}});
        }
        PT_PUSH(m->frames, (frame){(uint32_t)m->functions.count - 1, a.line, 0});
        m->has_lines |= a.line != 0;
    }
}

/* pprof's names follow llvm-symbolizer. */
static pt_chains_options chains_options(const pt_symbolize_options *options,
                                        pt_object_detail detail, pt_pool *pool)
{
    return (pt_chains_options){.detail = detail,
                               .demangle = options->demangle,
                               .cache = &options->cache,
                               .pool = pool,
                               .keeps_clones = options->demangle >= PT_DEMANGLE_BINUTILS};
}

/* Resolves lines and inlined functions of the kernel, if its image with debug information is
 * available. */
static void resolve_vmlinux(const work *w, image *m, const pt_code_names *names,
                            const char *build_id, pt_pool *pool)
{
    pt_source_search search = {.options = &w->options->source, .diag = &m->diag};
    const pt_chains_options how = chains_options(w->options, PT_OBJECT_LINES, pool);
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_chains *chains = NULL;
    pt_elf_symbols table;
    pt_elf_symbol s;
    const uint64_t text_addr = names->text_addr;
    uint64_t linked_addr = 0;
    if (w->options->mode != PT_SYMBOLIZE_FULL || text_addr == 0 ||
        !pt_source_find_vmlinux(&search, build_id, &file) ||
        pt_chains_open(&file, &search, &how, &chains, NULL) != PT_OK)
        return;
    const pt_elf *elf = pt_chains_elf(chains);
    if (pt_elf_symbols_open(elf, SHT_SYMTAB, &table))
        for (uint32_t i = 1; linked_addr == 0 && pt_elf_symbol_at(&table, i, &s); i++)
            if (strcmp(s.name, "_stext") == 0) linked_addr = s.value;
    if (linked_addr != 0) {
        PT_FREE uint64_t *linked = pt_alloc(m->addr_count + 1, sizeof *linked);
        PT_FREE uint32_t *rows = pt_alloc(m->addr_count + 1, sizeof *rows);
        for (size_t i = 0; i < m->addr_count; i++)
            linked[i] = m->addrs[i] - text_addr + linked_addr;
        pt_chains_resolve(chains, linked, m->addr_count, rows);
        take_chains(m, chains, rows);
        m->has_lines = true;
    }
    pt_chains_free(chains);
    pt_index_done(&m->file_index); /* its keys are addresses of freed strings */
    pt_index_init(&m->file_index);
}

static void resolve_kernel(const work *w, image *m, pt_pool *pool)
{
    pt_source_search search = {.options = &w->options->source, .diag = &m->diag};
    const int64_t start_ns = pt_profile_provenance(w->profile)->start_ns;
    char running[PT_KERNEL_ID_BYTES];
    pt_code_names names;
    pt_error error = PT_ERROR_INIT;
    take_addresses(w, m);
    const char *id = m->build_id;
    if (pt_source_kernel_names(&search, id, start_ns, &names, &error) != PT_OK) {
        pt_diag_add(&m->diag, count_seen(w, m), PT_SYMBOLIZE_NAMELESS "they are in the kernel; %s",
                    error.message);
        return;
    }
    if (id[0] == '\0') {
        pt_source_kernel_id(&w->options->source, running);
        id = running;
    }
    resolve_vmlinux(w, m, &names, id, pool);
    take_code_names(m, &names, w->options->demangle);
    pt_code_names_done(&names);
    pt_diag_add(&m->diag, count_answers(w, m, false),
                PT_SYMBOLIZE_NAMELESS "no symbol of the kernel covers them");
}

static void resolve_process(const work *w, image *m)
{
    const pt_source_search search = {.options = &w->options->source, .diag = &m->diag};
    pt_code_names dump, map;
    take_addresses(w, m);
    uint32_t user;
    const bool knows_user = pt_profile_process_user(w->profile, m->pid, &user);
    const bool any = pt_source_jit_names(&search, m->pid, knows_user ? (int64_t)user : -1,
                                         m->dump_path, &dump, &map);
    take_code_names(m, &dump, w->options->demangle);
    take_code_names(m, &map, w->options->demangle);
    const size_t nameless = count_answers(w, m, false);
    if (nameless > 0 && any)
        pt_diag_add(&m->diag, nameless,
                    PT_SYMBOLIZE_NAMELESS "the compiler's map of process %u does not have them",
                    m->pid);
    else if (nameless > 0)
        pt_diag_add(&m->diag, nameless, PT_SYMBOLIZE_NAMELESS "their code is in no file");
    pt_code_names_done(&dump);
    pt_code_names_done(&map);
}

/* The time of the profile, from the profile itself, else from the caller. */
static int64_t taken_ns(const work *w)
{
    const pt_provenance *const from = pt_profile_provenance(w->profile);
    return from->start_ns != 0 ? from->start_ns + from->duration_ns : w->options->taken_ns;
}

static bool differs_in_size(const work *w, const image *m, const pt_elf *elf)
{
    for (size_t i = 0; i < m->wanted.count; i++) {
        const uint32_t mapping = w->profile->location->mapping[m->wanted.items[i].location];
        if (i > 0 && mapping == w->profile->location->mapping[m->wanted.items[i - 1].location])
            continue;
        if (mapping != PT_NONE && pt_doubt_differs_in_size(elf, &w->profile->mapping->row[mapping]))
            return true;
    }
    return false;
}

/* Reports a file that may not be the profiled one: the profile has no build id to prove it. If the
 * file has no build id either (Go writes another note), the missing id alone is no reason for a
 * report. */
static void report_doubt(const work *w, image *m, const pt_elf *elf, int64_t file_ns, size_t named)
{
    if (m->build_id[0] != '\0' || named == 0) return;
    if (differs_in_size(w, m, elf))
        pt_diag_add(
            &m->diag, named,
            "addresses named from %s, which differs in size from the file that was profiled: "
            "names may be wrong",
            m->path);
    else if (pt_doubt_is_newer(file_ns, taken_ns(w)))
        pt_diag_add(&m->diag, named,
                    "addresses named from %s, which is newer than the profile: names may be wrong",
                    m->path);
    else if (m->path_string != PT_NONE && pt_elf_build_id(elf).bytes != NULL)
        pt_diag_add(&m->diag, named,
                    "addresses named from %s as it is now: the profile has no build id to check",
                    m->path);
}

static int64_t modified_ns(const pt_image_file *file)
{
    struct stat st;
    if (file->fd < 0 || fstat(file->fd, &st) != 0) return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* Resolves an image. pool: for the work inside the image; may be NULL. */
static void resolve_image_quietly(const work *w, image *m, pt_pool *pool)
{
    if (m->kind == IMAGE_KERNEL) {
        resolve_kernel(w, m, pool);
        return;
    }
    if (m->kind == IMAGE_PROCESS) {
        resolve_process(w, m);
        return;
    }
    const pt_symbolize_options *options = w->options;
    const pt_object_detail detail =
        options->mode == PT_SYMBOLIZE_SYMBOLS ? PT_OBJECT_SYMBOLS : PT_OBJECT_LINES;
    /* A file that the caller gave is used, whatever the search folders have. */
    pt_source_options given = options->source;
    const pt_source_search of_image = {
        .options = m->path_string == PT_NONE ? &given : &options->source, .diag = &m->diag};
    pt_source_search search = {.options = &options->source, .diag = &m->diag};
    pt_chains_options how = chains_options(options, detail, pool);
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_error error = PT_ERROR_INIT;
    pt_chains *chains = NULL;
    given.binary_dir_count = 0;
    how.progress = options->progress;
    const bool found =
        pt_source_find_image(&of_image, m->path, m->build_id, &file, &error) == PT_OK;
    const int64_t file_ns = modified_ns(&file);
    if (!found || pt_chains_open(&file, &search, &how, &chains, &error) != PT_OK) {
        char text[1024];
        pt_error_text(&error, text, sizeof text);
        pt_diag_add(&m->diag, count_seen(w, m), PT_SYMBOLIZE_NAMELESS "%s%s%s",
                    error.path[0] != '\0' ? "" : m->path, error.path[0] != '\0' ? "" : ": ", text);
        m->wanted.count = 0;
        return;
    }
    const size_t outside = place_addresses(w, m, pt_chains_elf(chains));
    PT_FREE uint32_t *rows = pt_alloc(m->addr_count + 1, sizeof *rows);
    pt_chains_resolve(chains, m->addrs, m->addr_count, rows);
    take_chains(m, chains, rows);
    report_missing(m, chains, detail, outside, count_answers(w, m, false));
    report_doubt(w, m, pt_chains_elf(chains), file_ns, count_answers(w, m, true));
    pt_chains_free(chains);
}

/* Resolves an image, and reports all its addresses as done to progress. The addresses of a file's
 * chains were already reported as they were resolved. */
static void resolve_image(const work *w, image *m, pt_pool *pool)
{
    const size_t count = m->wanted.count;
    resolve_image_quietly(w, m, pool);
    const size_t counted = m->kind == IMAGE_FILE ? m->addr_count : 0;
    pt_progress_add(w->options->progress, count > counted ? count - counted : 0);
}

static pt_status resolve_range(void *context, unsigned worker, size_t begin, size_t end,
                               pt_error *reterr)
{
    (void)worker;
    (void)reterr;
    const work *w = context;
    for (size_t i = begin; i < end; i++) {
        image *m = &w->images[w->order[w->first_small + i]];
        if (m->wanted.count > 0) resolve_image(w, m, NULL);
    }
    return PT_OK;
}

/* Resolves all images. An image with more than one thread's share of the addresses uses all
 * threads; the others are one task each. */
static pt_status resolve_all(work *w, pt_pool *pool, pt_error *reterr)
{
    const size_t threads = pt_pool_threads(pool);
    size_t total = 0, i = 0;
    for (size_t k = 0; k < w->image_count; k++)
        total += w->images[k].wanted.count;
    if (total > 0)
        pt_progress_begin(w->options->progress, PT_PROGRESS_ADDRESSES, total,
                          w->options->mode == PT_SYMBOLIZE_SYMBOLS ? "finding names"
                                                                   : "finding names and lines");
    for (; i < w->image_count && w->images[w->order[i]].wanted.count * threads > total; i++)
        resolve_image(w, &w->images[w->order[i]], pool);
    w->first_small = i;
    const pt_status status = pt_pool_for(pool, w->image_count - i, 1, resolve_range, w, reterr);
    pt_progress_end(w->options->progress);
    return status;
}

/* ---- the new profile ---- */

static pt_function_id function_row(pt_builder *b, const image *m, function *f)
{
    if (f->id.v == PT_NONE)
        f->id = pt_builder_function(
            b, &(pt_function){.name = pt_builder_text(b, f->name).v,
                              .system_name = pt_builder_text(b, f->system_name).v,
                              .file = pt_builder_text(b, m->files.items[f->file]).v,
                              .start_line = f->start_line});
    return f->id;
}

static void commit_location(pt_builder *b, image *m, uint32_t location, const answer *a)
{
    PT_FREE pt_line *lines = pt_alloc(a->frame_count, sizeof *lines);
    for (uint32_t i = 0; i < a->frame_count; i++) {
        const frame *f = &m->frames.items[a->frame_first + i];
        lines[i] = (pt_line){.function = function_row(b, m, &m->functions.items[f->function]).v,
                             .line = f->line,
                             .column = f->column};
    }
    pt_builder_set_lines(b, (pt_location_id){location}, lines, a->frame_count);
}

/* The result for each location, if any; the caller frees the array. */
static const answer **answers_by_location(const work *w)
{
    const answer **found = pt_alloc(w->profile->location->t.count + 1, sizeof(answer *));
    for (size_t i = 0; i < w->image_count; i++) {
        const image *m = &w->images[i];
        for (size_t k = 0; k < m->wanted.count; k++) {
            const answer *a = &m->answers[m->wanted.items[k].answer];
            if (a->frame_count > 0 || a->code_offset > 0) found[m->wanted.items[k].location] = a;
        }
    }
    return found;
}

static void commit_mappings(const work *w, pt_builder *b)
{
    const pt_profile *p = w->profile;
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        const image *m = w->image_of[i] != PT_NONE ? &w->images[w->image_of[i]] : NULL;
        if (m != NULL && m->kind == IMAGE_KERNEL && m->frames.count > 0)
            pt_builder_mapping_at(b, (pt_mapping_id){i})->flags |= PT_MAPPING_HAS_FUNCTIONS;
        if (!w->has_bias[i]) continue;
        pt_mapping *row = pt_builder_mapping_at(b, (pt_mapping_id){i});
        row->bias = w->bias[i];
        row->flags |= PT_MAPPING_HAS_BIAS;
        if (m->frames.count > 0) row->flags |= PT_MAPPING_HAS_FUNCTIONS;
        if (m->has_lines)
            row->flags |= PT_MAPPING_HAS_FILENAMES | PT_MAPPING_HAS_LINES | PT_MAPPING_HAS_INLINES;
        if (i == 0 && w->options->program != NULL)
            row->file = pt_builder_text(b, w->options->program).v;
    }
}

static pt_status commit_names(const work *w, const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_profile *p = w->profile;
    pt_builder *b = pt_builder_extend(p);
    PT_FREE const answer **found = answers_by_location(w);
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        if (found[i] == NULL) continue;
        if (found[i]->frame_count > 0)
            commit_location(b, &w->images[w->image_of_location[i]], i, found[i]);
        else
            pt_builder_set_code_offset(b, (pt_location_id){i}, found[i]->code_offset);
    }
    commit_mappings(w, b);
    return pt_builder_freeze(b, ret_profile, reterr);
}

static void image_done(image *m)
{
    for (size_t i = 0; i < m->functions.count; i++)
        PT_FREE_ALL(m->functions.items[i].name, m->functions.items[i].system_name);
    for (size_t i = 0; i < m->files.count; i++)
        free(m->files.items[i]);
    PT_FREE_ALL(m->wanted.items, m->addrs, m->answers, m->frames.items, m->functions.items,
                m->files.raw, m->files.items);
    pt_index_done(&m->file_index);
    pt_diag_done(&m->diag);
}

static void work_done(work *w)
{
    for (size_t i = 0; i < w->image_count; i++)
        image_done(&w->images[i]);
    pt_index_done(&w->image_index);
    PT_FREE_ALL(w->images, w->order, w->image_of, w->image_of_location, w->bias, w->has_bias);
}

pt_status pt_symbolize(const pt_profile *profile, const pt_symbolize_options *options,
                       pt_pool *pool, const pt_profile **ret_profile, pt_diag *diag,
                       pt_error *reterr)
{
    const uint32_t mapping_count = profile->mapping->t.count;
    work w = {.profile = profile, .options = options};
    pt_status status = PT_OK;
    size_t resolved = 0;
    pt_index_init(&w.image_index);
    if (options->mode != PT_SYMBOLIZE_OFF) {
        w.image_of = pt_alloc(mapping_count + 1, sizeof *w.image_of);
        w.image_of_location = pt_alloc(profile->location->t.count + 1, sizeof *w.image_of_location);
        memset(w.image_of_location, 0xff, profile->location->t.count * sizeof *w.image_of_location);
        w.bias = pt_alloc(mapping_count + 1, sizeof *w.bias);
        w.has_bias = pt_alloc(mapping_count + 1, sizeof *w.has_bias);
        choose_images(&w);
        gather_images(&w, diag);
        w.order = pt_alloc_numbers(w.image_count);
        qsort_r(w.order, w.image_count, sizeof *w.order, by_most_addresses, &w);
        status = resolve_all(&w, pool, reterr);
        for (size_t i = 0; i < w.image_count; i++) {
            if (diag != NULL) pt_diag_merge(diag, &w.images[i].diag);
            resolved += w.images[i].addr_count;
        }
    }
    if (status == PT_OK && resolved == 0)
        *ret_profile = pt_profile_ref(profile);
    else if (status == PT_OK)
        status = commit_names(&w, ret_profile, reterr);
    work_done(&w);
    return status;
}
