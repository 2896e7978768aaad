/* test_object.c: symbols, functions, lines and inlined calls of images that gcc, clang, as and ld
 * made (tests/unit/images), judged by nm and addr2line (binutils), llvm-symbolizer (LLVM 14), and
 * the layout that the sources state; and of images written here where no tool makes them so. */
#include "image_check.h"

#include <elf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "base/memory.h"
#include "elf_maker.h"
#include "object/demangle.h"
#include "object/dwarf_int.h"
#include "object/object_int.h"

/* ---- symbols ---- */

static void a_symbol_ends_at_its_size(void **state)
{
    NEED_IMAGE("labels.so");
    pt_object *o = open_object(image_path("labels.so"));
    const uint64_t sized = address_of(o, SHT_SYMTAB, "sized");
    assert_string_equal(symbol_at(o, sized - 1), "");
    for (uint64_t i = 0; i < 16; i++)
        assert_string_equal(symbol_at(o, sized + i), "sized");
    for (uint64_t i = 16; i < 32; i++) /* padding: nobody's */
        assert_string_equal(symbol_at(o, sized + i), "");
    pt_object_free(o);
}

static void a_symbol_without_a_size_ends_where_the_next_one_begins(void **state)
{
    NEED_IMAGE("labels.so");
    pt_object *o = open_object(image_path("labels.so"));
    const uint64_t unsized = address_of(o, SHT_SYMTAB, "unsized");
    for (uint64_t i = 0; i < 16; i++)
        assert_string_equal(symbol_at(o, unsized + i), "unsized");
    assert_string_equal(symbol_at(o, unsized + 16), "next");
    pt_object_free(o);
}

static void address_past_the_last_symbol_has_no_name(void **state)
{
    NEED_IMAGE("labels.so");
    pt_object *o = open_object(image_path("labels.so"));
    /* The symbol has a size of 4096 bytes, its section has 16. */
    const uint64_t overlong = address_of(o, SHT_SYMTAB, "overlong");
    const uint64_t alone = address_of(o, SHT_SYMTAB, "alone");
    assert_string_equal(symbol_at(o, overlong + 15), "overlong");
    assert_string_not_equal(symbol_at(o, overlong + 16), "overlong");
    assert_string_equal(symbol_at(o, alone + 15), "alone");
    assert_string_equal(symbol_at(o, alone + 16), "");
    assert_string_equal(symbol_at(o, alone + 4096), "");
    assert_string_equal(symbol_at(o, UINT64_MAX), "");
    assert_string_equal(symbol_at(o, 0), "");
    pt_object_symbol symbol;
    assert_true(pt_object_symbol_at(o, overlong, &symbol));
    assert_int_equal(symbol.end_addr, overlong + 16);
    pt_object_free(o);
}

enum { TEXT = 1, DATA = 2 };

/* An image with .text at 0x1000 (0x400 bytes), .data at 0x2000 and these symbols. */
static pt_object *object_of(const made_symbol *symbols, size_t count, bool is_64, bool big,
                            uint16_t machine)
{
    static const uint8_t bytes[0x400];
    made_bytes entries, strings;
    make_symbols(is_64, big, symbols, count, &entries, &strings);
    const made_section sections[] = {
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, bytes, 0x400, 0, 0, 16, 0},
        {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x2000, bytes, 0x100, 0, 0, 16, 0},
        {".symtab", SHT_SYMTAB, 0, 0, entries.bytes, entries.size_bytes, 4, 1, 8, is_64 ? 24 : 16},
        {".strtab", SHT_STRTAB, 0, 0, strings.bytes, strings.size_bytes, 0, 0, 1, 0},
    };
    const made_segment segments[] = {{.type = PT_LOAD,
                                      .flags = PF_R | PF_X,
                                      .addr = 0x1000,
                                      .align = 0x1000,
                                      .of_section = TEXT}};
    const made_elf made = {is_64, big, ET_DYN, machine, segments, 1, sections, 4};
    made_bytes file = make_elf(&made);
    free(entries.bytes);
    free(strings.bytes);
    pt_image_file image = PT_IMAGE_FILE_INIT;
    assert_int_equal(pt_blob_new(file.size_bytes, &image.blob, NULL), PT_OK);
    memcpy(pt_blob_bytes(&image.blob), file.bytes, file.size_bytes);
    free(file.bytes);
    image.path = pt_strdup("made");
    pt_object *o = NULL;
    assert_int_equal(pt_object_open(&image, NULL, NULL, &o, NULL), PT_OK);
    return o;
}

static void of_symbols_at_one_address_the_public_plain_one_is_meant(void **state)
{
    const made_symbol symbols[] = {
        {"local_name", 0x1000, 16, TEXT, STB_LOCAL, STT_FUNC},
        {"weak_name", 0x1000, 16, TEXT, STB_WEAK, STT_FUNC},
        {"__global_name", 0x1000, 16, TEXT, STB_GLOBAL, STT_FUNC},
        {"global_name", 0x1000, 16, TEXT, STB_GLOBAL, STT_FUNC},
        {"a_label", 0x1000, 16, TEXT, STB_GLOBAL, STT_NOTYPE},
        {"a_point", 0x1000, 0, TEXT, STB_GLOBAL, STT_FUNC},
        {"weak_2", 0x1020, 16, TEXT, STB_WEAK, STT_FUNC},
        {"local_2", 0x1020, 16, TEXT, STB_LOCAL, STT_FUNC},
        {"b_same", 0x1040, 16, TEXT, STB_GLOBAL, STT_FUNC},
        {"a_same", 0x1040, 16, TEXT, STB_GLOBAL, STT_FUNC},
    };
    for (int form = 0; form < 4; form++) { /* each class and byte order */
        pt_object *o = object_of(symbols, 10, form & 1, form & 2, EM_PPC64);
        assert_string_equal(symbol_at(o, 0x1008), "global_name");
        assert_string_equal(symbol_at(o, 0x1028), "weak_2");
        assert_string_equal(symbol_at(o, 0x104f), "a_same");
        pt_object_free(o);
    }
}

