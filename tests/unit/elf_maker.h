/* elf_maker.h: writes small ELF images from readable tables, in any class and byte order.
 *
 *   | file header | program headers | data of each section, aligned | section headers |
 *
 * The null section and the section names (last) are added; the first given section has index 1. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t type, flags;
    uint64_t off, addr, file_bytes, memory_bytes, align;
    uint32_t of_section; /* not 0: offset and file size are those of that section */
} made_segment;

typedef struct {
    const char *name;
    uint32_t type;
    uint64_t flags, addr;
    const void *data;
    size_t size_bytes;
    uint32_t link, info;
    uint64_t align, entry_bytes;
} made_section;

typedef struct {
    const char *name;
    uint64_t value, size_bytes;
    uint32_t section_index;
    uint8_t binding, type;
} made_symbol;

typedef struct {
    bool is_64, is_big_endian;
    uint16_t type, machine;
    const made_segment *segments;
    uint32_t segment_count;
    const made_section *sections;
    uint32_t section_count;
} made_elf;

/* A growing run of bytes; release with free(b.bytes). */
typedef struct {
    uint8_t *bytes;
    size_t size_bytes, cap;
} made_bytes;

void made_put(made_bytes *b, const void *data, size_t size_bytes);
/* An integer of 1, 2, 4 or 8 bytes. */
void made_put_int(made_bytes *b, uint64_t v, unsigned width, bool is_big_endian);
void made_align(made_bytes *b, size_t align);

/* The whole file. */
made_bytes make_elf(const made_elf *elf);
/* Contents of a symbol table (with its null entry) and of its string table. */
void make_symbols(bool is_64, bool is_big_endian, const made_symbol *symbols, size_t count,
                  made_bytes *ret_entries, made_bytes *ret_strings);
/* One note, name and description padded to align. */
void make_note(made_bytes *b, bool is_big_endian, const char *owner, uint32_t type,
               const void *desc, size_t desc_bytes, size_t align);
