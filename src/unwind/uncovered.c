/* uncovered.c: finds functions in code that no other source covers, by following that code.
 *
 *   gaps between functions in executable sections
 *      | starts: symbols, targets of calls, the entry point, aarch64's stubs (.plt)
 *      v
 *   functions by their code ---> followed: more starts, functions that never return ---> again
 *
 * V8's builtins are left out: they keep frame pointers, and their returns cannot be followed.
 */
#include <elf.h>
#include <string.h>

#include "base/plain/ascending.h"
#include "unwind/aarch64.h"
#include "unwind/sources.h"
#include "unwind/x86.h"

enum {
    LEAST_GAP_BYTES = 16, /* of x86-64 */
    CODE_ALIGNMENT = 64,
    /* The limit of code bytes that all searches for targets of calls read, and the limit of code
     * bytes that one round follows. */
    MOST_CODE_BYTES = 64 << 20,
    MOST_POINTER_BYTES = 64 << 20,
    MOST_BEGINS = 1 << 20,
};

/* ---- where functions begin ---- */

typedef struct {
    uint64_t start, limit;
} span;

/* Function `caller` was followed on the assumption that `callee` returns. */
typedef struct {
    uint32_t caller, callee;
} assumption;

/* How to search a file without symbols for starts of functions. */
typedef enum { SEARCH_NOT, SEARCH_BY_SCAN, SEARCH_ALL } search_kind;

/* The state of the whole search. */
typedef struct {
    pt_unwind_sources *from;
    pt_scratch gaps_memory, begins_memory;
    span *gaps;
    uint32_t gap_count, gap_cap;
    /* A bit for each 4 KiB page, from that of the first gap on: the page overlaps a gap. Few pages
     * do. */
    pt_scratch pages_memory;
    uint64_t *pages;
    uint64_t first_page, page_count;
    uint64_t *begins; /* start addresses of functions in gaps */
    uint32_t begin_count, begin_cap;
    uint32_t at;    /* index of a sorted function, while gaps are searched */
    span builtins;  /* of V8; start 0: none, or unknown where */
    bool has_v8;    /* the file has V8, and no symbols of the builtins */
    bool any;       /* there are functions in gaps */
    bool has_names; /* the file has a full symbol table */
    search_kind kind;
    /* Bytes read so far, each limited: sections of a damaged file may overlap, and so be read
     * often. */
    uint64_t code_bytes, pointer_bytes;
    uint64_t decoded_bytes; /* decoded by the scan, to check byte patterns that resemble calls */
    bool found_more;        /* starts were added since the last sort */
    /* Assumptions made while functions were followed. */
    pt_scratch assumptions_memory;
    assumption *assumptions;
    uint32_t assumption_count, assumption_cap;
    uint32_t caller; /* the function at hand */
    bool is_full;
} search;

static void *grow_items(search *s, pt_scratch *memory, void *items, uint32_t *cap, size_t each)
{
    const uint32_t wanted = *cap == 0 ? 256 : *cap * 2;
    void *room = NULL;
    if (wanted > *cap)
        room = *cap == 0 ? pt_scratch_take(memory, s->from->functions.memory, wanted, each)
                         : pt_scratch_resize(memory, wanted, each);
    s->is_full |= room == NULL;
    if (room == NULL) return items;
    *cap = wanted;
    return room;
}

static void push_gap(search *s, uint64_t start, uint64_t limit)
{
    if (limit <= start || s->is_full) return;
    if (s->gap_count == s->gap_cap)
        s->gaps = grow_items(s, &s->gaps_memory, s->gaps, &s->gap_cap, sizeof *s->gaps);
    if (!s->is_full) s->gaps[s->gap_count++] = (span){start, limit};
}

static void add_gap(search *s, uint64_t start, uint64_t limit)
{
    enum { BUILTINS_LEAST_BYTES = 512 << 10 }; /* V8 10 has 1.3 MB */
    const span out = s->builtins;
    if (s->has_v8 && limit - start >= BUILTINS_LEAST_BYTES) return;
    if (start < out.limit && out.start < limit) {
        push_gap(s, start, out.start);
        start = out.limit;
    }
    push_gap(s, start, limit);
}

static void add_begin(search *s, uint64_t addr)
{
    if (s->begin_count == MOST_BEGINS) return;
    if (s->begin_count == s->begin_cap)
        s->begins = grow_items(s, &s->begins_memory, s->begins, &s->begin_cap, sizeof *s->begins);
    if (!s->is_full) s->begins[s->begin_count++] = addr;
}

