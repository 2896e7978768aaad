/* image.h: bounds-checked access to an ELF image. The image is the bytes of its file, in memory.
 *
 *   bytes ---- pt_elf_open ----> pt_elf (a value; owns nothing, allocates nothing)
 *                                  |- segments      pt_elf_segment_at
 *                                  |- sections      pt_elf_section_at, _named, _bytes
 *                                  |- symbols       pt_elf_symbols_open, pt_elf_symbol_at
 *                                  |- relocations   pt_elf_relocation_next
 *                                  |- identity      pt_elf_build_id, pt_elf_debuglink
 *                                  `- addresses     file offset <-> virtual address
 *
 * 32 and 64 bit, both byte orders. Every offset, size and count of the file is checked before
 * use, with arithmetic that cannot overflow. A table that the end of the file cuts off gives its
 * complete entries. Returned pointers point into the caller's bytes and live as long as those.
 *
 * Freestanding: libc headers only, no allocation, no errno, no locks, because the in-process
 * library uses it. The rules are those of the System V gABI (chapters "Object Files" and
 * "Program Loading"), except where a comment names another source.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    PT_ELF_OK = 0,
    PT_ELF_NOT_ELF,     /* the bytes do not begin with \x7fELF */
    PT_ELF_TRUNCATED,   /* the bytes end inside the file header */
    PT_ELF_UNSUPPORTED, /* a class, byte order or version that no ABI defines */
    PT_ELF_DAMAGED,     /* header entries smaller than the ABI's */
} pt_elf_status;

/* A lower-case sentence without full stop, e.g. "not an elf file". Static. */
const char *pt_elf_status_text(pt_elf_status status);

typedef struct pt_elf {
    const uint8_t *bytes;
    uint64_t size_bytes;
    bool is_64, is_big_endian;
    bool is_cut_short; /* a header table reaches past the end of the bytes; counts cover the
                          complete entries only */
    uint8_t os_abi;
    uint16_t type, machine; /* ET_*, EM_* of <elf.h> */
    uint32_t flags;
    uint64_t entry_addr;
    uint64_t segments_off, sections_off;
    uint32_t segment_count, section_count;   /* extended numbering already followed */
    uint32_t segment_stride, section_stride; /* bytes from one header to the next */
    uint32_t section_names_index;            /* 0: sections have no names */
} pt_elf;

/* A program header. */
typedef struct {
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t off, addr;   /* offset in the file; virtual address as linked */
    uint64_t file_bytes, memory_bytes;
    uint64_t align;
} pt_elf_segment;

/* A section header. */
typedef struct {
    const char *name; /* terminated; "" when the section has none or it lies out of bounds */
    uint32_t index;
    uint32_t type, link, info; /* type: SHT_* */
    uint64_t flags;            /* SHF_* */
    uint64_t addr, off, size_bytes, align, entry_bytes;
} pt_elf_section;

/* An entry of a symbol table. */
typedef struct {
    const char *name; /* terminated; "" when the symbol has none or it lies out of bounds */
    uint64_t value, size_bytes;
    uint32_t section_index; /* extended numbering is resolved; SHN_UNDEF, SHN_ABS, SHN_COMMON stay
                               as they are */
    bool is_reserved_index; /* section_index is a reserved number (SHN_LORESERVE and above), not a
                               section */
    uint8_t type, binding, visibility; /* STT_*, STB_*, STV_* */
} pt_elf_symbol;

/* A symbol table with its strings; a value like pt_elf. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *entries;
    uint32_t stride, count;
    const char *strings;
    uint64_t strings_bytes;  /* up to the last terminator, inclusive: a string starts at any offset
                                below it */
    const uint8_t *extended; /* SHT_SYMTAB_SHNDX words, or NULL */
    uint32_t extended_count;
} pt_elf_symbols;

/* The version table of dynamic symbols; a value like pt_elf. All zero: the image has no
 * versions. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *of_symbol;   /* .gnu.version: 2 bytes a symbol */
    const uint8_t *definitions; /* .gnu.version_d: Verdef records */
    const char *strings;
    uint64_t of_symbol_bytes, definitions_bytes, strings_bytes;
} pt_elf_versions;

/* A build id. */
typedef struct {
    const uint8_t *bytes; /* NULL: none */
    uint32_t size_bytes;
} pt_elf_id;

/* Reads the file header and locates both header tables. Sets *ret_elf on PT_ELF_OK only. The
 * bytes must outlive *ret_elf. */
pt_elf_status pt_elf_open(const void *bytes, uint64_t size_bytes, pt_elf *ret_elf);

/* Entry i of the program headers. False, with *ret_segment unchanged, when i is past the end. */
bool pt_elf_segment_at(const pt_elf *elf, uint32_t i, pt_elf_segment *ret_segment);

/* Entry i of the section headers; false past the end. Entry 0 is the null section. */
bool pt_elf_section_at(const pt_elf *elf, uint32_t i, pt_elf_section *ret_section);
/* The first section of that name, or of that SHT_* type. False when the image has none. */
bool pt_elf_section_named(const pt_elf *elf, const char *name, pt_elf_section *ret_section);
bool pt_elf_section_typed(const pt_elf *elf, uint32_t type, pt_elf_section *ret_section);
/* The section's bytes as the file has them (compressed ones stay so: SHF_COMPRESSED). NULL and
 * size 0 for SHT_NOBITS, for an empty section, and for a section that is not wholly inside the
 * file. */
const uint8_t *pt_elf_section_bytes(const pt_elf *elf, const pt_elf_section *section,
                                    uint64_t *ret_size_bytes);

