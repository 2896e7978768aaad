/* test_symbolize.c: profiles of images that real tools made (tests/unit/images), mapped where a
 * process could have them; where images and debug files are found, which are passed over, and what
 * the profile then has. Expected names and lines are those of shapes.cc and labels.S. */
#include "image_check.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "../check/profile_equal.h"
#include "model/builder.h"
#include "model/process_user.h"
#include "symbolize/symbolize.h"

#define BASE UINT64_C(0x7f1200000000)

/* A profile in the making: one mapping, one stack a location. */
typedef struct {
    pt_builder *b;
    uint32_t locations;
} making;

static making begin(void)
{
    making m = {.b = pt_builder_new()};
    pt_builder_event(m.b, &(pt_event){.type = pt_builder_text(m.b, "samples").v,
                                      .unit = pt_builder_text(m.b, "count").v});
    return m;
}

/* Maps the executable segment of an image as the kernel would, at base (0: where it was linked),
 * and calls it path. Returns what to add to a linked address. */
static uint64_t map_image(making *m, const char *image, const char *path, const char *build_id,
                          uint64_t base, uint32_t flags)
{
    pt_image_file file = open_image_file(image);
    pt_elf elf;
    pt_elf_segment s;
    assert_int_equal(pt_elf_open(file.blob.data, file.blob.size, &elf), PT_ELF_OK);
    uint32_t i = 0;
    while (pt_elf_segment_at(&elf, i, &s) && !(s.type == PT_LOAD && (s.flags & PF_X) != 0))
        i++;
    const uint64_t low = s.addr & ~UINT64_C(0xfff);
    const uint64_t high = (s.addr + s.memory_bytes + 0xfff) & ~UINT64_C(0xfff);
    const pt_mapping mapping = {.start = base + low,
                                .limit = base + high,
                                .file_offset = s.off & ~UINT64_C(0xfff),
                                .file = pt_builder_text(m->b, path).v,
                                .build_id = pt_builder_text(m->b, build_id).v,
                                .flags = flags};
    pt_builder_append_mapping(m->b, &mapping);
    pt_image_file_done(&file);
    return base;
}

static uint32_t sample_at(making *m, uint32_t mapping, uint64_t address, uint32_t flags)
{
    const pt_location location = {.mapping = mapping, .address = address, .flags = flags};
    const pt_location_id id = pt_builder_append_location(m->b, &location, NULL, 0);
    const pt_stack_id stack = pt_builder_stack(m->b, &id.v, 1, PT_STACK_END_UNKNOWN);
    pt_builder_sample(m->b, stack, PT_NO_LABELS, (int64_t[]){1});
    m->locations++;
    return id.v;
}

static const pt_profile *finish(making *m)
{
    const pt_profile *p = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(m->b, &p, &error) != PT_OK) fail_msg("%s", error.message);
    return p;
}

/* Symbolizes, checks the result, gives the old one back. */
static const pt_profile *named(const pt_profile *p, const pt_symbolize_options *options,
                               unsigned threads, pt_diag *diag)
{
    pt_pool *pool = pt_pool_new(threads);
    const pt_profile *result = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_symbolize(p, options, pool, &result, diag, &error) != PT_OK)
        fail_msg("%s", error.message);
    if (pt_profile_check(result, &error) != PT_OK) fail_msg("%s", error.message);
    pt_pool_free(pool);
    pt_profile_unref(p);
    return result;
}

static uint32_t line_count(const pt_profile *p, uint32_t location)
{
    return p->location->line_first[location + 1] - p->location->line_first[location];
}

/* "name (system name) file:line" of a location's frame. */
static const char *frame_text(const pt_profile *p, uint32_t location, uint32_t k)
{
    static char text[2048];
    if (k >= line_count(p, location)) return "nothing";
    const uint32_t line = p->location->line_first[location] + k;
    const uint32_t f = p->line->function[line];
    const char *file = pt_text(p, p->function->file[f]);
    const char *slash = strrchr(file, '/');
    snprintf(text, sizeof text, "%s (%s) %s:%lld", pt_text(p, p->function->name[f]),
             pt_text(p, p->function->system_name[f]), slash != NULL ? slash + 1 : file,
             (long long)p->line->line[line]);
    return text;
}

static bool any_fact(const pt_diag *diag, const char *part, const char *other_part)
{
    for (size_t i = 0; i < diag->count; i++)
        if (strstr(diag->facts[i].text, part) != NULL &&
            strstr(diag->facts[i].text, other_part) != NULL)
            return true;
    return false;
}

/* One sample at offset into a function of an image, symbolized; the location is row 0. The
 * function's address is taken from an unstripped image. */
static const pt_profile *one_sample(const char *image, const char *path, const char *build_id,
                                    const char *unstripped, const char *function, uint64_t offset,
                                    uint32_t flags, const pt_symbolize_options *options,
                                    pt_diag *diag)
{
    making m = begin();
    pt_object *o = open_object(unstripped);
    const bool fixed = pt_object_elf(o)->type == ET_EXEC;
    const uint64_t addr = address_of(o, SHT_SYMTAB, function) + offset;
    pt_object_free(o);
    const uint64_t bias = map_image(&m, image, path, build_id, fixed ? 0 : BASE, 0);
    sample_at(&m, 0, addr + bias, flags);
    return named(finish(&m), options, 1, diag);
}