enum { PAGE_BITS = 12 };

static bool mark_pages(search *s)
{
    s->first_page = s->gaps[0].start >> PAGE_BITS;
    s->page_count = (s->gaps[s->gap_count - 1].limit >> PAGE_BITS) - s->first_page + 1;
    s->pages = pt_scratch_take_zeroed(&s->pages_memory, s->from->functions.memory,
                                      s->page_count / 64 + 1, sizeof *s->pages);
    if (s->pages == NULL) return false;
    for (uint32_t i = 0; i < s->gap_count; i++)
        for (uint64_t page = s->gaps[i].start >> PAGE_BITS;
             page <= (s->gaps[i].limit - 1) >> PAGE_BITS; page++) {
            const uint64_t bit = page - s->first_page;
            s->pages[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    return true;
}

static bool in_gap(const search *s, uint64_t addr)
{
    const uint64_t page = (addr >> PAGE_BITS) - s->first_page;
    if (page >= s->page_count || !(s->pages[page / 64] >> page % 64 & 1)) return false;
    const size_t i = PT_FIRST_AFTER(s->gaps, s->gap_count, limit, addr);
    return i < s->gap_count && s->gaps[i].start <= addr;
}

/* Adds bytes to *spent. False, with nothing added: the limit `most` would be exceeded. */
static bool may_read(uint64_t *spent, uint64_t bytes, uint64_t most)
{
    if (bytes > most - *spent) return false;
    *spent += bytes;
    return true;
}

/* Calls `text` for each executable section, or for each executable segment if the file has no
 * sections. Skips a section that overlaps the one before. */
static void each_text(const pt_elf *elf, void (*text)(search *s, uint64_t addr, uint64_t size),
                      search *s)
{
    pt_elf_section section;
    pt_elf_segment segment;
    bool any = false;
    uint64_t end = 0;
    for (uint32_t i = 0; pt_elf_section_at(elf, i, &section); i++) {
        if (section.type != SHT_PROGBITS || !(section.flags & SHF_EXECINSTR) || section.addr == 0)
            continue;
        any = true;
        if (section.addr < end || section.size_bytes > UINT64_MAX - section.addr) continue;
        end = section.addr + section.size_bytes;
        text(s, section.addr, section.size_bytes);
    }
    for (uint32_t i = 0; !any && pt_elf_segment_at(elf, i, &segment); i++)
        if (segment.type == PT_LOAD && segment.flags & PF_X)
            text(s, segment.addr, segment.file_bytes);
}

/* The bytes at a linked address; NULL if the file lacks them. */
static const uint8_t *bytes_at(const pt_elf *elf, uint64_t addr, uint64_t size)
{
    uint64_t off;
    if (size == 0 || !pt_elf_offset_of_addr(elf, addr, &off)) return NULL;
    return off < elf->size_bytes && size <= elf->size_bytes - off ? elf->bytes + off : NULL;
}

/* Has the file a dynamic symbol that begins with the name? */
static bool has_symbol(const pt_elf *elf, const char *name)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (!pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols)) return false;
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++)
        if (symbol.section_index != SHN_UNDEF && strncmp(symbol.name, name, strlen(name)) == 0)
            return true;
    return false;
}

/* Finds V8's builtins by the symbols that V8's build gives them (embedded-file-writer.cc): one
 * symbol is at the builtins' beginning, one at the variable with their size. A stripped file has
 * neither symbol: there the largest range of code without entries by far is that of the builtins
 * (add_gap). */
static void find_builtins(search *s)
{
    static const char name[] = "v8_Default_embedded_blob_code_";
    const pt_elf *const elf = s->from->elf;
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    uint64_t start = 0, size_at = 0;
    uint32_t size = 0;
    if (!pt_elf_symbols_open(elf, SHT_SYMTAB, &symbols)) {
        s->has_v8 = has_symbol(elf, "v8dbg_");
        return;
    }
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        if (strncmp(symbol.name, name, sizeof name - 1) != 0) continue;
        const char *const rest = symbol.name + sizeof name - 1;
        /* Before V8 11, a pointer to the code also has the name without "data_". */
        if (strcmp(rest, "size_") == 0)
            size_at = symbol.value;
        else if (strcmp(rest, "data_") == 0 || start == 0)
            start = symbol.value;
    }
    const uint8_t *const bytes = bytes_at(elf, size_at, sizeof size);
    if (start == 0 || size_at == 0 || bytes == NULL) return;
    memcpy(&size, bytes, sizeof size);
    s->builtins = (span){start, start + size};
}

