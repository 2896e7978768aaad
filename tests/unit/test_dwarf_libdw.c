/* test_dwarf_libdw.c: our DWARF reader against elfutils' libdw, at each byte of the code of the
 * images of tests/unit/images: the line, and the chain of inlined calls.
 *
 * libdw is asked as eu-addr2line does it: the scopes that hold the address, then the entries around
 * the innermost of them. */
#include "image_check.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "object/object_int.h"

/* Memory that libdw does not free is not reported; the leak checkers of clang and gcc read this. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdw.so";
}

enum { CHAIN_MAX = 64 };

typedef struct {
    const char *name; /* as linked, or NULL */
    char file[1024];
    unsigned line;
} told_frame;

typedef struct {
    told_frame frames[CHAIN_MAX];
    size_t count;
} told;

/* ---- libdw ---- */

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static void add_told(told *t, Dwarf_Die *die, const char *file, unsigned line)
{
    const char *linkage_name = text_of(die, DW_AT_linkage_name);
    if (linkage_name == NULL) linkage_name = text_of(die, DW_AT_MIPS_linkage_name);
    assert_true(t->count < CHAIN_MAX);
    told_frame *f = &t->frames[t->count++];
    f->name = linkage_name != NULL ? linkage_name : text_of(die, DW_AT_name);
    f->line = line;
    const bool is_known = file != NULL && strcmp(file, "???") != 0;
    pt_tidy_path_text(is_known ? file : "", f->file);
}

static unsigned number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? (unsigned)value : 0;
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
    Dwarf_Files *files;
    size_t count;
    const unsigned i = number_of(die, DW_AT_call_file);
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || i >= count) return NULL;
    return dwarf_filesrc(files, i, NULL, NULL);
}

/* unit has the lines, tree the functions; they differ for split DWARF. */
static void ask_unit(Dwarf_Die *unit, Dwarf_Die *tree, uint64_t addr, told *t)
{
    Dwarf_Die *scopes = NULL, *around = NULL;
    Dwarf_Line *row = dwarf_getsrc_die(unit, addr);
    const char *file = row != NULL ? dwarf_linesrc(row, NULL, NULL) : NULL;
    int line = 0;
    if (row != NULL) dwarf_lineno(row, &line);
    unsigned at = (unsigned)line;
    const int scope_count = dwarf_getscopes(tree, addr, &scopes);
    const int around_count = scope_count > 0 ? dwarf_getscopes_die(&scopes[0], &around) : 0;
    for (int i = 0; i < around_count; i++) {
        const int tag = dwarf_tag(&around[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        add_told(t, &around[i], file, at);
        if (tag == DW_TAG_subprogram) break;
        file = call_file(unit, &around[i]);
        at = number_of(&around[i], DW_AT_call_line);
    }
    free(scopes);
    free(around);
}

static void ask_libdw(Dwarf *dwarf, uint64_t addr, told *t)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, sub_die;
    t->count = 0;
    while (t->count == 0 && dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &sub_die) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
        const bool is_split = type == DW_UT_skeleton && dwarf_tag(&sub_die) == DW_TAG_compile_unit;
        if (dwarf_haspc(&die, addr) == 1) ask_unit(&die, is_split ? &sub_die : &die, addr, t);
    }
}

/* ---- ours ---- */

static void keep_frames(void *context, size_t index, const pt_object_frame *frames, size_t count,
                        uint64_t symbol_bytes)
{
    told *t = (told *)context + index;
    assert_true(count <= CHAIN_MAX);
    for (size_t i = 0; i < count; i++) {
        t->frames[i].name = frames[i].linkage_name;
        t->frames[i].line = frames[i].line;
        snprintf(t->frames[i].file, sizeof t->frames[i].file, "%s", frames[i].file);
    }
    t->count = count;
}

/* Ours may have the scope in front, or be the symbol's where DWARF has no mangled name. */
static bool same_name(const char *own, const char *other)
{
    if (other == NULL || strcmp(own, other) == 0) return true;
    return strstr(own, other) != NULL || strncmp(own, "_Z", 2) == 0;
}

/* Returns how many addresses libdw had a function for. */
static size_t compare(const char *image, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    if (dwarf == NULL) { /* zstd: a libdw that is too old for it */
        close(fd);
        return 0;
    }
    pt_object *o = open_object(path);
    pt_elf_section text;
    assert_true(pt_elf_section_named(pt_object_elf(o), ".text", &text));
    const size_t n = text.size_bytes;
    uint64_t *addrs = pt_alloc(n, sizeof *addrs);
    for (size_t i = 0; i < n; i++)
        addrs[i] = text.addr + i;
    told *own = pt_alloc(n, sizeof *own), *other = pt_alloc(1, sizeof *other);
    pt_object_resolve(o, PT_OBJECT_LINES, addrs, n, NULL, keep_frames, own);
    size_t compared = 0;
    for (size_t i = 0; i < n; i++) {
        ask_libdw(dwarf, addrs[i], other);
        if (other->count == 0) continue; /* no function: padding, assembler */
        if (own[i].count != other->count)
            fail_msg("%s 0x%llx: %zu frames, libdw has %zu", image, (unsigned long long)addrs[i],
                     own[i].count, other->count);
        for (size_t k = 0; k < other->count; k++) {
            const told_frame *a = &own[i].frames[k], *b = &other->frames[k];
            if (a->line != b->line || strcmp(a->file, b->file) != 0 || !same_name(a->name, b->name))
                fail_msg("%s 0x%llx frame %zu: %s %s:%u, libdw has %s %s:%u", image,
                         (unsigned long long)addrs[i], k, a->name, a->file, a->line, b->name,
                         b->file, b->line);
        }
        compared++;
    }
    free(own);
    free(other);
    free(addrs);
    pt_object_free(o);
    dwarf_end(dwarf);
    close(fd);
    return compared;
}

/* Left out, since libdw 0.188 takes something from them that is not there: chains in packages
 * (dwp), which it does not open. */
static const char *const images[] = {"shapes-gcc-O0",
                                     "shapes-gcc-O2",
                                     "shapes-gcc-dwarf2",
                                     "shapes-gcc-dwarf3",
                                     "shapes-gcc-dwarf64",
                                     "shapes-gcc-dwarf4-gz",
                                     "shapes-gcc-zdebug",
                                     "shapes-gcc-zstd",
                                     "shapes-gcc-fixed",
                                     "shapes-gcc-types",
                                     "shapes-gcc-types5",
                                     "shapes-gcc-sections",
                                     "shapes-gcc-split",
                                     "shapes-gcc-split4",
                                     "shapes-gcc-lto",
                                     "libshapes.so",
                                     "shapes-clang-O0",
                                     "shapes-clang-O2",
                                     "shapes-clang-gmlt",
                                     "shapes-clang-dwarf2",
                                     "shapes-clang-split4",
                                     "shapes-clang-split5",
                                     "shapes-clang-types",
                                     "shapes-i386.so",
                                     "shapes-mips.so",
                                     "shapes-powerpc64.so",
                                     "shapes-aarch64.so",
                                     "dwz-a",
                                     "dwz-b"};

static void every_address_is_named_as_libdw_names_it(void **state)
{
    size_t compared = 0;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        const char *path = image_path(images[i]);
        if (path != NULL) compared += compare(images[i], path);
    }
    if (compared == 0) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_address_is_named_as_libdw_names_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
