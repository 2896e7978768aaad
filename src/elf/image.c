/* image.c: see image.h. Each offset is checked by `in_bounds`, or against the size of the table
 * that it belongs to, before `read_*` reads there. */
#include "elf/image.h"

#include <elf.h>
#include <string.h>

#include "elf/gnu_hash.h"

/* The offset of a field in the 32 or the 64 bit form of a structure. */
#define OFF(elf, name32, name64, field)                                                            \
    ((elf)->is_64 ? offsetof(name64, field) : offsetof(name32, field))

static bool in_bounds(uint64_t off, uint64_t size_bytes, uint64_t total_bytes)
{
    return off <= total_bytes && size_bytes <= total_bytes - off;
}

static uint16_t read_u16(const uint8_t *p, bool is_big_endian)
{
    return is_big_endian ? (uint16_t)((p[0] << 8) | p[1]) : (uint16_t)((p[1] << 8) | p[0]);
}

static uint32_t read_u32(const uint8_t *p, bool is_big_endian)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    const bool swap = is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return swap ? __builtin_bswap32(v) : v;
}

static uint64_t read_u64(const uint8_t *p, bool is_big_endian)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    const bool swap = is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return swap ? __builtin_bswap64(v) : v;
}

/* An address-sized field: 4 bytes in the 32 bit form, 8 in the 64 bit form. */
static uint64_t read_word(const pt_elf *elf, const uint8_t *p)
{
    return elf->is_64 ? read_u64(p, elf->is_big_endian) : read_u32(p, elf->is_big_endian);
}

#define HALF(elf, p, n32, n64, field)                                                              \
    read_u16((p) + OFF(elf, n32, n64, field), (elf)->is_big_endian)
#define LONG(elf, p, n32, n64, field)                                                              \
    read_u32((p) + OFF(elf, n32, n64, field), (elf)->is_big_endian)
#define WORD(elf, p, n32, n64, field) read_word(elf, (p) + OFF(elf, n32, n64, field))

const char *pt_elf_status_text(pt_elf_status status)
{
    switch (status) {
    case PT_ELF_OK: return "fine";
    case PT_ELF_NOT_ELF: return "not an elf file";
    case PT_ELF_TRUNCATED: return "elf header is cut short";
    case PT_ELF_UNSUPPORTED: return "elf class, byte order or version is unknown";
    case PT_ELF_DAMAGED: return "elf header gives impossible entry sizes";
    }
    return "unknown elf status";
}

/* The number of entries, of `count`, that lie inside the file. Sets is_cut_short if that is fewer.
 */
static uint32_t entries_that_fit(pt_elf *elf, uint64_t off, uint64_t count, uint32_t stride)
{
    if (off == 0 || count == 0 || stride == 0) return 0;
    const uint64_t room = off < elf->size_bytes ? (elf->size_bytes - off) / stride : 0;
    if (count > room) {
        elf->is_cut_short = true;
        count = room;
    }
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* Counts that exceed their 16 bit fields are in the null section's header. */
static void follow_extended_numbering(pt_elf *elf, uint64_t *section_count, uint64_t *segment_count)
{
    const uint32_t need = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (elf->sections_off == 0 || !in_bounds(elf->sections_off, need, elf->size_bytes)) return;
    const uint8_t *null_section = elf->bytes + elf->sections_off;
    if (*section_count == 0)
        *section_count = WORD(elf, null_section, Elf32_Shdr, Elf64_Shdr, sh_size);
    if (elf->section_names_index == SHN_XINDEX)
        elf->section_names_index = LONG(elf, null_section, Elf32_Shdr, Elf64_Shdr, sh_link);
    if (*segment_count == PN_XNUM) {
        const uint32_t real = LONG(elf, null_section, Elf32_Shdr, Elf64_Shdr, sh_info);
        *segment_count = real != 0 ? real : PN_XNUM;
    }
}

static pt_elf_status read_file_header(pt_elf *elf)
{
    const uint8_t *h = elf->bytes;
    elf->type = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_type);
    elf->machine = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_machine);
    elf->flags = LONG(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_flags);
    elf->entry_addr = WORD(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_entry);
    elf->segments_off = WORD(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_phoff);
    elf->sections_off = WORD(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_shoff);
    elf->segment_stride = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_phentsize);
    elf->section_stride = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_shentsize);
    elf->section_names_index = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_shstrndx);
    uint64_t segment_count = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_phnum);
    uint64_t section_count = HALF(elf, h, Elf32_Ehdr, Elf64_Ehdr, e_shnum);

    const uint32_t segment_bytes = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    const uint32_t section_bytes = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (elf->sections_off != 0) {
        if (elf->section_stride < section_bytes) return PT_ELF_DAMAGED;
        follow_extended_numbering(elf, &section_count, &segment_count);
    }
    if (elf->segments_off != 0 && segment_count != 0 && elf->segment_stride < segment_bytes)
        return PT_ELF_DAMAGED;
    elf->segment_count =
        entries_that_fit(elf, elf->segments_off, segment_count, elf->segment_stride);
    elf->section_count =
        entries_that_fit(elf, elf->sections_off, section_count, elf->section_stride);
    if (elf->section_names_index >= elf->section_count) elf->section_names_index = 0;
    return PT_ELF_OK;
}