static void an_inner_symbol_hides_that_part_of_the_outer_one(void **state)
{
    const made_symbol symbols[] = {
        {"outer", 0x1000, 0x100, TEXT, STB_GLOBAL, STT_FUNC},
        {"inner", 0x1040, 0x20, TEXT, STB_LOCAL, STT_FUNC},
        {"innermost", 0x1048, 8, TEXT, STB_LOCAL, STT_FUNC},
        {"longer", 0x1000, 0x180, TEXT, STB_LOCAL, STT_FUNC},
        {"overlapping", 0x10f0, 0x20, TEXT, STB_LOCAL, STT_FUNC},
    };
    static const struct {
        uint64_t addr;
        const char *name;
    } expected[] = {{0x1000, "outer"},
                    {0x103f, "outer"},
                    {0x1040, "inner"},
                    {0x1048, "innermost"},
                    {0x1050, "inner"},
                    {0x105f, "inner"},
                    {0x1060, "outer"},
                    {0x10ef, "outer"},
                    {0x10f0, "overlapping"},
                    {0x110f, "overlapping"},
                    {0x1110, "longer"},
                    {0x117f, "longer"},
                    {0x1180, ""}};
    pt_object *o = object_of(symbols, 5, true, false, EM_X86_64);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(symbol_at(o, expected[i].addr), expected[i].name);
    pt_object_free(o);
}

static void what_marks_code_is_no_name_for_it(void **state)
{
    const made_symbol symbols[] = {
        {"$x", 0x1000, 0, TEXT, STB_LOCAL, STT_NOTYPE},
        {"$d.1", 0x1010, 0, TEXT, STB_LOCAL, STT_NOTYPE},
        {".Lloop", 0x1020, 0, TEXT, STB_LOCAL, STT_NOTYPE},
        {"", 0x1030, 16, TEXT, STB_GLOBAL, STT_FUNC},
        {"of_data", 0x1040, 16, TEXT, STB_GLOBAL, STT_OBJECT},
        {"elsewhere", 0x1050, 16, DATA, STB_GLOBAL, STT_FUNC},
        {"undefined", 0x1060, 16, SHN_UNDEF, STB_GLOBAL, STT_FUNC},
        {"outside", 0x1400, 16, TEXT, STB_GLOBAL, STT_FUNC},
        {"thumb", 0x1071, 16, TEXT, STB_GLOBAL, STT_FUNC},
    };
    pt_object *o = object_of(symbols, 9, false, false, EM_ARM);
    for (uint64_t addr = 0x1000; addr < 0x1070; addr++)
        assert_string_equal(symbol_at(o, addr), "");
    assert_string_equal(symbol_at(o, 0x1400), "");
    assert_string_equal(symbol_at(o, 0x1070), "thumb"); /* bit 0 says Thumb, not where */
    assert_string_equal(symbol_at(o, 0x1080), "");
    pt_object_free(o);
    /* On other machines "$x" is as good a name as any. */
    o = object_of(symbols, 1, true, false, EM_X86_64);
    assert_string_equal(symbol_at(o, 0x1008), "$x");
    pt_object_free(o);
}

/* nm -S knows where each function begins and how long it is. */
static void every_function_of_nm_is_found_from_its_first_byte_to_its_last(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    pt_object *o = open_object(path);
    char command[1200], line[1024], type, name[512];
    unsigned long long addr, size_bytes;
    unsigned checked = 0;
    snprintf(command, sizeof command, "nm -S --defined-only '%s'", path);
    FILE *nm = popen(command, "r");
    assert_non_null(nm);
    while (fgets(line, sizeof line, nm) != NULL) {
        if (sscanf(line, "%llx %llx %c %511s", &addr, &size_bytes, &type, name) != 4 ||
            strchr("tTwW", type) == NULL)
            continue;
        pt_object_symbol symbol;
        assert_true(pt_object_symbol_at(o, addr, &symbol));
        assert_string_equal(symbol.name, name);
        assert_true(symbol.addr == addr && symbol.end_addr == addr + size_bytes);
        assert_string_equal(symbol_at(o, addr + size_bytes - 1), name);
        checked++;
    }
    pclose(nm);
    assert_true(checked >= 6);
    pt_object_free(o);
}

/* objdump knows the stubs: "0000000000001030 <puts@plt>:". */
static void stubs_of_calls_into_libraries_are_named_as_objdump_names_them(void **state)
{
    static const char *const images[] = {"calls-lazy", "calls-now", "calls-cet", "calls-lld"};
    unsigned checked = 0;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        const char *path = image_path(images[i]);
        if (path == NULL) continue;
        pt_object *o = open_object(path);
        char command[1200], line[1024], name[512];
        unsigned long long addr;
        snprintf(command, sizeof command, "objdump -d '%s'", path);
        FILE *objdump = popen(command, "r");
        assert_non_null(objdump);
        while (fgets(line, sizeof line, objdump) != NULL) {
            const char *mark = NULL; /* "puts@plt-0x10" is what comes before the first one */
            if (sscanf(line, "%llx <%511[^>]>:", &addr, name) != 2 ||
                (mark = strstr(name, "@plt")) == NULL || mark[4] != '\0')
                continue;
            /* With CET a lazy stub before the real one has the same name there; nobody runs it. */
            if (strcmp(symbol_at(o, addr), "") == 0 && strcmp(images[i], "calls-cet") == 0)
                continue;
            assert_string_equal(symbol_at(o, addr), name);
            assert_string_equal(symbol_at(o, addr + 5), name);
            checked++;
        }
        pclose(objdump);
        pt_object_free(o);
    }
    if (checked == 0) skip();
    assert_true(checked >= 6);
}

