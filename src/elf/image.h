/* image.h: a bounds-checked view of an ELF image that lies in memory as the bytes of its file.
 *
 *   bytes ---- pt_elf_open ----> pt_elf (a value; owns nothing, allocates nothing)
 *                                  |- segments      pt_elf_segment_at
 *                                  |- sections      pt_elf_section_at, _named, _bytes
 *                                  |- symbols       pt_elf_symbols_open, pt_elf_symbol_at
 *                                  |- identity      pt_elf_build_id, pt_elf_debuglink
 *                                  `- addresses     file offset <-> virtual address
 *
 * 32 and 64 bit, both byte orders. Every offset, size and count of the file is checked before use,
 * with arithmetic that cannot overflow; a table that is cut short gives the entries that are there.
 * Pointers that are handed out point into the caller's bytes and live as long as those.
 *
 * Freestanding: libc headers only, no allocation, no errno, no locks: the in-process library uses
 * it. Rules are from the System V gABI (chapters "Object Files" and "Program Loading") unless said.
 */
#ifndef PT_ELF_IMAGE_H
#define PT_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    PT_ELF_OK = 0,
    PT_ELF_NOT_ELF,     /* no \x7fELF at the start */
    PT_ELF_TRUNCATED,   /* the file header itself is cut short */
    PT_ELF_UNSUPPORTED, /* a class, byte order or version that no ABI defines */
    PT_ELF_DAMAGED,     /* header entries smaller than the ABI's */
} pt_elf_status;

/* A lower-case sentence without full stop, e.g. "not an elf file". Static. */
const char *pt_elf_status_text(pt_elf_status status);

typedef struct pt_elf {
    const uint8_t *bytes;
    uint64_t size_bytes;
    bool is_64, is_big_endian;
    bool is_cut_short; /* a header table reaches past the end of the bytes; counts are what fits */
    uint8_t os_abi;
    uint16_t type, machine; /* ET_*, EM_* of <elf.h> */
    uint32_t flags;
    uint64_t entry_addr;
    uint64_t segments_off, sections_off;
    uint32_t segment_count, section_count;   /* extended numbering already followed */
    uint32_t segment_stride, section_stride; /* bytes from one header to the next */
    uint32_t section_names_index;            /* 0: no names */
} pt_elf;

typedef struct {
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t off, addr;   /* in the file; virtual */
    uint64_t file_bytes, memory_bytes;
    uint64_t align;
} pt_elf_segment;

typedef struct {
    const char *name; /* terminated; "" when it has none or it is out of bounds */
    uint32_t index;
    uint32_t type, link, info; /* type: SHT_* */
    uint64_t flags;            /* SHF_* */
    uint64_t addr, off, size_bytes, align, entry_bytes;
} pt_elf_section;

typedef struct {
    const char *name; /* terminated; "" when it has none or it is out of bounds */
    uint64_t value, size_bytes;
    uint32_t section_index; /* extended numbering followed; SHN_UNDEF, SHN_ABS, SHN_COMMON as is */
    bool is_reserved_index; /* section_index is one of SHN_LORESERVE and above, not a section */
    uint8_t type, binding, visibility; /* STT_*, STB_*, STV_* */
} pt_elf_symbol;

/* A symbol table with its strings; a value like pt_elf. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *entries;
    uint32_t stride, count;
    const char *strings;
    uint64_t
        strings_bytes; /* up to and with the last terminator: any offset below it is a string */
    const uint8_t *extended; /* SHT_SYMTAB_SHNDX words, or NULL */
    uint32_t extended_count;
} pt_elf_symbols;

/* The versions of dynamic symbols; a value like pt_elf. Zeroed: there are none. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *of_symbol;   /* .gnu.version: a half word a symbol */
    const uint8_t *definitions; /* .gnu.version_d: Verdef records */
    const char *strings;
    uint64_t of_symbol_bytes, definitions_bytes, strings_bytes;
} pt_elf_versions;

typedef struct {
    const uint8_t *bytes; /* NULL: none */
    uint32_t size_bytes;
} pt_elf_id;

/* Looks at the file header and the places of both header tables. *ret_elf is set on PT_ELF_OK. */
pt_elf_status pt_elf_open(const void *bytes, uint64_t size_bytes, pt_elf *ret_elf);

/* Entry i of the program headers. False when i is past the end; *ret_segment then untouched. */
bool pt_elf_segment_at(const pt_elf *elf, uint32_t i, pt_elf_segment *ret_segment);

