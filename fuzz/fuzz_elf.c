/* fuzz_elf.c: bytes taken for an ELF image, and everything that can be asked of one. */
#include "elf/image.h"

#include <elf.h>
#include <string.h>

/* Written to, so that no read of a string is left out by the compiler. */
static volatile size_t kept;

static void ask_segments_and_sections(const pt_elf *elf)
{
    pt_elf_segment segment;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &segment); i++) {
        uint64_t off;
        kept += pt_elf_offset_of_addr(elf, segment.addr, &off);
    }

    pt_elf_section section;
    for (uint32_t i = 0; pt_elf_section_at(elf, i, &section); i++) {
        uint64_t size_bytes;
        const uint8_t *bytes = pt_elf_section_bytes(elf, &section, &size_bytes);
        kept += strlen(section.name);
        if (bytes != NULL && size_bytes > 0) kept += bytes[0] + bytes[size_bytes - 1];
    }
    kept += pt_elf_section_named(elf, ".text", &section);
}

static void ask_symbols(const pt_elf *elf, uint32_t section_type)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (!pt_elf_symbols_open(elf, section_type, &symbols)) return;
    for (uint32_t i = 0; pt_elf_symbol_at(&symbols, i, &symbol); i++)
        kept += strlen(symbol.name) + symbol.section_index;
}

static void ask_identity(const pt_elf *elf)
{
    char hex[65];
    const char *name;
    uint32_t crc;
    pt_elf_id id = pt_elf_build_id(elf);
    kept += pt_elf_id_hex(id, hex, sizeof hex);
    if (pt_elf_debuglink(elf, &name, &crc)) kept += strlen(name);
    if (pt_elf_debugaltlink(elf, &name, &id)) kept += strlen(name);
}

static void ask_addresses(const pt_elf *elf)
{
    static const uint64_t starts[] = {0, 0x1000, 0x7f0000000000, UINT64_MAX - 0x1000};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        uint64_t addr;
        const uint64_t start = starts[i];
        kept += pt_elf_addr_of_mapped(elf, start, start + 0x1000, 0, start + 0x10, &addr);
        kept += pt_elf_addr_of_mapped(elf, start, start + 0x800, 0x1000, start + 0x7ff, &addr);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_elf elf;
    if (pt_elf_open(data, size, &elf) != PT_ELF_OK) return 0;
    ask_segments_and_sections(&elf);
    ask_symbols(&elf, SHT_SYMTAB);
    ask_symbols(&elf, SHT_DYNSYM);
    ask_identity(&elf);
    ask_addresses(&elf);
    return 0;
}