/* ---- lines ---- */

typedef struct {
    char *name, *file; /* file "" and line 0: unknown */
    unsigned line, column;
} known_frame;

typedef struct {
    known_frame *items;
    size_t count, cap;
} known_chain;

static void add_known(known_chain *chain, const char *name, const char *file, unsigned line,
                      unsigned column)
{
    char *tidy = malloc(strlen(file) + 1);
    pt_tidy_path_text(strncmp(file, "??", 2) == 0 ? "" : file, tidy);
    PT_GROW(*chain, chain->count + 1);
    chain->items[chain->count++] = (known_frame){pt_strdup(name), tidy, line, column};
}

static void free_chains(known_chain *chains, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < chains[i].count; k++) {
            free(chains[i].items[k].name);
            free(chains[i].items[k].file);
        }
        free(chains[i].items);
    }
    free(chains);
}

static void keep_frames(void *context, size_t index, const pt_object_frame *frames, size_t count,
                        uint64_t symbol_bytes)
{
    known_chain *chains = context;
    assert_true(count > 0);
    assert_int_equal(chains[index].count, 0); /* once only */
    for (size_t i = 0; i < count; i++)
        add_known(&chains[index], frames[i].linkage_name, frames[i].file, frames[i].line,
                  frames[i].column);
}

/* Every address of .text, and what the object says of each. */
static known_chain *ask_text(const char *path, uint64_t **ret_addrs, size_t *ret_count)
{
    pt_object *o = open_object(path);
    pt_elf_section text;
    assert_true(pt_elf_section_named(pt_object_elf(o), ".text", &text));
    uint64_t *addrs = pt_alloc(text.size_bytes, sizeof *addrs);
    for (uint64_t i = 0; i < text.size_bytes; i++)
        addrs[i] = text.addr + i;
    known_chain *chains = pt_alloc(text.size_bytes, sizeof *chains);
    pt_object_resolve(o, PT_OBJECT_LINES, addrs, text.size_bytes, NULL, keep_frames, chains);
    pt_object_free(o);
    *ret_addrs = addrs;
    *ret_count = text.size_bytes;
    return chains;
}

/* The command's answers for the addresses, which it reads from its standard input. Blocks end at an
 * empty line, or begin with a line "0x...". A frame is a line with the name and one with the place.
 */
static known_chain *ask_tool(const char *command, const char *path, const uint64_t *addrs,
                             size_t count)
{
    char input[] = "/tmp/pitot-test-XXXXXX", line[4096], name[4096] = "", full[8192];
    FILE *f = fdopen(mkstemp(input), "w");
    assert_non_null(f);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "0x%llx\n", (unsigned long long)addrs[i]);
    fclose(f);
    snprintf(full, sizeof full, "%s '%s' <%s 2>/dev/null", command, path, input);
    FILE *tool = popen(full, "r");
    assert_non_null(tool);
    known_chain *chains = pt_alloc(count, sizeof *chains);
    size_t block = 0;
    bool begun = false, by_address = false;
    while (fgets(line, sizeof line, tool) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const bool is_address = strncmp(line, "0x", 2) == 0;
        by_address |= is_address;
        if (line[0] == '\0' || is_address) {
            block += begun ? 1 : 0;
            begun = is_address;
            name[0] = '\0';
            continue;
        }
        begun = true;
        if (name[0] == '\0') {
            snprintf(name, sizeof name, "%s", line);
            continue;
        }
        unsigned number = 0, column = 0;
        char *colon = strchr(line, ' '); /* " (discriminator 3)" */
        if (colon != NULL) *colon = '\0';
        if (!by_address && (colon = strrchr(line, ':')) != NULL) {
            column = (unsigned)strtoul(colon + 1, NULL, 10);
            *colon = '\0';
        }
        if ((colon = strrchr(line, ':')) != NULL) {
            number = (unsigned)strtoul(colon + 1, NULL, 10);
            *colon = '\0';
        }
        assert_true(block < count);
        if (strcmp(name, "??") != 0) add_known(&chains[block], name, line, number, column);
        name[0] = '\0';
    }
    const int status = pclose(tool);
    unlink(input);
    if (status != 0) {
        free_chains(chains, count);
        return NULL;
    }
    return chains;
}

/* The same function: equal as linked, but for a clone's suffix (foo.cold) and for which of the
 * symbols of a constructor it is; or the tool gives the bare name of what we name with its scope.
 */
