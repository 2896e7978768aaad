/* test_elf.c: the ELF view against images written here from tables (every class and byte order),
 * against damaged copies of them, and against what readelf says of this very program. */
#include "base_check.h"

#include "elf/image.h"
#include "elf_maker.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint8_t build_id[20] = {0xc0, 0xff, 0xee, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
                                     0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11};
#define BUILD_ID_HEX "c0ffee0102030405060708090a0b0c0d0e0f1011"

enum { TEXT = 1, NOTE, SYMTAB, STRTAB, DEBUGLINK, ALTLINK, BSS };

/* A shared object: .text at 0x2000, a build id, two symbols, both debug links, a .bss. */
static made_bytes whole_image(bool is_64, bool big)
{
    static const uint8_t text[64] = {0x90};
    static const made_symbol symbols[] = {
        {"first", 0x2000, 16, TEXT, STB_GLOBAL, STT_FUNC},
        {"second", 0x2010, 0, TEXT, STB_LOCAL, STT_NOTYPE},
    };
    made_bytes note = {0}, entries, strings, link = {0}, alt = {0};
    make_note(&note, big, "GNU", NT_GNU_ABI_TAG, "\0\0\0\0\3\0\0\0\2\0\0\0\0\0\0\0", 16, 4);
    make_note(&note, big, "GNU", NT_GNU_BUILD_ID, build_id, sizeof build_id, 4);
    make_symbols(is_64, big, symbols, 2, &entries, &strings);
    made_put(&link, "lib.debug", 10);
    made_align(&link, 4);
    made_put_int(&link, 0xcbf43926, 4, big);
    made_put(&alt, "common.dwz", 11);
    made_put(&alt, build_id, 4);
    const made_section sections[] = {
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, text, sizeof text, 0, 0, 16, 0},
        {".note.x", SHT_NOTE, SHF_ALLOC, 0x1000, note.bytes, note.size_bytes, 0, 0, 4, 0},
        {".symtab", SHT_SYMTAB, 0, 0, entries.bytes, entries.size_bytes, STRTAB, 1, 8,
         is_64 ? 24 : 16},
        {".strtab", SHT_STRTAB, 0, 0, strings.bytes, strings.size_bytes, 0, 0, 1, 0},
        {".gnu_debuglink", SHT_PROGBITS, 0, 0, link.bytes, link.size_bytes, 0, 0, 4, 0},
        {".gnu_debugaltlink", SHT_PROGBITS, 0, 0, alt.bytes, alt.size_bytes, 0, 0, 1, 0},
        {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x4000, NULL, 0x1000, 0, 0, 16, 0},
    };
    const made_segment segments[] = {
        {.type = PT_LOAD,
         .flags = PF_R | PF_X,
         .addr = 0x2000,
         .align = 0x1000,
         .of_section = TEXT},
        {.type = PT_NOTE, .flags = PF_R, .addr = 0x1000, .align = 4, .of_section = NOTE},
    };
    const made_elf elf = {is_64,    big, ET_DYN,   (uint16_t)(is_64 ? EM_PPC64 : EM_MIPS),
                          segments, 2,   sections, 7};
    made_bytes file = make_elf(&elf);
    free(note.bytes);
    free(entries.bytes);
    free(strings.bytes);
    free(link.bytes);
    free(alt.bytes);
    return file;
}

/* Puts the definition of `version`; "" in the base version is the file's own name. */
static void put_definition(made_bytes *b, bool big, uint16_t flags, uint16_t version, uint32_t name,
                           bool is_last)
{
    const uint16_t halves[] = {1, flags, version, 1};
    for (size_t i = 0; i < 4; i++)
        made_put_int(b, halves[i], 2, big);
    made_put_int(b, 0, 4, big);                /* vd_hash */
    made_put_int(b, 20, 4, big);               /* vd_aux */
    made_put_int(b, is_last ? 0 : 28, 4, big); /* vd_next */
    made_put_int(b, name, 4, big);             /* vda_name */
    made_put_int(b, 0, 4, big);                /* vda_next */
}

/* Symbols 1 to 5: of the file itself; of NEW; of OLD, hidden; of a version that nothing defines; of
 * one whose name lies behind the strings. */
