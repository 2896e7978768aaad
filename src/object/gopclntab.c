/* gopclntab.c: functions, lines and inlined calls of Go programs, from the table that Go's runtime
 * uses; strip does not remove it.
 *
 *   header      magic | 0 0 | quantum | word size | functions | files | text | offsets of the parts
 *   functions   (offset of code, offset of record)... by address
 *   record      name | tables of values by pc: file, line, node of the inline tree
 *   table       (zigzag change of value, change of pc / quantum)... (0)
 *   tree node   name | a pc at the call: the tables' values there are the caller's
 *
 * Layouts of Go 1.16, 1.18 and 1.20 (src/runtime/symtab.go, symtabinl.go and
 * src/cmd/internal/objabi/funcdata.go of those releases). Before 1.16 the table had another form.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "object/dwarf_read.h"
#include "object/object_int.h"

enum {
    MAGIC_1_16 = 0xfffffffa,
    MAGIC_1_18 = 0xfffffff0,
    MAGIC_1_20 = 0xfffffff1,
    PCDATA_INLINE_TREE = 2,
    FUNCDATA_INLINE_TREE = 3,
    NAME_WORK_MAX = 1 << 20,       /* steps over values, to find the name of one address */
    LEVELS_MAX = 256,              /* of inlined calls */
    WORDS_BEFORE_GOFUNC_1_18 = 38, /* in runtime.moduledata */
    WORDS_BEFORE_GOFUNC_1_20 = 40,
};

struct pt_go_table {
    const pt_elf *elf;
    const uint8_t *bytes;
    uint64_t size_bytes, table_addr;
    bool swap;
    unsigned release; /* 16, 18 or 20 */
    uint8_t quantum, word_bytes;
    uint64_t function_count, text_addr;
    uint64_t names_off, units_off, files_off, values_off, functions_off;
    uint64_t trees_addr; /* base of the offsets of inline trees; 0 if unknown */
    uint64_t work_left;
    PT_VECTOR(pt_object_frame) frames;
};

/* ---- reading ---- */

static pt_dwarf_cursor cursor_at(const pt_go_table *t, uint64_t off)
{
    if (off > t->size_bytes) off = t->size_bytes;
    return (pt_dwarf_cursor){t->bytes + off, t->bytes + t->size_bytes, t->swap};
}

static uint32_t u32_at(const pt_go_table *t, uint64_t off)
{
    pt_dwarf_cursor c = cursor_at(t, off);
    return pt_dwarf_u32(&c);
}

static const char *name_at(const pt_go_table *t, uint64_t off)
{
    pt_dwarf_cursor c = cursor_at(t, t->names_off + off);
    const char *name = c.pos < c.end ? pt_dwarf_cstring(&c) : NULL;
    return name != NULL && name[0] != '\0' ? name : NULL;
}

/* The bytes of the image at a virtual address, up to the end of their section. */
static pt_dwarf_cursor image_at(const pt_go_table *t, uint64_t addr)
{
    pt_elf_section s;
    uint64_t size_bytes;
    for (uint32_t i = 1; pt_elf_section_at(t->elf, i, &s); i++) {
        if ((s.flags & SHF_ALLOC) == 0 || addr < s.addr || addr - s.addr >= s.size_bytes) continue;
        const uint8_t *bytes = pt_elf_section_bytes(t->elf, &s, &size_bytes);
        if (bytes != NULL)
            return (pt_dwarf_cursor){bytes + (addr - s.addr), bytes + size_bytes, t->swap};
    }
    return pt_dwarf_no_bytes(t->swap);
}

/* ---- opening ---- */

/* The address of a symbol, or 0. */
static uint64_t symbol_addr(const pt_elf *elf, const char *name, const char *older_name)
{
    pt_elf_symbols table;
    pt_elf_symbol s;
    if (!pt_elf_symbols_open(elf, SHT_SYMTAB, &table)) return 0;
    for (uint32_t i = 1; pt_elf_symbol_at(&table, i, &s); i++)
        if (strcmp(s.name, name) == 0 || strcmp(s.name, older_name) == 0) return s.value;
    return 0;
}