static void build_id_of(const char *path, char hex[129])
{
    pt_image_file file = open_image_file(path);
    pt_elf elf;
    assert_int_equal(pt_elf_open(file.blob.data, file.blob.size, &elf), PT_ELF_OK);
    pt_elf_id_hex(pt_elf_build_id(&elf), hex, 129);
    pt_image_file_done(&file);
}

static const pt_symbolize_options full = {.mode = PT_SYMBOLIZE_FULL};

/* ---- names ---- */

#define WALK_ALL "_ZN8geometry8walk_allEi"

static void a_location_gets_function_file_and_line(void **state)
{
    NEED_IMAGE("shapes-gcc-O0");
    static const char *const images[] = {"shapes-gcc-O0", "shapes-gcc-fixed", "shapes-clang-O0"};
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        const char *path = image_path(images[i]);
        if (path == NULL) continue;
        const pt_profile *p = one_sample(path, path, "", path, WALK_ALL, 0, 0, &full, NULL);
        /* Its name is in line 42, its opening brace, where the code begins, in line 43. */
        if (strstr(path, "-O0") != NULL)
            assert_string_equal(frame_text(p, 0, 0),
                                "geometry::walk_all (" WALK_ALL ") shapes.cc:43");
        assert_non_null(strstr(frame_text(p, 0, 0), "geometry::walk_all (" WALK_ALL ") shapes.cc"));
        assert_int_equal(p->function->start_line[0], 42);
        assert_int_equal(p->mapping->row[0].bias, strstr(path, "fixed") != NULL ? 0 : BASE);
        assert_true((p->mapping->row[0].flags & PT_MAPPING_HAS_BIAS) != 0);
        assert_true((p->mapping->row[0].flags & PT_MAPPING_HAS_LINES) != 0);
        pt_profile_unref(p);
    }
}

static void inlined_frames_become_lines_innermost_first(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    making m = begin();
    pt_object *o = open_object(path);
    pt_object_symbol symbol;
    assert_true(pt_object_symbol_at(o, address_of(o, SHT_SYMTAB, WALK_ALL), &symbol));
    map_image(&m, path, path, "", BASE, 0);
    for (uint64_t addr = symbol.addr; addr < symbol.end_addr; addr++)
        sample_at(&m, 0, addr + BASE, 0);
    pt_object_free(o);
    const pt_profile *p = named(finish(&m), &full, 1, NULL);
    unsigned deep = 0;
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        const uint32_t n = line_count(p, i);
        assert_true(n >= 1 && n <= 3);
        assert_non_null(strstr(frame_text(p, i, n - 1), "geometry::walk_all (" WALK_ALL ")"));
        if (n < 3) continue;
        assert_non_null(strstr(frame_text(p, i, 0), "geometry::(anonymous namespace)::sign_of"));
        assert_non_null(strstr(frame_text(p, i, 1), "(anonymous namespace)::walker::walk"));
        deep++;
    }
    assert_true(deep > 0);
    pt_profile_unref(p);
}

static void a_return_address_is_looked_up_inside_the_call(void **state)
{
    NEED_IMAGE("labels.so");
    const char *path = image_path("labels.so");
    /* The byte after `sized` belongs to nobody; the call before it is in `sized`. */
    const pt_profile *p =
        one_sample(path, path, "", path, "sized", 16, PT_LOCATION_RETURN_ADDR, &full, NULL);
    assert_string_equal(frame_text(p, 0, 0), "sized (sized) :0");
    pt_profile_unref(p);
    p = one_sample(path, path, "", path, "sized", 16, 0, &full, NULL);
    assert_string_equal(frame_text(p, 0, 0), "nothing");
    pt_profile_unref(p);
    p = one_sample(path, path, "", path, "next", 0, 0, &full, NULL);
    assert_string_equal(frame_text(p, 0, 0), "next (next) :0");
    pt_profile_unref(p);
}

/* The library's only name left is run_shapes: it must get its own addresses and no other's. */
static void stripped_library_in_the_hot_path_grows_no_other_symbol(void **state)
{
    NEED_IMAGE("libstripped.so");
    const char *path = image_path("libstripped.so"), *whole = image_path("libshapes.so");
    making m = begin();
    pt_object *o = open_object(whole);
    pt_object_symbol run;
    pt_elf_section text;
    assert_true(pt_object_symbol_at(o, address_of(o, SHT_SYMTAB, "run_shapes"), &run));
    assert_true(pt_elf_section_named(pt_object_elf(o), ".text", &text));
    map_image(&m, path, path, "", BASE, 0);
    for (uint64_t i = 0; i < text.size_bytes; i++)
        sample_at(&m, 0, text.addr + i + BASE, 0);
    pt_diag diag;
    pt_diag_init(&diag);
    const pt_profile *p = named(finish(&m), &full, 1, &diag);
    uint64_t nameless = 0;
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        const uint64_t addr = text.addr + i;
        pt_object_symbol symbol;
        const bool has_name = line_count(p, i) > 0;
        if (addr >= run.addr && addr < run.end_addr) {
            assert_string_equal(frame_text(p, i, 0), "run_shapes (run_shapes) :0");
        } else if (has_name) { /* another exported one: then it is the one of the whole library */
            assert_true(pt_object_symbol_at(o, addr, &symbol));
            assert_non_null(strstr(frame_text(p, i, 0), symbol.name));
        } else {
            char shown[128], expected[128];
            pt_location_text(p, i, false, shown, sizeof shown);
            snprintf(expected, sizeof expected, "[libstripped.so+0x%llx]",
                     (unsigned long long)addr);
            assert_string_equal(shown, expected);
            nameless++;
        }
    }
    assert_true(nameless > 0);
    assert_true(any_fact(&diag, "has only exported symbols", "libstripped.so"));
    assert_int_equal(diag.facts[0].count, nameless);
    pt_diag_done(&diag);
    pt_object_free(o);
    pt_profile_unref(p);
}