pt_elf_status pt_elf_open(const void *bytes, uint64_t size_bytes, pt_elf *ret_elf)
{
    pt_elf elf = {.bytes = bytes, .size_bytes = size_bytes};
    const uint8_t *ident = bytes;
    if (size_bytes < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0) return PT_ELF_NOT_ELF;
    if (size_bytes < EI_NIDENT) return PT_ELF_TRUNCATED;
    if ((ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
        (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB) ||
        ident[EI_VERSION] != EV_CURRENT)
        return PT_ELF_UNSUPPORTED;
    elf.is_64 = ident[EI_CLASS] == ELFCLASS64;
    elf.is_big_endian = ident[EI_DATA] == ELFDATA2MSB;
    elf.os_abi = ident[EI_OSABI];
    if (size_bytes < (elf.is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr))) return PT_ELF_TRUNCATED;
    const pt_elf_status status = read_file_header(&elf);
    if (status == PT_ELF_OK) *ret_elf = elf;
    return status;
}

bool pt_elf_segment_at(const pt_elf *elf, uint32_t i, pt_elf_segment *ret_segment)
{
    if (i >= elf->segment_count) return false;
    const uint8_t *h = elf->bytes + elf->segments_off + (uint64_t)i * elf->segment_stride;
    *ret_segment = (pt_elf_segment){
        .type = LONG(elf, h, Elf32_Phdr, Elf64_Phdr, p_type),
        .flags = LONG(elf, h, Elf32_Phdr, Elf64_Phdr, p_flags),
        .off = WORD(elf, h, Elf32_Phdr, Elf64_Phdr, p_offset),
        .addr = WORD(elf, h, Elf32_Phdr, Elf64_Phdr, p_vaddr),
        .file_bytes = WORD(elf, h, Elf32_Phdr, Elf64_Phdr, p_filesz),
        .memory_bytes = WORD(elf, h, Elf32_Phdr, Elf64_Phdr, p_memsz),
        .align = WORD(elf, h, Elf32_Phdr, Elf64_Phdr, p_align),
    };
    return true;
}

/* ---- sections ---- */

