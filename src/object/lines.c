/* lines.c: functions, inlined calls and lines by DWARF, read with libdw.
 *
 * libdw's own question "which scopes hold this address" walks the whole unit for every address.
 * Here each unit that holds a wanted address is walked once, against all addresses that are wanted
 * of it:
 *
 *   units' ranges  x  addresses  ->  units to walk
 *   unit's tree    x  addresses  ->  for each address the innermost node that holds it
 *   node -> parent node -> ...   ->  the chain of inlined calls; the line table gives the first
 * line
 *
 * Types, and functions without a wanted address, are stepped over. Nothing recurses, offsets of
 * entries must ascend, and the work is limited: a file cannot make this run without end. */
#include "object/object_int.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define DEPTH_MAX 256                 /* of nested entries; deeper ones are not looked at */
#define WORK_MAX  (UINT64_C(1) << 28) /* ranges and addresses looked at, a call */

/* A compilation unit. With split DWARF the entries are in another file than the line table. */
typedef struct {
    Dwarf_Die die;      /* has the ranges and the lines */
    Dwarf_Die tree_die; /* has the functions */
    size_t range_first, range_count;
    bool is_cxx, is_assembler;
    bool tells_all; /* an address in no function's ranges is in no inlined call either */
} unit;

typedef struct {
    uint64_t addr, end_addr;
} unit_range;

struct pt_dwarf {
    Elf *elf, *supplement_elf;
    void *copy, *supplement_copy; /* of files without a descriptor: libelf edits headers in place */
    Dwarf *dwarf, *supplement;
    pt_code_range *code;
    size_t code_count;
    struct {
        unit *items;
        size_t count, cap;
    } units;
    struct {
        unit_range *items;
        size_t count, cap;
    } ranges;
    struct {
        char **items;
        size_t count, cap;
    } names; /* that were put together here */
    pt_tidy_paths paths;
};

/* A function, or one inlined call of a function. */
typedef struct {
    Dwarf_Die die;
    uint32_t parent; /* the node it is inlined into, or PT_NONE */
    bool is_known;   /* the rest is filled */
    const char *linkage_name, *name, *declared_file;
    uint32_t declared_line;
    const char *call_file;
    uint32_t call_line, call_column;
} node;

/* A namespace or class: entries at [begin, end) in .debug_info are inside. */
typedef struct {
    Dwarf_Off begin, end;
    const char *name;
    uint32_t parent;
} scope;

typedef struct {
    Dwarf_Die die;
    uint32_t node, scope; /* that the entries at this level are in */
    uint32_t open_scope;  /* that `die` itself has opened, or PT_NONE */
} level;

/* One call of pt_dwarf_resolve. */
typedef struct {
    pt_dwarf *dwarf;
    pt_object *object;
    const uint64_t *addrs;
    size_t count;
    bool *done;
    uint32_t *node_of; /* for each address, within the unit at hand */
    uint64_t work;
    pt_object_sink *sink;
    void *sink_context;
    struct {
        node *items;
        size_t count, cap;
    } nodes;
    struct {
        scope *items;
        size_t count, cap;
    } scopes;
    struct {
        pt_object_frame *items;
        size_t count, cap;
    } frames;
    level levels[DEPTH_MAX];
} search;

/* ---- opening ---- */

static Elf *open_elf(const pt_image_file *file, void **ret_copy)
{
    elf_version(EV_CURRENT);
    if (file->fd >= 0) return elf_begin(file->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    *ret_copy = pt_alloc(file->blob.size, 1);
    memcpy(*ret_copy, file->blob.data, file->blob.size);
    return elf_memory(*ret_copy, file->blob.size);
}

/* Code that the linker threw away keeps its description, at address 0 or thereabouts. */
static bool is_code(const pt_dwarf *d, uint64_t addr)
{
    for (size_t i = 0; i < d->code_count; i++)
        if (addr >= d->code[i].addr && addr < d->code[i].end_addr) return true;
    return d->code_count == 0;
}

static void add_unit_range(pt_dwarf *d, uint64_t addr, uint64_t end_addr)
{
    if (addr >= end_addr || !is_code(d, addr)) return;
    PT_GROW(d->ranges, d->ranges.count + 1);
    d->ranges.items[d->ranges.count++] = (unit_range){addr, end_addr};
}

/* DWARF 2 has no lists of ranges: only .debug_aranges tells of a unit's further sections. */
static void add_listed_ranges(pt_dwarf *d, Dwarf_Off unit_off)
{
    Dwarf_Aranges *list;
    size_t count;
    if (dwarf_getaranges(d->dwarf, &list, &count) != 0) return;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Addr addr;
        Dwarf_Word size_bytes;
        Dwarf_Off off;
        if (dwarf_getarangeinfo(dwarf_onearange(list, i), &addr, &size_bytes, &off) == 0 &&
            off == unit_off && size_bytes <= UINT64_MAX - addr)
            add_unit_range(d, addr, addr + size_bytes);
    }
}