static void symbols_alone_give_functions_without_lines(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    const pt_symbolize_options fast = {.mode = PT_SYMBOLIZE_SYMBOLS, .demangle = PT_DEMANGLE_FULL};
    const pt_profile *p = one_sample(path, path, "", path, WALK_ALL, 0, 0, &fast, NULL);
    assert_string_equal(frame_text(p, 0, 0), "geometry::walk_all(int) (" WALK_ALL ") :0");
    assert_int_equal(line_count(p, 0), 1);
    assert_true((p->mapping->row[0].flags & PT_MAPPING_HAS_FUNCTIONS) != 0);
    assert_true((p->mapping->row[0].flags & PT_MAPPING_HAS_LINES) == 0);
    pt_profile_unref(p);
}

static void nothing_is_done_when_switched_off_or_named_already(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    const pt_symbolize_options off = {.mode = PT_SYMBOLIZE_OFF};
    const pt_symbolize_options forced = {.mode = PT_SYMBOLIZE_FULL, .force = true};
    making m = begin();
    pt_object *o = open_object(path);
    map_image(&m, path, path, "", BASE, PT_MAPPING_HAS_FUNCTIONS);
    sample_at(&m, 0, address_of(o, SHT_SYMTAB, WALK_ALL) + BASE, 0);
    pt_object_free(o);
    const pt_profile *p = finish(&m);
    const pt_profile *same = named(pt_profile_ref(p), &off, 1, NULL);
    assert_ptr_equal(p, same);
    pt_profile_unref(same);
    same = named(pt_profile_ref(p), &full, 1, NULL);
    assert_ptr_equal(p, same);
    pt_profile_unref(same);
    p = named(p, &forced, 1, NULL);
    assert_int_equal(line_count(p, 0), 1);
    pt_profile_unref(p);
}

static void the_program_that_is_given_stands_for_the_main_binary(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    const pt_symbolize_options given = {.program = path};
    const pt_profile *p = one_sample(path, "/nowhere/else", "", path, WALK_ALL, 0, 0, &given, NULL);
    assert_non_null(strstr(frame_text(p, 0, 0), "geometry::walk_all"));
    assert_string_equal(pt_text(p, p->mapping->row[0].file), path);
    pt_profile_unref(p);
    /* Without any mapping its addresses are the ones as linked. */
    making m = begin();
    pt_object *o = open_object(path);
    sample_at(&m, PT_NONE, address_of(o, SHT_SYMTAB, WALK_ALL), 0);
    pt_object_free(o);
    p = named(finish(&m), &given, 1, NULL);
    assert_non_null(strstr(frame_text(p, 0, 0), "geometry::walk_all"));
    pt_profile_unref(p);
}

/* ---- where files are found ---- */

static void a_debug_file_is_found_by_its_link_and_by_build_id(void **state)
{
    NEED_IMAGE("linked/shapes");
    const char *whole = image_path("shapes-gcc-O2"), *linked = image_path("linked/shapes");
    const pt_profile *p = one_sample(linked, linked, "", whole, WALK_ALL, 0, 0, &full, NULL);
    assert_non_null(
        strstr(frame_text(p, 0, line_count(p, 0) - 1), "walk_all (" WALK_ALL ") shapes"));
    pt_profile_unref(p);

    const char *stripped = image_path("stripped"), *tree = image_path("tree");
    pt_symbolize_options with_tree = {0};
    p = one_sample(stripped, stripped, "", whole, WALK_ALL, 0, 0, &with_tree, NULL);
    assert_string_equal(frame_text(p, 0, 0), "nothing");
    pt_profile_unref(p);
    with_tree.source.debug_dirs = &tree;
    with_tree.source.debug_dir_count = 1;
    p = one_sample(stripped, stripped, "", whole, WALK_ALL, 0, 0, &with_tree, NULL);
    assert_non_null(
        strstr(frame_text(p, 0, line_count(p, 0) - 1), "walk_all (" WALK_ALL ") shapes"));
    pt_profile_unref(p);
}

