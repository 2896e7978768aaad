/* images.c: reads facts about a mapped image from its own headers, where they are mapped. The image
 * may be unmapped at any moment, so the kernel copies its memory (pt_maps_peek). The loader is not
 * used: a thread of the host may hold the loader's lock and wait for a thread of the library. */
#include <string.h>

#include "agent/images.h"
#include "elf/gnu_hash.h"

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr native_ehdr;
typedef Elf64_Dyn native_dyn;
typedef Elf64_Sym native_sym;
#else
typedef Elf32_Ehdr native_ehdr;
typedef Elf32_Dyn native_dyn;
typedef Elf32_Sym native_sym;
#endif

/* Reads the program headers. Returns false if they are not plausible. */
static bool take_headers(uint64_t image_addr, pt_image *image)
{
    native_ehdr ehdr;
    if (image_addr == 0 || !pt_maps_peek(image_addr, &ehdr, sizeof ehdr) ||
        memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 ||
        ehdr.e_phentsize != sizeof image->segments[0] || ehdr.e_phnum > PT_IMAGE_SEGMENTS_MAX ||
        !pt_maps_peek(image_addr + ehdr.e_phoff, image->segments,
                      ehdr.e_phnum * sizeof image->segments[0]))
        return false;
    image->machine = ehdr.e_machine;
    image->count = ehdr.e_phnum;
    return true;
}

/* The loader's bias. In a small program the mapping of the code may begin with the file's first
 * page; then the segment of code determines the bias. */
static uint64_t bias_of(const pt_image *image, const pt_maps_live *map)
{
    const uint64_t page = ~UINT64_C(0xfff);
    const bool is_code = map->image == map->start;
    uint64_t bias = 0;
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        if (s->p_type == PT_LOAD && (s->p_offset & page) == 0 &&
            (is_code ? (s->p_flags & PF_X) != 0 : s->p_offset == 0))
            bias = map->image - (s->p_vaddr - s->p_offset);
    }
    return bias;
}

bool pt_image_look(const pt_maps_live *map, pt_image *ret_image)
{
    ret_image->count = 0;
    if (!take_headers(map->image, ret_image)) return false;
    ret_image->bias = bias_of(ret_image, map);
    return true;
}

/* ---- symbols ---- */

bool pt_images_path(const pt_maps_live *live, char *ret_path)
{
    const pt_journal_map *const record = pt_maps_record_of(live->start);
    if (record == NULL || live->image == 0 || record->path_bytes >= PATH_MAX) return false;
    memcpy(ret_path, (const char *)(record + 1) + record->build_id_bytes, record->path_bytes);
    ret_path[record->path_bytes] = '\0';
    return true;
}

bool pt_images_may_be(const char *name, const char *path)
{
    const pt_journal_header *const header = pt_agent.journal.header;
    const char *const slash = strrchr(path, '/');
    const size_t bytes = strlen(path);
    return strstr(slash != NULL ? slash + 1 : path, name) != NULL ||
           (bytes == header->exe_bytes && memcmp(path, header->exe, bytes) == 0);
}

typedef struct {
    uint64_t symbols, strings, hash, relocations; /* addresses of tables; 0 = there is none */
    uint64_t relocation_bytes;
} tables;

static void find_tables(const pt_image *image, tables *ret)
{
    enum { DYN_MAX = 128 };
    native_dyn dyn[DYN_MAX];
    *ret = (tables){0};
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        const size_t bytes = s->p_memsz < sizeof dyn ? (size_t)s->p_memsz : sizeof dyn;
        if (s->p_type != PT_DYNAMIC || !pt_maps_peek(image->bias + s->p_vaddr, dyn, bytes))
            continue;
        for (size_t d = 0; d < bytes / sizeof dyn[0] && dyn[d].d_tag != DT_NULL; d++) {
            const uint64_t addr = pt_loaded_addr(image->segments, image->count,
                                                 (uintptr_t)image->bias, dyn[d].d_un.d_ptr);
            if (dyn[d].d_tag == DT_SYMTAB) ret->symbols = addr;
            if (dyn[d].d_tag == DT_STRTAB) ret->strings = addr;
            if (dyn[d].d_tag == DT_GNU_HASH) ret->hash = addr;
            if (dyn[d].d_tag == DT_RELA) ret->relocations = addr;
            if (dyn[d].d_tag == DT_RELASZ) ret->relocation_bytes = dyn[d].d_un.d_val;
        }
    }
}