static void add_unit(pt_dwarf *d, Dwarf_Half version, Dwarf_Die *die, Dwarf_Die *tree_die)
{
    unit u = {.die = *die, .tree_die = *tree_die, .range_first = d->ranges.count};
    const int language = dwarf_srclang(tree_die);
    u.is_cxx = language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
               language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
               language == 0x2b || language == 0x2c; /* C++17, C++20 (dwarfstd.org) */
    u.is_assembler = language == DW_LANG_Mips_Assembler;
    u.tells_all = version > 2;
    Dwarf_Addr base, addr, end_addr;
    for (ptrdiff_t off = 0; (off = dwarf_ranges(die, off, &base, &addr, &end_addr)) > 0;)
        add_unit_range(d, addr, end_addr);
    if (version == 2) add_listed_ranges(d, dwarf_dieoffset(die));
    u.range_count = d->ranges.count - u.range_first;
    if (u.range_count == 0) return;
    PT_GROW(d->units, d->units.count + 1);
    d->units.items[d->units.count++] = u;
}

static void list_units(pt_dwarf *d)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, sub_die;
    while (dwarf_get_units(d->dwarf, cu, &cu, &version, &type, &die, &sub_die) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
        const bool is_split = type == DW_UT_skeleton && dwarf_tag(&sub_die) == DW_TAG_compile_unit;
        add_unit(d, version, &die, is_split ? &sub_die : &die);
    }
}

pt_dwarf *pt_dwarf_open(const pt_image_file *file, const pt_image_file *supplement,
                        const pt_code_range *code, size_t code_count, pt_error *reterr)
{
    pt_dwarf *d = pt_alloc(1, sizeof *d);
    pt_tidy_paths_init(&d->paths);
    d->code = pt_alloc(code_count + 1, sizeof *d->code);
    d->code_count = code_count;
    memcpy(d->code, code, code_count * sizeof *code);
    d->elf = open_elf(file, &d->copy);
    d->dwarf = d->elf != NULL ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
    if (d->dwarf == NULL) {
        const char *why = d->elf == NULL ? elf_errmsg(-1) : dwarf_errmsg(-1);
        pt_error_set(reterr, PT_ERR_DAMAGED, "debug information cannot be read: %s",
                     why != NULL ? why : "unknown error");
        pt_error_where(reterr, file->path, NULL, -1);
        pt_dwarf_free(d);
        return NULL;
    }
    if (supplement != NULL) {
        d->supplement_elf = open_elf(supplement, &d->supplement_copy);
        if (d->supplement_elf != NULL)
            d->supplement = dwarf_begin_elf(d->supplement_elf, DWARF_C_READ, NULL);
        if (d->supplement != NULL) dwarf_setalt(d->dwarf, d->supplement);
    }
    list_units(d);
    if (d->units.count == 0) {
        pt_error_set(reterr, PT_ERR_NOTFOUND, "debug information describes no code");
        pt_error_where(reterr, file->path, NULL, -1);
        pt_dwarf_free(d);
        return NULL;
    }
    return d;
}

void pt_dwarf_free(pt_dwarf *d)
{
    if (d == NULL) return;
    dwarf_end(d->dwarf);
    dwarf_end(d->supplement);
    elf_end(d->elf);
    elf_end(d->supplement_elf);
    free(d->copy);
    free(d->supplement_copy);
    free(d->code);
    free(d->units.items);
    free(d->ranges.items);
    for (size_t i = 0; i < d->names.count; i++)
        free(d->names.items[i]);
    free(d->names.items);
    pt_tidy_paths_done(&d->paths);
    free(d);
}

/* ---- the walk ---- */

/* The first address not below addr. */
static size_t first_at(const search *s, uint64_t addr)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->addrs[middle] < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Gives the wanted addresses in the entry's ranges to that node. False when there are none. */
static bool claim(search *s, Dwarf_Die *die, uint32_t id)
{
    bool any = false;
    Dwarf_Addr base, addr, end_addr;
    for (ptrdiff_t off = 0; (off = dwarf_ranges(die, off, &base, &addr, &end_addr)) > 0;) {
        if (s->work++ > WORK_MAX) break;
        if (addr >= end_addr || !is_code(s->dwarf, addr)) continue;
        for (size_t i = first_at(s, addr); i < s->count && s->addrs[i] < end_addr; i++) {
            s->node_of[i] = id;
            s->work++;
            any = true;
        }
    }
    return any;
}