static made_bytes versioned_image(bool is_64, bool big)
{
    static const char strings[] = "\0lib.so\0NEW\0OLD";
    static const uint16_t of_symbol[] = {0, 1, 2, 0x8003, 9, 4};
    made_bytes versions = {0}, definitions = {0};
    for (size_t i = 0; i < sizeof of_symbol / sizeof *of_symbol; i++)
        made_put_int(&versions, of_symbol[i], 2, big);
    put_definition(&definitions, big, 1, 1, 1, false);
    put_definition(&definitions, big, 0, 2, 8, false);
    put_definition(&definitions, big, 0, 3, 12, false);
    put_definition(&definitions, big, 0, 4, 1000, true);
    const made_section sections[] = {
        {".dynstr", SHT_STRTAB, SHF_ALLOC, 0, strings, sizeof strings, 0, 0, 1, 0},
        {".gnu.version", SHT_GNU_versym, SHF_ALLOC, 0, versions.bytes, versions.size_bytes, 0, 0, 2,
         2},
        {".gnu.version_d", SHT_GNU_verdef, SHF_ALLOC, 0, definitions.bytes, definitions.size_bytes,
         1, 4, 4, 0},
    };
    const made_elf elf = {is_64, big, ET_DYN, EM_MIPS, NULL, 0, sections, 3};
    made_bytes file = make_elf(&elf);
    free(versions.bytes);
    free(definitions.bytes);
    return file;
}

static void a_symbol_has_the_version_that_the_image_defines(void **state)
{
    for (int kind = 0; kind < 4; kind++) {
        made_bytes file = versioned_image(kind & 1, kind & 2);
        pt_elf elf;
        pt_elf_versions versions;
        bool is_hidden = true;
        assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_OK);
        pt_elf_versions_open(&elf, &versions);
        assert_null(pt_elf_version_of(&versions, 0, &is_hidden));
        assert_null(pt_elf_version_of(&versions, 1, &is_hidden));
        assert_string_equal(pt_elf_version_of(&versions, 2, &is_hidden), "NEW");
        assert_false(is_hidden);
        assert_string_equal(pt_elf_version_of(&versions, 3, &is_hidden), "OLD");
        assert_true(is_hidden);
        for (uint32_t i = 4; i < 7; i++)
            assert_null(pt_elf_version_of(&versions, i, &is_hidden));
        free(file.bytes);
    }
}

static void check_whole_image(const pt_elf *elf)
{
    pt_elf_section section;
    assert_int_equal(elf->type, ET_DYN);
    assert_int_equal(elf->segment_count, 2);
    assert_int_equal(elf->section_count, 9);
    assert_false(elf->is_cut_short);
    assert_true(pt_elf_section_named(elf, ".bss", &section));
    assert_int_equal(section.index, BSS);
    assert_int_equal(section.size_bytes, 0x1000);
    uint64_t size_bytes = 1;
    assert_null(pt_elf_section_bytes(elf, &section, &size_bytes));
    assert_int_equal(size_bytes, 0);
    assert_false(pt_elf_section_named(elf, ".tex", &section));
    assert_false(pt_elf_section_named(elf, ".text2", &section));

    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    assert_true(pt_elf_symbols_open(elf, SHT_SYMTAB, &symbols));
    assert_int_equal(symbols.count, 3);
    assert_true(pt_elf_symbol_at(&symbols, 1, &symbol));
    assert_string_equal(symbol.name, "first");
    assert_int_equal(symbol.value, 0x2000);
    assert_int_equal(symbol.size_bytes, 16);
    assert_int_equal(symbol.section_index, TEXT);
    assert_int_equal(symbol.type, STT_FUNC);
    assert_int_equal(symbol.binding, STB_GLOBAL);
    assert_true(pt_elf_symbol_at(&symbols, 2, &symbol));
    assert_string_equal(symbol.name, "second");
    assert_false(pt_elf_symbol_at(&symbols, 3, &symbol));
    assert_false(pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols));

    char hex[64];
    assert_int_equal(pt_elf_id_hex(pt_elf_build_id(elf), hex, sizeof hex), 40);
    assert_string_equal(hex, BUILD_ID_HEX);
    const char *name;
    uint32_t crc;
    assert_true(pt_elf_debuglink(elf, &name, &crc));
    assert_string_equal(name, "lib.debug");
    assert_int_equal(crc, 0xcbf43926);
    pt_elf_id alt;
    assert_true(pt_elf_debugaltlink(elf, &name, &alt));
    assert_string_equal(name, "common.dwz");
    assert_int_equal(alt.size_bytes, 4);
    assert_memory_equal(alt.bytes, build_id, 4);
}