static void a_debug_file_alone_is_enough(void **state)
{
    NEED_IMAGE("tree");
    const char *whole = image_path("shapes-gcc-O2"), *tree = image_path("tree");
    char id[129];
    build_id_of(whole, id);
    const pt_symbolize_options options = {.source = {.debug_dirs = &tree, .debug_dir_count = 1}};
    const pt_profile *p =
        one_sample(whole, "/gone/shapes (deleted)", id, whole, WALK_ALL, 0, 0, &options, NULL);
    assert_non_null(
        strstr(frame_text(p, 0, line_count(p, 0) - 1), "walk_all (" WALK_ALL ") shapes"));
    pt_profile_unref(p);
}

static void a_debug_file_of_another_build_is_not_used_and_both_ids_are_named(void **state)
{
    NEED_IMAGE("wrong/shapes.debug");
    const char *whole = image_path("shapes-gcc-O2"), *image = image_path("wrong/shapes");
    char id[129], other_id[129];
    build_id_of(image, id);
    build_id_of(image_path("wrong/shapes.debug"), other_id);
    pt_diag diag;
    pt_diag_init(&diag);
    const pt_profile *p = one_sample(image, image, "", whole, WALK_ALL, 0, 0, &full, &diag);
    assert_string_equal(frame_text(p, 0, 0), "nothing");
    assert_true(any_fact(&diag, id, other_id));
    pt_diag_done(&diag);
    pt_profile_unref(p);
}

static void without_a_build_id_the_checksum_tells_debug_files_apart(void **state)
{
    NEED_IMAGE("no-id/shapes");
    const char *whole = image_path("whole-no-id"), *image = image_path("no-id/shapes");
    const pt_profile *p = one_sample(image, image, "", whole, WALK_ALL, 0, 0, &full, NULL);
    assert_non_null(
        strstr(frame_text(p, 0, line_count(p, 0) - 1), "walk_all (" WALK_ALL ") shapes"));
    pt_profile_unref(p);
    image = image_path("no-id-wrong/shapes");
    pt_diag diag;
    pt_diag_init(&diag);
    p = one_sample(image, image, "", whole, WALK_ALL, 0, 0, &full, &diag);
    assert_string_equal(frame_text(p, 0, 0), "nothing");
    assert_true(any_fact(&diag, "no-id-wrong/shapes.debug", "is not the debug file of"));
    pt_diag_done(&diag);
    pt_profile_unref(p);
}

static void names_from_a_file_that_nothing_identifies_are_said_to_be(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    char id[129];
    build_id_of(path, id);
    for (int has_id = 0; has_id < 2; has_id++) {
        pt_diag diag;
        pt_diag_init(&diag);
        const pt_profile *p =
            one_sample(path, path, has_id ? id : "", path, WALK_ALL, 0, 0, &full, &diag);
        assert_int_equal(any_fact(&diag, "no build id to check", "shapes-gcc-O2"), !has_id);
        if (!has_id) assert_int_equal(diag.facts[0].count, 1);
        pt_diag_done(&diag);
        pt_profile_unref(p);
    }
}

static void an_image_of_another_build_is_not_used_and_both_ids_are_named(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    char id[129];
    build_id_of(path, id);
    pt_diag diag;
    pt_diag_init(&diag);
    const pt_profile *p = one_sample(path, path, "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00", path,
                                     WALK_ALL, 0, 0, &full, &diag);
    assert_string_equal(frame_text(p, 0, 0), "nothing");
    assert_int_equal(diag.count, 1);
    assert_int_equal(diag.facts[0].count, 1);
    assert_true(any_fact(&diag, id, "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"));
    pt_diag_done(&diag);
    pt_profile_unref(p);
    /* The same id with capitals, and padded with zeros as some recorders do, is the same. */
    char padded[160];
    for (size_t i = 0; id[i] != '\0'; i++)
        if (id[i] >= 'a') id[i] = (char)(id[i] - 'a' + 'A');
    snprintf(padded, sizeof padded, "%s00000000", id);
    p = one_sample(path, path, padded, path, WALK_ALL, 0, 0, &full, NULL);
    assert_true(line_count(p, 0) > 0);
    pt_profile_unref(p);
}

static void images_are_looked_for_in_the_folders_given(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    const char *folder = getenv("PITOT_TEST_IMAGES");
    const pt_symbolize_options options = {
        .source = {.binary_dirs = &folder, .binary_dir_count = 1}};
    const pt_profile *p = one_sample(path, "/opt/other-machine/bin/shapes-gcc-O2", "", path,
                                     WALK_ALL, 0, 0, &options, NULL);
    assert_true(line_count(p, 0) > 0);
    pt_profile_unref(p);
    pt_diag diag;
    pt_diag_init(&diag);
    p = one_sample(path, "/opt/other-machine/bin/shapes-gcc-O2", "", path, WALK_ALL, 0, 0, &full,
                   &diag);
    assert_int_equal(line_count(p, 0), 0);
    assert_true(any_fact(&diag, "/opt/other-machine/bin/shapes-gcc-O2", "no such"));
    pt_diag_done(&diag);
    pt_profile_unref(p);
}

