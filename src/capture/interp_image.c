/* interp_image.c: see interp_image.h. */
#include "capture/interp_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "capture/interp_language.h"
#include "unwind/split.h"

static void take_symbol(pt_wanted_symbol *wanted, const pt_elf_symbol *symbol, uint32_t number)
{
    wanted->addr = symbol->value;
    wanted->bytes = symbol->size_bytes;
    wanted->number = number;
    wanted->is_found = true;
}

/* Returns the number of symbols that were not found. */
static size_t find_dynamic(const pt_elf *elf, pt_wanted_symbol *wanted, size_t count)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    size_t left = count;
    if (!pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols)) return left;
    for (size_t w = 0; w < count; w++) {
        const uint32_t number = pt_elf_symbol_defined(&symbols, wanted[w].name, &symbol);
        if (number == 0) continue;
        take_symbol(&wanted[w], &symbol, number);
        left--;
    }
    return left;
}

void pt_wanted_symbols_find(const pt_elf *elf, pt_wanted_symbol *wanted, size_t count)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    size_t left = find_dynamic(elf, wanted, count);
    if (left == 0 || !pt_elf_symbols_open(elf, SHT_SYMTAB, &symbols)) return;
    for (uint32_t i = 1; left > 0 && pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        if (symbol.section_index == SHN_UNDEF) continue;
        for (size_t w = 0; w < count; w++)
            if (!wanted[w].is_found && strcmp(symbol.name, wanted[w].name) == 0) {
                take_symbol(&wanted[w], &symbol, 0);
                left--;
            }
    }
}

const uint8_t *pt_interp_bytes_at(const pt_elf *elf, uint64_t addr, uint64_t bytes)
{
    uint64_t off;
    if (addr == 0 || !pt_elf_offset_of_addr(elf, addr, &off) || off > elf->size_bytes ||
        bytes > elf->size_bytes - off)
        return NULL;
    return elf->bytes + off;
}

/* .eh_frame_hdr has a sorted table, pairs of offsets from its own beginning (LSB, "The
 * .eh_frame_hdr section"). */
uint64_t *pt_interp_entries(const pt_elf *elf, uint32_t *ret_count)
{
    enum { USUAL = 0x3b031b01, HEAD = 12, PAIR = 8 };
    pt_elf_section section;
    uint64_t size;
    uint32_t encodings, count;
    const uint8_t *const bytes = pt_elf_section_named(elf, ".eh_frame_hdr", &section)
                                     ? pt_elf_section_bytes(elf, &section, &size)
                                     : NULL;
    if (bytes == NULL || size < HEAD) return NULL;
    memcpy(&encodings, bytes, sizeof encodings);
    memcpy(&count, bytes + 8, sizeof count);
    if (encodings != USUAL || count == 0 || count > (size - HEAD) / PAIR) return NULL;
    uint64_t *const entries = pt_alloc(count, sizeof *entries);
    for (uint32_t i = 0; i < count; i++) {
        int32_t offset;
        memcpy(&offset, bytes + HEAD + (size_t)i * PAIR, sizeof offset);
        entries[i] = section.addr + (uint64_t)(int64_t)offset;
    }
    *ret_count = count;
    return entries;
}

static void find_segment(const pt_elf *elf, uint64_t addr, uint64_t *ret_low, uint64_t *ret_limit)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_LOAD && addr - s.addr < s.memory_bytes) {
            *ret_low = s.addr;
            *ret_limit = s.addr + s.memory_bytes;
        }
}

void pt_interp_find_evaluator(const pt_elf *elf, const pt_wanted_symbol *symbol,
                              pt_interp_evaluator *evaluator)
{
    enum { CODE_MAX_BYTES = 1 << 20 };
    const uint8_t *const code = symbol->bytes <= CODE_MAX_BYTES
                                    ? pt_interp_bytes_at(elf, symbol->addr, symbol->bytes)
                                    : NULL;
    uint32_t count;
    if (code == NULL) return;
    evaluator->low[0] = symbol->addr;
    evaluator->limit[0] = symbol->addr + symbol->bytes;
    find_segment(elf, symbol->addr, &evaluator->file_low, &evaluator->file_limit);
    uint64_t *const starts = pt_interp_entries(elf, &count);
    if (starts != NULL)
        pt_unwind_split_part(elf->machine, code, symbol->bytes, symbol->addr, starts, count,
                             &evaluator->low[1], &evaluator->limit[1]);
    free(starts);
}

/* glibc has variables for debuggers. Each describes a field of glibc's structure of a thread: bits
 * of an item, number of items, offset. */
static void read_libc(const pt_elf *elf, pt_interp_image *image)
{
    enum { BITS, COUNT, OFFSET, FIELDS, OFFSET_MAX = 1 << 16 };
    pt_wanted_symbol wanted = {.name = "_thread_db_pthread_specific"};
    uint32_t field[FIELDS];
    pt_wanted_symbols_find(elf, &wanted, 1);
    const uint8_t *const bytes = pt_interp_bytes_at(elf, wanted.addr, sizeof field);
    if (bytes == NULL) return;
    memcpy(field, bytes, sizeof field);
    if (field[OFFSET] < OFFSET_MAX && field[OFFSET] % 8 == 0) image->thread_keys = field[OFFSET];
}

static bool is_libc(const char *path)
{
    const char *const name = pt_base_name(path);
    return pt_begins(name, "libc.so") || pt_begins(name, "libc-") || pt_begins(name, "libpthread");
}

/* Java's frames are read from copied stacks (interp_java.h). */
static void read_java(const pt_elf *elf, pt_interp_image *image)
{
    pt_wanted_symbol wanted[PT_JAVA_SYMBOLS];
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++)
        wanted[i] = (pt_wanted_symbol){.name = pt_java_symbols[i]};
    pt_wanted_symbols_find(elf, wanted, PT_JAVA_SYMBOLS);
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++)
        image->java[i] = wanted[i].addr;
}

void pt_interp_image_read(const pt_elf *elf, const char *path, pt_interp_image *ret_image)
{
    *ret_image = (pt_interp_image){.refused = PT_BPF_NO_LANGUAGE};
    if (!elf->is_64 || elf->is_big_endian) return;
    for (int i = PT_BPF_NO_LANGUAGE + 1; i < PT_BPF_LANGUAGES; i++)
        if (pt_interp_languages[i]->is_file(path)) {
            pt_interp_languages[i]->read_file(elf, path, ret_image);
            ret_image->evaluator.begins_early = pt_interp_languages[i]->begins_early;
            ret_image->evaluator.has_guards = pt_interp_languages[i]->has_guards;
            ret_image->evaluator.has_fibers = pt_interp_languages[i]->has_fibers;
            return;
        }
    if (is_libc(path)) read_libc(elf, ret_image);
    if (pt_java_is_file(path)) read_java(elf, ret_image);
}