static void both_classes_in_both_byte_orders_read_the_same(void **state)
{
    for (int form = 0; form < 4; form++) {
        made_bytes file = whole_image(form & 1, form & 2);
        pt_elf elf;
        assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_OK);
        assert_int_equal(elf.is_64, (form & 1) != 0);
        assert_int_equal(elf.is_big_endian, (form & 2) != 0);
        check_whole_image(&elf);
        free(file.bytes);
    }
}

static void what_is_no_elf_is_told_apart_from_what_is_cut_short(void **state)
{
    pt_elf elf;
    assert_int_equal(pt_elf_open("", 0, &elf), PT_ELF_NOT_ELF);
    assert_int_equal(pt_elf_open("\x7f"
                                 "EL",
                                 3, &elf),
                     PT_ELF_NOT_ELF);
    assert_int_equal(pt_elf_open("#!/bin/sh\n", 10, &elf), PT_ELF_NOT_ELF);
    assert_int_equal(pt_elf_open("\x7f"
                                 "ELF\2\1\1",
                                 7, &elf),
                     PT_ELF_TRUNCATED);
    made_bytes file = whole_image(true, false);
    assert_int_equal(pt_elf_open(file.bytes, 63, &elf), PT_ELF_TRUNCATED);
    assert_int_equal(pt_elf_open(file.bytes, 64, &elf), PT_ELF_OK);
    assert_true(elf.is_cut_short);
    assert_int_equal(elf.segment_count, 0);
    file.bytes[EI_CLASS] = 3;
    assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_UNSUPPORTED);
    free(file.bytes);
}

/* Puts v where a 64 bit little-endian image has the field. */
static void poke(made_bytes *file, size_t off, uint64_t v, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        file->bytes[off + i] = (uint8_t)(v >> (8 * i));
}

static void counts_too_large_for_the_header_are_in_the_null_section(void **state)
{
    made_bytes file = whole_image(true, false);
    pt_elf elf;
    assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_OK);
    const size_t null_section = elf.sections_off;
    poke(&file, offsetof(Elf64_Ehdr, e_shnum), 0, 2);
    poke(&file, null_section + offsetof(Elf64_Shdr, sh_size), 9, 8);
    poke(&file, offsetof(Elf64_Ehdr, e_shstrndx), SHN_XINDEX, 2);
    poke(&file, null_section + offsetof(Elf64_Shdr, sh_link), 8, 4);
    poke(&file, offsetof(Elf64_Ehdr, e_phnum), PN_XNUM, 2);
    poke(&file, null_section + offsetof(Elf64_Shdr, sh_info), 2, 4);
    assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_OK);
    check_whole_image(&elf);
    /* A hostile count gives what the file has room for, and says so. */
    poke(&file, null_section + offsetof(Elf64_Shdr, sh_size), UINT64_MAX, 8);
    assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_OK);
    assert_int_equal(elf.section_count, 9);
    assert_true(elf.is_cut_short);
    free(file.bytes);
}

static volatile uint64_t sink; /* keeps the reads from being optimised away */

