/* object.c: an image with its companions, and queries that use all of them.
 *
 *   image ----- .symtab, else the debug file's, else .gnu_debugdata's and .dynsym ---> symbol index
 *     `-------- .debug_info, else the debug file's --> DWARF reader (+ supplement, split units)
 *
 * Everything is opened on first use. */
#include "object/object_int.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

struct pt_object {
    pt_image_file image, debug, supplement;
    pt_elf elf, debug_elf, small_elf;
    pt_blob small; /* the decompressed content of .gnu_debugdata */
    pt_find_companion *find;
    void *find_context;
    pt_symbol_index symbols;
    pt_plt plt;
    pt_data_symbols data;
    pt_nearest nearest;
    pt_pieces pieces;
    pt_go_table *go; /* or NULL */
    pt_dwarf *dwarf; /* or NULL */
    pt_error dwarf_error;
    bool debug_sought, symbols_sought, data_sought, nearest_sought, pieces_sought, go_sought,
        dwarf_sought;
    bool has_debug; /* debug and debug_elf are valid */
    bool is_dynamic_only;
    bool as_written; /* pt_object_keep_as_written */
    bool keeps_clones;
};

void pt_image_file_done(pt_image_file *file)
{
    pt_blob_done(&file->blob);
    if (file->fd >= 0) close(file->fd);
    free(file->path);
    *file = PT_IMAGE_FILE_INIT;
}

pt_status pt_object_open(pt_image_file *image, pt_find_companion *find, void *context,
                         pt_object **ret_object, pt_error *reterr)
{
    pt_image_file taken = *image;
    *image = PT_IMAGE_FILE_INIT;
    pt_elf elf;
    const pt_elf_status status = pt_elf_open(taken.blob.data, taken.blob.size, &elf);
    if (status != PT_ELF_OK || elf.type == ET_REL) {
        const pt_status failure =
            status == PT_ELF_OK
                ? pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                               "is a relocatable file, whose code has no addresses yet")
                : pt_error_set(reterr, status == PT_ELF_NOT_ELF ? PT_ERR_FORMAT : PT_ERR_DAMAGED,
                               "%s", pt_elf_status_text(status));
        pt_error_where(reterr, taken.path, NULL, -1);
        pt_image_file_done(&taken);
        return failure;
    }
    pt_object *object = pt_alloc(1, sizeof *object);
    *object = (pt_object){.image = taken,
                          .debug = PT_IMAGE_FILE_INIT,
                          .supplement = PT_IMAGE_FILE_INIT,
                          .small = PT_BLOB_INIT,
                          .elf = elf,
                          .find = find,
                          .find_context = context,
                          .dwarf_error = PT_ERROR_INIT};
    *ret_object = object;
    return PT_OK;
}

void pt_object_free(pt_object *object)
{
    if (object == NULL) return;
    pt_symbol_index_done(&object->symbols);
    pt_plt_done(&object->plt);
    pt_nearest_done(&object->nearest);
    pt_data_symbols_done(&object->data);
    pt_pieces_done(&object->pieces);
    pt_dwarf_free(object->dwarf);
    pt_go_table_free(object->go);
    pt_blob_done(&object->small);
    pt_image_file_done(&object->supplement);
    pt_image_file_done(&object->debug);
    pt_image_file_done(&object->image);
    free(object);
}

const pt_elf *pt_object_elf(const pt_object *object)
{
    return &object->elf;
}

const char *pt_object_shrunk(const pt_object *object)
{
    const pt_image_file *const files[] = {&object->image, &object->debug, &object->supplement};
    for (size_t i = 0; i < PT_COUNT(files); i++)
        if (!pt_blob_intact(&files[i]->blob)) return files[i]->path;
    return NULL;
}

/* ---- companions ---- */

/* Finds the separate debug file, once. False: none. */
static bool with_debug_file(pt_object *object)
{
    if (object->debug_sought || object->find == NULL) return object->has_debug;
    object->debug_sought = true;
    pt_companion wanted = {.kind = PT_COMPANION_DEBUG,
                           .image_path = object->image.path,
                           .build_id = pt_elf_build_id(&object->elf)};
    wanted.has_crc = pt_elf_debuglink(&object->elf, &wanted.link_name, &wanted.link_crc);
    if (!object->find(object->find_context, &wanted, &object->debug)) return false;
    if (pt_elf_open(object->debug.blob.data, object->debug.blob.size, &object->debug_elf) ==
        PT_ELF_OK)
        object->has_debug = true;
    else
        pt_image_file_done(&object->debug);
    return object->has_debug;
}

