/* dwarf_line.c: line tables (section 6.2), versions 2 to 5: a header with folders and files, and a
 * program that makes rows.
 *
 *   sequence   row row row ... end      addresses ascend; a row holds up to the next one's address
 *
 * The program is run once against all addresses that are wanted of its unit. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

/* ---- the header ---- */

/* What the entries of a list of folders or files are made of (version 5). */
typedef struct {
    uint64_t content, form;
} entry_part;

enum { PARTS_MAX = 16 };

static const char *read_text(const pt_dwarf_line_table *t, pt_dwarf_cursor *c, uint64_t form)
{
    switch (form) {
    case DW_FORM_string: return pt_dwarf_cstring(c);
    case DW_FORM_line_strp:
        return pt_dwarf_string_at(t->file, PT_DWARF_LINE_STR, pt_dwarf_sized(c, t->offset_bytes));
    case DW_FORM_strp:
        return pt_dwarf_string_at(t->file, PT_DWARF_STR, pt_dwarf_sized(c, t->offset_bytes));
    case DW_FORM_strp_sup: {
        const uint64_t off = pt_dwarf_sized(c, t->offset_bytes);
        return t->file->supplement != NULL
                   ? pt_dwarf_string_at(t->file->supplement, PT_DWARF_STR, off)
                   : NULL;
    }
    default: return NULL;
    }
}

static bool is_text_form(uint64_t form)
{
    return form == DW_FORM_string || form == DW_FORM_line_strp || form == DW_FORM_strp ||
           form == DW_FORM_strp_sup;
}

static void read_entry(const pt_dwarf_line_table *t, pt_dwarf_cursor *c, const entry_part *parts,
                       unsigned part_count, pt_dwarf_line_file *entry)
{
    const pt_dwarf_unit sizes = {
        .version = 5, .addr_bytes = t->addr_bytes, .offset_bytes = t->offset_bytes};
    *entry = (pt_dwarf_line_file){0};
    for (unsigned i = 0; i < part_count; i++) {
        if (is_text_form(parts[i].form)) {
            const char *text = read_text(t, c, parts[i].form);
            if (parts[i].content == DW_LNCT_path) entry->name = text;
            continue;
        }
        const unsigned form = parts[i].form <= UINT16_MAX ? (unsigned)parts[i].form : 0;
        const pt_dwarf_value value = pt_dwarf_read_form(&sizes, c, form, 0);
        if (parts[i].content == DW_LNCT_directory_index) entry->folder = value.number;
    }
}

static void add_folder(pt_dwarf_line_table *t, const char *name)
{
    PT_GROW(t->folders, t->folders.count + 1);
    t->folders.items[t->folders.count++] = name;
}

static void add_file(pt_dwarf_line_table *t, pt_dwarf_line_file file)
{
    PT_GROW(t->files, t->files.count + 1);
    t->files.items[t->files.count++] = file;
}

/* A list of folders or files of version 5. */
static void read_list(pt_dwarf_line_table *t, pt_dwarf_cursor *c, bool of_files)
{
    entry_part parts[PARTS_MAX];
    const unsigned part_count = pt_dwarf_u8(c);
    for (unsigned i = 0; i < part_count; i++) {
        const entry_part part = {pt_dwarf_uleb(c), pt_dwarf_uleb(c)};
        if (i < PARTS_MAX) parts[i] = part;
    }
    const uint64_t count = pt_dwarf_uleb(c);
    if (part_count > PARTS_MAX) c->pos = c->end;
    for (uint64_t i = 0; i < count && c->pos < c->end; i++) {
        const uint8_t *before = c->pos;
        pt_dwarf_line_file entry;
        read_entry(t, c, parts, part_count, &entry);
        if (c->pos == before) return; /* entries of nothing: any number would fit */
        if (of_files)
            add_file(t, entry);
        else
            add_folder(t, entry.name);
    }
}