static bool same_function(const char *own, const char *tool)
{
    const size_t own_bytes = strlen(own), tool_bytes = strlen(tool);
    if (strcmp(own, tool) == 0 || (strncmp(own, tool, own_bytes) == 0 && tool[own_bytes] == '.'))
        return true;
    if (own_bytes > tool_bytes + 2 && strcmp(own + own_bytes - tool_bytes, tool) == 0 &&
        strncmp(own + own_bytes - tool_bytes - 2, "::", 2) == 0)
        return true;
    char *a = pt_demangle(own, PT_DEMANGLE_FULL), *b = pt_demangle(tool, PT_DEMANGLE_FULL);
    const bool same = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

static const char *const shapes[] = {
    "shapes-gcc-O0",       "shapes-gcc-O2",        "shapes-gcc-dwarf2",   "shapes-gcc-dwarf3",
    "shapes-gcc-dwarf64",  "shapes-gcc-dwarf4-gz", "shapes-gcc-zdebug",   "shapes-gcc-fixed",
    "shapes-gcc-types",    "shapes-gcc-types5",    "shapes-gcc-sections", "shapes-gcc-split",
    "shapes-gcc-split4",   "shapes-gcc-dwp",       "shapes-gcc-lto",      "libshapes.so",
    "shapes-clang-O0",     "shapes-clang-O2",      "shapes-clang-gmlt",   "shapes-clang-dwarf2",
    "shapes-clang-split4", "shapes-clang-split5",  "shapes-clang-dwp4",   "shapes-clang-dwp5",
    "shapes-clang-types",  "shapes-i386.so",       "shapes-mips.so",      "shapes-powerpc64.so",
    "shapes-aarch64.so"};

static void check_against_llvm(const char *image, const known_chain *own, const known_chain *tool,
                               const uint64_t *addrs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (own[i].count != tool[i].count)
            fail_msg("%s 0x%llx: %zu frames, llvm-symbolizer has %zu", image,
                     (unsigned long long)addrs[i], own[i].count, tool[i].count);
        for (size_t k = 0; k < own[i].count; k++) {
            const known_frame *a = &own[i].items[k], *b = &tool[i].items[k];
            /* Without lines it takes the file from the symbol table's file names. */
            const bool same_place =
                (a->file[0] == '\0' && b->line == 0) ||
                (strcmp(a->file, b->file) == 0 && a->line == b->line && a->column == b->column);
            if (!same_place || !same_function(a->name, b->name))
                fail_msg("%s 0x%llx frame %zu: %s %s:%u:%u, llvm-symbolizer has %s %s:%u:%u", image,
                         (unsigned long long)addrs[i], k, a->name, a->file, a->line, a->column,
                         b->name, b->file, b->line, b->column);
        }
    }
}

static void every_address_is_named_as_llvm_symbolizer_names_it(void **state)
{
    unsigned compared = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const char *path = image_path(shapes[s]);
        if (path == NULL) continue;
        uint64_t *addrs;
        size_t count;
        known_chain *own = ask_text(path, &addrs, &count);
        known_chain *tool = ask_tool("llvm-symbolizer-14 --inlines --functions=linkage "
                                     "--no-demangle --output-style=LLVM -e",
                                     path, addrs, count);
        if (tool != NULL) {
            check_against_llvm(shapes[s], own, tool, addrs, count);
            free_chains(tool, count);
            compared++;
        }
        free_chains(own, count);
        free(addrs);
    }
    if (compared == 0) skip();
}

/* LLVM 14 reads neither zstd nor files shared by dwz, so it reads the same program without them. */
static void what_is_packed_or_shared_is_named_as_before(void **state)
{
    static const char *const pairs[][2] = {{"shapes-gcc-zstd", "shapes-gcc-O2"},
                                           {"dwz-a", "shapes-gcc-O2"},
                                           {"dwz-b", "shapes-gcc-O0"}};
    unsigned compared = 0;
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        const char *path = image_path(pairs[p][0]);
        if (path == NULL) continue;
        uint64_t *addrs, *same_addrs;
        size_t count, same_count;
        known_chain *own = ask_text(path, &addrs, &count);
        known_chain *plain = ask_text(image_path(pairs[p][1]), &same_addrs, &same_count);
        assert_int_equal(count, same_count);
        check_against_llvm(pairs[p][0], own, plain, addrs, count);
        free_chains(own, count);
        free_chains(plain, count);
        free(addrs);
        free(same_addrs);
        compared++;
    }
    if (compared == 0) skip();
}

/* nm knows the local functions that strip has taken from the library. */
static void symbols_packed_with_xz_are_found_beside_the_exported_ones(void **state)
{
    NEED_IMAGE("libmini.so");
    if (pt_object_xz_version() == NULL) skip();
    pt_object *whole = open_object(image_path("libshapes.so"));
    pt_object *mini = open_object(image_path("libmini.so"));
    pt_object_facts facts;
    pt_object_look(mini, PT_OBJECT_SYMBOLS, &facts);
    assert_false(facts.is_dynamic_only);
    pt_elf_section text;
    assert_true(pt_elf_section_named(pt_object_elf(whole), ".text", &text));
    unsigned local_count = 0;
    for (uint64_t addr = text.addr; addr < text.addr + text.size_bytes; addr++) {
        assert_string_equal(symbol_at(mini, addr), symbol_at(whole, addr));
        local_count += strstr(symbol_at(mini, addr), "stay") != NULL;
    }
    assert_true(local_count > 0);
    pt_object_free(whole);
    pt_object_free(mini);
}