/* Reads all fields except the name, of which it returns the offset in the string table. */
static void read_section(const pt_elf *elf, uint32_t i, pt_elf_section *ret_section,
                         uint32_t *ret_name_off)
{
    const uint8_t *h = elf->bytes + elf->sections_off + (uint64_t)i * elf->section_stride;
    *ret_name_off = LONG(elf, h, Elf32_Shdr, Elf64_Shdr, sh_name);
    *ret_section = (pt_elf_section){
        .name = "",
        .index = i,
        .type = LONG(elf, h, Elf32_Shdr, Elf64_Shdr, sh_type),
        .link = LONG(elf, h, Elf32_Shdr, Elf64_Shdr, sh_link),
        .info = LONG(elf, h, Elf32_Shdr, Elf64_Shdr, sh_info),
        .flags = WORD(elf, h, Elf32_Shdr, Elf64_Shdr, sh_flags),
        .addr = WORD(elf, h, Elf32_Shdr, Elf64_Shdr, sh_addr),
        .off = WORD(elf, h, Elf32_Shdr, Elf64_Shdr, sh_offset),
        .size_bytes = WORD(elf, h, Elf32_Shdr, Elf64_Shdr, sh_size),
        .align = WORD(elf, h, Elf32_Shdr, Elf64_Shdr, sh_addralign),
        .entry_bytes = WORD(elf, h, Elf32_Shdr, Elf64_Shdr, sh_entsize),
    };
}

/* The string at `off` of a string table; "" when the table ends before the string does. */
static const char *string_at(const uint8_t *strings, uint64_t strings_bytes, uint64_t off)
{
    if (strings == NULL || off >= strings_bytes) return "";
    const char *text = (const char *)strings + off;
    return memchr(text, '\0', strings_bytes - off) != NULL ? text : "";
}

static const uint8_t *section_names(const pt_elf *elf, uint64_t *ret_size_bytes)
{
    *ret_size_bytes = 0;
    if (elf->section_names_index == 0) return NULL;
    pt_elf_section names;
    uint32_t ignored;
    read_section(elf, elf->section_names_index, &names, &ignored);
    return pt_elf_section_bytes(elf, &names, ret_size_bytes);
}

bool pt_elf_section_at(const pt_elf *elf, uint32_t i, pt_elf_section *ret_section)
{
    if (i >= elf->section_count) return false;
    uint32_t name_off;
    read_section(elf, i, ret_section, &name_off);
    uint64_t names_bytes;
    const uint8_t *names = section_names(elf, &names_bytes);
    ret_section->name = string_at(names, names_bytes, name_off);
    return true;
}

bool pt_elf_section_named(const pt_elf *elf, const char *name, pt_elf_section *ret_section)
{
    uint64_t names_bytes;
    const uint8_t *names = section_names(elf, &names_bytes);
    const size_t name_bytes = strlen(name) + 1;
    for (uint32_t i = 1; names != NULL && i < elf->section_count; i++) {
        pt_elf_section section;
        uint32_t name_off;
        read_section(elf, i, &section, &name_off);
        if (!in_bounds(name_off, name_bytes, names_bytes) ||
            memcmp(names + name_off, name, name_bytes) != 0)
            continue;
        section.name = (const char *)names + name_off;
        *ret_section = section;
        return true;
    }
    return false;
}

bool pt_elf_section_typed(const pt_elf *elf, uint32_t type, pt_elf_section *ret_section)
{
    for (uint32_t i = 1; i < elf->section_count; i++) {
        pt_elf_section section;
        uint32_t name_off;
        read_section(elf, i, &section, &name_off);
        if (section.type == type) return pt_elf_section_at(elf, i, ret_section);
    }
    return false;
}

const uint8_t *pt_elf_section_bytes(const pt_elf *elf, const pt_elf_section *section,
                                    uint64_t *ret_size_bytes)
{
    *ret_size_bytes = 0;
    if (section->type == SHT_NOBITS || section->size_bytes == 0 ||
        !in_bounds(section->off, section->size_bytes, elf->size_bytes))
        return NULL;
    *ret_size_bytes = section->size_bytes;
    return elf->bytes + section->off;
}

/* ---- relocations ---- */

