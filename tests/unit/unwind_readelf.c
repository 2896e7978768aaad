/* unwind_readelf.c: see unwind_readelf.h. */
#include "base_check.h"

#include "unwind_readelf.h"

#include <stdlib.h>
#include <string.h>

/* By DWARF number: System V ABI, AMD64, figure 3.36; DWARF for the Arm 64-bit Architecture, 4.1. */
static const char *const x86_64_names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                           "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                           "r12", "r13", "r14", "r15", "rip"};

static const char *const aarch64_names[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
                                            "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
                                            "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
                                            "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};

const readelf_machine readelf_x86_64 = {x86_64_names, 17, 7, 6, 16, "u"};
const readelf_machine readelf_aarch64 = {aarch64_names, 32, 31, 29, 30, "r30"};

static void cfa_text(const readelf_machine *m, const pt_unwind_rule *rule, char *text, size_t size)
{
    unsigned reg = rule->cfa_reg;
    if (rule->cfa_kind == PT_CFA_SP) reg = m->sp;
    if (rule->cfa_kind == PT_CFA_FP) reg = m->fp;
    if (rule->cfa_kind == PT_CFA_NONE || rule->cfa_kind > PT_CFA_REG || reg >= m->register_count)
        snprintf(text, size, "exp");
    else
        snprintf(text, size, "%s%+d", m->registers[reg], rule->cfa_off);
}

static void slot_text(unsigned slot, int off, char *text, size_t size)
{
    static const char *const names[] = {"?", "s", "u", "c", "exp", "exp"};
    if (slot == PT_SLOT_SAME && off != 0)
        snprintf(text, size, "r%d", off);
    else if (slot == PT_SLOT_AT_CFA)
        snprintf(text, size, "c%+d", off * 8);
    else
        snprintf(text, size, "%s", names[slot]);
}

typedef struct {
    char cfa[32], fp[32], ra[32];
    bool is_ra_u; /* as readelf says it: not spoken of, or undefined */
} expected;

typedef struct {
    int cfa_at, fp_at, ra_at; /* columns, counted in words; -1: not there */
} columns;

/* "   LOC           CFA      rbx   rbp   ra" */
static columns columns_of(const readelf_machine *m, char *line)
{
    columns c = {-1, -1, -1};
    int i = 0;
    for (char *save, *word = strtok_r(line, " \n", &save); word; i++) {
        if (strcmp(word, "CFA") == 0) c.cfa_at = i;
        if (strcmp(word, m->registers[m->fp]) == 0) c.fp_at = i;
        if (strcmp(word, "ra") == 0) c.ra_at = i;
        word = strtok_r(NULL, " \n", &save);
    }
    return c;
}

static expected expected_of(const readelf_machine *m, char *line, const columns *c,
                            uint64_t *ret_addr)
{
    expected e = {.fp = "s", .ra = "?"};
    const bool has_link = strcmp(m->ra_kept, "u") != 0;
    e.is_ra_u = has_link && c->ra_at < 0;
    if (has_link) snprintf(e.ra, sizeof e.ra, "%s", m->ra_kept);
    int i = 0;
    for (char *save, *word = strtok_r(line, " \n", &save); word; i++) {
        i -= word[0] == '('; /* "r9 (r9)": in a register */
        if (i == 0) *ret_addr = strtoull(word, NULL, 16);
        if (i == c->cfa_at) snprintf(e.cfa, sizeof e.cfa, "%s", word);
        /* A register not spoken of is "u" here: System V leaves rbp as it is. */
        if (i == c->fp_at && word[0] != '(')
            snprintf(e.fp, sizeof e.fp, "%s", strcmp(word, "u") ? word : "s");
        if (i == c->fp_at && word[0] == 'r') strcpy(e.fp, "?"); /* not followed there */
        if (i == c->ra_at && word[0] != '(') {
            e.is_ra_u = strcmp(word, "u") == 0;
            const bool is_kept = e.is_ra_u || (has_link && strcmp(word, "s") == 0);
            snprintf(e.ra, sizeof e.ra, "%s", is_kept ? m->ra_kept : word);
        }
        word = strtok_r(NULL, " \n", &save);
    }
    return e;
}

/* glibc's _dl_runtime_resolve of aarch64: its stub has pushed two words, the second of which is the
 * return address. The entry leaves them out, so the CFA is 16 bytes higher than it says. They are
 * popped at its end. */
static void add_pushed_words(expected *e)
{
    if (strcmp(e->ra, "c+8") != 0 || strncmp(e->cfa, "sp", 2) != 0) return;
    const bool is_popped = strcmp(e->cfa, "sp-16") == 0;
    snprintf(e->cfa, sizeof e->cfa, "sp+%ld", strtol(e->cfa + 2, NULL, 10) + 16);
    snprintf(e->ra, sizeof e->ra, "%s", is_popped ? "r30" : "c-8");
}

/* is_foreign: the return address is in a column of its own. */
static void compare_row(const readelf_machine *m, const pt_unwind_table *table, uint64_t addr,
                        const expected *e, bool is_foreign, compared *sum)
{
    const pt_unwind_rule *const rule = pt_unwind_table_rule(table, addr);
    expected got;
    cfa_text(m, rule, got.cfa, sizeof got.cfa);
    slot_text(rule->fp_slot, rule->fp_off, got.fp, sizeof got.fp);
    slot_text(rule->pc_slot, rule->pc_off, got.ra, sizeof got.ra);
    sum->rows++;
    if (e->is_ra_u && strcmp(got.ra, "u") == 0) { /* nothing else is kept */
        sum->roots++;
        return;
    }
    if (rule->cfa_kind == PT_CFA_NONE) {
        sum->without_rule++;
        if (is_foreign || strcmp(e->cfa, "exp") == 0) return;
        if (strcmp(m->ra_kept, "u") == 0 && strcmp(e->ra, "c-8") != 0) return;
    }
    if (strcmp(e->cfa, got.cfa) == 0 && strcmp(e->fp, got.fp) == 0 && strcmp(e->ra, got.ra) == 0)
        return;
    if (sum->wrong++ < 5)
        print_message("# %lx: readelf %s %s %s, ours %s %s %s\n", addr, e->cfa, e->fp, e->ra,
                      got.cfa, got.fp, got.ra);
}

/* Common entries whose return address is in another column than the machine's. */
typedef struct {
    uint64_t offs[64];
    unsigned count;
} foreign_cies;

/* "0000e774 0000000000000010 00000000 CIE "zR" cf=4 df=-8 ra=15" */
static void note_cie(const readelf_machine *m, const char *line, foreign_cies *all)
{
    const char *const ra = strstr(line, " ra=");
    if (ra == NULL || strtoul(ra + 4, NULL, 10) == m->ra_column) return;
    assert_true(all->count < sizeof all->offs / sizeof *all->offs);
    all->offs[all->count++] = strtoull(line, NULL, 16);
}

/* "... FDE cie=0000e774 pc=..." */
static bool is_of_foreign(const char *line, const foreign_cies *all)
{
    const char *const cie = strstr(line, " cie=");
    const uint64_t off = cie != NULL ? strtoull(cie + 5, NULL, 16) : 0;
    for (unsigned i = 0; cie != NULL && i < all->count; i++)
        if (all->offs[i] == off) return true;
    return false;
}

compared compare_rows(FILE *in, const pt_unwind_table *table, const readelf_machine *m)
{
    compared sum = {0};
    char line[4096];
    columns c = {-1, -1, -1};
    foreign_cies foreign = {.count = 0};
    bool in_function = false, is_foreign = false;
    uint64_t start = 0, limit = 0;
    while (fgets(line, sizeof line, in)) {
        uint64_t addr = 0;
        const char *const pc = strstr(line, " pc=");
        if (strstr(line, "section (loaded") && strstr(line, "debug")) break;
        if (strstr(line, " CIE ")) {
            in_function = false;
            note_cie(m, line, &foreign);
        }
        if (strstr(line, " FDE ") && pc != NULL) {
            assert_int_equal(sscanf(pc, " pc=%lx..%lx", &start, &limit), 2);
            in_function = limit > start;
            is_foreign = is_of_foreign(line, &foreign);
            sum.functions += in_function;
            sum.foreign += in_function && is_foreign;
        } else if (strncmp(line, "   LOC", 6) == 0) {
            c = columns_of(m, line);
        } else if (in_function && line[0] >= '0' && strchr(line, ' ') != NULL) {
            expected e = expected_of(m, line, &c, &addr);
            add_pushed_words(&e);
            if (addr >= start && addr < limit) compare_row(m, table, addr, &e, is_foreign, &sum);
        }
    }
    return sum;
}