/* Asks everything of an image; the sanitizers judge. */
static void ask_everything(const uint8_t *bytes, size_t size_bytes)
{
    pt_elf elf;
    if (pt_elf_open(bytes, size_bytes, &elf) != PT_ELF_OK) return;
    uint64_t sum = 0;
    pt_elf_segment segment;
    for (uint32_t i = 0; pt_elf_segment_at(&elf, i, &segment); i++)
        sum += segment.addr;
    pt_elf_section section;
    for (uint32_t i = 0; pt_elf_section_at(&elf, i, &section); i++) {
        uint64_t n;
        const uint8_t *data = pt_elf_section_bytes(&elf, &section, &n);
        sum += strlen(section.name) + (data != NULL ? data[0] + data[n - 1] : 0);
    }
    for (uint32_t type = SHT_SYMTAB; type <= SHT_DYNSYM; type += SHT_DYNSYM - SHT_SYMTAB) {
        pt_elf_symbols symbols;
        pt_elf_symbol symbol;
        if (pt_elf_symbols_open(&elf, type, &symbols))
            for (uint32_t i = 0; pt_elf_symbol_at(&symbols, i, &symbol); i++)
                sum += strlen(symbol.name) + symbol.value;
        if (pt_elf_symbols_open(&elf, type, &symbols))
            sum += pt_elf_symbol_defined(&symbols, "first", &symbol);
    }
    const pt_elf_id id = pt_elf_build_id(&elf);
    for (uint32_t i = 0; i < id.size_bytes; i++)
        sum += id.bytes[i];
    const char *name;
    uint32_t crc;
    pt_elf_id alt = {NULL, 0};
    if (pt_elf_debuglink(&elf, &name, &crc)) sum += strlen(name) + crc;
    if (pt_elf_debugaltlink(&elf, &name, &alt) && alt.size_bytes > 0)
        sum += strlen(name) + alt.bytes[alt.size_bytes - 1];
    uint64_t v;
    if (pt_elf_addr_of_mapped(&elf, 0x7f0000000000, 0x7f0000010000, 0x40, 0x7f0000000010, &v))
        sum += v;
    sink = sum;
}

static void every_truncation_and_every_flipped_byte_is_survived(void **state)
{
    for (int form = 0; form < 4; form++) {
        made_bytes file = whole_image(form & 1, form & 2);
        for (size_t n = 0; n < file.size_bytes; n++) {
            uint8_t *copy = malloc(n > 0 ? n : 1); /* exact size: asan sees one byte too many */
            memcpy(copy, file.bytes, n);
            ask_everything(copy, n);
            free(copy);
        }
        for (size_t i = 0; i < file.size_bytes; i++) {
            const uint8_t was = file.bytes[i];
            const uint8_t flips[] = {0xff, 0x01, 0x80, was};
            for (size_t f = 0; f < sizeof flips; f++) {
                file.bytes[i] = was ^ flips[f];
                ask_everything(file.bytes, file.size_bytes);
            }
            file.bytes[i] = was;
        }
        free(file.bytes);
    }
}

static void notes_padded_to_eight_bytes_are_read_as_such(void **state)
{
    /* As ld lays out .note.gnu.property: with a description of 4 bytes the paddings differ. */
    made_bytes notes = {0};
    make_note(&notes, false, "GNU", NT_GNU_PROPERTY_TYPE_0, "\1\2\3\4", 4, 8);
    make_note(&notes, false, "GNU", NT_GNU_BUILD_ID, build_id, sizeof build_id, 8);
    char hex[64];
    pt_elf_id id = pt_elf_build_id_in_notes(notes.bytes, notes.size_bytes, 8, false);
    assert_int_equal(pt_elf_id_hex(id, hex, sizeof hex), 40);
    assert_string_equal(hex, BUILD_ID_HEX);
    id = pt_elf_build_id_in_notes(notes.bytes, notes.size_bytes, 4, false);
    assert_null(id.bytes);
    free(notes.bytes);
}

static void a_note_whose_size_passes_its_section_ends_the_search(void **state)
{
    made_bytes notes = {0};
    make_note(&notes, false, "GNU", NT_GNU_BUILD_ID, build_id, sizeof build_id, 4);
    notes.bytes[4] = 21; /* description of 21 bytes, 20 are left */
    assert_null(pt_elf_build_id_in_notes(notes.bytes, notes.size_bytes, 4, false).bytes);
    memset(notes.bytes, 0xff, 8); /* two sizes of 4 GiB */
    assert_null(pt_elf_build_id_in_notes(notes.bytes, notes.size_bytes, 4, false).bytes);
    free(notes.bytes);
}