/* A profile can name any path: nothing but a regular file may be opened for reading. */
static void a_mapping_of_a_fifo_or_a_folder_does_not_make_us_wait(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    const char *path = image_path("shapes-gcc-O2");
    char folder[] = "/tmp/pitot-test-XXXXXX", fifo[64];
    assert_non_null(mkdtemp(folder));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const paths[] = {fifo, folder, "/dev/zero", "/proc/self/mem", "//anon", "[heap]"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const pt_profile *p = one_sample(path, paths[i], "", path, WALK_ALL, 0, 0, &full, NULL);
        assert_int_equal(line_count(p, 0), 0);
        pt_profile_unref(p);
    }
    unlink(fifo);
    rmdir(folder);
}

static void what_dwz_moved_to_a_shared_file_is_found_there(void **state)
{
    NEED_IMAGE("dwz-a");
    const char *whole = image_path("shapes-gcc-O2"), *dwz = image_path("dwz-a");
    for (uint64_t offset = 0; offset < 16; offset++) {
        const pt_profile *p = one_sample(whole, whole, "", whole, WALK_ALL, offset, 0, &full, NULL);
        const pt_profile *q = one_sample(dwz, dwz, "", whole, WALK_ALL, offset, 0, &full, NULL);
        assert_int_equal(line_count(p, 0), line_count(q, 0));
        for (uint32_t k = 0; k < line_count(p, 0); k++) {
            char expected[2048];
            snprintf(expected, sizeof expected, "%s", frame_text(p, 0, k));
            /* Scopes of another file's entries are not put before the name. */
            const char *got = frame_text(q, 0, k);
            assert_true(strcmp(got, expected) == 0 || strstr(expected, "anonymous") != NULL);
        }
        pt_profile_unref(p);
        pt_profile_unref(q);
    }
}

static void what_is_in_no_file_is_counted_by_the_reason(void **state)
{
    making m = begin();
    const struct {
        const char *file;
        uint32_t flags;
    } mappings[] = {{"[kernel.kallsyms]", PT_MAPPING_KERNEL}, {"", 0}, {"[heap]", 0}};
    for (uint32_t i = 0; i < 3; i++) {
        const pt_mapping mapping = {.start = (i + 1) * 0x10000,
                                    .limit = (i + 2) * 0x10000,
                                    .file = pt_builder_text(m.b, mappings[i].file).v,
                                    .flags = mappings[i].flags};
        pt_builder_append_mapping(m.b, &mapping);
        sample_at(&m, i, (i + 1) * 0x10000 + 5, 0);
        sample_at(&m, i, (i + 1) * 0x10000 + 6, 0);
    }
    sample_at(&m, PT_NONE, 0x90000, 0);
    pt_diag diag;
    pt_diag_init(&diag);
    const pt_profile *p = named(finish(&m), &full, 1, &diag);
    assert_int_equal(diag.count, 4);
    assert_true(any_fact(&diag, "in the kernel", ""));
    assert_true(any_fact(&diag, "in no file", ""));
    assert_true(any_fact(&diag, "[heap] is not a file", ""));
    assert_true(any_fact(&diag, "in no mapping", ""));
    assert_int_equal(diag.facts[0].count, 2);
    pt_diag_done(&diag);
    pt_profile_unref(p);
}

/* ---- the kernel's own library ---- */

static void the_vdso_is_read_from_this_process_when_it_is_the_same(void **state)
{
    const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (vdso == NULL) skip();
    pt_elf elf;
    pt_elf_symbols symbols;
    pt_elf_symbol s = {0};
    char id[129];
    assert_int_equal(pt_elf_open(vdso, 8192, &elf), PT_ELF_OK);
    assert_true(pt_elf_id_hex(pt_elf_build_id(&elf), id, sizeof id) > 0);
    assert_true(pt_elf_symbols_open(&elf, SHT_DYNSYM, &symbols));
    uint32_t i = 0;
    while (pt_elf_symbol_at(&symbols, i, &s) && strcmp(s.name, "__vdso_gettimeofday") != 0)
        i++;
    if (i == symbols.count) skip();
    static const char wrong[] = "00112233445566778899aabbccddeeff00112233";
    const struct {
        const char *id;
        bool is_this_boot, is_named;
    } cases[] = {{id, false, true}, {"", true, true}, {"", false, false}, {wrong, true, false}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        making m = begin();
        const pt_mapping mapping = {.start = BASE,
                                    .limit = BASE + 8192,
                                    .file = pt_builder_text(m.b, "[vdso]").v,
                                    .build_id = pt_builder_text(m.b, cases[k].id).v};
        pt_builder_append_mapping(m.b, &mapping);
        sample_at(&m, 0, BASE + s.value + 1, 0);
        const pt_symbolize_options options = {.source = {.is_this_boot = cases[k].is_this_boot}};
        const pt_profile *p = named(finish(&m), &options, 1, NULL);
        if (cases[k].is_named)
            assert_non_null(strstr(frame_text(p, 0, 0), "gettimeofday"));
        else
            assert_int_equal(line_count(p, 0), 0);
        pt_profile_unref(p);
    }
}

/* ---- threads ---- */

