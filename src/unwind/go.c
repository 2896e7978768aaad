/* go.c: derives rules from the tables of the Go runtime.
 *
 *   header     | magic | 0 0 | quantum | word size | functions | files | text | names | ...
 *   functions  | entry, offset of its data | ...
 *   data       | entry | name | args | deferreturn | pcsp | pcfile | pcln | npcdata | unit |
 *              | (line) | id | flag ...
 *   pcsp       pairs of varints: change of the value (zigzag, from -1), length in quanta; a
 *              change of 0 ends the table. The value is the distance of SP below the return
 *              address.
 *
 * The layout is that of Go 1.18 (magic ...f0) and 1.20 to now (...f1): runtime/symtab.go, and
 * internal/abi/symtab.go for the flags. On x86-64, functions with a frame save rbp just below the
 * return address.
 *
 * A goroutine ends in a function that is flagged as a top frame. On a system stack the walk ends at
 * the function that switched to it (systemstack, mcall, morestack): the goroutine's own stack is
 * elsewhere and is not followed.
 */
#include <elf.h>
#include <string.h>

#include "unwind/sources.h"

enum {
    WORD = 8,
    MAGIC_1_18 = 0xfffffff0,
    MAGIC_1_20 = 0xfffffff1,
    TOP_FRAME = 1,
    WRITES_SP = 2,
    HEADER_BYTES = 8 + 8 * WORD,
    TEXT_OFF = 8 + 2 * WORD,
    ENTRY_BYTES = 8,
};

static bool read_at(const pt_go_table *t, uint64_t off, unsigned bytes, uint64_t *ret_value)
{
    if (off > t->size_bytes || t->size_bytes - off < bytes) return false;
    uint64_t value = 0;
    memcpy(&value, t->bytes + off, bytes);
    *ret_value = value;
    return true;
}

/* In position independent files the start of text is relocated: reads it from the relocation. */
static bool relocated_word(const pt_elf *elf, uint64_t addr, uint64_t *ret_value)
{
    pt_elf_relocations walk = {0};
    pt_elf_relocation r;
    while (pt_elf_relocation_next(elf, &walk, &r)) {
        if (r.addr != addr || r.type != R_X86_64_RELATIVE) continue;
        *ret_value = (uint64_t)r.addend;
        return true;
    }
    return false;
}

static bool find_table(const pt_elf *elf, pt_elf_section *ret)
{
    return pt_elf_section_named(elf, ".gopclntab", ret) ||
           pt_elf_section_named(elf, ".data.rel.ro.gopclntab", ret);
}

bool pt_go_open(const pt_elf *elf, pt_go_table *ret_table)
{
    pt_elf_section section, text;
    pt_go_table t = {.elf = elf};
    if (!elf->is_64 || elf->is_big_endian || elf->machine != EM_X86_64 ||
        !find_table(elf, &section))
        return false;
    t.bytes = pt_elf_section_bytes(elf, &section, &t.size_bytes);
    if (t.bytes == NULL || t.size_bytes < HEADER_BYTES) return false;
    uint64_t magic, count;
    read_at(&t, 0, 4, &magic);
    read_at(&t, 8, WORD, &count);
    read_at(&t, TEXT_OFF, WORD, &t.text_addr);
    read_at(&t, 8 + 6 * WORD, WORD, &t.pc_off);
    read_at(&t, 8 + 7 * WORD, WORD, &t.func_off);
    t.quantum = t.bytes[6];
    if ((magic != MAGIC_1_18 && magic != MAGIC_1_20) || t.bytes[7] != WORD || t.quantum != 1)
        return false;
    if (t.func_off >= t.size_bytes || t.pc_off >= t.size_bytes ||
        count >= (t.size_bytes - t.func_off) / ENTRY_BYTES)
        return false;
    if (t.text_addr == 0 && !relocated_word(elf, section.addr + TEXT_OFF, &t.text_addr)) {
        if (!pt_elf_section_named(elf, ".text", &text)) return false;
        t.text_addr = text.addr;
    }
    t.count = (uint32_t)count;
    t.func_flag_off = magic == MAGIC_1_18 ? 37 : 41;
    *ret_table = t;
    return true;
}

/* ---- one function ---- */

static bool read_varint(const pt_go_table *t, uint64_t *off, uint32_t *ret_value)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint64_t byte;
        if (!read_at(t, (*off)++, 1, &byte)) return false;
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static const char *name_of(const pt_go_table *t, uint64_t func)
{
    uint64_t names, name;
    if (!read_at(t, 8 + 3 * WORD, WORD, &names) || !read_at(t, func + 4, 4, &name)) return "";
    const uint64_t at = names + name;
    if (at >= t->size_bytes || names > t->size_bytes) return "";
    return memchr(t->bytes + at, 0, t->size_bytes - at) != NULL ? (const char *)t->bytes + at : "";
}