static void an_id_longer_than_the_buffer_gives_an_empty_string(void **state)
{
    char hex[41] = "x";
    assert_int_equal(pt_elf_id_hex((pt_elf_id){build_id, 20}, hex, 40), 0);
    assert_string_equal(hex, "");
    assert_int_equal(pt_elf_id_hex((pt_elf_id){build_id, 20}, hex, 41), 40);
    assert_int_equal(pt_elf_id_hex((pt_elf_id){NULL, 0}, hex, 41), 0);
    assert_string_equal(hex, "");
}

/* The program headers that ld 2.40 gives a small PIE, from `readelf -lW`: read-only at 0, text at
 * offset 0x1000, data at offset 0x2de8 and address 0x3de8 (RELRO keeps the page apart). */
static const made_segment pie_segments[] = {
    {.type = PT_LOAD, .flags = PF_R, .off = 0, .addr = 0, .file_bytes = 0x670, .align = 0x1000},
    {.type = PT_LOAD,
     .flags = PF_R | PF_X,
     .off = 0x1000,
     .addr = 0x1000,
     .file_bytes = 0x1d1,
     .align = 0x1000},
    {.type = PT_LOAD,
     .flags = PF_R | PF_W,
     .off = 0x2de8,
     .addr = 0x3de8,
     .file_bytes = 0x248,
     .memory_bytes = 0x250,
     .align = 0x1000},
};
/* What lld makes: the next segment begins on the file page where the last one ends, one page up. */
static const made_segment lld_segments[] = {
    {.type = PT_LOAD,
     .flags = PF_R,
     .off = 0,
     .addr = 0x200000,
     .file_bytes = 0x5e4,
     .align = 0x1000},
    {.type = PT_LOAD,
     .flags = PF_R | PF_X,
     .off = 0x5f0,
     .addr = 0x2015f0,
     .file_bytes = 0x1a0,
     .align = 0x1000},
};

static pt_elf open_segments(made_bytes *file, uint16_t type, const made_segment *segments,
                            uint32_t count)
{
    const made_elf made = {true, false, type, EM_X86_64, segments, count, NULL, 0};
    *file = make_elf(&made);
    pt_elf elf;
    assert_int_equal(pt_elf_open(file->bytes, file->size_bytes, &elf), PT_ELF_OK);
    return elf;
}

static void a_file_offset_comes_from_the_segment_that_holds_the_address(void **state)
{
    made_bytes file;
    const pt_elf elf = open_segments(&file, ET_DYN, pie_segments, 3);
    uint64_t v = 0;
    assert_true(pt_elf_offset_of_addr(&elf, 0x3df0, &v));
    assert_int_equal(v, 0x2df0);
    v = 7;
    assert_false(pt_elf_offset_of_addr(&elf, 0x4030, &v)); /* .bss is in no file */
    assert_int_equal(v, 7);
    free(file.bytes);
}

static void a_mapped_address_is_found_again_in_the_image(void **state)
{
    made_bytes file;
    uint64_t v = 0;
    pt_elf elf = open_segments(&file, ET_DYN, pie_segments, 3);
    const uint64_t start = 0x555555555000;
    assert_true(pt_elf_addr_of_mapped(&elf, start, start + 0x1000, 0x1000, start + 0x139, &v));
    assert_int_equal(v, 0x1139);
    assert_false(pt_elf_addr_of_mapped(&elf, start, start + 0x1000, 0x1000, start + 0x1000, &v));
    assert_false(pt_elf_addr_of_mapped(&elf, start, start + 0x1000, 0x1000, start - 1, &v));
    /* An offset that no page of a segment has. */
    assert_false(pt_elf_addr_of_mapped(&elf, start, start + 0x1000, 0x9000, start, &v));
    /* An offset that wraps. */
    assert_false(pt_elf_addr_of_mapped(&elf, start, 0, UINT64_MAX, start + 5, &v));
    free(file.bytes);

    /* The page at file offset 0 is mapped twice; the sample is in the executable copy. */
    elf = open_segments(&file, ET_DYN, lld_segments, 2);
    assert_true(pt_elf_addr_of_mapped(&elf, start, start + 0x1000, 0, start + 0x600, &v));
    assert_int_equal(v, 0x201600);
    free(file.bytes);
}