/* Goes to the next section with relocations. */
static bool open_relocations(const pt_elf *elf, pt_elf_relocations *walk)
{
    pt_elf_section section;
    while (pt_elf_section_at(elf, walk->section, &section)) {
        walk->section++;
        if (section.type != SHT_RELA || (section.flags & SHF_ALLOC) == 0) continue;
        walk->at = pt_elf_section_bytes(elf, &section, &walk->left_bytes);
        if (walk->left_bytes >= sizeof(Elf64_Rela)) return true;
    }
    return false;
}

bool pt_elf_relocation_next(const pt_elf *elf, pt_elf_relocations *walk,
                            pt_elf_relocation *ret_relocation)
{
    enum { COUNT_MAX = 1 << 22 };
    if (!elf->is_64 || walk->count >= COUNT_MAX) return false;
    if (walk->left_bytes < sizeof(Elf64_Rela) && !open_relocations(elf, walk)) return false;
    const bool is_big = elf->is_big_endian;
    const uint64_t info = read_u64(walk->at + offsetof(Elf64_Rela, r_info), is_big);
    *ret_relocation = (pt_elf_relocation){
        .addr = read_u64(walk->at + offsetof(Elf64_Rela, r_offset), is_big),
        .type = (uint32_t)ELF64_R_TYPE(info),
        .symbol = (uint32_t)ELF64_R_SYM(info),
        .addend = (int64_t)read_u64(walk->at + offsetof(Elf64_Rela, r_addend), is_big)};
    walk->at += sizeof(Elf64_Rela);
    walk->left_bytes -= sizeof(Elf64_Rela);
    walk->count++;
    return true;
}

/* ---- symbols ---- */

/* Finds the SHT_SYMTAB_SHNDX table, which has the section index of symbols with st_shndx
 * SHN_XINDEX. */
static void find_extended_indices(const pt_elf *elf, uint32_t symbols_index,
                                  pt_elf_symbols *symbols)
{
    for (uint32_t i = 1; i < elf->section_count; i++) {
        pt_elf_section section;
        uint32_t ignored;
        read_section(elf, i, &section, &ignored);
        if (section.type != SHT_SYMTAB_SHNDX || section.link != symbols_index) continue;
        uint64_t size_bytes;
        symbols->extended = pt_elf_section_bytes(elf, &section, &size_bytes);
        const uint64_t count = size_bytes / 4;
        symbols->extended_count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        return;
    }
}

bool pt_elf_symbols_open(const pt_elf *elf, uint32_t section_type, pt_elf_symbols *ret_symbols)
{
    pt_elf_section table;
    if (!pt_elf_section_typed(elf, section_type, &table) || table.type == SHT_NOBITS) return false;
    const uint32_t entry_bytes = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const uint64_t stride = table.entry_bytes == 0 ? entry_bytes : table.entry_bytes;
    if (stride < entry_bytes || stride > UINT16_MAX || table.off >= elf->size_bytes) return false;
    const uint64_t room = elf->size_bytes - table.off;
    const uint64_t count = (table.size_bytes < room ? table.size_bytes : room) / stride;
    if (count == 0) return false;
    pt_elf_symbols symbols = {
        .elf = elf,
        .entries = elf->bytes + table.off,
        .stride = (uint32_t)stride,
        .count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count,
    };
    pt_elf_section strings;
    uint64_t strings_bytes = 0;
    if (pt_elf_section_at(elf, table.link, &strings)) {
        const uint8_t *bytes = pt_elf_section_bytes(elf, &strings, &strings_bytes);
        while (strings_bytes > 0 && bytes[strings_bytes - 1] != '\0')
            strings_bytes--;
        symbols.strings = (const char *)bytes;
        symbols.strings_bytes = strings_bytes;
    }
    find_extended_indices(elf, table.index, &symbols);
    *ret_symbols = symbols;
    return true;
}