static bool read_table(const void *arg, uint64_t addr, void *to, size_t size)
{
    (void)arg;
    return pt_maps_peek(addr, to, size);
}

static bool read_symbol(const tables *t, uint32_t index, native_sym *ret)
{
    return pt_maps_peek(t->symbols + index * sizeof *ret, ret, sizeof *ret);
}

static bool is_definition(const void *arg, uint32_t index, const char *name)
{
    const tables *const t = arg;
    native_sym symbol;
    char text[128];
    const size_t bytes = strlen(name) + 1;
    return bytes <= sizeof text && read_symbol(t, index, &symbol) && symbol.st_shndx != SHN_UNDEF &&
           pt_maps_peek(t->strings + symbol.st_name, text, bytes) && memcmp(text, name, bytes) == 0;
}

bool pt_image_symbol(const pt_image *image, const char *name, uint64_t *ret_addr,
                     uint64_t *ret_bytes)
{
    tables t;
    native_sym symbol;
    const pt_gnu_hash_reader reader = {.read = read_table,
                                       .is_definition = is_definition,
                                       .arg = &t,
                                       .word_bytes = sizeof(void *)};
    find_tables(image, &t);
    if (t.symbols == 0 || t.strings == 0 || t.hash == 0) return false;
    const uint32_t index = pt_gnu_hash_find(t.hash, &reader, name);
    if (index == 0 || !read_symbol(&t, index, &symbol)) return false;
    *ret_addr = image->bias + symbol.st_value;
    *ret_bytes = symbol.st_size;
    return true;
}

bool pt_image_relocations(const pt_image *image, uint64_t *ret_addr, uint64_t *ret_bytes)
{
    tables t;
    find_tables(image, &t);
    *ret_addr = t.relocations;
    *ret_bytes = t.relocation_bytes;
    return t.relocations != 0;
}

/* ---- entries of .eh_frame ---- */

/* Reads the sorted table of .eh_frame_hdr in the form in which linkers write it: pairs of offsets
 * from the table's own beginning (LSB, "The .eh_frame_hdr section"). */
uint64_t *pt_image_entries(const pt_image *image, uint32_t *ret_count, size_t *ret_map_bytes)
{
    enum { USUAL = 0x3b031b01, ENTRIES_MAX = 1 << 22 };
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        const uint64_t at = image->bias + s->p_vaddr;
        struct {
            uint32_t encodings;
            int32_t eh_frame;
            uint32_t count;
        } head;
        if (s->p_type != PT_GNU_EH_FRAME || !pt_maps_peek(at, &head, sizeof head) ||
            head.encodings != USUAL || head.count == 0 || head.count > ENTRIES_MAX)
            continue;
        const size_t bytes = head.count * sizeof(uint64_t);
        uint64_t *const entries = pt_agent_map(bytes);
        if (entries == NULL || !pt_maps_peek(at + sizeof head, entries, bytes)) {
            pt_agent_unmap(entries, bytes);
            continue;
        }
        for (uint32_t e = 0; e < head.count; e++) {
            int32_t offset;
            memcpy(&offset, &entries[e], sizeof offset);
            entries[e] = at + (uint64_t)(int64_t)offset;
        }
        *ret_count = head.count;
        *ret_map_bytes = bytes;
        return entries;
    }
    return NULL;
}