static void a_program_linked_at_fixed_addresses_keeps_them(void **state)
{
    const made_segment fixed[] = {{.type = PT_LOAD,
                                   .flags = PF_R | PF_X,
                                   .off = 0x1000,
                                   .addr = 0x401000,
                                   .file_bytes = 0x200,
                                   .align = 0x1000}};
    made_bytes file;
    uint64_t v = 0;
    const pt_elf elf = open_segments(&file, ET_EXEC, fixed, 1);
    assert_true(pt_elf_addr_of_mapped(&elf, 0x401000, 0x402000, 0x1000, 0x401136, &v));
    assert_int_equal(v, 0x401136);
    /* A mapping whose file offset was not recorded. */
    assert_true(pt_elf_addr_of_mapped(&elf, 0x400000, 0x402000, 0, 0x401136, &v));
    assert_int_equal(v, 0x401136);
    free(file.bytes);
}

static void a_mapping_of_the_whole_image_is_laid_over_its_addresses(void **state)
{
    made_bytes file;
    uint64_t v = 0;
    const pt_elf elf = open_segments(&file, ET_DYN, pie_segments, 3);
    assert_true(pt_elf_addr_of_mapped(&elf, 0x10000, 0x20000, 0, 0x13df0, &v));
    assert_int_equal(v, 0x3df0);
    /* A made-up mapping from address 0: addresses are those of the image already. */
    assert_true(pt_elf_addr_of_mapped(&elf, 0, UINT64_MAX, 0, 0x1139, &v));
    assert_int_equal(v, 0x1139);
    free(file.bytes);
}

/* The program headers that ld.lld gives a program of 25 functions, and one with more read-only data
 * (readelf -l); what the kernel and ld.so map are whole pages. */
static void code_that_shares_a_page_of_the_file_is_the_later_segments(void **state)
{
    static const pt_elf_segment small[] = {
        {.type = PT_LOAD, .flags = PF_R, .off = 0, .addr = 0, .file_bytes = 0x5fc},
        {.type = PT_LOAD, .flags = PF_R | PF_X, .off = 0x600, .addr = 0x1600, .file_bytes = 0x180},
        {.type = PT_LOAD, .flags = PF_R | PF_W, .off = 0x780, .addr = 0x2780, .file_bytes = 0x1d8},
    };
    static const pt_elf_segment large[] = {
        {.type = PT_LOAD, .flags = PF_R, .off = 0, .addr = 0, .file_bytes = 0x136bc},
        {.type = PT_LOAD,
         .flags = PF_R | PF_X,
         .off = 0x136c0,
         .addr = 0x146c0,
         .file_bytes = 0x3e810},
        {.type = PT_LOAD,
         .flags = PF_R | PF_X,
         .off = 0x51ed0,
         .addr = 0x53ed0,
         .file_bytes = 0x28a0},
        {.type = PT_NOTE, .flags = PF_R | PF_X, .off = 0x51ed0, .addr = 0, .file_bytes = 0x28a0},
    };
    const uint64_t base = 0x555555554000;
    const struct {
        const pt_elf_segment *segments;
        size_t count;
        uint64_t start, off;
        bool is_found;
    } rows[] = {
        {small, 3, base + 0x1000, 0, true},        {large, 4, base + 0x14000, 0x13000, true},
        {large, 4, base + 0x15000, 0x14000, true}, {large, 4, base + 0x53000, 0x51000, true},
        {large, 4, base + 0x1000, 0x1000, false},  {large, 4, base + 0x60000, 0x60000, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bias = 0;
        assert_int_equal(
            pt_elf_bias(rows[i].segments, rows[i].count, rows[i].start, rows[i].off, &bias),
            rows[i].is_found);
        assert_int_equal(bias, rows[i].is_found ? base : 0);
    }
}

static void readelf_names_the_same_build_id_for_this_program(void **state)
{
    FILE *f = popen("readelf -nW /proc/$PPID/exe 2>/dev/null | sed -n 's/.*Build ID: //p'", "r");
    assert_non_null(f);
    char told[256] = "";
    const bool has_one = fgets(told, sizeof told, f) != NULL;
    pclose(f);
    if (!has_one) skip(); /* no readelf, or linked without a build id */
    told[strcspn(told, "\n")] = '\0';
    FILE *self = fopen("/proc/self/exe", "rb");
    assert_non_null(self);
    fseek(self, 0, SEEK_END);
    const size_t size = (size_t)ftell(self);
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(self), 0);
    assert_true(bytes != MAP_FAILED);
    pt_elf elf;
    char hex[256];
    assert_int_equal(pt_elf_open(bytes, size, &elf), PT_ELF_OK);
    assert_true(pt_elf_id_hex(pt_elf_build_id(&elf), hex, sizeof hex) > 0);
    assert_string_equal(hex, told);
    munmap(bytes, size);
    fclose(self);
}