bool pt_elf_symbol_at(const pt_elf_symbols *symbols, uint32_t i, pt_elf_symbol *ret_symbol)
{
    if (i >= symbols->count) return false;
    const pt_elf *elf = symbols->elf;
    const uint8_t *s = symbols->entries + (uint64_t)i * symbols->stride;
    const uint32_t name_off = LONG(elf, s, Elf32_Sym, Elf64_Sym, st_name);
    const uint8_t info = s[OFF(elf, Elf32_Sym, Elf64_Sym, st_info)];
    const uint8_t other = s[OFF(elf, Elf32_Sym, Elf64_Sym, st_other)];
    uint32_t section_index = HALF(elf, s, Elf32_Sym, Elf64_Sym, st_shndx);
    bool is_reserved = section_index >= SHN_LORESERVE;
    if (section_index == SHN_XINDEX && i < symbols->extended_count) {
        section_index = read_u32(symbols->extended + (uint64_t)i * 4, elf->is_big_endian);
        is_reserved = false;
    }
    *ret_symbol = (pt_elf_symbol){
        .name = name_off < symbols->strings_bytes ? symbols->strings + name_off : "",
        .value = WORD(elf, s, Elf32_Sym, Elf64_Sym, st_value),
        .size_bytes = WORD(elf, s, Elf32_Sym, Elf64_Sym, st_size),
        .section_index = section_index,
        .is_reserved_index = is_reserved,
        .type = ELF64_ST_TYPE(info),
        .binding = ELF64_ST_BIND(info),
        .visibility = ELF64_ST_VISIBILITY(other),
    };
    return true;
}

/* A callback of pt_gnu_hash_find. addr: an offset in the file. */
static bool read_hash(const void *arg, uint64_t addr, void *to, size_t size)
{
    const pt_elf *const elf = ((const pt_elf_symbols *)arg)->elf;
    if (addr > elf->size_bytes || size > elf->size_bytes - addr) return false;
    memcpy(to, elf->bytes + addr, size);
    return true;
}

static bool is_definition(const void *arg, uint32_t index, const char *name)
{
    pt_elf_symbol symbol;
    return pt_elf_symbol_at(arg, index, &symbol) && symbol.section_index != SHN_UNDEF &&
           strcmp(symbol.name, name) == 0;
}

uint32_t pt_elf_symbol_defined(const pt_elf_symbols *symbols, const char *name,
                               pt_elf_symbol *ret_symbol)
{
    const bool is_host_order =
        symbols->elf->is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    pt_elf_section table;
    uint32_t index = 0;
    if (is_host_order && pt_elf_section_typed(symbols->elf, SHT_GNU_HASH, &table)) {
        const pt_gnu_hash_reader reader = {.read = read_hash,
                                           .is_definition = is_definition,
                                           .arg = symbols,
                                           .word_bytes = symbols->elf->is_64 ? 8 : 4};
        index = pt_gnu_hash_find(table.off, &reader, name);
    } else {
        while (++index < symbols->count && !is_definition(symbols, index, name)) {
        }
    }
    return pt_elf_symbol_at(symbols, index, ret_symbol) ? index : 0;
}

/* ---- versions ---- */

void pt_elf_versions_open(const pt_elf *elf, pt_elf_versions *ret_versions)
{
    pt_elf_versions v = {.elf = elf};
    pt_elf_section section, strings;
    if (pt_elf_section_typed(elf, SHT_GNU_versym, &section))
        v.of_symbol = pt_elf_section_bytes(elf, &section, &v.of_symbol_bytes);
    if (pt_elf_section_typed(elf, SHT_GNU_verdef, &section)) {
        v.definitions = pt_elf_section_bytes(elf, &section, &v.definitions_bytes);
        if (pt_elf_section_at(elf, section.link, &strings))
            v.strings = (const char *)pt_elf_section_bytes(elf, &strings, &v.strings_bytes);
    }
    *ret_versions = v;
}