static bool is_a64(const search *s)
{
    return s->from->elf->machine == EM_AARCH64;
}

static bool is_a64_padding(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t at = 0; at + PT_A64_BYTES <= size; at += PT_A64_BYTES) {
        const uint32_t insn = pt_a64_word(bytes + at);
        if (insn != PT_A64_NOP && insn != 0) return false;
    }
    return true;
}

/* True if the range has nops only, as before code that is aligned to 64 bytes. */
static bool is_padding(const pt_elf *elf, uint64_t addr, uint64_t size)
{
    const uint8_t *const bytes = size < CODE_ALIGNMENT ? bytes_at(elf, addr, size) : NULL;
    uint64_t at = 0;
    pt_insn insn;
    if (bytes != NULL && elf->machine == EM_AARCH64) return is_a64_padding(bytes, size);
    while (bytes != NULL && at < size && pt_x86_decode(bytes + at, size - at, &insn)) {
        const uint8_t *opcode = bytes + at;
        const uint8_t *const behind = opcode + insn.length;
        while (opcode + 1 < behind && (*opcode == 0x66 || *opcode == 0x2e))
            opcode++;
        const bool is_nop = *opcode == 0x90 || *opcode == 0xcc ||
                            (opcode + 1 < behind && opcode[0] == 0x0f && opcode[1] == 0x1f);
        if (!is_nop) return false;
        at += insn.length;
    }
    return bytes != NULL && at == size;
}

/* Finds gaps between functions. Sections ascend by address in nearly all files; in other files,
 * gaps are missed. */
static void find_gaps(search *s, uint64_t addr, uint64_t size)
{
    const pt_unwind_functions *const all = &s->from->functions;
    if (bytes_at(s->from->elf, addr, size) == NULL || size > MOST_CODE_BYTES * 4ull) return;
    if (s->gap_count > 0 && addr < s->gaps[s->gap_count - 1].limit) return;
    const uint64_t limit = addr + size, least_bytes = is_a64(s) ? 0 : LEAST_GAP_BYTES;
    while (s->at < all->count && all->items[s->at].start_addr < limit) {
        const pt_unwind_function *const f = &all->items[s->at++];
        const uint64_t end = f->start_addr + f->size_bytes;
        if (f->start_addr > addr + least_bytes &&
            !is_padding(s->from->elf, addr, f->start_addr - addr))
            add_gap(s, addr, f->start_addr);
        if (end > addr) addr = end;
    }
    add_gap(s, addr, limit);
}

/* Adds starts of fibers, which have no symbols. */
static void add_fiber_starts(search *s)
{
    for (uint32_t i = 0; i < s->gap_count; i++) {
        const uint64_t start = s->gaps[i].start, size = s->gaps[i].limit - start;
        const uint8_t *const bytes = bytes_at(s->from->elf, start, size);
        if (bytes == NULL || !may_read(&s->code_bytes, size, MOST_CODE_BYTES)) continue;
        for (uint64_t at = 0; at < size; at++)
            if (pt_code_is_fiber_start(s->from->elf, bytes + at, size - at))
                add_begin(s, start + at);
    }
    s->code_bytes = 0;
}

static void add_symbols(search *s, uint32_t type)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (!pt_elf_symbols_open(s->from->elf, type, &symbols)) return;
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        const bool named = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC ||
                           (symbol.type == STT_NOTYPE && symbol.binding == STB_GLOBAL);
        if (named && symbol.section_index != SHN_UNDEF && in_gap(s, symbol.value))
            add_begin(s, symbol.value);
    }
}

/* Most stripped files have call frame information for all but a few functions. To decode all code
 * for these few functions would take longer than all other work, and even a scan of every byte may
 * take longer. The functions of the C runtime are in every file; add_runtime finds them without a
 * search. */
enum {
    RUNTIME_BYTES = 512,
    SCAN_SHARE = 1024,
    MOST_SCANNED_BYTES = 32 << 20,
    MOST_DECODED_BYTES = 16 << 20, /* limit of bytes to decode, for any file */
};