static uint32_t claim_as_node(search *s, Dwarf_Die *die, uint32_t parent)
{
    const uint32_t id = (uint32_t)s->nodes.count;
    if (!claim(s, die, id)) return PT_NONE;
    PT_GROW(s->nodes, s->nodes.count + 1);
    s->nodes.items[s->nodes.count++] = (node){.die = *die, .parent = parent};
    return id;
}

static uint32_t add_scope(search *s, Dwarf_Die *die, uint32_t parent)
{
    const char *name = dwarf_diename(die);
    const bool is_namespace = dwarf_tag(die) == DW_TAG_namespace;
    if (name == NULL && !is_namespace) return PT_NONE;
    PT_GROW(s->scopes, s->scopes.count + 1);
    s->scopes.items[s->scopes.count] =
        (scope){.begin = dwarf_dieoffset(die),
                .end = UINT64_MAX,
                .name = name != NULL ? name : "(anonymous namespace)",
                .parent = parent};
    return (uint32_t)s->scopes.count++;
}

/* Looks at the entry of a level. True: its children are wanted too, and *child says in what. */
static bool enter(search *s, level *at, bool thorough, level *child)
{
    *child = (level){.node = at->node, .scope = at->scope, .open_scope = PT_NONE};
    uint32_t id;
    switch (dwarf_tag(&at->die)) {
    case DW_TAG_subprogram:
        id = child->node = claim_as_node(s, &at->die, PT_NONE);
        return id != PT_NONE || thorough;
    case DW_TAG_inlined_subroutine:
        id = at->node == PT_NONE ? PT_NONE : claim_as_node(s, &at->die, at->node);
        child->node = id;
        return id != PT_NONE;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_entry_point:
    case DW_TAG_common_block: return at->node != PT_NONE || thorough;
    case DW_TAG_namespace:
    case DW_TAG_module:
        at->open_scope = child->scope = add_scope(s, &at->die, at->scope);
        return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type: {
        const uint32_t opened = add_scope(s, &at->die, at->scope);
        at->open_scope = opened;
        child->scope = opened != PT_NONE ? opened : at->scope;
        child->node = PT_NONE;
        return thorough;
    }
    default: return false;
    }
}

/* Goes to the next entry of the level. False at the end, and when offsets do not ascend. */
static bool advance(search *s, level *at)
{
    const Dwarf_Off before = dwarf_dieoffset(&at->die);
    Dwarf_Die next;
    const bool is_there = dwarf_siblingof(&at->die, &next) == 0 && dwarf_dieoffset(&next) > before;
    if (at->open_scope != PT_NONE && is_there)
        s->scopes.items[at->open_scope].end = dwarf_dieoffset(&next);
    at->open_scope = PT_NONE;
    if (is_there) at->die = next;
    return is_there;
}

/* Adds to the nodes; of two walks over one unit the second finds all that the first has found. */
static void walk(search *s, Dwarf_Die *root, bool thorough)
{
    s->scopes.count = 0;
    size_t depth = 0;
    s->levels[0] = (level){.node = PT_NONE, .scope = PT_NONE, .open_scope = PT_NONE};
    if (dwarf_child(root, &s->levels[0].die) != 0) return;
    for (;;) {
        if (s->work++ > WORK_MAX) return;
        level *at = &s->levels[depth];
        level child;
        if (enter(s, at, thorough, &child) && depth + 1 < DEPTH_MAX &&
            dwarf_child(&at->die, &child.die) == 0 &&
            dwarf_dieoffset(&child.die) > dwarf_dieoffset(&at->die)) {
            s->levels[++depth] = child;
            continue;
        }
        while (!advance(s, &s->levels[depth])) {
            if (depth == 0) return;
            depth--;
        }
    }
}

/* ---- names ---- */

static const char *string_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* The entry that stands where the function was declared: through abstract origins (inlined and
 * cloned code) and specifications (members defined outside their class). */
static Dwarf_Die declaration_of(Dwarf_Die die)
{
    for (int hops = 0; hops < 16; hops++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == NULL &&
            dwarf_attr(&die, DW_AT_specification, &attribute) == NULL)
            break;
        if (dwarf_formref_die(&attribute, &next) == NULL) break;
        die = next;
    }
    return die;
}