/* The word at an index of runtime.moduledata. The first word of runtime.moduledata is the table's
 * address, by which moduledata is found in the data: stripped programs have no symbol for it. */
static uint64_t module_word(const pt_go_table *t, unsigned index)
{
    pt_elf_section s;
    uint64_t size_bytes;
    for (uint32_t i = 1; pt_elf_section_at(t->elf, i, &s); i++) {
        if ((s.flags & SHF_ALLOC) == 0 || (s.flags & SHF_WRITE) == 0) continue;
        const uint8_t *bytes = pt_elf_section_bytes(t->elf, &s, &size_bytes);
        if (bytes == NULL) continue;
        pt_dwarf_cursor c = {bytes, bytes + size_bytes, t->swap};
        const uint64_t need = (index + UINT64_C(1)) * t->word_bytes;
        while (pt_dwarf_left(&c) >= need) {
            pt_dwarf_cursor word = c;
            pt_dwarf_advance(&c, t->word_bytes);
            if (pt_dwarf_sized(&word, t->word_bytes) != t->table_addr) continue;
            pt_dwarf_advance(&word, (index - UINT64_C(1)) * t->word_bytes);
            return pt_dwarf_sized(&word, t->word_bytes);
        }
    }
    return 0;
}

static bool read_header(pt_go_table *t)
{
    pt_dwarf_cursor c = cursor_at(t, 0);
    switch (pt_dwarf_u32(&c)) {
    case (uint32_t)MAGIC_1_16: t->release = 16; break;
    case (uint32_t)MAGIC_1_18: t->release = 18; break;
    case (uint32_t)MAGIC_1_20: t->release = 20; break;
    default: return false;
    }
    pt_dwarf_advance(&c, 2);
    t->quantum = pt_dwarf_u8(&c);
    t->word_bytes = pt_dwarf_u8(&c);
    if (t->word_bytes != 4 && t->word_bytes != 8) return false;
    t->function_count = pt_dwarf_sized(&c, t->word_bytes);
    pt_dwarf_advance(&c, t->word_bytes); /* files */
    if (t->release >= 18) t->text_addr = pt_dwarf_sized(&c, t->word_bytes);
    t->names_off = pt_dwarf_sized(&c, t->word_bytes);
    t->units_off = pt_dwarf_sized(&c, t->word_bytes);
    t->files_off = pt_dwarf_sized(&c, t->word_bytes);
    t->values_off = pt_dwarf_sized(&c, t->word_bytes);
    t->functions_off = pt_dwarf_sized(&c, t->word_bytes);
    const uint64_t entry_bytes = t->release >= 18 ? 8 : 2 * (uint64_t)t->word_bytes;
    return t->functions_off <= t->size_bytes && t->names_off <= t->size_bytes &&
           t->units_off <= t->size_bytes && t->files_off <= t->size_bytes &&
           t->values_off <= t->size_bytes &&
           t->function_count < (t->size_bytes - t->functions_off) / entry_bytes;
}

pt_go_table *pt_go_table_open(const pt_elf *elf)
{
    pt_elf_section s, text;
    if (!pt_elf_section_named(elf, ".gopclntab", &s) &&
        !pt_elf_section_named(elf, ".data.rel.ro.gopclntab", &s))
        return NULL;
    pt_go_table *t = pt_alloc(1, sizeof *t);
    t->elf = elf;
    t->bytes = pt_elf_section_bytes(elf, &s, &t->size_bytes);
    t->table_addr = s.addr;
    t->swap = elf->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    if (t->bytes == NULL || !read_header(t)) {
        free(t);
        return NULL;
    }
    if (t->release >= 18 && t->text_addr == 0) { /* in the file; the loader relocates it */
        t->text_addr = symbol_addr(elf, "runtime.text", "runtime.text");
        if (t->text_addr == 0 && pt_elf_section_named(elf, ".text", &text))
            t->text_addr = text.addr;
    }
    if (t->release >= 18) {
        t->trees_addr = symbol_addr(elf, "go:func.*", "go.func.*");
        if (t->trees_addr == 0)
            t->trees_addr = module_word(t, t->release >= 20 ? WORDS_BEFORE_GOFUNC_1_20
                                                            : WORDS_BEFORE_GOFUNC_1_18);
    }
    return t;
}