static search_kind worthy_search(const search *s)
{
    uint64_t uncovered = 0, covered = 0;
    for (uint32_t i = 0; i < s->gap_count; i++)
        uncovered += s->gaps[i].limit - s->gaps[i].start;
    for (uint32_t i = 0; i < s->from->functions.count; i++)
        covered += s->from->functions.items[i].size_bytes;
    if (uncovered > covered / 16) return SEARCH_ALL;
    if (uncovered <= RUNTIME_BYTES || uncovered <= covered / SCAN_SHARE) return SEARCH_NOT;
    return covered <= MOST_SCANNED_BYTES ? SEARCH_BY_SCAN : SEARCH_NOT;
}

static uint64_t word_of(const uint8_t *bytes, unsigned count)
{
    uint64_t word = 0;
    memcpy(&word, bytes, count);
    return word;
}

/* Adds an address that the code or data refers to, if the byte before it ends a function: ret,
 * padding, hlt. */
static void add_taken(search *s, uint64_t addr)
{
    if (!in_gap(s, addr)) return;
    if (is_a64(s)) {
        const uint8_t *const insns =
            addr % PT_A64_BYTES == 0 ? bytes_at(s->from->elf, addr - PT_A64_BYTES, 2 * PT_A64_BYTES)
                                     : NULL;
        if (insns != NULL &&
            pt_a64_may_begin(pt_a64_word(insns), pt_a64_word(insns + PT_A64_BYTES)))
            add_begin(s, addr);
        return;
    }
    const uint8_t *const before = bytes_at(s->from->elf, addr - 1, 1);
    if (before == NULL) return;
    if (*before == 0xc3 || *before == 0x90 || *before == 0xcc || *before == 0 || *before == 0xf4)
        add_begin(s, addr);
}

/* Adds the starts in gaps that a section's code refers to: targets of calls, and addresses that the
 * code computes or loads. */
static void add_targets(search *s, uint64_t addr, uint64_t size)
{
    const uint8_t *const bytes = bytes_at(s->from->elf, addr, size);
    if (bytes == NULL || !may_read(&s->code_bytes, size, MOST_CODE_BYTES)) return;
    for (uint64_t at = 0; at < size;) {
        pt_insn insn;
        if (!pt_x86_decode(bytes + at, size - at, &insn)) {
            at++;
            continue;
        }
        const uint8_t *const here = bytes + at;
        at += insn.length;
        const uint64_t target = addr + at + (uint64_t)(int64_t)insn.value;
        if (insn.kind == PT_INSN_CALL && insn.is_direct && insn.value != 0 && in_gap(s, target))
            add_begin(s, target);
        else if (insn.kind == PT_INSN_ADDRESS)
            add_taken(s, target);
        else if (here[0] >= 0xb8 && here[0] <= 0xbf && insn.length == 5)
            add_taken(s, word_of(here + 1, 4)); /* mov r32, address */
        else if ((here[0] & 0xfe) == 0x48 && here[1] == 0xc7 && insn.length == 7)
            add_taken(s, word_of(here + 3, 4)); /* mov r64, address */
    }
}

/* Adds such targets for aarch64, whose instructions are quick to decode. Also adds targets of jumps
 * that make a frame: such a jump is a tail call. */
static void add_a64_targets(search *s, uint64_t addr, uint64_t size)
{
    const uint8_t *const bytes = bytes_at(s->from->elf, addr, size);
    if (bytes == NULL || !may_read(&s->code_bytes, size, MOST_CODE_BYTES)) return;
    for (uint64_t at = 0; at + PT_A64_BYTES <= size; at += PT_A64_BYTES) {
        pt_insn insn;
        if (!pt_a64_decode(bytes, at, size, &insn)) return;
        const uint64_t target = addr + at + PT_A64_BYTES + (uint64_t)(int64_t)insn.value;
        if (insn.kind == PT_INSN_OTHER)
            add_taken(s, pt_a64_address(bytes + at, size - at, addr + at));
        if (!insn.is_direct || !in_gap(s, target)) continue;
        const uint8_t *const there = bytes_at(s->from->elf, target, PT_A64_BYTES);
        if (insn.kind == PT_INSN_CALL)
            add_begin(s, target);
        else if (insn.kind == PT_INSN_JUMP && there != NULL &&
                 pt_a64_makes_frame(pt_a64_word(there)))
            add_taken(s, target);
    }
}

/* Decodes the instruction whose last four bytes are at addr. Returns false if there is no such
 * instruction. Decodes the function from its start. */