/* Go's linker writes the same facts twice: as DWARF, and in the table of its runtime. */
static void the_table_of_gos_runtime_names_what_dwarf_named_before_strip(void **state)
{
    NEED_IMAGE("inlines-go-stripped");
    pt_object *whole = open_object(image_path("inlines-go"));
    pt_object *stripped = open_object(image_path("inlines-go-stripped"));
    static const char *const functions[] = {"main.total", "main.main"};
    size_t longest = 0;
    for (size_t f = 0; f < 2; f++) {
        const uint64_t addr = address_of(whole, SHT_SYMTAB, functions[f]);
        pt_object_symbol symbol;
        assert_true(pt_object_symbol_at(whole, addr, &symbol));
        for (uint64_t pc = symbol.addr; pc < symbol.end_addr; pc++) {
            known_chain *a = pt_alloc(1, sizeof *a), *b = pt_alloc(1, sizeof *b);
            assert_int_equal(
                pt_object_resolve(whole, PT_OBJECT_LINES, &pc, 1, NULL, keep_frames, a), 1);
            const size_t named =
                pt_object_resolve(stripped, PT_OBJECT_LINES, &pc, 1, NULL, keep_frames, b);
            if (named == 1) { /* else padding after the last instruction */
                check_against_llvm("inlines-go-stripped", b, a, &pc, 1);
                longest = b->count > longest ? b->count : longest;
            }
            free_chains(a, 1);
            free_chains(b, 1);
        }
    }
    assert_int_equal(longest, 3); /* dot in lengthSquared in total */
    pt_object_facts facts;
    pt_object_look(stripped, PT_OBJECT_LINES, &facts);
    assert_true(facts.has_lines && !facts.is_dynamic_only && facts.symbol_count > 2);
    pt_object_free(whole);
    pt_object_free(stripped);
}

static void put_frames(void *context, size_t index, const pt_object_frame *frames, size_t count,
                       uint64_t symbol_bytes)
{
    pt_putf(context, "%zu %llu", index, (unsigned long long)symbol_bytes);
    for (size_t i = 0; i < count; i++)
        pt_putf(context, " %s %s:%u:%u %u", frames[i].linkage_name, frames[i].file, frames[i].line,
                frames[i].column, frames[i].start_line);
}

/* A Go program has a unit for each package. */
static void one_thread_and_four_answer_alike_and_in_the_same_order(void **state)
{
    NEED_IMAGE("inlines-go");
    pt_buf told[2] = {PT_BUF_INIT, PT_BUF_INIT};
    for (unsigned turn = 0; turn < 2; turn++) {
        pt_object *o = open_object(image_path("inlines-go"));
        pt_pool *pool = turn == 0 ? NULL : pt_pool_new(4);
        pt_elf_section text;
        assert_true(pt_elf_section_named(pt_object_elf(o), ".text", &text));
        const size_t count = text.size_bytes / 61;
        uint64_t *addrs = pt_alloc(count, sizeof *addrs);
        for (size_t i = 0; i < count; i++)
            addrs[i] = text.addr + i * 61;
        assert_true(pt_object_resolve(o, PT_OBJECT_LINES, addrs, count, pool, put_frames,
                                      &told[turn]) > count / 2);
        free(addrs);
        pt_pool_free(pool);
        pt_object_free(o);
    }
    assert_int_equal(told[0].size, told[1].size);
    assert_memory_equal(told[0].data, told[1].data, told[0].size);
    pt_buf_done(&told[0]);
    pt_buf_done(&told[1]);
}

/* The seeds of fuzz/corpus/gopclntab hold two functions: main.outer at 0x1000, of 0x40 bytes, and
 * main.other behind it. In the first 16 bytes of main.outer (line 10) runs main.inner, which is
 * called in line 12; in the next 16 (lib.go, line 33) main.other, which is called in line 10 of
 * main.inner. */
static void the_table_of_gos_runtime_is_read_as_each_release_lays_it_out(void **state)
{
    static const char *const releases[] = {"go-1.16", "go-1.18", "go-1.20"};
    known_frame frames[] = {{(char[]){"main.other"}, (char[]){"/src/lib.go"}, 33, 0},
                            {(char[]){"main.inner"}, (char[]){"/src/main.go"}, 10, 0},
                            {(char[]){"main.outer"}, (char[]){"/src/main.go"}, 12, 0},
                            {(char[]){"main.other"}, (char[]){"/src/main.go"}, 10, 0}};
    /* The second table of main.other is the first's: 16 bytes of line 10, and so on. */
    const struct {
        uint64_t addr;
        known_frame *frames;
        size_t count;
    } expected[] = {
        {0x1004, frames + 1, 2}, {0x101f, frames, 3},     {0x1030, frames + 2, 1},
        {0x1044, frames + 3, 1}, {0x1080, frames + 3, 0},
    };
    enum { WORDS = 41, TABLE_ADDR = 0x4000 };
    static uint64_t module[WORDS]; /* runtime.moduledata: the table, and where trees count from */
    for (size_t i = 0; i < WORDS; i++)
        module[i] = htole64(TABLE_ADDR);
    for (size_t r = 0; r < sizeof releases / sizeof releases[0]; r++) {
        PT_FREE char *path = pt_strf("%s/fuzz/corpus/gopclntab/%s", PT_SOURCE_ROOT, releases[r]);
        pt_blob table;
        assert_int_equal(pt_file_read(path, 0, 4096, &table, NULL), PT_OK);
        const made_section sections[] = {
            {".gopclntab", SHT_PROGBITS, SHF_ALLOC, TABLE_ADDR, table.data, table.size, 0, 0, 8, 0},
            {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x3000, (const uint8_t *)module,
             sizeof module, 0, 0, 8, 0},
        };
        const made_elf made = {true, false, ET_EXEC, EM_X86_64, NULL, 0, sections, 2};
        made_bytes file = make_elf(&made);
        pt_image_file image = PT_IMAGE_FILE_INIT;
        image.blob = pt_blob_borrow(file.bytes, file.size_bytes);
        pt_object *o = NULL;
        assert_int_equal(pt_object_open(&image, NULL, NULL, &o, NULL), PT_OK);
        for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
            known_chain *own = pt_alloc(1, sizeof *own);
            const known_chain known = {.items = expected[i].frames, .count = expected[i].count};
            pt_object_resolve(o, PT_OBJECT_LINES, &expected[i].addr, 1, NULL, keep_frames, own);
            check_against_llvm(releases[r], own, &known, &expected[i].addr, 1);
            free_chains(own, 1);
        }
        pt_object_free(o);
        free(file.bytes);
        pt_blob_done(&table);
    }
}