/* "namespace::class::name" for a function whose mangled name is not recorded. */
static const char *qualified_name(search *s, const unit *u, Dwarf_Die *die, const char *name)
{
    Dwarf_Die declared = declaration_of(*die);
    if (declared.cu != u->tree_die.cu) return name;
    const Dwarf_Off off = dwarf_dieoffset(&declared);
    size_t low = 0, high = s->scopes.count; /* scopes are in the order of their beginnings */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->scopes.items[middle].begin < off)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t at = low > 0 ? (uint32_t)(low - 1) : PT_NONE;
    for (uint32_t outer = at; outer != PT_NONE; outer = s->scopes.items[outer].parent)
        if (s->scopes.items[outer].end <= off) at = s->scopes.items[outer].parent;
    char *text = NULL;
    for (; at != PT_NONE; at = s->scopes.items[at].parent) {
        char *longer = pt_strf("%s::%s", s->scopes.items[at].name, text != NULL ? text : name);
        free(text);
        text = longer;
    }
    if (text == NULL) return name;
    PT_GROW(s->dwarf->names, s->dwarf->names.count + 1);
    s->dwarf->names.items[s->dwarf->names.count++] = text;
    return text;
}

/* The file that a DW_AT_decl_file or DW_AT_call_file names, in the file table of the unit that has
 * the attribute. (libdw's dwarf_decl_file asserts that this table can be read.) */
static const char *file_named_by(search *s, Dwarf_Attribute *attribute)
{
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die unit_die;
    Dwarf_Word index;
    Dwarf_Files *files;
    size_t count;
    if (attribute == NULL || dwarf_formudata(attribute, &index) != 0 ||
        dwarf_cu_info(attribute->cu, &version, &type, &unit_die, NULL, NULL, NULL, NULL) != 0 ||
        dwarf_getsrcfiles(&unit_die, &files, &count) != 0 || index >= count)
        return "";
    return pt_tidy_path_of(&s->dwarf->paths, dwarf_filesrc(files, index, NULL, NULL));
}

static void describe(search *s, const unit *u, node *n)
{
    n->is_known = true;
    n->name = dwarf_diename(&n->die);
    n->linkage_name = string_of(&n->die, DW_AT_linkage_name);
    if (n->linkage_name == NULL) n->linkage_name = string_of(&n->die, DW_AT_MIPS_linkage_name);
    Dwarf_Attribute attribute;
    n->declared_file = file_named_by(s, dwarf_attr_integrate(&n->die, DW_AT_decl_file, &attribute));
    int line;
    if (dwarf_decl_line(&n->die, &line) == 0 && line > 0) n->declared_line = (uint32_t)line;
    if (n->name != NULL && n->linkage_name == NULL && u->is_cxx)
        n->name = qualified_name(s, u, &n->die, n->name);
    if (n->parent == PT_NONE) return;
    n->call_file = file_named_by(s, dwarf_attr(&n->die, DW_AT_call_file, &attribute));
    n->call_line = number_of(&n->die, DW_AT_call_line);
    n->call_column = number_of(&n->die, DW_AT_call_column);
}

/* Compilers do not record the mangled names of functions that are local to their file; the symbol
 * has it, if it is that function's. */
static bool symbol_names(const pt_object_symbol *symbol, const char *name)
{
    const bool is_mangled =
        strncmp(symbol->name, "_Z", 2) == 0 || strncmp(symbol->name, "_R", 2) == 0;
    if (!is_mangled || name == NULL) return is_mangled;
    if (strstr(name, "operator") != NULL) return true; /* mangled otherwise */
    const size_t length = strcspn(name, "<"); /* arguments of a template are mangled otherwise */
    size_t last = length;
    while (last > 0 && name[last - 1] != ':' && name[last - 1] != '~')
        last--;
    return length > last &&
           memmem(symbol->name, strlen(symbol->name), name + last, length - last) != NULL;
}

/* ---- frames ---- */

typedef struct {
    const char *file;
    uint32_t line, column;
} place;

static place place_of(search *s, const unit *u, uint64_t addr)
{
    place p = {"", 0, 0};
    Dwarf_Die die = u->die;
    Dwarf_Line *line = dwarf_getsrc_die(&die, addr);
    int number;
    if (line == NULL) return p;
    p.file = pt_tidy_path_of(&s->dwarf->paths, dwarf_linesrc(line, NULL, NULL));
    if (dwarf_lineno(line, &number) == 0 && number > 0) p.line = (uint32_t)number;
    if (dwarf_linecol(line, &number) == 0 && number > 0) p.column = (uint32_t)number;
    return p;
}