static bool insn_of_operand(search *s, uint64_t addr, pt_insn *ret_insn)
{
    const pt_unwind_function *const f = pt_functions_around(&s->from->functions, addr);
    const uint8_t *const bytes =
        f != NULL ? bytes_at(s->from->elf, f->start_addr, f->size_bytes) : NULL;
    uint64_t at = 0;
    if (bytes == NULL || s->decoded_bytes > MOST_DECODED_BYTES) return false;
    s->decoded_bytes += addr - f->start_addr;
    while (f->start_addr + at < addr) {
        if (!pt_x86_decode(bytes + at, f->size_bytes - at, ret_insn)) return false;
        at += ret_insn->length;
    }
    return f->start_addr + at == addr + 4;
}

/* Finds calls, jumps and address computations by their byte patterns, and adds their targets that
 * lie in gaps. Each candidate is decoded to verify it.
 */
static void scan_targets(search *s, uint64_t addr, uint64_t size)
{
    const uint8_t *const bytes = bytes_at(s->from->elf, addr, size);
    if (bytes == NULL || !may_read(&s->code_bytes, size, MOST_CODE_BYTES)) return;
    for (uint64_t at = 1; at + 5 < size; at++) {
        const bool is_call = (bytes[at] & 0xfe) == 0xe8; /* call, jmp */
        if (!is_call && !(bytes[at] == 0x8d && (bytes[at + 1] & 0xc7) == 0x05)) continue; /* lea */
        const uint64_t operand = addr + at + (is_call ? 1 : 2);
        const int32_t offset = (int32_t)word_of(bytes + (operand - addr), 4);
        const uint64_t target = operand + 4 + (uint64_t)(int64_t)offset;
        pt_insn insn = {0};
        if (!in_gap(s, target) || !insn_of_operand(s, operand, &insn)) continue;
        if (insn.kind == PT_INSN_CALL && insn.is_direct)
            add_begin(s, target);
        else if (insn.kind == PT_INSN_ADDRESS || (insn.kind == PT_INSN_JUMP && insn.is_direct))
            add_taken(s, target);
    }
}

/* Adds words that may be pointers to functions. */
static void add_words(search *s, const uint8_t *bytes, uint64_t size)
{
    if (bytes == NULL || !may_read(&s->pointer_bytes, size, MOST_POINTER_BYTES)) return;
    for (uint64_t at = 0; at + 8 <= size; at += 8)
        add_taken(s, word_of(bytes + at, 8));
}

/* Adds aarch64's stubs, which have no entries: the stub that resolves a symbol, and all others. */
static void add_a64_stubs(search *s)
{
    enum { RESOLVER_BYTES = 32 };
    pt_elf_section section;
    for (uint32_t i = 0; pt_elf_section_at(s->from->elf, i, &section); i++) {
        if (strcmp(section.name, ".plt") != 0) continue;
        if (in_gap(s, section.addr)) add_begin(s, section.addr);
        if (in_gap(s, section.addr + RESOLVER_BYTES)) add_begin(s, section.addr + RESOLVER_BYTES);
    }
}

/* Adds the functions that start and end a program or library, and the functions in the pointer
 * arrays of these. */
static void add_runtime(search *s)
{
    const pt_elf *const elf = s->from->elf;
    pt_elf_section section;
    for (uint32_t i = 0; pt_elf_section_at(elf, i, &section); i++) {
        uint64_t size = 0;
        const bool is_code =
            strcmp(section.name, ".init") == 0 || strcmp(section.name, ".fini") == 0;
        if (is_code && in_gap(s, section.addr)) add_begin(s, section.addr);
        if (section.type != SHT_INIT_ARRAY && section.type != SHT_FINI_ARRAY) continue;
        const uint8_t *const bytes = pt_elf_section_bytes(elf, &section, &size);
        add_words(s, bytes, size);
    }
}

/* Adds pointers to functions in writable data. Jump tables are not writable. */
static void add_pointers(search *s)
{
    pt_elf_section section;
    for (uint32_t i = 0; pt_elf_section_at(s->from->elf, i, &section); i++) {
        uint64_t size = 0;
        if ((section.flags & (SHF_ALLOC | SHF_WRITE)) != (SHF_ALLOC | SHF_WRITE)) continue;
        const uint8_t *const bytes = pt_elf_section_bytes(s->from->elf, &section, &size);
        add_words(s, bytes, size);
    }
}

