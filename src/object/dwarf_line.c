/* dwarf_line.c: reads line tables (section 6.2), versions 2 to 5: a header with folders and files,
 * and a program that makes rows.
 *
 *   sequence   row row row ... end      addresses ascend; a row covers addresses up to the next row
 *
 * The program runs once for all wanted addresses of its unit. */

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "object/dwarf_form.h"
#include "object/dwarf_int.h"

/* ---- the header ---- */

/* A part of each entry in a list of folders or files (version 5). */
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
    PT_PUSH(t->folders, name);
}

static void add_file(pt_dwarf_line_table *t, pt_dwarf_line_file file)
{
    PT_PUSH(t->files, file);
}

/* Reads a list of folders or files of version 5. */
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
        if (c->pos == before) return; /* entries without bytes: any count would fit */
        if (of_files)
            add_file(t, entry);
        else
            add_folder(t, entry.name);
    }
}

static void read_old_lists(pt_dwarf_line_table *t, pt_dwarf_cursor *c)
{
    add_folder(t, NULL); /* folder 0: the unit's own */
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
    pt_dwarf_advance(&c, 1); /* initial is_stmt, which is ignored: every row counts */
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
    PT_FREE_ALL(t->folders.items, t->files.items);
}

/* ---- the program ---- */

/* The wanted addresses and their rows. */
typedef struct {
    const pt_code_range *code;
    size_t code_count;
    const uint64_t *addrs;
    size_t count;
    pt_dwarf_row *rows;
    size_t at;       /* the first wanted address not below the last row */
    bool is_ignored; /* the sequence describes code that the linker removed */
} wanted;

/* The state machine (section 6.2.2). Functions that change it are inlined so that it stays in
 * registers: a program has a few million steps. */
typedef struct {
    uint64_t addr;
    uint32_t op_index;
    pt_dwarf_row row, last; /* last: values of the previous row */
    bool in_sequence;
    uint64_t last_addr;
    uint64_t next_addr; /* the first wanted address; UINT64_MAX: none */
} machine;

#define INLINED static inline __attribute__((always_inline))

static uint64_t next_addr(const wanted *w)
{
    return w->at < w->count && !w->is_ignored ? w->addrs[w->at] : UINT64_MAX;
}

/* These functions return the next wanted address. */

static __attribute__((noinline)) uint64_t search_from(wanted *w, uint64_t addr)
{
    w->at = pt_first_from(w->addrs, w->count, sizeof *w->addrs, 0, addr);
    return next_addr(w);
}

static __attribute__((noinline)) uint64_t begin_sequence(wanted *w, uint64_t addr)
{
    w->is_ignored = !pt_dwarf_is_code(w->code, w->code_count, addr);
    return search_from(w, addr);
}

/* Sets the row of the wanted addresses up to end_addr. */
static __attribute__((noinline)) uint64_t set_rows(wanted *w, pt_dwarf_row row, uint64_t end_addr)
{
    for (; w->at < w->count && w->addrs[w->at] < end_addr; w->at++)
        if (w->rows[w->at].file == PT_NONE) w->rows[w->at] = row;
    return next_addr(w);
}

INLINED void emit(machine *m, wanted *w)
{
    if (__builtin_expect(!m->in_sequence, 0))
        m->next_addr = begin_sequence(w, m->addr);
    else if (__builtin_expect(m->addr < m->last_addr, 0))
        m->next_addr = search_from(w, m->addr);
    else if (__builtin_expect(m->addr > m->next_addr, 0))
        m->next_addr = set_rows(w, m->last, m->addr);
    m->in_sequence = true;
    m->last = m->row;
    m->last_addr = m->addr;
}

INLINED void reset(machine *m, const pt_dwarf_line_table *t)
{
    *m = (machine){.row = {.file = t->first_file, .line = 1}, .next_addr = UINT64_MAX};
}

INLINED void advance(machine *m, const pt_dwarf_line_table *t, uint64_t ops)
{
    if (__builtin_expect(t->max_ops == 1, 1)) {
        m->addr += t->min_bytes * ops;
    } else {
        const uint64_t sum = m->op_index + ops;
        m->addr += t->min_bytes * (sum / t->max_ops);
        m->op_index = (uint32_t)(sum % t->max_ops);
    }
}

INLINED void run_extended(machine *m, wanted *w, const pt_dwarf_line_table *t, pt_dwarf_cursor *c)
{
    const uint64_t length = pt_dwarf_uleb(c);
    pt_dwarf_cursor operand = *c;
    pt_dwarf_advance(c, length);
    operand.end = c->pos;
    const uint8_t opcode = pt_dwarf_u8(&operand);
    const uint64_t operand_bytes = pt_dwarf_left(&operand);
    if (opcode == DW_LNE_end_sequence) {
        emit(m, w);
        reset(m, t);
    } else if (opcode == DW_LNE_set_address) {
        m->addr = pt_dwarf_sized(&operand, operand_bytes <= 8 ? (unsigned)operand_bytes : 0);
        m->op_index = 0;
    }
}

INLINED void run_standard(machine *m, wanted *w, const pt_dwarf_line_table *t, pt_dwarf_cursor *c,
                          uint8_t opcode)
{
    switch (opcode) {
    case 0: run_extended(m, w, t, c); break;
    case DW_LNS_copy: emit(m, w); break;
    case DW_LNS_advance_pc: advance(m, t, pt_dwarf_uleb(c)); break;
    case DW_LNS_advance_line: m->row.line += (uint32_t)pt_dwarf_sleb(c); break;
    case DW_LNS_set_file: m->row.file = (uint32_t)pt_dwarf_uleb(c); break;
    case DW_LNS_set_column: m->row.column = (uint32_t)pt_dwarf_uleb(c); break;
    case DW_LNS_const_add_pc:
        if (t->line_range != 0) advance(m, t, (255u - t->opcode_base) / t->line_range);
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
        uint8_t ops, lines; /* lines: relative to line_base */
    } special[256];
    wanted w = {
        .code = code, .code_count = code_count, .addrs = addrs, .count = count, .rows = rows};
    for (unsigned op = t->opcode_base; op < 256 && t->line_range != 0; op++) {
        special[op].ops = (uint8_t)((op - t->opcode_base) / t->line_range);
        special[op].lines = (uint8_t)((op - t->opcode_base) % t->line_range);
    }
    pt_dwarf_cursor c = t->program;
    machine m;
    reset(&m, t);
    while (c.pos < c.end) {
        const uint8_t opcode = *c.pos++;
        if (opcode < t->opcode_base || t->line_range == 0) {
            run_standard(&m, &w, t, &c, opcode);
            continue;
        }
        advance(&m, t, special[opcode].ops);
        m.row.line += (uint32_t)(t->line_base + special[opcode].lines);
        emit(&m, &w);
    }
}
