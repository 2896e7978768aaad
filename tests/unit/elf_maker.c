/* elf_maker.c: see elf_maker.h. Field orders are those of the System V gABI. */
#include "elf_maker.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

void made_put(made_bytes *b, const void *data, size_t size_bytes)
{
    if (b->size_bytes + size_bytes > b->cap) {
        b->cap = 2 * (b->size_bytes + size_bytes) + 64;
        b->bytes = realloc(b->bytes, b->cap);
        if (b->bytes == NULL) abort();
    }
    if (size_bytes > 0) memcpy(b->bytes + b->size_bytes, data, size_bytes);
    b->size_bytes += size_bytes;
}

void made_put_int(made_bytes *b, uint64_t v, unsigned width, bool is_big_endian)
{
    uint8_t raw[8];
    for (unsigned i = 0; i < width; i++)
        raw[is_big_endian ? width - 1 - i : i] = (uint8_t)(v >> (8 * i));
    made_put(b, raw, width);
}

void made_align(made_bytes *b, size_t align)
{
    while (align > 1 && b->size_bytes % align != 0)
        made_put(b, "", 1);
}

void make_note(made_bytes *b, bool big, const char *owner, uint32_t type, const void *desc,
               size_t desc_bytes, size_t align)
{
    made_put_int(b, strlen(owner) + 1, 4, big);
    made_put_int(b, desc_bytes, 4, big);
    made_put_int(b, type, 4, big);
    made_put(b, owner, strlen(owner) + 1);
    made_align(b, align);
    made_put(b, desc, desc_bytes);
    made_align(b, align);
}

void make_symbols(bool is_64, bool big, const made_symbol *symbols, size_t count,
                  made_bytes *ret_entries, made_bytes *ret_strings)
{
    made_bytes entries = {0}, strings = {0};
    made_put(&strings, "", 1);
    for (size_t i = 0; i <= count; i++) {
        const made_symbol s = i == 0 ? (made_symbol){.name = ""} : symbols[i - 1];
        const size_t name_off = s.name[0] == '\0' ? 0 : strings.size_bytes;
        if (name_off != 0) made_put(&strings, s.name, strlen(s.name) + 1);
        const uint8_t info = ELF64_ST_INFO(s.binding, s.type);
        made_put_int(&entries, name_off, 4, big);
        if (!is_64) {
            made_put_int(&entries, s.value, 4, big);
            made_put_int(&entries, s.size_bytes, 4, big);
        }
        made_put_int(&entries, info, 1, big);
        made_put_int(&entries, 0, 1, big);
        made_put_int(&entries, s.section_index, 2, big);
        if (is_64) {
            made_put_int(&entries, s.value, 8, big);
            made_put_int(&entries, s.size_bytes, 8, big);
        }
    }
    *ret_entries = entries;
    *ret_strings = strings;
}

static void put_file_header(made_bytes *b, const made_elf *elf, uint64_t sections_off)
{
    const bool big = elf->is_big_endian;
    const unsigned word = elf->is_64 ? 8 : 4;
    const uint8_t ident[EI_NIDENT] = {ELFMAG0,
                                      ELFMAG1,
                                      ELFMAG2,
                                      ELFMAG3,
                                      elf->is_64 ? ELFCLASS64 : ELFCLASS32,
                                      big ? ELFDATA2MSB : ELFDATA2LSB,
                                      EV_CURRENT};
    made_put(b, ident, sizeof ident);
    made_put_int(b, elf->type, 2, big);
    made_put_int(b, elf->machine, 2, big);
    made_put_int(b, EV_CURRENT, 4, big);
    made_put_int(b, 0, word, big);                                                   /* e_entry */
    made_put_int(b, elf->segment_count > 0 ? (elf->is_64 ? 64 : 52) : 0, word, big); /* e_phoff */
    made_put_int(b, sections_off, word, big);
    made_put_int(b, 0, 4, big);                      /* e_flags */
    made_put_int(b, elf->is_64 ? 64 : 52, 2, big);   /* e_ehsize */
    made_put_int(b, elf->is_64 ? 56 : 32, 2, big);   /* e_phentsize */
    made_put_int(b, elf->segment_count, 2, big);     /* e_phnum */
    made_put_int(b, elf->is_64 ? 64 : 40, 2, big);   /* e_shentsize */
    made_put_int(b, elf->section_count + 2, 2, big); /* e_shnum */
    made_put_int(b, elf->section_count + 1, 2, big); /* e_shstrndx */
}