static void sort_begins(search *s)
{
    /* Shell sort: symbols and targets are some thousands, nearly in order. */
    uint64_t *const b = s->begins;
    for (uint32_t step = s->begin_count / 2; step > 0; step = step == 2 ? 1 : step * 5 / 11)
        for (uint32_t i = step; i < s->begin_count; i++) {
            const uint64_t value = b[i];
            uint32_t at = i;
            for (; at >= step && b[at - step] > value; at -= step)
                b[at] = b[at - step];
            b[at] = value;
        }
}

/* Adds a function [start, limit), if the file has its bytes. */
static bool add_code(search *s, uint64_t start, uint64_t limit)
{
    pt_unwind_function f = {.start_addr = start, .source = PT_FROM_CODE};
    if (limit - start > PT_CODE_MAX_BYTES) limit = start + PT_CODE_MAX_BYTES;
    f.size_bytes = (uint32_t)(limit - start);
    if (bytes_at(s->from->elf, start, f.size_bytes) == NULL) return true;
    pt_functions_widen_trampoline(s->from->elf, &f);
    s->any = true;
    return pt_functions_add(&s->from->functions, &f);
}

/* Adds a function for each start, up to the next start or the end of the gap. */
static bool add_gap_functions(search *s)
{
    uint64_t budget = MOST_CODE_BYTES;
    s->any = false;
    for (uint32_t g = 0, b = 0; g < s->gap_count; g++) {
        const span gap = s->gaps[g];
        while (b < s->begin_count && s->begins[b] < gap.start)
            b++;
        for (; b < s->begin_count && s->begins[b] < gap.limit; b++) {
            const bool last = b + 1 == s->begin_count || s->begins[b + 1] >= gap.limit;
            const uint64_t limit = last ? gap.limit : s->begins[b + 1];
            if (limit == s->begins[b]) continue; /* two names of one address */
            if (limit - s->begins[b] > budget) return true;
            budget -= limit - s->begins[b];
            if (!add_code(s, s->begins[b], limit)) return false;
        }
    }
    return true;
}

/* ---- functions that never return; tail calls ---- */

static void add_assumption(search *s, uint32_t callee)
{
    const assumption made = {s->caller, callee};
    if (s->assumption_count == s->assumption_cap)
        s->assumptions = grow_items(s, &s->assumptions_memory, s->assumptions, &s->assumption_cap,
                                    sizeof *s->assumptions);
    if (!s->is_full) s->assumptions[s->assumption_count++] = made;
}

static void note_tail_call(void *arg, uint64_t addr)
{
    search *const s = arg;
    if (!in_gap(s, addr) || pt_functions_at(&s->from->functions, addr) != NULL) return;
    add_begin(s, addr);
    s->found_more = true;
}

static bool callee_returns(void *arg, uint64_t addr)
{
    search *const s = arg;
    const pt_unwind_function *const f = pt_functions_at(&s->from->functions, addr);
    if (f == NULL && !s->has_names && s->kind != SEARCH_ALL) note_tail_call(s, addr);
    if (f == NULL || f->source != PT_FROM_CODE) return true;
    if (!f->never_returns && s->has_names)
        add_assumption(s, (uint32_t)(f - s->from->functions.items));
    return !f->never_returns;
}

static void append_row(search *s, const pt_kept_row *row)
{
    pt_unwind_sources *const from = s->from;
    if (from->kept_count == from->kept_cap)
        from->kept =
            grow_items(s, &from->kept_memory, from->kept, &from->kept_cap, sizeof *from->kept);
    if (!s->is_full) from->kept[from->kept_count++] = *row;
}

static void keep_row(void *arg, uint64_t addr, const pt_unwind_rule *rule)
{
    search *const s = arg;
    const uint64_t start = s->from->functions.items[s->caller].start_addr;
    append_row(s, &(pt_kept_row){.off = (uint32_t)(addr - start), .rule = *rule});
}

/* Keeps the rows of the function that was followed last. */
static void keep_rows(search *s, pt_unwind_function *f)
{
    f->first_row = s->from->kept_count + 1;
    pt_code_rows(s->from->elf, f, &s->from->room, keep_row, s);
    append_row(s, &(pt_kept_row){.off = PT_KEPT_END});
    if (s->is_full) f->first_row = 0;
}