static void one_thread_and_eight_give_the_same_profile(void **state)
{
    NEED_IMAGE("shapes-gcc-O2");
    static const char *const images[] = {"shapes-gcc-O2", "shapes-gcc-O0",   "libshapes.so",
                                         "labels.so",     "shapes-clang-O2", "tiny.so"};
    making m = begin();
    uint32_t mapping = 0;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        const char *path = image_path(images[i]);
        if (path == NULL) continue;
        pt_object *o = open_object(path);
        pt_elf_section text;
        assert_true(pt_elf_section_named(pt_object_elf(o), ".text", &text));
        const uint64_t bias = map_image(&m, path, path, "", BASE + (i << 32), 0);
        for (uint64_t k = 0; k < text.size_bytes; k += 3)
            sample_at(&m, mapping, text.addr + k + bias, k % 2 ? PT_LOCATION_RETURN_ADDR : 0);
        mapping++;
        pt_object_free(o);
    }
    const pt_profile *p = finish(&m);
    pt_diag one_diag, many_diag;
    pt_diag_init(&one_diag);
    pt_diag_init(&many_diag);
    const pt_profile *one = named(pt_profile_ref(p), &full, 1, &one_diag);
    const pt_profile *many = named(p, &full, 8, &many_diag);
    char difference[512];
    if (!pt_profile_equal(one, many, difference, sizeof difference)) fail_msg("%s", difference);
    assert_int_equal(one_diag.count, many_diag.count);
    for (size_t i = 0; i < one_diag.count; i++) {
        assert_string_equal(one_diag.facts[i].text, many_diag.facts[i].text);
        assert_int_equal(one_diag.facts[i].count, many_diag.facts[i].count);
    }
    pt_diag_done(&one_diag);
    pt_diag_done(&many_diag);
    pt_profile_unref(one);
    pt_profile_unref(many);
}

/* ---- code of no file ---- */

static char root[64];

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/pitot-root.XXXXXX");
    if (mkdtemp(root) == NULL) return -1;
    PT_FREE char *command = pt_strf("mkdir -p %s/proc %s/sys/kernel %s/tmp", root, root, root);
    return system(command) == 0 ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    PT_FREE char *command = pt_strf("rm -rf %s", root);
    return system(command) == 0 ? 0 : -1;
}