/* A relocation with addend that the loader applies (gABI, "Relocation"). */
typedef struct pt_elf_relocation {
    uint64_t addr;   /* what the loader writes to */
    uint32_t type;   /* R_<machine>_* */
    uint32_t symbol; /* entry of .dynsym; 0: none */
    int64_t addend;
} pt_elf_relocation;

/* A walk over the relocations of an image; the zero value stands before the first. */
typedef struct pt_elf_relocations {
    uint32_t section;  /* the number of the next section */
    uint32_t count;    /* of relocations so far */
    const uint8_t *at; /* within the present section; NULL: there is none */
    uint64_t left_bytes;
} pt_elf_relocations;

/* The next relocation of a 64 bit image. False after the last, and after 4,194,304 of them, since
 * sections of a hostile file may claim the same bytes. */
bool pt_elf_relocation_next(const pt_elf *elf, pt_elf_relocations *walk,
                            pt_elf_relocation *ret_relocation);

/* The symbol table of a section type, SHT_SYMTAB or SHT_DYNSYM. False when the image has no such
 * section, or when none of the table's entries lies in the file. Entry 0 is the null symbol. */
bool pt_elf_symbols_open(const pt_elf *elf, uint32_t section_type, pt_elf_symbols *ret_symbols);
/* Entry i; false past the end. */
bool pt_elf_symbol_at(const pt_elf_symbols *symbols, uint32_t i, pt_elf_symbol *ret_symbol);
/* The number of the entry of .dynsym that defines the name; 0: none does. symbols: of SHT_DYNSYM.
 * By .gnu.hash, which reads a few pages of an image of any size; without such a table all entries
 * are read. */
uint32_t pt_elf_symbol_defined(const pt_elf_symbols *symbols, const char *name,
                               pt_elf_symbol *ret_symbol);

/* The versions that the image itself defines (LSB, "Symbol Versioning"). */
void pt_elf_versions_open(const pt_elf *elf, pt_elf_versions *ret_versions);
/* The version name of entry i of .dynsym, terminated. *ret_is_hidden: another version of the
 * symbol is the default, so its name is written NAME@VERSION instead of NAME@@VERSION. NULL,
 * with *ret_is_hidden unchanged: the entry has no version, or the version of the file itself. */
const char *pt_elf_version_of(const pt_elf_versions *versions, uint32_t i, bool *ret_is_hidden);

/* The GNU build id (note type 3, owner "GNU"): from PT_NOTE segments, else from SHT_NOTE
 * sections (relocatable files and separate debug files). bytes is NULL when the image has none. */
pt_elf_id pt_elf_build_id(const pt_elf *elf);
/* The build id in the bytes of one note segment or section, for an image that is mapped rather
 * than read. align: the segment's p_align; 8 aligns notes to 8 bytes, any other value to 4, as
 * in the GNU tools. */
pt_elf_id pt_elf_build_id_in_notes(const uint8_t *notes, uint64_t size_bytes, uint64_t align,
                                   bool is_big_endian);
/* Writes the id in lower-case hex, terminated. Returns the length without the terminator, or 0
 * and an empty string when size is less than 2 * size_bytes + 1. */
size_t pt_elf_id_hex(pt_elf_id id, char *buf, size_t size);

/* .gnu_debuglink: file name (terminated) and CRC-32 of the separate debug file. False when the
 * section is absent or damaged. Source: GDB manual, "Debugging Information in Separate Files". */
bool pt_elf_debuglink(const pt_elf *elf, const char **ret_name, uint32_t *ret_crc);
/* .gnu_debugaltlink (written by dwz): file name and build id of the shared supplementary file.
 * False as above. */
bool pt_elf_debugaltlink(const pt_elf *elf, const char **ret_name, pt_elf_id *ret_id);

/* Does the image name a program interpreter (PT_INTERP), as dynamically linked programs do? */
bool pt_elf_has_interpreter(const pt_elf *elf);

/* The file offset of a virtual address as linked, by the PT_LOAD whose file bytes hold the address.
 * False when no PT_LOAD holds it. */
bool pt_elf_offset_of_addr(const pt_elf *elf, uint64_t addr, uint64_t *ret_off);

/* The load bias: run-time address minus linked address. The mapping is executable, starts at
 * address `start` and maps the file from offset `off` on. segments: some or all of the file's;
 * only executable PT_LOAD ones are compared. The loader maps whole pages, so two segments can
 * share the page that holds `off`: the later segment decides. False when no segment contains
 * `off`. */
bool pt_elf_bias(const pt_elf_segment *segments, size_t count, uint64_t start, uint64_t off,
                 uint64_t *ret_bias);

/* The linked virtual address of `pc`, an address in the mapping [start, limit) of this file from
 * offset `off` on. start, limit and off are those of /proc/PID/maps, mmap records or profiles.
 *
 * - ET_EXEC runs where it was linked: the result is pc itself, when a PT_LOAD contains it.
 * - Other files: by the PT_LOAD that contains the file offset pc - start + off. Two segments
 *   that share a page of the file map the page twice. A segment whose own bytes contain the
 *   offset comes before one that only shares the page, then an executable one before others.
 * - A mapping that covers the whole image from offset 0 (a kernel, merged or synthetic mappings)
 *   corresponds to the image's linked address range, byte for byte.
 * - start = off = 0: pc is already a linked virtual address.
 * - A debug file whose segments objcopy has emptied: start corresponds to the start of its only
 *   executable segment.
 *
 * False when pc is outside the mapping or no rule applies. */
bool pt_elf_addr_of_mapped(const pt_elf *elf, uint64_t start, uint64_t limit, uint64_t off,
                           uint64_t pc, uint64_t *ret_addr);