/* The C library that this program runs with, in memory that is its own. */
static made_bytes libc_file(void)
{
    Dl_info info;
    made_bytes file = {0};
    assert_true(dladdr((void *)(uintptr_t)printf, &info) != 0);
    FILE *const f = fopen(info.dli_fname, "rb");
    if (f == NULL) skip(); /* a static program */
    fseek(f, 0, SEEK_END);
    file.size_bytes = (size_t)ftell(f);
    rewind(f);
    file.bytes = malloc(file.size_bytes);
    assert_int_equal(fread(file.bytes, 1, file.size_bytes, f), file.size_bytes);
    fclose(f);
    return file;
}

static void each_defined_symbol_of_libc_is_found_by_its_hash(void **state)
{
    made_bytes file = libc_file();
    pt_elf elf;
    pt_elf_section hash;
    pt_elf_symbols symbols;
    pt_elf_symbol symbol, found;
    unsigned defined = 0;
    assert_int_equal(pt_elf_open(file.bytes, file.size_bytes, &elf), PT_ELF_OK);
    assert_true(pt_elf_symbols_open(&elf, SHT_DYNSYM, &symbols));
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        if (symbol.section_index == SHN_UNDEF || symbol.name[0] == '\0') continue;
        const uint32_t number = pt_elf_symbol_defined(&symbols, symbol.name, &found);
        assert_true(number != 0 && number <= i); /* a name may have several versions */
        assert_string_equal(found.name, symbol.name);
        assert_int_not_equal(found.section_index, SHN_UNDEF);
        defined++;
    }
    assert_true(defined > 1000);
    assert_int_equal(pt_elf_symbol_defined(&symbols, "no_such_symbol", &found), 0);
    /* Whatever the table says, only bytes of the file are read, and the search ends. */
    assert_true(pt_elf_section_typed(&elf, SHT_GNU_HASH, &hash));
    for (uint64_t i = 0; i < 16 + 64; i++) {
        uint8_t *const at = file.bytes + hash.off + (i < 16 ? i : i * 97 % hash.size_bytes);
        const uint8_t was = *at;
        *at = (uint8_t)~was;
        pt_elf_symbol_defined(&symbols, "printf", &found);
        pt_elf_symbol_defined(&symbols, "malloc", &found);
        *at = was;
    }
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_classes_in_both_byte_orders_read_the_same),
        cmocka_unit_test(what_is_no_elf_is_told_apart_from_what_is_cut_short),
        cmocka_unit_test(counts_too_large_for_the_header_are_in_the_null_section),
        cmocka_unit_test(every_truncation_and_every_flipped_byte_is_survived),
        cmocka_unit_test(notes_padded_to_eight_bytes_are_read_as_such),
        cmocka_unit_test(a_note_whose_size_passes_its_section_ends_the_search),
        cmocka_unit_test(an_id_longer_than_the_buffer_gives_an_empty_string),
        cmocka_unit_test(a_file_offset_comes_from_the_segment_that_holds_the_address),
        cmocka_unit_test(a_mapped_address_is_found_again_in_the_image),
        cmocka_unit_test(a_program_linked_at_fixed_addresses_keeps_them),
        cmocka_unit_test(a_mapping_of_the_whole_image_is_laid_over_its_addresses),
        cmocka_unit_test(code_that_shares_a_page_of_the_file_is_the_later_segments),
        cmocka_unit_test(a_symbol_has_the_version_that_the_image_defines),
        cmocka_unit_test(each_defined_symbol_of_libc_is_found_by_its_hash),
        cmocka_unit_test(readelf_names_the_same_build_id_for_this_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