/* The name in the version definition at `at`; its first auxiliary record has it. NULL: damaged. */
static const char *definition_name(const pt_elf_versions *v, uint64_t at)
{
    const bool is_big = v->elf->is_big_endian;
    const uint64_t aux =
        at + read_u32(v->definitions + at + offsetof(Elf64_Verdef, vd_aux), is_big);
    if (!in_bounds(aux, sizeof(Elf64_Verdaux), v->definitions_bytes)) return NULL;
    const uint32_t name =
        read_u32(v->definitions + aux + offsetof(Elf64_Verdaux, vda_name), is_big);
    const bool is_whole = v->strings != NULL && name < v->strings_bytes &&
                          memchr(v->strings + name, '\0', v->strings_bytes - name) != NULL;
    return is_whole ? v->strings + name : NULL;
}

/* The name of version number `wanted`, among the definitions. NULL: it has none, or it is that of
 * the file itself. The 32 and the 64 bit form of these records are equal. */
static const char *version_name(const pt_elf_versions *v, uint32_t wanted)
{
    const bool is_big = v->elf->is_big_endian;
    uint64_t at = 0;
    for (uint32_t i = 0; v->definitions != NULL && i <= UINT16_MAX; i++) {
        if (!in_bounds(at, sizeof(Elf64_Verdef), v->definitions_bytes)) return NULL;
        const uint8_t *d = v->definitions + at;
        if (read_u16(d + offsetof(Elf64_Verdef, vd_ndx), is_big) == wanted) {
            const uint16_t flags = read_u16(d + offsetof(Elf64_Verdef, vd_flags), is_big);
            return (flags & VER_FLG_BASE) == 0 ? definition_name(v, at) : NULL;
        }
        const uint32_t next = read_u32(d + offsetof(Elf64_Verdef, vd_next), is_big);
        if (next == 0) return NULL;
        at += next;
    }
    return NULL;
}

const char *pt_elf_version_of(const pt_elf_versions *v, uint32_t i, bool *ret_is_hidden)
{
    if (v->of_symbol == NULL || !in_bounds((uint64_t)i * 2, 2, v->of_symbol_bytes)) return NULL;
    const uint16_t word = read_u16(v->of_symbol + (size_t)i * 2, v->elf->is_big_endian);
    const char *name = version_name(v, word & 0x7fff);
    if (name != NULL) *ret_is_hidden = (word & 0x8000) != 0;
    return name;
}

/* ---- identity ---- */

static uint64_t align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}

/*   | name bytes | desc bytes | type | name, padded to align | desc, padded to align |
 * Sizes are 32 bit, so sums of two of them and a header cannot overflow 64 bits. */