/* addr2line takes names from symbols past their end, so only places are compared, where we have
 * one. Left out: split DWARF, machines that its BFD is not built for, what gcc 12 made with -flto
 * (it says <artificial> for files); and what binutils 2.40 cannot read: .zdebug_rnglists, offsets
 * of 8 bytes, a version 2 whose units say only where their .text is. */
static bool is_for_addr2line(const char *image)
{
    static const char *const left_out[] = {"split",   "dwp",    "lto",   "zdebug",
                                           "dwarf64", "dwarf2", "types5"};
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strstr(image, left_out[i]) != NULL) return false;
    return strstr(image, "gcc-") != NULL || strstr(image, "lib") != NULL;
}

static void every_line_and_inlined_call_is_where_addr2line_puts_it(void **state)
{
    unsigned compared = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const char *path = image_path(shapes[s]);
        if (path == NULL || !is_for_addr2line(shapes[s])) continue;
        uint64_t *addrs;
        size_t count;
        known_chain *own = ask_text(path, &addrs, &count);
        known_chain *tool = ask_tool("addr2line -a -f -i -e", path, addrs, count);
        for (size_t i = 0; tool != NULL && i < count; i++) {
            if (own[i].count == 0 || own[i].items[0].file[0] == '\0') continue;
            if (own[i].count != tool[i].count ||
                strcmp(own[i].items[0].file, tool[i].items[0].file) != 0)
                fail_msg("%s 0x%llx: %zu frames, %s, addr2line has %zu, %s", shapes[s],
                         (unsigned long long)addrs[i], own[i].count, own[i].items[0].file,
                         tool[i].count, tool[i].count > 0 ? tool[i].items[0].file : "");
            for (size_t k = 0; k < own[i].count; k++) {
                assert_string_equal(own[i].items[k].file, tool[i].items[k].file);
                assert_int_equal(own[i].items[k].line, tool[i].items[k].line);
            }
            compared++;
        }
        if (tool != NULL) free_chains(tool, count);
        free_chains(own, count);
        free(addrs);
    }
    if (compared == 0) skip();
}

/* shapes.cc: walk_all calls walk, which calls sign_of, in each other's bodies. */
static void a_chain_of_inlined_calls_begins_with_the_innermost(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    uint64_t *addrs;
    size_t count;
    known_chain *own = ask_text(image_path("shapes-gcc-O2"), &addrs, &count);
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        if (own[i].count != 3 || strstr(own[i].items[0].name, "sign_of") == NULL) continue;
        assert_string_equal(own[i].items[0].name, "geometry::(anonymous namespace)::sign_of");
        assert_string_equal(own[i].items[1].name, "geometry::(anonymous namespace)::walker::walk");
        assert_string_equal(own[i].items[2].name, "_ZN8geometry8walk_allEi");
        found++;
    }
    assert_true(found > 0);
    free_chains(own, count);
    free(addrs);
}

/* ---- damage ---- */

static void ask_damaged(const uint8_t *bytes, size_t size_bytes)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_object *o = NULL;
    assert_int_equal(pt_blob_new(size_bytes > 0 ? size_bytes : 1, &file.blob, NULL), PT_OK);
    assert_int_equal(pt_blob_resize(&file.blob, size_bytes, NULL), PT_OK);
    if (size_bytes > 0) memcpy(pt_blob_bytes(&file.blob), bytes, size_bytes);
    if (pt_object_open(&file, NULL, NULL, &o, NULL) != PT_OK) return;
    uint64_t addrs[0x600];
    for (size_t i = 0; i < 0x600; i++)
        addrs[i] = i;
    known_chain *chains = pt_alloc(0x600, sizeof *chains);
    pt_object_resolve(o, PT_OBJECT_LINES, addrs, 0x600, NULL, keep_frames, chains);
    free_chains(chains, 0x600);
    pt_object_free(o);
}

static void an_image_cut_short_or_altered_at_any_byte_is_survived(void **state)
{
    NEED_IMAGE("tiny.so");
    pt_image_file tiny = open_image_file(image_path("tiny.so"));
    const size_t n = tiny.blob.size;
    assert_true(n < 4096);
    uint8_t *copy = malloc(n);
    for (size_t size_bytes = 0; size_bytes < n; size_bytes += 1)
        ask_damaged(tiny.blob.data, size_bytes);
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, tiny.blob.data, n);
        copy[i] ^= 0xff;
        ask_damaged(copy, n);
        copy[i] ^= 0xfe; /* the lowest bit is altered alone */
        ask_damaged(copy, n);
    }
    free(copy);
    pt_image_file_done(&tiny);
}

static void what_is_no_image_is_refused_by_name(void **state)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_object *o = NULL;
    pt_error error = PT_ERROR_INIT;
    file.blob = pt_blob_borrow("#!/bin/sh\n", 10);
    file.path = pt_strdup("/bin/script");
    assert_int_equal(pt_object_open(&file, NULL, NULL, &o, &error), PT_ERR_FORMAT);
    assert_string_equal(error.path, "/bin/script");
    assert_string_equal(error.message, "not an elf file");
    assert_null(file.path); /* taken over all the same */
}