/* Entry i of the section headers; false past the end. Entry 0 is the null section. */
bool pt_elf_section_at(const pt_elf *elf, uint32_t i, pt_elf_section *ret_section);
/* The first section of that name, or of that SHT_* type. */
bool pt_elf_section_named(const pt_elf *elf, const char *name, pt_elf_section *ret_section);
bool pt_elf_section_typed(const pt_elf *elf, uint32_t type, pt_elf_section *ret_section);
/* Its bytes in the file as they are (maybe compressed: SHF_COMPRESSED). NULL and size 0 for
 * SHT_NOBITS, an empty section, or one that does not lie wholly inside the file. */
const uint8_t *pt_elf_section_bytes(const pt_elf *elf, const pt_elf_section *section,
                                    uint64_t *ret_size_bytes);

/* The symbol table that is described by a section of type SHT_SYMTAB or SHT_DYNSYM. False when
 * there is none, or none of its entries lies in the file. Entry 0 is the null symbol. */
bool pt_elf_symbols_open(const pt_elf *elf, uint32_t section_type, pt_elf_symbols *ret_symbols);
/* Entry i; false past the end. */
bool pt_elf_symbol_at(const pt_elf_symbols *symbols, uint32_t i, pt_elf_symbol *ret_symbol);

/* The versions that the image itself defines (LSB, "Symbol Versioning"). */
void pt_elf_versions_open(const pt_elf *elf, pt_elf_versions *ret_versions);
/* The name of the version of entry i of .dynsym, terminated. *ret_is_hidden: another version of the
 * name is the default, so that it is NAME@VERSION instead of NAME@@VERSION. NULL: the entry has no
 * version, or that of the whole file; *ret_is_hidden then untouched. */
const char *pt_elf_version_of(const pt_elf_versions *versions, uint32_t i, bool *ret_is_hidden);

/* The GNU build id (note type 3, owner "GNU"): from PT_NOTE segments, else from SHT_NOTE sections
 * (relocatable files and separate debug files). bytes is NULL when there is none. */
pt_elf_id pt_elf_build_id(const pt_elf *elf);
/* The same from the bytes of one note segment or section, for an image that is mapped rather than
 * read: align is the segment's p_align (8 for 8, else 4 is used, as the GNU tools do). */
pt_elf_id pt_elf_build_id_in_notes(const uint8_t *notes, uint64_t size_bytes, uint64_t align,
                                   bool is_big_endian);
/* Writes lower-case hex, terminated; returns the length without the terminator, or 0 and an empty
 * string when size is under 2 * size_bytes + 1. */
size_t pt_elf_id_hex(pt_elf_id id, char *buf, size_t size);

/* .gnu_debuglink: the file name (terminated) and the CRC-32 of the separate debug file; false when
 * there is none or it is damaged. GDB manual, "Debugging Information in Separate Files". */
bool pt_elf_debuglink(const pt_elf *elf, const char **ret_name, uint32_t *ret_crc);
/* .gnu_debugaltlink (dwz): file name and build id of the shared supplementary file. */
bool pt_elf_debugaltlink(const pt_elf *elf, const char **ret_name, pt_elf_id *ret_id);

/* Between an offset in the file and a virtual address as linked, through the PT_LOAD that holds it.
 * False when no segment's file bytes do. */
bool pt_elf_addr_of_offset(const pt_elf *elf, uint64_t off, uint64_t *ret_addr);
bool pt_elf_offset_of_addr(const pt_elf *elf, uint64_t addr, uint64_t *ret_off);

/* What the loader added to addresses of code: start is where an executable mapping of the file
 * begins that shows it from off on. Of these segments, which may be all or some of the file's,
 * executable ones count. Whole pages are mapped around a segment, and the page that one begins in
 * may be the last of another: it is the later one's. */
bool pt_elf_bias(const pt_elf_segment *segments, size_t count, uint64_t start, uint64_t off,
                 uint64_t *ret_bias);

/* The virtual address as linked of `pc`, an address in the mapping [start, limit) of this file from
 * file offset off, as /proc/PID/maps, mmap records and profiles give it.
 *
 * - ET_EXEC lies where it was linked: pc itself, when a PT_LOAD holds it.
 * - Else through the PT_LOAD that holds the file offset pc - start + off. A page that two segments
 *   share in the file is mapped twice: of segments that hold the offset once rounded to pages, an
 *   exact holder is preferred, and an executable one before others.
 * - A mapping that covers the whole image from offset 0 (kernels, merged or made-up mappings) is
 * laid over the image's address range.
 * - start = off = 0: the addresses are virtual addresses already.
 * - In a debug file whose segments objcopy has emptied: from the start of its one executable
 * segment.
 *
 * False when pc is not in the mapping or no rule fits. */
bool pt_elf_addr_of_mapped(const pt_elf *elf, uint64_t start, uint64_t limit, uint64_t off,
                           uint64_t pc, uint64_t *ret_addr);

#endif