void pt_go_table_free(pt_go_table *t)
{
    if (t == NULL) return;
    PT_FREE_ALL(t->frames.items, t);
}

uint64_t pt_go_table_functions(const pt_go_table *t)
{
    return t->function_count;
}

/* ---- functions ---- */

typedef struct {
    uint64_t addr, end_addr;
    const char *name;
    uint32_t file_table, line_table, tree_table; /* offsets of tables of values; 0: none */
    uint32_t unit;
    uint32_t start_line;
    pt_dwarf_cursor tree; /* nodes; empty if there are none */
} function;

/* Entry i of the function table: its address and, in *ret_off, the offset of its record. The last
 * entry is the end of the code. */
static uint64_t function_addr(const pt_go_table *t, uint64_t i, uint64_t *ret_off)
{
    const unsigned width = t->release >= 18 ? 4 : t->word_bytes;
    pt_dwarf_cursor c = cursor_at(t, t->functions_off + i * 2 * width);
    const uint64_t addr = pt_dwarf_sized(&c, width);
    if (ret_off != NULL) *ret_off = t->functions_off + pt_dwarf_sized(&c, width);
    return t->release >= 18 ? t->text_addr + addr : addr;
}

/* The inline tree of a record. off: the end of the record's values by pc. */
static pt_dwarf_cursor tree_of(const pt_go_table *t, uint64_t off)
{
    const pt_dwarf_cursor none = {NULL, NULL, t->swap};
    if (t->release >= 18) {
        const uint32_t tree = u32_at(t, off + FUNCDATA_INLINE_TREE * 4);
        return tree != UINT32_MAX && t->trees_addr != 0 ? image_at(t, t->trees_addr + tree) : none;
    }
    off = (off + t->word_bytes - 1) / t->word_bytes * t->word_bytes;
    pt_dwarf_cursor c = cursor_at(t, off + FUNCDATA_INLINE_TREE * (uint64_t)t->word_bytes);
    const uint64_t addr = pt_dwarf_sized(&c, t->word_bytes);
    return addr != 0 ? image_at(t, addr) : none;
}

static void read_record(const pt_go_table *t, uint64_t off, function *f)
{
    pt_dwarf_cursor c = cursor_at(t, off);
    pt_dwarf_advance(&c, t->release >= 18 ? 4 : t->word_bytes); /* entry */
    f->name = name_at(t, pt_dwarf_u32(&c));
    pt_dwarf_advance(&c, 3 * 4); /* arguments, deferreturn, stack depths */
    f->file_table = pt_dwarf_u32(&c);
    f->line_table = pt_dwarf_u32(&c);
    const uint32_t value_count = pt_dwarf_u32(&c);
    f->unit = pt_dwarf_u32(&c);
    f->start_line = t->release >= 20 ? pt_dwarf_u32(&c) : 0;
    pt_dwarf_advance(&c, 3); /* kind of function */
    const uint8_t data_count = pt_dwarf_u8(&c);
    const uint64_t values_at = (uint64_t)(c.pos - t->bytes);
    f->tree_table =
        value_count > PCDATA_INLINE_TREE ? u32_at(t, values_at + PCDATA_INLINE_TREE * 4) : 0;
    if (data_count > FUNCDATA_INLINE_TREE && f->tree_table != 0)
        f->tree = tree_of(t, values_at + (uint64_t)value_count * 4);
}

/* The value of a table at pc; -1: none. */
static int32_t value_at(pt_go_table *t, uint32_t table, const function *f, uint64_t pc)
{
    if (table == 0) return -1;
    pt_dwarf_cursor c = cursor_at(t, t->values_off + table);
    uint64_t until = f->addr;
    uint32_t value = UINT32_MAX;
    for (bool first = true; c.pos < c.end && t->work_left > 0; first = false, t->work_left--) {
        const uint64_t change = pt_dwarf_uleb(&c);
        if (change == 0 && !first) return -1;
        value += (uint32_t)(change >> 1) ^ (0u - (uint32_t)(change & 1));
        until += pt_dwarf_uleb(&c) * t->quantum;
        if (pc < until) return (int32_t)value;
    }
    return -1;
}