/* Finds the supplement of `elf` that dwz made; object->supplement stays empty if there is none. */
static void find_supplement(pt_object *object, const pt_elf *elf, const char *path)
{
    pt_companion wanted = {.kind = PT_COMPANION_SUPPLEMENT, .image_path = path};
    if (object->find == NULL || !pt_elf_debugaltlink(elf, &wanted.link_name, &wanted.build_id))
        return;
    object->find(object->find_context, &wanted, &object->supplement);
}

/* ---- symbols ---- */

enum { SMALL_MAX = 256 << 20 };

/* Opens the symbols that a distribution left in a stripped image: an ELF file with a .symtab,
 * compressed with xz (GDB manual, "Debugging information in a special section"). */
static bool open_small_symbols(pt_object *object, pt_elf_symbols *ret_table)
{
    pt_elf_section s;
    uint64_t size_bytes;
    if (!pt_elf_section_named(&object->elf, ".gnu_debugdata", &s)) return false;
    const uint8_t *packed = pt_elf_section_bytes(&object->elf, &s, &size_bytes);
    return packed != NULL &&
           pt_xz_inflate(packed, size_bytes, SMALL_MAX, &object->small, NULL) == PT_OK &&
           pt_elf_open(object->small.data, object->small.size, &object->small_elf) == PT_ELF_OK &&
           pt_elf_symbols_open(&object->small_elf, SHT_SYMTAB, ret_table);
}

static const pt_symbol_index *with_symbols(pt_object *object)
{
    if (object->symbols_sought) return &object->symbols;
    object->symbols_sought = true;
    pt_elf_symbols tables[PT_SYMBOL_TABLES];
    size_t count = 0;
    if (pt_elf_symbols_open(&object->elf, SHT_SYMTAB, &tables[0]) ||
        (with_debug_file(object) &&
         pt_elf_symbols_open(&object->debug_elf, SHT_SYMTAB, &tables[0]))) {
        count = 1;
    } else { /* .gnu_debugdata omits the symbols of .dynsym */
        const bool has_small = open_small_symbols(object, &tables[0]);
        count = has_small;
        count += pt_elf_symbols_open(&object->elf, SHT_DYNSYM, &tables[count]);
        object->is_dynamic_only = count > 0 && !has_small;
    }
    pt_symbol_index_init(&object->symbols, tables, count);
    pt_plt_init(&object->plt, &object->elf);
    return &object->symbols;
}

/* ---- DWARF ---- */

static bool has_dwarf(const pt_elf *elf)
{
    pt_elf_section s;
    uint64_t size_bytes;
    return (pt_elf_section_named(elf, ".debug_info", &s) ||
            pt_elf_section_named(elf, ".zdebug_info", &s)) &&
           pt_elf_section_bytes(elf, &s, &size_bytes) != NULL;
}

/* The executable segments; the caller frees the result. */
static pt_code_range *code_ranges(const pt_elf *elf, size_t *ret_count)
{
    pt_code_range *code = pt_alloc(elf->segment_count + 1, sizeof *code);
    size_t count = 0;
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_LOAD && (s.flags & PF_X) != 0 && s.memory_bytes <= UINT64_MAX - s.addr)
            code[count++] = (pt_code_range){s.addr, s.addr + s.memory_bytes};
    *ret_count = count;
    return code;
}

static pt_dwarf *with_dwarf(pt_object *object, pt_pool *pool)
{
    if (object->dwarf_sought) return object->dwarf;
    object->dwarf_sought = true;
    const pt_image_file *file = NULL;
    if (has_dwarf(&object->elf)) {
        file = &object->image;
        find_supplement(object, &object->elf, object->image.path);
    } else if (with_debug_file(object) && has_dwarf(&object->debug_elf)) {
        file = &object->debug;
        find_supplement(object, &object->debug_elf, object->debug.path);
    }
    if (file == NULL) return NULL;
    size_t code_count;
    PT_FREE pt_code_range *code = code_ranges(&object->elf, &code_count);
    const pt_dwarf_source source = {
        .file = file,
        .supplement = object->supplement.blob.size > 0 ? &object->supplement : NULL,
        .code = code,
        .code_count = code_count,
        .find = object->find,
        .find_context = object->find_context,
        .image_path = object->image.path,
        .as_written = object->as_written,
        .keeps_clones = object->keeps_clones,
        .pool = pool};
    object->dwarf = pt_dwarf_open(&source, &object->dwarf_error);
    return object->dwarf;
}

