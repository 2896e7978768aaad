/* unwind.c: see unwind.h. */
#include "load/unwind.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "elf/image.h"
#include "process/image.h"
#include "process/path_kind.h"
#include "unwind/copied.h"

typedef struct {
    const char *path, *build_id; /* the reader's strings: equal text has equal pointers */
    pt_mapped_image mapped;
} image;

/* A module without a table may have one: its image is not read before a stack has code of it. */
typedef struct {
    pt_unwind_module *items;
    size_t count, cap;
    bool *is_read;   /* of each item */
    uint32_t maps;   /* the generation of the process's mappings; 0: none */
    uint32_t tables; /* a number that no other list and no earlier state of this one has */
} module_list;

enum { LISTS = 64 };

struct pt_load_unwinder {
    pt_source_search search;
    const pt_load_tables *tables;
    PT_VECTOR(image *) image; /* allocated one by one, since modules point to their tables */
    pt_index index;
    module_list list[LISTS];
    uint32_t generation; /* the last that a list got */
    pt_unwind_cache cache;
    pt_copied_scratch scratch;
};

pt_load_unwinder *pt_load_unwinder_new(const pt_source_options *source,
                                       const pt_load_tables *tables)
{
    pt_load_unwinder *const u = pt_alloc(1, sizeof *u);
    u->tables = tables;
    u->search.options = source;
    pt_index_init(&u->index);
    return u;
}

void pt_load_unwinder_free(pt_load_unwinder *u)
{
    if (u == NULL) return;
    for (size_t i = 0; i < u->image.count; i++) {
        pt_mapped_image_done(&u->image.items[i]->mapped);
        free(u->image.items[i]);
    }
    for (size_t i = 0; i < LISTS; i++) {
        free(u->list[i].items);
        free(u->list[i].is_read);
    }
    free(u->image.items);
    pt_index_done(&u->index);
    free(u);
}

/* ---- images ---- */

static bool find_table(const pt_load_unwinder *u, pt_mapped_image *mapped, const pt_elf *elf,
                       const char *path)
{
    const pt_load_tables *const tables = u->tables;
    const pt_elf_id id = pt_elf_build_id(elf);
    const bool is_kept = tables != NULL && id.size_bytes > 0;
    if (is_kept && tables->find(tables->context, path, id, mapped)) return true;
    if (!pt_mapped_image_compile(mapped, elf, id.bytes, id.size_bytes)) return false;
    if (is_kept) tables->keep(tables->context, path, id, mapped);
    return true;
}

static image *image_of(pt_load_unwinder *u, const pt_read_map *map)
{
    const uint64_t hash = pt_hash_mix((uintptr_t)map->path, (uintptr_t)map->build_id);
    const uint32_t known = PT_INDEX_FIND(&u->index, hash, i,
                                         u->image.items[i]->path == map->path &&
                                             u->image.items[i]->build_id == map->build_id);
    if (known != PT_NONE) return u->image.items[known];
    image *const m = pt_alloc(1, sizeof *m);
    m->path = map->path;
    m->build_id = map->build_id;
    pt_image_file file = PT_IMAGE_FILE_INIT;
    if (pt_mapped_is_image(pt_mapped_kind_of_text(map->path)) &&
        pt_source_find_image(&u->search, map->path, map->build_id, &file, NULL) == PT_OK) {
        pt_elf elf;
        if (pt_elf_open(file.blob.data, file.blob.size, &elf) == PT_ELF_OK &&
            pt_mapped_image_take_segments(&m->mapped, &elf) &&
            find_table(u, &m->mapped, &elf, file.path))
            pt_mapped_image_compile_base(&m->mapped, &elf);
        pt_image_file_done(&file);
    }
    PT_INDEX_PUSH(&u->index, hash, u->image, m);
    return m;
}

/* ---- modules ---- */

static const pt_read_map *map_at(const pt_read_stack *stack, size_t i)
{
    const uint8_t *const maps = (const uint8_t *)stack->maps;
    return (const pt_read_map *)(const void *)(maps + i * stack->map_bytes);
}

static module_list *modules_of(pt_load_unwinder *u, const pt_read_stack *stack)
{
    static const pt_mapped_image unread;
    module_list *const list = &u->list[stack->generation % LISTS];
    if (list->maps == stack->generation) return list;
    PT_GROW(*list, stack->map_count + 1);
    free(list->is_read);
    list->is_read = pt_alloc(stack->map_count + 1, sizeof *list->is_read);
    list->maps = stack->generation;
    list->tables = ++u->generation;
    list->count = stack->map_count;
    for (size_t i = 0; i < stack->map_count; i++)
        list->items[i] = pt_mapped_image_module(&unread, &map_at(stack, i)->range);
    return list;
}

static pt_unwind_modules as_modules(const module_list *list, const pt_machine *machine)
{
    return (pt_unwind_modules){.modules = list->items,
                               .count = (uint32_t)list->count,
                               .generation = list->tables,
                               .machine = machine == PT_MACHINE_HOST ? NULL : machine};
}

/* Reads the image with code at pc, unless it was read or none is there. Returns true if its module
 * has a table now. */
static bool read_image_at(pt_load_unwinder *u, module_list *list, const pt_read_stack *stack,
                          uint64_t pc, bool *ret_read)
{
    const pt_unwind_modules modules = {.modules = list->items, .count = (uint32_t)list->count};
    const pt_unwind_module *const module = pt_unwind_module_at(&modules, pc);
    if (module == NULL) return false;
    const size_t i = (size_t)(module - list->items);
    *ret_read = !list->is_read[i];
    if (*ret_read) {
        const pt_read_map *const map = map_at(stack, i);
        list->is_read[i] = true;
        list->items[i] = pt_mapped_image_module(&image_of(u, map)->mapped, &map->range);
        list->tables = ++u->generation;
    }
    return list->items[i].table != NULL;
}

/* Reads the innermost image that the stack has code of and that was not read: the walk ended there,
 * or went on by guesses. Returns true if that gives the walk more to go by. */
static bool read_met(pt_load_unwinder *u, module_list *list, const pt_read_stack *stack,
                     const uint64_t *pcs, uint32_t count, uint64_t stuck_pc)
{
    bool is_new = false;
    for (uint32_t i = 0; i <= count; i++) {
        const uint64_t pc = i < count ? pcs[i] - (i > 0) : stuck_pc;
        const bool has_table = read_image_at(u, list, stack, pc, &is_new);
        if (is_new && has_table) return true;
    }
    return false;
}

size_t pt_load_unwind(void *unwinder, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                      pt_stack_end *ret_end)
{
    pt_load_unwinder *const u = unwinder;
    const pt_machine *const machine = pt_machine_of_elf(stack->machine);
    if (machine == NULL) return 0;
    module_list *const list = modules_of(u, stack);
    const pt_copied_stack copy = {.regs = stack->registers,
                                  .bytes = stack->bytes,
                                  .byte_count = stack->byte_count,
                                  .room = stack->room};
    bool is_new;
    if (!read_image_at(u, list, stack, stack->registers[machine->pc], &is_new)) return 0;
    pt_copied_end end;
    uint32_t count;
    do {
        const pt_unwind_modules modules = as_modules(list, machine);
        count =
            pt_unwind_copied(&copy, &modules, &u->cache, &u->scratch, ret_pcs, (uint32_t)cap, &end);
    } while (read_met(u, list, stack, ret_pcs, count, end.stuck_pc));
    *ret_end = end.why == PT_UNWIND_END_ROOT && end.is_unchecked ? PT_STACK_END_UNCHECKED
                                                                 : (pt_stack_end)end.why;
    return count;
}