/* Finds the function that contains addr. The table does not show where its code ends and padding
 * begins, but the lines end there. */
static bool find_function(pt_go_table *t, uint64_t addr, function *ret)
{
    const size_t next = PT_FIRST_WHERE(i, t->function_count, function_addr(t, i, NULL) > addr);
    if (next == 0) return false;
    uint64_t off;
    *ret = (function){.addr = function_addr(t, next - 1, &off),
                      .end_addr = function_addr(t, next, NULL)};
    if (addr >= ret->end_addr) return false;
    read_record(t, off, ret);
    return ret->name != NULL && value_at(t, ret->line_table, ret, addr) >= 0;
}

static const char *file_at(pt_go_table *t, const function *f, uint64_t pc)
{
    const int32_t number = value_at(t, f->file_table, f, pc);
    if (number < 0) return "";
    const uint32_t off = u32_at(t, t->units_off + ((uint64_t)f->unit + (uint32_t)number) * 4);
    pt_dwarf_cursor c = cursor_at(t, off != UINT32_MAX ? t->files_off + off : t->size_bytes);
    const char *name = c.pos < c.end ? pt_dwarf_cstring(&c) : NULL;
    return name != NULL ? name : "";
}

/* ---- chains ---- */

typedef struct {
    const char *name;
    uint64_t call_pc; /* a pc with the caller's file and line */
    uint32_t start_line;
} tree_node;

static bool read_node(const pt_go_table *t, const function *f, int32_t index, tree_node *ret)
{
    pt_dwarf_cursor c = f->tree;
    if (index < 0 || c.pos == NULL) return false; /* the function has no tree */
    pt_dwarf_advance(&c, (uint64_t)index * (t->release >= 20 ? 16 : 20));
    if (pt_dwarf_left(&c) < 20 && (t->release < 20 || pt_dwarf_left(&c) < 16)) return false;
    pt_dwarf_advance(&c, t->release >= 20 ? 4 : 12);
    ret->name = name_at(t, pt_dwarf_u32(&c));
    ret->call_pc = f->addr + pt_dwarf_u32(&c);
    ret->start_line = t->release >= 20 ? pt_dwarf_u32(&c) : 0;
    return ret->name != NULL && ret->call_pc < f->end_addr;
}

static void add_frame(pt_go_table *t, const function *f, const char *name, uint64_t pc,
                      uint32_t start_line)
{
    const int32_t line = value_at(t, f->line_table, f, pc);
    PT_PUSH(t->frames, (pt_object_frame){.linkage_name = name,
                                         .name = name,
                                         .file = file_at(t, f, pc),
                                         .line = line > 0 ? (uint32_t)line : 0,
                                         .start_line = start_line <= INT32_MAX ? start_line : 0});
}

static void add_chain(pt_go_table *t, const function *f, uint64_t pc)
{
    tree_node node;
    for (int level = 0; level < LEVELS_MAX; level++) {
        if (!read_node(t, f, value_at(t, f->tree_table, f, pc), &node)) break;
        add_frame(t, f, node.name, pc, node.start_line);
        pc = node.call_pc;
    }
    add_frame(t, f, f->name, pc, f->start_line);
}

bool pt_go_table_name(pt_go_table *t, uint64_t addr, pt_object_symbol *ret_symbol)
{
    function f;
    t->work_left = NAME_WORK_MAX;
    if (!find_function(t, addr, &f)) return false;
    *ret_symbol = (pt_object_symbol){f.name, f.addr, f.end_addr};
    return true;
}

void pt_go_table_resolve(pt_go_table *t, const uint64_t *addrs, size_t count, bool *done,
                         pt_object_sink *sink, void *context)
{
    t->work_left = (UINT64_C(1) << 24) + 8192 * (uint64_t)count;
    for (size_t i = 0; i < count; i++) {
        function f;
        if (done[i] || !find_function(t, addrs[i], &f)) continue;
        t->frames.count = 0;
        add_chain(t, &f, addrs[i]);
        sink(context, i, t->frames.items, t->frames.count, f.end_addr - f.addr);
        done[i] = true;
    }
}