/* True for functions at which a system stack begins. */
static bool switches_stack(const char *name)
{
    static const char *const names[] = {"runtime.systemstack", "runtime.mcall",
                                        "runtime.morestack"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* The rule for SP `below` bytes under the return address. */
static pt_unwind_rule rule_of(int32_t below)
{
    pt_unwind_rule rule = {.cfa_kind = PT_CFA_SP,
                           .cfa_off = below + WORD,
                           .pc_slot = PT_SLOT_AT_CFA,
                           .pc_off = -1,
                           .fp_slot = PT_SLOT_SAME};
    if (below < 0 || below > 1 << 28) return (pt_unwind_rule){.cfa_kind = PT_CFA_NONE};
    if (below >= WORD) {
        rule.fp_slot = PT_SLOT_AT_CFA;
        rule.fp_off = -2;
    }
    return rule;
}

/* Reads one step of a pc-value table. Returns false at the end of the table. */
static bool next_value(const pt_go_table *t, uint64_t *off, bool first, int32_t *value,
                       uint64_t *ret_bytes)
{
    uint32_t change, length;
    if (!read_varint(t, off, &change) || (change == 0 && !first) || !read_varint(t, off, &length) ||
        length == 0)
        return false;
    const uint32_t half = change >> 1;
    *value = (int32_t)((uint32_t)*value + (change & 1 ? ~half : half));
    *ret_bytes = (uint64_t)length * t->quantum;
    return true;
}

static bool has_frame(const pt_go_table *t, uint64_t off)
{
    int32_t value = -1;
    uint64_t bytes;
    for (bool first = true; next_value(t, &off, first, &value, &bytes); first = false)
        if (value >= WORD) return true;
    return false;
}

/* Locates the data of function i. */
static bool data_of(const pt_go_table *t, uint32_t i, uint64_t *ret_func, uint64_t *ret_flag,
                    uint64_t *ret_pcsp)
{
    if (!read_at(t, t->func_off + (uint64_t)i * ENTRY_BYTES + 4, 4, ret_func)) return false;
    *ret_func += t->func_off;
    return read_at(t, *ret_func + t->func_flag_off, 1, ret_flag) &&
           read_at(t, *ret_func + 16, 4, ret_pcsp);
}

bool pt_go_function(const pt_go_table *t, uint32_t i, pt_unwind_function *ret)
{
    const uint64_t at = t->func_off + (uint64_t)i * ENTRY_BYTES;
    uint64_t start, next, func, flag, pcsp;
    if (!read_at(t, at, 4, &start) || !read_at(t, at + ENTRY_BYTES, 4, &next) || next <= start)
        return false;
    *ret = (pt_unwind_function){.start_addr = t->text_addr + start,
                                .size_bytes = (uint32_t)(next - start),
                                .off = i,
                                .source = PT_FROM_GO};
    /* The function switches to another stack and back, and keeps rbp during that time. Only the
     * function's code shows when it switches. */
    if (data_of(t, i, &func, &flag, &pcsp) && flag & WRITES_SP && !(flag & TOP_FRAME) &&
        !switches_stack(name_of(t, func)) && has_frame(t, t->pc_off + pcsp) &&
        ret->size_bytes <= PT_CODE_MAX_BYTES)
        ret->source = PT_FROM_CODE;
    return true;
}

static void follow_pcsp(const pt_go_table *t, uint64_t off, const pt_unwind_function *f,
                        pt_unwind_row *row, void *arg)
{
    int32_t value = -1;
    uint64_t addr = f->start_addr, bytes;
    const uint64_t limit = f->start_addr + f->size_bytes;
    while (addr < limit && next_value(t, &off, addr == f->start_addr, &value, &bytes)) {
        const pt_unwind_rule rule = rule_of(value);
        row(arg, addr, &rule);
        addr += bytes;
    }
    const pt_unwind_rule none = {.cfa_kind = PT_CFA_NONE};
    if (addr < limit) row(arg, addr, &none);
}

void pt_go_rows(const pt_go_table *t, const pt_unwind_function *f, pt_unwind_row *row, void *arg)
{
    const pt_unwind_rule none = {.cfa_kind = PT_CFA_NONE};
    const pt_unwind_rule root = {
        .cfa_kind = PT_CFA_SP, .cfa_off = WORD, .pc_slot = PT_SLOT_UNDEFINED};
    uint64_t func, flag, pcsp;
    if (!data_of(t, f->off, &func, &flag, &pcsp)) return;
    if (flag & TOP_FRAME || (flag & WRITES_SP && switches_stack(name_of(t, func))))
        row(arg, f->start_addr, &root);
    else if (flag & WRITES_SP) /* without a frame, the old stack pointer cannot be found */
        row(arg, f->start_addr, &none);
    else
        follow_pcsp(t, t->pc_off + pcsp, f, row, arg);
}