/* Drops the assumptions of functions that will be followed again. */
static void drop_assumptions(search *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->assumption_count; i++)
        if (s->from->functions.items[s->assumptions[i].caller].is_settled)
            s->assumptions[kept++] = s->assumptions[i];
    s->assumption_count = kept;
}

/* Marks functions to be followed again that were followed on the assumption that a callee returns,
 * if the callee never returns. */
static void unsettle_callers(search *s)
{
    pt_unwind_function *const items = s->from->functions.items;
    for (uint32_t i = 0; i < s->assumption_count; i++)
        if (items[s->assumptions[i].callee].never_returns) {
            items[s->assumptions[i].caller].is_settled = false;
            items[s->assumptions[i].caller].first_row = 0;
        }
}

/* Follows all unsettled functions once. Returns true if it found a function that never returns, or
 * a new start: another round may then find more. */
static bool learn_returns(search *s)
{
    const pt_code_hooks hooks = {
        .returns = callee_returns, .leaves = s->has_names ? NULL : note_tail_call, .arg = s};
    bool learnt = false;
    s->found_more = false;
    drop_assumptions(s);
    for (uint32_t i = 0; i < s->from->functions.count; i++) {
        pt_unwind_function *const f = &s->from->functions.items[i];
        if (f->source != PT_FROM_CODE || f->is_settled || f->never_returns) continue;
        s->caller = i;
        f->never_returns = !pt_code_follow(s->from->elf, f, &hooks, &s->from->room);
        /* Without symbols nothing is final: a tail call may reveal the start of a function. */
        f->is_settled = s->has_names;
        if (s->has_names) keep_rows(s, f);
        learnt |= f->never_returns;
    }
    if (s->has_names) unsettle_callers(s);
    return learnt || s->found_more;
}

enum { ROUNDS = 6 };

/* Removes the functions in gaps. Some functions of Go also have this source; they lie outside gaps
 * and stay. */
static void drop_code(search *s)
{
    pt_unwind_functions *const all = &s->from->functions;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].source != PT_FROM_CODE || !in_gap(s, all->items[i].start_addr))
            all->items[kept++] = all->items[i];
    all->count = kept;
}

/* Adds functions and follows them, in rounds: a start that a jump reveals splits a function in two,
 * so all functions are made again. */
static bool add_code_functions(search *s)
{
    /* Symbols have all starts; a second round is for calls that never return. */
    const unsigned rounds = s->has_names ? 2 : ROUNDS;
    for (unsigned round = 0; round < rounds; round++) {
        if (round == 0 || s->found_more) {
            drop_code(s);
            sort_begins(s);
            if (!add_gap_functions(s)) return false;
            if (!s->any) return true;
            if (!pt_functions_take_room(s->from) || !pt_functions_sort(&s->from->functions))
                return false;
        }
        if (!learn_returns(s)) break;
    }
    return !s->is_full;
}

/* Adds starts in a file without symbols. */
static void add_unnamed(search *s)
{
    s->kind = worthy_search(s);
    add_runtime(s);
    if (s->kind == SEARCH_NOT) return;
    if (is_a64(s))
        each_text(s->from->elf, add_a64_targets, s);
    else
        each_text(s->from->elf, s->kind == SEARCH_ALL ? add_targets : scan_targets, s);
    add_pointers(s);
}

bool pt_uncovered_add(pt_unwind_sources *from)
{
    search s = {.from = from};
    pt_elf_symbols symbols;
    if (from->elf == NULL || (from->elf->machine != EM_X86_64 && from->elf->machine != EM_AARCH64))
        return true;
    find_builtins(&s);
    each_text(from->elf, find_gaps, &s);
    bool fine = s.gap_count == 0 || mark_pages(&s);
    if (fine && s.gap_count > 0) {
        s.has_names = pt_elf_symbols_open(from->elf, SHT_SYMTAB, &symbols);
        add_symbols(&s, s.has_names ? SHT_SYMTAB : SHT_DYNSYM);
        if (in_gap(&s, from->elf->entry_addr)) add_begin(&s, from->elf->entry_addr);
        if (is_a64(&s))
            add_a64_stubs(&s);
        else
            add_fiber_starts(&s);
        if (!s.has_names) add_unnamed(&s);
        fine = add_code_functions(&s);
    }
    pt_scratch_done(&s.gaps_memory);
    pt_scratch_done(&s.pages_memory);
    pt_scratch_done(&s.begins_memory);
    pt_scratch_done(&s.assumptions_memory);
    return fine && !s.is_full;
}