static void paths_are_tidied_by_text_alone(void **state)
{
    static const char *const cases[][2] = {
        {"/a/b/../c/./d//e.c", "/a/c/d/e.c"},
        {"./x.c", "x.c"},
        {"../../x.c", "../../x.c"},
        {"a/../../x.c", "../x.c"},
        {"/../x.c", "/x.c"},
        {"a/..", ""},
        {"/usr/bin/../lib/gcc/x/12/../../../../include/c++/12/v", "/usr/include/c++/12/v"},
        {"", ""},
        {"/", "/"},
        {"a/.../b", "a/.../b"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[128];
        pt_tidy_path_text(cases[i][0], out);
        assert_string_equal(out, cases[i][1]);
    }
}

static void keep_start_lines(void *context, size_t index, const pt_object_frame *frames,
                             size_t count, uint64_t symbol_bytes)
{
    uint32_t *start = context;
    start[0] = frames[0].start_line;
    start[1] = count > 1 ? frames[1].start_line : 0;
    start[2] = (uint32_t)symbol_bytes;
}

/* tiny.c: square is declared in line 2, tiny in line 7; the imul is square's. */
static void a_frame_knows_where_its_function_begins(void **state)
{
    NEED_IMAGE("tiny.so");
    pt_object *o = open_object(image_path("tiny.so"));
    const uint64_t addr = address_of(o, SHT_SYMTAB, "tiny");
    pt_object_symbol symbol;
    assert_true(pt_object_symbol_at(o, addr, &symbol));
    uint32_t start[3] = {0};
    assert_int_equal(pt_object_resolve(o, PT_OBJECT_LINES, &addr, 1, NULL, keep_start_lines, start),
                     1);
    assert_int_equal(start[2], symbol.end_addr - symbol.addr);
    assert_true((start[0] == 2 && start[1] == 7) || (start[0] == 7 && start[1] == 0));
    pt_object_facts facts;
    pt_object_look(o, PT_OBJECT_LINES, &facts);
    assert_true(facts.has_lines && !facts.is_dynamic_only && facts.debug_path == NULL);
    pt_object_free(o);
}

/* ---- debug information that is too good to be true ---- */

/* An image whose .debug_info is packed by zlib: `size` bytes of zero. */
static made_bytes make_packed_zeros(size_t size)
{
    struct libdeflate_compressor *const packer = libdeflate_alloc_compressor(1);
    const size_t most = libdeflate_zlib_compress_bound(packer, size);
    uint8_t *const zeros = calloc(1, size), *const packed = calloc(1, sizeof(Elf64_Chdr) + most);
    const Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 1};
    memcpy(packed, &header, sizeof header);
    const size_t packed_bytes =
        libdeflate_zlib_compress(packer, zeros, size, packed + sizeof header, most);
    const made_section section = {.name = ".debug_info",
                                  .type = SHT_PROGBITS,
                                  .flags = SHF_COMPRESSED,
                                  .data = packed,
                                  .size_bytes = sizeof header + packed_bytes,
                                  .align = 8};
    const made_elf elf = {.is_64 = true,
                          .type = ET_DYN,
                          .machine = EM_X86_64,
                          .sections = &section,
                          .section_count = 1};
    const made_bytes image = make_elf(&elf);
    libdeflate_free_compressor(packer);
    free(zeros);
    free(packed);
    return image;
}

static pt_status open_packed_zeros(size_t size, pt_error *error)
{
    const made_bytes image = make_packed_zeros(size);
    pt_image_file file = PT_IMAGE_FILE_INIT;
    file.blob = pt_blob_borrow(image.bytes, image.size_bytes);
    const pt_dwarf_source source = {.file = &file, .image_path = "zeros"};
    pt_dwarf *const dwarf = pt_dwarf_open(&source, error);
    assert_null(dwarf);
    pt_image_file_done(&file);
    free(image.bytes);
    return error->status;
}

/* zlib shrinks zeros a thousandfold; code of gcc and clang shrinks two- to fourfold. */
static void debug_information_that_grows_more_than_64_fold_is_not_inflated(void **state)
{
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(open_packed_zeros((64 << 20) + 1, &error), PT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "claims to grow more than 64 times"));
    assert_int_equal(open_packed_zeros(1 << 20, &error), PT_ERR_NOTFOUND); /* small: read */
}

/* All sections together: half of the memory that is left, and its option is named. */
static void debug_information_is_inflated_into_the_memory_that_is_left(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_memory_limit_set(0, true, "; --max-memory=SIZE allows more");
    assert_int_equal(open_packed_zeros(PT_MEMORY_PROGRAM_BYTES, &error), PT_ERR_LIMIT);
    pt_memory_limit_set(UINT64_MAX, false, "");
    assert_non_null(strstr(error.message, "decompresses to 16777216 bytes"));
    assert_non_null(strstr(error.message, "; --max-memory=SIZE allows more"));
}

/* Four zeros are a unit of no bytes: a gigabyte of them would be 2^28 rounds. */
static void units_of_no_bytes_spend_the_budget_too(void **state)
{
    static const uint8_t zeros[4000];
    pt_dwarf_file file = {.sections[PT_DWARF_INFO] = {zeros, sizeof zeros}};
    uint64_t budget = 1500;
    pt_dwarf_list_units(&file, &budget);
    assert_int_equal(budget, 500);
    budget = 300;
    pt_dwarf_list_units(&file, &budget);
    assert_int_equal(budget, 0);
    assert_int_equal(file.units.count, 0);
}

/* ---- lists of ranges that everybody shares ---- */

enum { FUNCTIONS = 30000, LIST_ENTRIES = 100000 };