static void read_old_lists(pt_dwarf_line_table *t, pt_dwarf_cursor *c)
{
    add_folder(t, NULL); /* number 0: the unit's own */
    while (c->pos < c->end && *c->pos != 0)
        add_folder(t, pt_dwarf_cstring(c));
    pt_dwarf_advance(c, 1);
    add_file(t, (pt_dwarf_line_file){0});
    while (c->pos < c->end && *c->pos != 0) {
        pt_dwarf_line_file file = {.name = pt_dwarf_cstring(c), .folder = pt_dwarf_uleb(c)};
        pt_dwarf_skip_leb(c); /* time, size */
        pt_dwarf_skip_leb(c);
        add_file(t, file);
    }
}

bool pt_dwarf_line_table_read(pt_dwarf_line_table *t, const pt_dwarf_unit *unit)
{
    *t = (pt_dwarf_line_table){.file = unit->file,
                               .off = unit->line_off,
                               .unit_folder = unit->folder,
                               .addr_bytes = unit->addr_bytes};
    pt_dwarf_cursor c = pt_dwarf_cursor_at(unit->file, PT_DWARF_LINE, unit->line_off, UINT64_MAX);
    if (!unit->has_line || pt_dwarf_left(&c) < 4) return false;
    const uint64_t length = pt_dwarf_initial_length(&c, &t->offset_bytes);
    c.end = c.pos + length;
    t->version = pt_dwarf_u16(&c);
    if (t->version < 2 || t->version > 5) return false;
    if (t->version >= 5) {
        t->addr_bytes = pt_dwarf_u8(&c);
        pt_dwarf_advance(&c, 1); /* segment selectors */
    }
    const uint64_t header_bytes = pt_dwarf_sized(&c, t->offset_bytes);
    t->program = c;
    pt_dwarf_advance(&t->program, header_bytes);
    c.end = t->program.pos;
    t->min_bytes = pt_dwarf_u8(&c);
    t->max_ops = t->version >= 4 ? pt_dwarf_u8(&c) : 1;
    if (t->max_ops == 0) t->max_ops = 1;
    pt_dwarf_advance(&c, 1); /* is_stmt at the start: every row counts here */
    t->line_base = (int8_t)pt_dwarf_u8(&c);
    t->line_range = pt_dwarf_u8(&c);
    t->opcode_base = pt_dwarf_u8(&c);
    for (unsigned i = 1; i < t->opcode_base; i++)
        t->opcode_operands[i] = pt_dwarf_u8(&c);
    if (t->version >= 5) {
        read_list(t, &c, false);
        read_list(t, &c, true);
    } else {
        read_old_lists(t, &c);
    }
    return true;
}

void pt_dwarf_line_table_done(pt_dwarf_line_table *t)
{
    free(t->folders.items);
    free(t->files.items);
}

/* ---- the program ---- */

typedef struct {
    const pt_dwarf_line_table *table;
    const pt_code_range *code;
    size_t code_count;
    const uint64_t *addrs;
    size_t count;
    pt_dwarf_row *rows;
    size_t at;          /* the first wanted address that is not below the last row */
    uint64_t next_addr; /* that address; UINT64_MAX: none, or a sequence of no interest */
    /* The state machine. */
    uint64_t addr;
    uint32_t op_index;
    pt_dwarf_row row, last; /* last: as it was at the last row */
    bool in_sequence, is_ignored;
    uint64_t last_addr;
} machine;

static size_t first_at(const machine *m, uint64_t addr)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->addrs[middle] < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void look_from(machine *m, uint64_t addr)
{
    m->at = first_at(m, addr);
    m->next_addr = m->at < m->count && !m->is_ignored ? m->addrs[m->at] : UINT64_MAX;
}

/* The last row holds the wanted addresses up to the present one. */
static void give_rows(machine *m)
{
    for (; m->at < m->count && m->addrs[m->at] < m->addr; m->at++)
        if (m->rows[m->at].file == PT_NONE) m->rows[m->at] = m->last;
    m->next_addr = m->at < m->count ? m->addrs[m->at] : UINT64_MAX;
}

static void begin_sequence(machine *m)
{
    m->in_sequence = true;
    m->is_ignored = !pt_dwarf_is_code(m->code, m->code_count, m->addr);
    look_from(m, m->addr);
}

