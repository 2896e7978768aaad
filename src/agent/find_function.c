/* find_function.c: finds functions of other libraries by name, in the tables that the loader has
 * mapped (gABI chapter 5; gnu_hash.h).
 *
 * dlsym does the same. But before glibc 2.34 dlsym lies in libdl, which a program may lack; and if
 * the name is missing, dlsym calls malloc for its error message. */
#include "agent/agent.h"
#include "elf/gnu_hash.h"

#include <elf.h>
#include <link.h>
#include <string.h>

typedef struct {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *texts;
    const uint32_t *gnu_hash, *hash; /* one of them may be NULL */
    const ElfW(Half) * versions;     /* or NULL */
} object_tables;

/* Does the object have memory there? vaddr: as linked. */
static bool has_memory_at(const ElfW(Phdr) * segments, size_t count, uintptr_t vaddr)
{
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && vaddr - segments[i].p_vaddr < segments[i].p_memsz)
            return true;
    return false;
}

uintptr_t pt_loaded_addr(const ElfW(Phdr) * segments, size_t count, uintptr_t base, uintptr_t at)
{
    if (has_memory_at(segments, count, at - base)) return at;
    return has_memory_at(segments, count, at) ? at + base : 0;
}

static bool read_tables(const struct dl_phdr_info *info, object_tables *ret)
{
    const uintptr_t base = info->dlpi_addr;
    const ElfW(Dyn) *dyn = NULL;
    *ret = (object_tables){.base = base};
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const ElfW(Dyn) *)(base + info->dlpi_phdr[i].p_vaddr);
    for (; dyn != NULL && dyn->d_tag != DT_NULL; dyn++) {
        const void **const table = dyn->d_tag == DT_SYMTAB     ? (const void **)&ret->symbols
                                   : dyn->d_tag == DT_STRTAB   ? (const void **)&ret->texts
                                   : dyn->d_tag == DT_GNU_HASH ? (const void **)&ret->gnu_hash
                                   : dyn->d_tag == DT_HASH     ? (const void **)&ret->hash
                                   : dyn->d_tag == DT_VERSYM   ? (const void **)&ret->versions
                                                               : NULL;
        if (table != NULL) /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
            *table = (const void *)pt_loaded_addr(info->dlpi_phdr, info->dlpi_phnum, base,
                                                  dyn->d_un.d_ptr);
    }
    return ret->symbols != NULL && ret->texts != NULL;
}

/* Is the symbol a definition of the name, of the default version, and no indirect function (its
 * address would depend on the processor)? */
static bool is_definition(const void *arg, uint32_t index, const char *name)
{
    const object_tables *const t = arg;
    enum { HIDDEN_VERSION = 0x8000 };
    const ElfW(Sym) *const symbol = &t->symbols[index];
    const unsigned type = symbol->st_info & 15;
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && type <= STT_FUNC &&
           strcmp(t->texts + symbol->st_name, name) == 0 &&
           (t->versions == NULL || (t->versions[index] & HIDDEN_VERSION) == 0);
}

/* A callback of the search: reads from the loaded tables. */
static bool read_table(const void *arg, uint64_t addr, void *to, size_t size)
{
    (void)arg;
    memcpy(to, (const void *)(uintptr_t)addr, size); /* NOLINT(performance-no-int-to-ptr) */
    return true;
}

static uint32_t find_by_gnu_hash(const object_tables *t, const char *name)
{
    const pt_gnu_hash_reader reader = {
        .read = read_table, .is_definition = is_definition, .arg = t, .word_bytes = sizeof(void *)};
    return pt_gnu_hash_find((uintptr_t)t->gnu_hash, &reader, name);
}

static uint32_t find_by_hash(const object_tables *t, const char *name)
{
    uint32_t hash = 0;
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    const uint32_t buckets = t->hash[0];
    const uint32_t *const bucket = t->hash + 2, *const chain = bucket + buckets;
    uint32_t index = buckets != 0 ? bucket[hash % buckets] : 0;
    while (index != 0 && !is_definition(t, index, name))
        index = chain[index];
    return index;
}

static bool holds_this_code(const struct dl_phdr_info *info)
{
    const uintptr_t here = (uintptr_t)holds_this_code;
    return has_memory_at(info->dlpi_phdr, info->dlpi_phnum, here - info->dlpi_addr);
}

typedef struct {
    const char *name;
    bool is_passed;     /* the search has passed this library */
    void *before, *own; /* definitions of the name in libraries before this one, and in this
                         * library */
    void *behind;       /* the first definition in the libraries after this one */
} lookup;

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
    lookup *const l = arg;
    object_tables t;
    (void)size;
    const bool is_own = holds_this_code(info);
    void **const to = is_own ? &l->own : l->is_passed ? &l->behind : &l->before;
    if (is_own) l->is_passed = true;
    if (*to != NULL || !read_tables(info, &t)) return 0;
    const uint32_t index = t.gnu_hash != NULL ? find_by_gnu_hash(&t, l->name)
                           : t.hash != NULL   ? find_by_hash(&t, l->name)
                                              : 0;
    if (index != 0)
        *to = (void *)(t.base + t.symbols[index].st_value); /* NOLINT(performance-no-int-to-ptr) */
    return l->behind != NULL;
}

static lookup look_up(const char *name)
{
    lookup l = {.name = name};
    dl_iterate_phdr(look_into, &l);
    return l;
}

/* Finds libc's function even if this library was loaded by dlopen and so comes after libc. */
void *pt_find_next(const char *name, void *second)
{
    const lookup l = look_up(name);
    if (second != NULL && l.behind == NULL) return second;
    return l.behind != NULL ? l.behind : l.before;
}

void *pt_find_first(const char *name)
{
    const lookup l = look_up(name);
    return l.before != NULL ? l.before : l.own != NULL ? l.own : l.behind;
}

/* ---- thread-local variables ---- */

typedef struct {
    uintptr_t base;
    size_t number;
} module;

static int look_for_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    module *const m = arg;
    if (info->dlpi_addr != m->base || size < sizeof *info) return 0;
    m->number = info->dlpi_tls_modid;
    return 1;
}

size_t pt_find_tls_module(uintptr_t base)
{
    module m = {.base = base};
    if (pt_find_first("gnu_get_libc_version") != NULL) dl_iterate_phdr(look_for_module, &m);
    return m.number;
}