/* A unit of version 5 whose functions all have the one list of ranges, in which every entry only
 * says a base: FUNCTIONS times LIST_ENTRIES steps for whoever reads each anew. */
static made_bytes make_shared_lists(void)
{
    static const uint8_t abbrevs[] = {1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0, /* unit: pcs */
                                      2, 0x2e, 0, 0x55, 0x17, 0,    0,    0}; /* function: ranges */
    static uint8_t info[12 + 1 + 16 + FUNCTIONS * 5 + 1], lists[LIST_ENTRIES * 9 + 1], code[64];
    const uint32_t length = sizeof info - 4;
    const uint64_t low = 0x1000, size = sizeof code;
    memcpy(info, &length, 4);
    memcpy(info + 4, "\x05\0\x01\x08\0\0\0\0\x01", 9); /* version 5, compile, 8 bytes, abbrev 0 */
    memcpy(info + 13, &low, 8);
    memcpy(info + 21, &size, 8);
    for (size_t i = 0; i < FUNCTIONS; i++)
        info[29 + i * 5] = 2;
    for (size_t i = 0; i < LIST_ENTRIES; i++)
        lists[i * 9] = 5; /* DW_RLE_base_address */
    const made_section sections[] = {
        {.name = ".text",
         .type = SHT_PROGBITS,
         .flags = SHF_ALLOC | SHF_EXECINSTR,
         .addr = low,
         .data = code,
         .size_bytes = sizeof code,
         .align = 16},
        {.name = ".debug_info", .type = SHT_PROGBITS, .data = info, .size_bytes = sizeof info},
        {.name = ".debug_abbrev",
         .type = SHT_PROGBITS,
         .data = abbrevs,
         .size_bytes = sizeof abbrevs},
        {.name = ".debug_rnglists",
         .type = SHT_PROGBITS,
         .data = lists,
         .size_bytes = sizeof lists}};
    const made_elf elf = {.is_64 = true,
                          .type = ET_DYN,
                          .machine = EM_X86_64,
                          .sections = sections,
                          .section_count = 4};
    return make_elf(&elf);
}

static void ignore_frames(void *context, size_t index, const pt_object_frame *frames, size_t count,
                          uint64_t symbol_bytes)
{
    (void)context;
    (void)index;
    (void)frames;
    (void)count;
    (void)symbol_bytes;
}

static void lists_of_ranges_count_against_the_budget(void **state)
{
    const made_bytes image = make_shared_lists();
    pt_image_file file = PT_IMAGE_FILE_INIT;
    file.blob = pt_blob_borrow(image.bytes, image.size_bytes);
    const pt_code_range code = {0x1000, 0x1040};
    const pt_dwarf_source source = {
        .file = &file, .image_path = "lists", .code = &code, .code_count = 1};
    const clock_t began = clock();
    pt_error error = PT_ERROR_INIT;
    pt_dwarf *const dwarf = pt_dwarf_open(&source, &error);
    assert_non_null(dwarf);
    const uint64_t addr = 0x1010;
    bool done = false;
    const pt_symbol_index none = {0};
    pt_dwarf_resolve(dwarf, &addr, 1, &done, &none, NULL, ignore_frames, NULL);
    /* 3e9 steps would be more than ten seconds of this clock, which is the CPU's; a budget of 64
     * steps a byte is a fraction of one, and some under the sanitizers. */
    assert_true(clock() - began < 6 * CLOCKS_PER_SEC);
    pt_dwarf_free(dwarf);
    pt_image_file_done(&file);
    free(image.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_information_that_grows_more_than_64_fold_is_not_inflated),
        cmocka_unit_test(units_of_no_bytes_spend_the_budget_too),
        cmocka_unit_test(debug_information_is_inflated_into_the_memory_that_is_left),
        cmocka_unit_test(lists_of_ranges_count_against_the_budget),
        cmocka_unit_test(a_symbol_ends_at_its_size),
        cmocka_unit_test(a_symbol_without_a_size_ends_where_the_next_one_begins),
        cmocka_unit_test(address_past_the_last_symbol_has_no_name),
        cmocka_unit_test(of_symbols_at_one_address_the_public_plain_one_is_meant),
        cmocka_unit_test(an_inner_symbol_hides_that_part_of_the_outer_one),
        cmocka_unit_test(what_marks_code_is_no_name_for_it),
        cmocka_unit_test(every_function_of_nm_is_found_from_its_first_byte_to_its_last),
        cmocka_unit_test(stubs_of_calls_into_libraries_are_named_as_objdump_names_them),
        cmocka_unit_test(every_address_is_named_as_llvm_symbolizer_names_it),
        cmocka_unit_test(what_is_packed_or_shared_is_named_as_before),
        cmocka_unit_test(symbols_packed_with_xz_are_found_beside_the_exported_ones),
        cmocka_unit_test(the_table_of_gos_runtime_names_what_dwarf_named_before_strip),
        cmocka_unit_test(the_table_of_gos_runtime_is_read_as_each_release_lays_it_out),
        cmocka_unit_test(one_thread_and_four_answer_alike_and_in_the_same_order),
        cmocka_unit_test(every_line_and_inlined_call_is_where_addr2line_puts_it),
        cmocka_unit_test(a_chain_of_inlined_calls_begins_with_the_innermost),
        cmocka_unit_test(a_frame_knows_where_its_function_begins),
        cmocka_unit_test(an_image_cut_short_or_altered_at_any_byte_is_survived),
        cmocka_unit_test(what_is_no_image_is_refused_by_name),
        cmocka_unit_test(paths_are_tidied_by_text_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