static inline void emit(machine *m)
{
    if (__builtin_expect(!m->in_sequence, 0))
        begin_sequence(m);
    else if (__builtin_expect(m->addr < m->last_addr, 0))
        look_from(m, m->addr);
    else if (__builtin_expect(m->addr > m->next_addr, 0))
        give_rows(m);
    m->last = m->row;
    m->last_addr = m->addr;
}

static void reset(machine *m)
{
    m->addr = 0;
    m->op_index = 0;
    m->row = (pt_dwarf_row){.file = m->table->first_file, .line = 1};
    m->in_sequence = false;
}

static inline void advance(machine *m, uint64_t ops)
{
    const pt_dwarf_line_table *t = m->table;
    if (__builtin_expect(t->max_ops == 1, 1)) {
        m->addr += t->min_bytes * ops;
    } else {
        const uint64_t sum = m->op_index + ops;
        m->addr += t->min_bytes * (sum / t->max_ops);
        m->op_index = (uint32_t)(sum % t->max_ops);
    }
}

static void run_extended(machine *m, pt_dwarf_cursor *c)
{
    const uint64_t length = pt_dwarf_uleb(c);
    pt_dwarf_cursor operand = *c;
    pt_dwarf_advance(c, length);
    operand.end = c->pos;
    const uint8_t opcode = pt_dwarf_u8(&operand);
    const uint64_t operand_bytes = pt_dwarf_left(&operand);
    switch (opcode) {
    case DW_LNE_end_sequence:
        emit(m);
        reset(m);
        break;
    case DW_LNE_set_address:
        m->addr = pt_dwarf_sized(&operand, operand_bytes <= 8 ? (unsigned)operand_bytes : 0);
        m->op_index = 0;
        break;
    default: break;
    }
}

static void run_standard(machine *m, pt_dwarf_cursor *c, uint8_t opcode)
{
    const pt_dwarf_line_table *t = m->table;
    switch (opcode) {
    case 0: run_extended(m, c); break;
    case DW_LNS_copy: emit(m); break;
    case DW_LNS_advance_pc: advance(m, pt_dwarf_uleb(c)); break;
    case DW_LNS_advance_line: m->row.line += (uint32_t)pt_dwarf_sleb(c); break;
    case DW_LNS_set_file: m->row.file = (uint32_t)pt_dwarf_uleb(c); break;
    case DW_LNS_set_column: m->row.column = (uint32_t)pt_dwarf_uleb(c); break;
    case DW_LNS_const_add_pc:
        if (t->line_range != 0) advance(m, (255u - t->opcode_base) / t->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->addr += pt_dwarf_u16(c);
        m->op_index = 0;
        break;
    default:
        for (unsigned i = 0; i < t->opcode_operands[opcode]; i++)
            pt_dwarf_skip_leb(c);
    }
}

void pt_dwarf_run_lines(const pt_dwarf_line_table *t, const pt_code_range *code, size_t code_count,
                        const uint64_t *addrs, size_t count, pt_dwarf_row *rows)
{
    struct {
        uint8_t ops, lines; /* lines: from line_base on */
    } special[256];
    machine m = {.table = t,
                 .code = code,
                 .code_count = code_count,
                 .addrs = addrs,
                 .count = count,
                 .rows = rows};
    for (unsigned op = t->opcode_base; op < 256 && t->line_range != 0; op++) {
        special[op].ops = (uint8_t)((op - t->opcode_base) / t->line_range);
        special[op].lines = (uint8_t)((op - t->opcode_base) % t->line_range);
    }
    pt_dwarf_cursor c = t->program;
    reset(&m);
    while (c.pos < c.end) {
        const uint8_t opcode = *c.pos++;
        if (__builtin_expect(opcode < t->opcode_base || t->line_range == 0, 0)) {
            run_standard(&m, &c, opcode);
            continue;
        }
        advance(&m, special[opcode].ops);
        m.row.line += (uint32_t)(t->line_base + special[opcode].lines);
        emit(&m);
    }
}