pt_elf_id pt_elf_build_id_in_notes(const uint8_t *notes, uint64_t size_bytes, uint64_t align,
                                   bool is_big_endian)
{
    const uint64_t step = align == 8 ? 8 : 4;
    uint64_t off = 0;
    while (in_bounds(off, sizeof(Elf64_Nhdr), size_bytes)) {
        const uint32_t name_bytes = read_u32(notes + off, is_big_endian);
        const uint32_t desc_bytes = read_u32(notes + off + 4, is_big_endian);
        const uint32_t type = read_u32(notes + off + 8, is_big_endian);
        const uint64_t name_off = off + sizeof(Elf64_Nhdr);
        const uint64_t desc_off = align_up(name_off + name_bytes, step);
        if (!in_bounds(desc_off, desc_bytes, size_bytes)) break;
        if (type == NT_GNU_BUILD_ID && name_bytes == sizeof ELF_NOTE_GNU && desc_bytes > 0 &&
            memcmp(notes + name_off, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
            return (pt_elf_id){notes + desc_off, desc_bytes};
        off = align_up(desc_off + desc_bytes, step);
    }
    return (pt_elf_id){NULL, 0};
}

pt_elf_id pt_elf_build_id(const pt_elf *elf)
{
    pt_elf_id id = {NULL, 0};
    pt_elf_segment segment;
    for (uint32_t i = 0; id.bytes == NULL && pt_elf_segment_at(elf, i, &segment); i++)
        if (segment.type == PT_NOTE && in_bounds(segment.off, segment.file_bytes, elf->size_bytes))
            id = pt_elf_build_id_in_notes(elf->bytes + segment.off, segment.file_bytes,
                                          segment.align, elf->is_big_endian);
    for (uint32_t i = 1; id.bytes == NULL && i < elf->section_count; i++) {
        pt_elf_section section;
        uint32_t ignored;
        uint64_t size_bytes;
        read_section(elf, i, &section, &ignored);
        if (section.type != SHT_NOTE) continue;
        const uint8_t *notes = pt_elf_section_bytes(elf, &section, &size_bytes);
        if (notes != NULL)
            id = pt_elf_build_id_in_notes(notes, size_bytes, section.align, elf->is_big_endian);
    }
    return id;
}

size_t pt_elf_id_hex(pt_elf_id id, char *buf, size_t size)
{
    if (size > 0) buf[0] = '\0';
    if (id.bytes == NULL || size < 2 * (size_t)id.size_bytes + 1) return 0;
    for (uint32_t i = 0; i < id.size_bytes; i++) {
        buf[2 * i] = "0123456789abcdef"[id.bytes[i] >> 4];
        buf[2 * i + 1] = "0123456789abcdef"[id.bytes[i] & 15];
    }
    buf[2 * (size_t)id.size_bytes] = '\0';
    return 2 * (size_t)id.size_bytes;
}

/* The bytes of a section that begins with a terminated file name. *ret_after: offset after the
 * name. */
static const uint8_t *link_section(const pt_elf *elf, const char *name, uint64_t *ret_size_bytes,
                                   uint64_t *ret_after)
{
    pt_elf_section section;
    if (!pt_elf_section_named(elf, name, &section) || (section.flags & SHF_COMPRESSED) != 0)
        return NULL;
    const uint8_t *bytes = pt_elf_section_bytes(elf, &section, ret_size_bytes);
    const uint8_t *end = bytes != NULL ? memchr(bytes, '\0', *ret_size_bytes) : NULL;
    if (end == NULL || end == bytes) return NULL;
    *ret_after = (uint64_t)(end - bytes) + 1;
    return bytes;
}

bool pt_elf_debuglink(const pt_elf *elf, const char **ret_name, uint32_t *ret_crc)
{
    uint64_t size_bytes, after;
    const uint8_t *bytes = link_section(elf, ".gnu_debuglink", &size_bytes, &after);
    if (bytes == NULL || !in_bounds(align_up(after, 4), 4, size_bytes)) return false;
    *ret_name = (const char *)bytes;
    *ret_crc = read_u32(bytes + align_up(after, 4), elf->is_big_endian);
    return true;
}

bool pt_elf_debugaltlink(const pt_elf *elf, const char **ret_name, pt_elf_id *ret_id)
{
    uint64_t size_bytes, after;
    const uint8_t *bytes = link_section(elf, ".gnu_debugaltlink", &size_bytes, &after);
    if (bytes == NULL || after >= size_bytes || size_bytes - after > UINT32_MAX) return false;
    *ret_name = (const char *)bytes;
    *ret_id = (pt_elf_id){bytes + after, (uint32_t)(size_bytes - after)};
    return true;
}

bool pt_elf_has_interpreter(const pt_elf *elf)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_INTERP) return true;
    return false;
}

/* ---- addresses ---- */

bool pt_elf_offset_of_addr(const pt_elf *elf, uint64_t addr, uint64_t *ret_off)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        if (s.type == PT_LOAD && addr >= s.addr && addr - s.addr < s.file_bytes) {
            *ret_off = s.off + (addr - s.addr);
            return true;
        }
    }
    return false;
}

/* True if addr is in the memory of a PT_LOAD as linked. */
static bool is_linked_address(const pt_elf *elf, uint64_t addr)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_LOAD && addr >= s.addr && addr - s.addr < s.memory_bytes) return true;
    return false;
}