static void write_below_root(const char *path, const void *bytes, size_t size)
{
    PT_FREE char *whole = pt_strf("%s/%s", root, path);
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static const char kallsyms[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 T do_syscall_64\n"
                               "ffffffff81000200 T ksys_read\n"
                               "ffffffffc0000000 t ext4_find\t[ext4]\n";

/* The kernel's note as /sys/kernel/notes has it: build id aabbccddeeff00112233. */
static const uint8_t notes[] = {4,    0,    0,    0,    10,   0,    0,    0,    3,    0,
                                0,    0,    'G',  'N',  'U',  0,    0xaa, 0xbb, 0xcc, 0xdd,
                                0xee, 0xff, 0x00, 0x11, 0x22, 0x33, 0,    0};

static making kernel_profile(const char *build_id)
{
    making m = begin();
    const pt_mapping kernel = {.start = 0xffffffff81000000,
                               .limit = 0xffffffff82000000,
                               .file = pt_builder_text(m.b, "[kernel.kallsyms]").v,
                               .build_id = pt_builder_text(m.b, build_id).v,
                               .flags = PT_MAPPING_KERNEL};
    const pt_mapping module = {.start = 0xffffffffc0000000,
                               .limit = 0xffffffffc0010000,
                               .file = pt_builder_text(m.b, "[ext4]").v,
                               .build_id = pt_builder_text(m.b, build_id).v};
    pt_builder_append_mapping(m.b, &kernel);
    pt_builder_append_mapping(m.b, &module);
    sample_at(&m, 0, 0xffffffff81000110, 0);
    sample_at(&m, 0, 0xffffffff81000200, PT_LOCATION_RETURN_ADDR); /* the call ends do_syscall_64 */
    sample_at(&m, 1, 0xffffffffc0000004, 0);
    return m;
}

static void kernel_addresses_are_named_by_its_own_symbols(void **state)
{
    (void)state;
    write_below_root("proc/kallsyms", kallsyms, sizeof kallsyms - 1);
    write_below_root("sys/kernel/notes", notes, sizeof notes);
    const pt_symbolize_options options = {.names_code = true, .source = {.root = root}};
    pt_diag diag;
    pt_diag_init(&diag);
    making m = kernel_profile("aabbccddeeff00112233");
    const pt_profile *p = named(finish(&m), &options, 1, &diag);
    assert_string_equal(frame_text(p, 0, 0), "do_syscall_64 (do_syscall_64) :0");
    assert_string_equal(frame_text(p, 1, 0), "do_syscall_64 (do_syscall_64) :0");
    assert_string_equal(frame_text(p, 2, 0), "ext4_find (ext4_find) :0");
    assert_int_equal(diag.count, 0);
    pt_profile_unref(p);
    pt_diag_done(&diag);
}

/* The kernel lies 0x3000000 above where it was linked. */
static void a_kernels_lines_come_from_its_image_with_debug_information(void **state)
{
    (void)state;
    NEED_IMAGE("vmlinux");
    struct utsname name;
    assert_int_equal(uname(&name), 0);
    PT_FREE char *command = pt_strf("mkdir -p %s/boot && cp '%s' %s/boot/vmlinux-%s", root,
                                    image_path("vmlinux"), root, name.release);
    assert_int_equal(system(command), 0);
    pt_object *o = open_object(image_path("vmlinux"));
    const uint64_t start = address_of(o, SHT_SYMTAB, "_stext") + 0x3000000;
    const uint64_t work = address_of(o, SHT_SYMTAB, "do_work") + 0x3000000;
    pt_object_free(o);
    PT_FREE char *symbols =
        pt_strf("%llx T _stext\n%llx T do_work\n%llx T other\n", (unsigned long long)start,
                (unsigned long long)work, (unsigned long long)start + 0x1000);
    write_below_root("proc/kallsyms", symbols, strlen(symbols));
    write_below_root("sys/kernel/notes", notes, sizeof notes);
    const pt_symbolize_options options = {.names_code = true, .source = {.root = root}};
    pt_diag diag;
    pt_diag_init(&diag);
    making m = begin();
    pt_builder_append_mapping(
        m.b, &(pt_mapping){.start = start,
                           .limit = start + 0x10000,
                           .file = pt_builder_text(m.b, "[kernel]").v,
                           .build_id = pt_builder_text(m.b, "aabbccddeeff00112233").v,
                           .flags = PT_MAPPING_KERNEL});
    sample_at(&m, 0, work, 0);
    sample_at(&m, 0, start + 0x1004, 0);
    const pt_profile *p = named(finish(&m), &options, 1, &diag);
    assert_string_equal(frame_text(p, 0, 0), "count (count) kernel.c:7");
    assert_string_equal(frame_text(p, 0, 1), "do_work (do_work) kernel.c:11");
    assert_string_equal(frame_text(p, 1, 0), "other (other) :0");
    pt_profile_unref(p);
    pt_diag_done(&diag);
}

static void another_kernel_is_not_taken_and_both_ids_are_named(void **state)
{
    (void)state;
    write_below_root("proc/kallsyms", kallsyms, sizeof kallsyms - 1);
    write_below_root("sys/kernel/notes", notes, sizeof notes);
    const pt_symbolize_options options = {.names_code = true, .source = {.root = root}};
    pt_diag diag;
    pt_diag_init(&diag);
    making m = kernel_profile("0123456789");
    const pt_profile *p = named(finish(&m), &options, 1, &diag);
    assert_int_equal(line_count(p, 0), 0);
    assert_true(any_fact(&diag, "aabbccddeeff00112233", "0123456789"));
    pt_profile_unref(p);
    pt_diag_done(&diag);
}

static void a_kernel_that_hides_its_addresses_is_said_to(void **state)
{
    (void)state;
    static const char hidden[] = "0000000000000000 T _stext\n";
    write_below_root("proc/kallsyms", hidden, sizeof hidden - 1);
    const pt_symbolize_options options = {.names_code = true,
                                          .source = {.root = root, .is_this_boot = true}};
    pt_diag diag;
    pt_diag_init(&diag);
    making m = kernel_profile("");
    const pt_profile *p = named(finish(&m), &options, 1, &diag);
    assert_int_equal(line_count(p, 0), 0);
    assert_true(any_fact(&diag, "kptr_restrict", "CAP_SYSLOG"));
    pt_profile_unref(p);
    pt_diag_done(&diag);
}

/* One sample of a process in anonymous memory. */
static void sample_of_process(making *m, uint64_t address, int64_t pid)
{
    const pt_location location = {.mapping = 0, .address = address};
    const pt_location_id id = pt_builder_append_location(m->b, &location, NULL, 0);
    const pt_stack_id stack = pt_builder_stack(m->b, &id.v, 1, PT_STACK_END_UNKNOWN);
    const pt_label label = {
        .key = pt_builder_text(m->b, "pid").v, .kind = PT_LABEL_NUMBER, .num = pid};
    pt_builder_sample(m->b, stack, pt_builder_labels(m->b, &label, 1), (int64_t[]){1});
    m->locations++;
}

static void compiled_code_is_named_by_the_map_of_its_process(void **state)
{
    (void)state;
    static const char one[] = "10000 100 LazyCompile:*first app.js:3\n10100 100 _ZN3jit3runEv\n";
    static const char two[] = "10000 200 second\n";
    write_below_root("tmp/perf-1999999991.map", one, sizeof one - 1);
    write_below_root("tmp/perf-1999999992.map", two, sizeof two - 1);
    const pt_symbolize_options options = {.names_code = true, .source = {.root = root}};
    pt_diag diag;
    pt_diag_init(&diag);
    making m = begin();
    pt_builder_append_mapping(m.b, &(pt_mapping){.start = 0x10000,
                                                 .limit = 0x20000,
                                                 .file = pt_builder_text(m.b, "//anon").v,
                                                 .flags = PT_MAPPING_JIT});
    sample_of_process(&m, 0x10004, 1999999991);
    sample_of_process(&m, 0x10104, 1999999991);
    sample_of_process(&m, 0x10104, 1999999992);
    sample_of_process(&m, 0x11000, 1999999992);
    sample_of_process(&m, 0x10000, 1999999993);
    const pt_profile *p = named(finish(&m), &options, 2, &diag);
    assert_string_equal(frame_text(p, 0, 0),
                        "LazyCompile:*first app.js:3 (LazyCompile:*first app.js:3) :0");
    assert_string_equal(frame_text(p, 1, 0), "jit::run (_ZN3jit3runEv) :0");
    assert_string_equal(frame_text(p, 2, 0), "second (second) :0");
    assert_int_equal(line_count(p, 3), 0);
    assert_int_equal(line_count(p, 4), 0);
    assert_true(any_fact(&diag, "the compiler's map of process 1999999992", ""));
    assert_true(any_fact(&diag, "their code is in no file", ""));
    pt_profile_unref(p);
    pt_diag_done(&diag);
}

static void a_map_is_believed_of_the_user_whose_process_it_was(void **state)
{
    (void)state;
    static const char text[] = "10000 100 named\n";
    const pt_symbolize_options options = {.names_code = true, .source = {.root = root}};
    for (uint32_t pid = 1999999981; pid <= 1999999986; pid++) {
        PT_FREE char *name = pt_strf("tmp/perf-%u.map", pid);
        PT_FREE char *path = pt_strf("%s/%s", root, name);
        write_below_root(name, text, sizeof text - 1);
        if (pid == 1999999982) assert_int_equal(chmod(path, 0666), 0);
        if (pid == 1999999983) {
            assert_int_equal(unlink(path), 0);
            assert_int_equal(symlink("perf-1999999981.map", path), 0);
        }
        if (pid >= 1999999984 && geteuid() == 0) assert_int_equal(chown(path, 65534, 65534), 0);
    }
    pt_diag diag;
    pt_diag_init(&diag);
    making m = begin();
    pt_builder_append_mapping(m.b, &(pt_mapping){.start = 0x10000,
                                                 .limit = 0x20000,
                                                 .file = pt_builder_text(m.b, "//anon").v,
                                                 .flags = PT_MAPPING_JIT});
    pt_builder_process_user(m.b, 1999999985, 65534);
    pt_builder_process_user(m.b, 1999999986, 65533);
    for (uint32_t pid = 1999999981; pid <= 1999999986; pid++)
        sample_of_process(&m, 0x10004, pid);
    const pt_profile *p = named(finish(&m), &options, 2, &diag);
    assert_int_equal(line_count(p, 0), 1);
    assert_int_equal(line_count(p, 1), 0);
    assert_int_equal(line_count(p, 2), 0);
    assert_true(any_fact(&diag, "perf-1999999982.map: other users can write to it", ""));
    assert_true(any_fact(&diag, "perf-1999999983.map: it is a link", ""));
    if (geteuid() == 0) {
        assert_int_equal(line_count(p, 3), 0);
        assert_int_equal(line_count(p, 4), 1);
        assert_int_equal(line_count(p, 5), 0);
        assert_true(any_fact(&diag, "perf-1999999984.map: it belongs to user 65534", "chown"));
        assert_true(any_fact(&diag, "perf-1999999986.map: it belongs to user 65534", "65533"));
    }
    pt_profile_unref(p);
    pt_diag_done(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_believed_of_the_user_whose_process_it_was),
        cmocka_unit_test(a_location_gets_function_file_and_line),
        cmocka_unit_test(inlined_frames_become_lines_innermost_first),
        cmocka_unit_test(a_return_address_is_looked_up_inside_the_call),
        cmocka_unit_test(stripped_library_in_the_hot_path_grows_no_other_symbol),
        cmocka_unit_test(symbols_alone_give_functions_without_lines),
        cmocka_unit_test(nothing_is_done_when_switched_off_or_named_already),
        cmocka_unit_test(the_program_that_is_given_stands_for_the_main_binary),
        cmocka_unit_test(a_debug_file_is_found_by_its_link_and_by_build_id),
        cmocka_unit_test(a_debug_file_alone_is_enough),
        cmocka_unit_test(a_debug_file_of_another_build_is_not_used_and_both_ids_are_named),
        cmocka_unit_test(without_a_build_id_the_checksum_tells_debug_files_apart),
        cmocka_unit_test(names_from_a_file_that_nothing_identifies_are_said_to_be),
        cmocka_unit_test(an_image_of_another_build_is_not_used_and_both_ids_are_named),
        cmocka_unit_test(images_are_looked_for_in_the_folders_given),
        cmocka_unit_test(a_mapping_of_a_fifo_or_a_folder_does_not_make_us_wait),
        cmocka_unit_test(what_dwz_moved_to_a_shared_file_is_found_there),
        cmocka_unit_test(what_is_in_no_file_is_counted_by_the_reason),
        cmocka_unit_test(the_vdso_is_read_from_this_process_when_it_is_the_same),
        cmocka_unit_test(one_thread_and_eight_give_the_same_profile),
        cmocka_unit_test_setup_teardown(kernel_addresses_are_named_by_its_own_symbols, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(a_kernels_lines_come_from_its_image_with_debug_information,
                                        make_root, remove_root),
        cmocka_unit_test_setup_teardown(another_kernel_is_not_taken_and_both_ids_are_named,
                                        make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_kernel_that_hides_its_addresses_is_said_to, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(compiled_code_is_named_by_the_map_of_its_process, make_root,
                                        remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