static void put_segment(made_bytes *b, const made_elf *elf, const made_segment *s,
                        const uint64_t *section_off)
{
    const bool big = elf->is_big_endian;
    const unsigned word = elf->is_64 ? 8 : 4;
    const uint32_t of = s->of_section;
    const uint64_t file_bytes = of != 0 ? elf->sections[of - 1].size_bytes : s->file_bytes;
    made_put_int(b, s->type, 4, big);
    if (elf->is_64) made_put_int(b, s->flags, 4, big);
    made_put_int(b, of != 0 ? section_off[of] : s->off, word, big);
    made_put_int(b, s->addr, word, big);
    made_put_int(b, s->addr, word, big);
    made_put_int(b, file_bytes, word, big);
    made_put_int(b, s->memory_bytes != 0 ? s->memory_bytes : file_bytes, word, big);
    if (!elf->is_64) made_put_int(b, s->flags, 4, big);
    made_put_int(b, s->align, word, big);
}

static void put_section(made_bytes *b, const made_elf *elf, const made_section *s, uint64_t name,
                        uint64_t off)
{
    const bool big = elf->is_big_endian;
    const unsigned word = elf->is_64 ? 8 : 4;
    made_put_int(b, name, 4, big);
    made_put_int(b, s->type, 4, big);
    made_put_int(b, s->flags, word, big);
    made_put_int(b, s->addr, word, big);
    made_put_int(b, off, word, big);
    made_put_int(b, s->size_bytes, word, big);
    made_put_int(b, s->link, 4, big);
    made_put_int(b, s->info, 4, big);
    made_put_int(b, s->align, word, big);
    made_put_int(b, s->entry_bytes, word, big);
}

made_bytes make_elf(const made_elf *elf)
{
    const uint32_t n = elf->section_count;
    uint64_t *off = calloc(n + 2, sizeof *off), *name = calloc(n + 2, sizeof *name);
    if (off == NULL || name == NULL) abort();
    made_bytes names = {0}, body = {0}, file = {0};
    made_put(&names, "", 1);
    const size_t headers_bytes =
        (elf->is_64 ? 64 : 52) + (size_t)elf->segment_count * (elf->is_64 ? 56 : 32);
    for (size_t i = 0; i < headers_bytes; i++)
        made_put(&body, "", 1);
    for (uint32_t i = 1; i <= n; i++) {
        const made_section *s = &elf->sections[i - 1];
        name[i] = names.size_bytes;
        made_put(&names, s->name, strlen(s->name) + 1);
        made_align(&body, s->align > 1 ? s->align : 1);
        off[i] = body.size_bytes;
        if (s->type != SHT_NOBITS) made_put(&body, s->data, s->size_bytes);
    }
    name[n + 1] = names.size_bytes;
    made_put(&names, ".shstrtab", sizeof ".shstrtab");
    off[n + 1] = body.size_bytes;
    made_put(&body, names.bytes, names.size_bytes);
    made_align(&body, 8);
    const uint64_t sections_off = body.size_bytes;
    const made_section null_section = {0};
    put_section(&body, elf, &null_section, 0, 0);
    for (uint32_t i = 1; i <= n; i++)
        put_section(&body, elf, &elf->sections[i - 1], name[i], off[i]);
    const made_section own = {.type = SHT_STRTAB, .size_bytes = names.size_bytes, .align = 1};
    put_section(&body, elf, &own, name[n + 1], off[n + 1]);

    put_file_header(&file, elf, sections_off);
    for (uint32_t i = 0; i < elf->segment_count; i++)
        put_segment(&file, elf, &elf->segments[i], off);
    memcpy(body.bytes, file.bytes, file.size_bytes);
    free(file.bytes);
    free(names.bytes);
    free(off);
    free(name);
    return body;
}