/* The address range of all PT_LOAD segments, from the first page of the lowest. */
static bool linked_span(const pt_elf *elf, uint64_t *ret_low, uint64_t *ret_bytes)
{
    uint64_t low = UINT64_MAX, high = 0;
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        if (s.type != PT_LOAD || s.memory_bytes > UINT64_MAX - s.addr) continue;
        low = s.addr < low ? s.addr : low;
        high = s.addr + s.memory_bytes > high ? s.addr + s.memory_bytes : high;
    }
    if (low >= high) return false;
    *ret_low = low & ~UINT64_C(0xfff);
    *ret_bytes = high - *ret_low;
    return true;
}

/* Rates how well a PT_LOAD contains a file offset; 0: not at all. The loader maps whole pages, so
 * bytes next to the segment's own are visible too if they share its first or last page. */
static int segment_fit(const pt_elf_segment *s, uint64_t off)
{
    const bool is_page_size =
        s->align > 1 && (s->align & (s->align - 1)) == 0 && s->align <= UINT64_C(0x10000);
    const uint64_t page = ~(is_page_size ? s->align - 1 : UINT64_C(0xfff));
    if (s->type != PT_LOAD || s->file_bytes == 0) return 0;
    const bool is_exact = off >= s->off && off - s->off < s->file_bytes;
    if (!is_exact) {
        const uint64_t last = s->off + s->file_bytes - 1;
        if (last < s->off || (off < s->off ? (s->off & page) > off : (last & page) != (off & page)))
            return 0;
    }
    return 1 + (is_exact ? 2 : 0) + ((s->flags & PF_X) != 0 ? 1 : 0);
}

/* A separate debug file keeps its program headers, but objcopy empties the segments, so their file
 * offsets are lost. If one segment is executable, the executable mapping starts where that segment
 * starts. */
static bool lay_over_emptied_segment(const pt_elf *elf, uint64_t distance, uint64_t *ret_addr)
{
    pt_elf_segment s, only = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        if (s.type != PT_LOAD || (s.flags & PF_X) == 0) continue;
        only = s;
        count++;
    }
    const uint64_t low = only.addr & ~UINT64_C(0xfff);
    if (count != 1 || only.file_bytes != 0 || distance >= only.memory_bytes + (only.addr - low))
        return false;
    *ret_addr = low + distance;
    return true;
}

bool pt_elf_bias(const pt_elf_segment *segments, size_t count, uint64_t start, uint64_t off,
                 uint64_t *ret_bias)
{
    const uint64_t page = ~UINT64_C(0xfff);
    bool is_found = false;
    for (size_t i = 0; i < count; i++) {
        const pt_elf_segment *const s = &segments[i];
        if (s->type != PT_LOAD || (s->flags & PF_X) == 0 || off < (s->off & page) ||
            (off >= s->off && off - s->off >= s->file_bytes))
            continue;
        *ret_bias = start - (s->addr + (off - s->off));
        is_found = true;
    }
    return is_found;
}

bool pt_elf_addr_of_mapped(const pt_elf *elf, uint64_t start, uint64_t limit, uint64_t off,
                           uint64_t pc, uint64_t *ret_addr)
{
    if (pc < start || (limit != 0 && pc >= limit)) return false;
    if ((start == 0 && off == 0) || (elf->type == ET_EXEC && is_linked_address(elf, pc))) {
        *ret_addr = pc;
        return true;
    }
    uint64_t low, span_bytes;
    if (off == 0 && limit != 0 && linked_span(elf, &low, &span_bytes) &&
        limit - start >= span_bytes) {
        *ret_addr = low + (pc - start);
        return true;
    }
    const uint64_t file_off = pc - start + off;
    if (file_off < off) return false;
    int best = 0;
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        const int score = segment_fit(&s, file_off);
        if (score > best) {
            best = score;
            *ret_addr = s.addr + (file_off - s.off);
        }
    }
    return best > 0 || lay_over_emptied_segment(elf, pc - start, ret_addr);
}
