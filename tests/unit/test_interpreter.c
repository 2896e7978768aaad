/* test_interpreter.c: frames that reports hide: an interpreter's own where Python's are there, and
 * the kernel's in waits. */
#include "base_check.h"

#include <stdlib.h>

#include "model/builder.h"
#include "process/path_kind.h"
#include "profile_lines.h"
#include "transform/interpreter.h"
#include "transform/waits.h"

static uint32_t frame_of(pt_builder *b, uint32_t mapping, const char *name)
{
    const pt_function function = {.name = pt_builder_text(b, name).v};
    const pt_line line = {.function = pt_builder_function(b, &function).v};
    const pt_location location = {.mapping = mapping};
    return pt_builder_location(b, &location, &line, 1).v;
}

static uint32_t mapping_of(pt_builder *b, const char *file)
{
    const pt_mapping mapping = {.file = pt_builder_text(b, file).v};
    return pt_builder_append_mapping(b, &mapping).v;
}

static void check_folded(const char *interpreter, bool has_python, const char *expected)
{
    pt_builder *const b = pt_builder_new();
    const uint32_t own = mapping_of(b, interpreter);
    const uint32_t library = mapping_of(b, "/lib/libz.so.1");
    const uint32_t python = mapping_of(b, has_python ? PT_MAPPED_PYTHON : "[heap]");
    const uint32_t jit = mapping_of(b, "[anon:jit]");
    const uint32_t frames[] = {frame_of(b, library, "deflate"),  frame_of(b, own, "zlib_compress"),
                               frame_of(b, python, "Job.run"),   frame_of(b, own, "eval"),
                               frame_of(b, jit, "py::run:a.py"), frame_of(b, jit, "numba"),
                               frame_of(b, library, "start")};
    const pt_event event = {.type = pt_builder_text(b, "cpu").v};
    const int64_t value = 1;
    const pt_profile *profile;
    pt_builder_event(b, &event);
    pt_builder_add(b, pt_builder_stack(b, frames, 7, PT_STACK_END_ROOT), PT_NO_LABELS, &value);
    assert_int_equal(pt_builder_freeze(b, &profile, NULL), PT_OK);
    const pt_profile *const folded = pt_fold_interpreter(profile, NULL);
    char *const lines = profile_lines(folded);
    assert_string_equal(lines, expected);
    assert_int_equal(folded == profile, !has_python);
    PT_FREE bool *gone = pt_folded_locations(profile);
    assert_int_equal(gone != NULL, has_python);
    for (size_t i = 0; i < 7 && gone != NULL; i++) {
        const uint32_t function = profile->line->function[profile->location->line_first[frames[i]]];
        const char *const name = pt_text(profile, profile->function->name[function]);
        assert_int_equal(gone[frames[i]], strstr(expected, name) == NULL);
    }
    free(lines);
    pt_profile_unref(folded);
    pt_profile_unref(profile);
}

static void test_fold(void **state)
{
    static const char whole[] = "deflate<zlib_compress<Job.run<eval<py::run:a.py<numba<start=1\n";
    check_folded("/usr/bin/python3.11", true, "deflate<Job.run<numba<start=1\n");
    check_folded("/opt/lib/libpython3.12.so.1.0", true, "deflate<Job.run<numba<start=1\n");
    check_folded("/usr/bin/python3.11", false, whole);
    check_folded("/usr/lib/python3.11/app.so", true,
                 "deflate<zlib_compress<Job.run<eval<numba<start=1\n");
}

/* A wait in the kernel, and CPU time in the same function of the scheduler. */
static void test_fold_waits(void **state)
{
    (void)state;
    pt_builder *const b = pt_builder_new();
    const uint32_t kernel = mapping_of(b, "[kernel.kallsyms]"), own = mapping_of(b, "/bin/app");
    const uint32_t wait[] = {
        frame_of(b, kernel, "__schedule"),   frame_of(b, kernel, "schedule"),
        frame_of(b, kernel, "do_nanosleep"), frame_of(b, kernel, "entry_SYSCALL_64_after_hwframe"),
        frame_of(b, own, "usleep"),          frame_of(b, own, "schedule")};
    const uint32_t only[] = {frame_of(b, kernel, "schedule"), frame_of(b, own, "main")};
    const uint32_t busy[] = {frame_of(b, kernel, "__schedule"), frame_of(b, kernel, "do_exit"),
                             frame_of(b, own, "main")};
    const pt_event events[] = {{.type = pt_builder_text(b, "off-cpu").v},
                               {.type = pt_builder_text(b, "cpu").v}};
    const pt_profile *profile;
    pt_builder_event(b, &events[0]);
    pt_builder_event(b, &events[1]);
    pt_builder_add(b, pt_builder_stack(b, wait, 6, PT_STACK_END_ROOT), PT_NO_LABELS,
                   (const int64_t[]){5, 0});
    pt_builder_add(b, pt_builder_stack(b, only, 2, PT_STACK_END_ROOT), PT_NO_LABELS,
                   (const int64_t[]){3, 0});
    pt_builder_add(b, pt_builder_stack(b, busy, 3, PT_STACK_END_ROOT), PT_NO_LABELS,
                   (const int64_t[]){0, 1});
    assert_int_equal(pt_builder_freeze(b, &profile, NULL), PT_OK);
    bool is_shortened;
    pt_profile_unref(pt_fold_waits(profile, 1, &is_shortened, NULL));
    assert_false(is_shortened); /* no sample with CPU time is */
    const pt_profile *const folded = pt_fold_waits(profile, 0, &is_shortened, NULL);
    assert_true(is_shortened);
    char *const lines = profile_lines(folded);
    assert_string_equal(lines, "do_nanosleep<usleep<schedule=5,0\nschedule<main=3,0\n"
                               "__schedule<do_exit<main=0,1\n");
    free(lines);
    pt_profile_unref(folded);
    pt_profile_unref(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fold),
                                       cmocka_unit_test(test_fold_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