static void add_frame(search *s, const char *linkage_name, const char *name, place at,
                      uint32_t start_line)
{
    PT_GROW(s->frames, s->frames.count + 1);
    s->frames.items[s->frames.count++] = (pt_object_frame){.linkage_name = linkage_name,
                                                           .name = name,
                                                           .file = at.file,
                                                           .line = at.line,
                                                           .column = at.column,
                                                           .start_line = start_line};
}

static void add_chain(search *s, const unit *u, uint32_t innermost, place at,
                      const pt_object_symbol *symbol)
{
    for (uint32_t id = innermost; id != PT_NONE; id = s->nodes.items[id].parent) {
        node *n = &s->nodes.items[id];
        if (!n->is_known) describe(s, u, n);
        const char *name = n->name, *linkage_name = n->linkage_name;
        const bool is_outermost = n->parent == PT_NONE;
        if (linkage_name == NULL && is_outermost && symbol != NULL && symbol_names(symbol, name))
            linkage_name = symbol->name;
        if (name == NULL && linkage_name == NULL && is_outermost && symbol != NULL)
            name = symbol->name;
        if (name != NULL || linkage_name != NULL)
            add_frame(s, linkage_name != NULL ? linkage_name : name, name != NULL ? name : "", at,
                      strcmp(n->declared_file, at.file) == 0 ? n->declared_line : 0);
        if (!is_outermost) at = (place){n->call_file, n->call_line, n->call_column};
    }
}

static void answer(search *s, const unit *u, size_t i)
{
    pt_object_symbol symbol;
    const bool has_symbol = pt_object_symbol_at(s->object, s->addrs[i], &symbol);
    const place at = place_of(s, u, s->addrs[i]);
    s->frames.count = 0;
    if (s->node_of[i] != PT_NONE)
        add_chain(s, u, s->node_of[i], at, has_symbol ? &symbol : NULL);
    else if (has_symbol && u->tells_all && at.file[0] != '\0')
        add_frame(s, symbol.name, symbol.name, at, 0); /* assembler, clang's -gmlt */
    if (s->frames.count == 0) return;
    s->sink(s->sink_context, i, s->frames.items, s->frames.count,
            has_symbol ? symbol.end_addr - symbol.addr : 0);
    s->done[i] = true;
}

/* An address that a symbol covers and no function holds: it may be one inside a class or a function
 * that was stepped over. */
static bool misses_a_function(search *s, const unit *u, size_t first, size_t end)
{
    pt_object_symbol symbol;
    for (size_t i = first; !u->is_assembler && i < end; i++)
        if (!s->done[i] && s->node_of[i] == PT_NONE &&
            pt_object_symbol_at(s->object, s->addrs[i], &symbol))
            return true;
    return false;
}

static void resolve_unit(search *s, const unit *u)
{
    const unit_range *ranges = s->dwarf->ranges.items + u->range_first;
    bool any = false;
    for (size_t r = 0; r < u->range_count; r++)
        for (size_t i = first_at(s, ranges[r].addr);
             i < s->count && s->addrs[i] < ranges[r].end_addr; i++) {
            s->node_of[i] = PT_NONE;
            any |= !s->done[i];
        }
    if (!any) return;
    s->nodes.count = 0;
    Dwarf_Die root = u->tree_die;
    walk(s, &root, false);
    bool missed = false;
    for (size_t r = 0; r < u->range_count; r++)
        missed = missed || misses_a_function(s, u, first_at(s, ranges[r].addr),
                                             first_at(s, ranges[r].end_addr));
    if (missed) walk(s, &root, true);
    for (size_t r = 0; r < u->range_count; r++)
        for (size_t i = first_at(s, ranges[r].addr);
             i < s->count && s->addrs[i] < ranges[r].end_addr; i++)
            if (!s->done[i]) answer(s, u, i);
}

void pt_dwarf_resolve(pt_dwarf *dwarf, const uint64_t *addrs, size_t count, bool *done,
                      pt_object *object, pt_object_sink *sink, void *context)
{
    search *s = pt_alloc(1, sizeof *s);
    s->dwarf = dwarf;
    s->object = object;
    s->addrs = addrs;
    s->count = count;
    s->done = done;
    s->sink = sink;
    s->sink_context = context;
    s->node_of = pt_alloc(count + 1, sizeof *s->node_of);
    for (size_t i = 0; i < dwarf->units.count && s->work <= WORK_MAX; i++)
        resolve_unit(s, &dwarf->units.items[i]);
    free(s->node_of);
    free(s->nodes.items);
    free(s->scopes.items);
    free(s->frames.items);
    free(s);
}