/* ---- queries ---- */

static pt_go_table *with_go_table(pt_object *object)
{
    if (!object->go_sought) object->go = pt_go_table_open(&object->elf);
    object->go_sought = true;
    return object->go;
}

bool pt_object_has_lines(pt_object *object)
{
    if (with_dwarf(object, NULL) != NULL) return true;
    const pt_go_table *go = with_go_table(object);
    return go != NULL && pt_go_table_functions(go) > 0;
}

void pt_object_look(pt_object *object, pt_object_detail detail, pt_object_facts *ret_facts)
{
    const pt_symbol_index *symbols = with_symbols(object);
    const pt_go_table *go = with_go_table(object);
    const uint64_t go_count = go != NULL ? pt_go_table_functions(go) : 0;
    const uint64_t count = symbols->symbol_count + go_count;
    *ret_facts = (pt_object_facts){
        .symbol_count = count <= UINT32_MAX ? (uint32_t)count : UINT32_MAX,
        .is_dynamic_only = object->is_dynamic_only && go_count == 0,
        .has_lines = detail == PT_OBJECT_LINES && pt_object_has_lines(object),
        .debug_path = object->has_debug ? object->debug.path : NULL,
        .lines_error = detail == PT_OBJECT_LINES && object->dwarf_error.status != PT_OK
                           ? object->dwarf_error.message
                           : NULL,
    };
}

bool pt_object_data_at(pt_object *object, uint64_t addr, pt_object_data *ret_data)
{
    if (!object->data_sought) pt_data_symbols_init(&object->data, &object->elf);
    object->data_sought = true;
    return pt_data_symbols_find(&object->data, addr, ret_data);
}

bool pt_object_code_at(pt_object *object, uint64_t addr, pt_object_symbol *ret_symbol)
{
    if (!object->pieces_sought) pt_pieces_init(&object->pieces, &object->elf);
    object->pieces_sought = true;
    return pt_pieces_find(&object->pieces, addr, ret_symbol);
}

bool pt_object_nearest_symbol(pt_object *object, uint64_t addr, pt_object_nearest *ret_nearest)
{
    if (!object->nearest_sought) {
        with_symbols(object);
        with_dwarf(object, NULL); /* symbols and DWARF may both open the debug file */
        pt_nearest_init(&object->nearest, &object->elf,
                        object->has_debug ? &object->debug_elf : &object->elf);
        object->nearest_sought = true;
    }
    const pt_function_symbol *s = pt_nearest_find(&object->nearest, addr);
    if (s == NULL) return false;
    *ret_nearest = (pt_object_nearest){.name = s->name, .file = s->file, .addr = s->addr};
    return true;
}

void pt_object_keep_as_written(pt_object *object)
{
    object->as_written = true;
}

void pt_object_keep_clones(pt_object *object)
{
    object->keeps_clones = true;
}

bool pt_object_symbol_at(pt_object *object, uint64_t addr, pt_object_symbol *ret_symbol)
{
    return pt_symbol_index_find(with_symbols(object), addr, ret_symbol) ||
           pt_plt_find(&object->plt, addr, ret_symbol) ||
           (with_go_table(object) != NULL && pt_go_table_name(object->go, addr, ret_symbol));
}

size_t pt_object_resolve(pt_object *object, pt_object_detail detail, const uint64_t *addrs,
                         size_t count, pt_pool *pool, pt_object_sink *sink, void *context)
{
    PT_FREE bool *done = pt_alloc(count + 1, sizeof *done);
    with_symbols(object);
    if (detail == PT_OBJECT_LINES && with_dwarf(object, pool) != NULL)
        pt_dwarf_resolve(object->dwarf, addrs, count, done, &object->symbols, pool, sink, context);
    if (detail == PT_OBJECT_LINES && with_go_table(object) != NULL)
        pt_go_table_resolve(object->go, addrs, count, done, sink, context);
    size_t resolved = 0;
    for (size_t i = 0; i < count; i++) {
        pt_object_symbol symbol;
        if (!done[i] && pt_object_symbol_at(object, addrs[i], &symbol)) {
            const pt_object_frame frame = {
                .linkage_name = symbol.name, .name = symbol.name, .file = ""};
            sink(context, i, &frame, 1, symbol.end_addr - symbol.addr);
            done[i] = true;
        }
        resolved += done[i];
    }
    return resolved;
}
