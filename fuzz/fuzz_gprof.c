/* fuzz_gprof.c: an image and a gmon.out, whatever they are: all of gprof's reports, and the sum of
 * the profile with itself, which must read as twice the profile. What is no gmon.out is a
 * gperftools profile, with stacks.
 *
 *   | choices u8 | bytes of the image u16, little-endian | image | profile |
 */
#include <stdlib.h>
#include <string.h>

#include "formats/gmon_sum.h"
#include "formats_fuzz.h"
#include "personality/gprof/print.h"

enum { HEAD_BYTES = 3 };

/* The object borrows the bytes. */
static pt_object *open_image(const uint8_t *data, size_t size)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_object *object = NULL;
    file.blob = pt_blob_borrow(data, size);
    file.path = pt_strdup("image");
    pt_status status = pt_object_open(&file, NULL, NULL, &object, NULL);
    return status == PT_OK ? object : NULL;
}

static void print_all(pt_gprof *g, pt_gprof_look *look)
{
    pt_buf text = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &text);
    pt_gprof_flat_text(&out, look, g);
    if (g->has_arcs) {
        size_t count = 0;
        pt_gprof_graph_text(&out, look, g);
        pt_gprof_index_text(&out, look, g);
        free(pt_gprof_placement(g, false, &count));
    }
    pt_gprof_counts_text(&out, look, g);
    pt_gprof_json(&out, look, g);
    size_t count = 0;
    pt_gprof_annotation how = {.all_lines = look->all, .min_count = 1, .table_length = 10};
    pt_gprof_source *const sources = pt_gprof_sources(g, &count);
    for (size_t i = 0; i < count; i++)
        pt_gprof_source_text(&out, g, &sources[i], &how, "a\nb\nc", 5);
    pt_gprof_sources_free(sources);
    pt_out_done(&out, NULL);
    pt_buf_done(&text);
}

static void report(pt_object *object, const pt_profile *profile, uint8_t choices)
{
    static const pt_gprof_spec specs[] = {{PT_GPROF_HIDE_GRAPH, "f"},
                                          {PT_GPROF_HIDE_TIME, "g"},
                                          {PT_GPROF_HIDE_ARCS, "main/f"},
                                          {PT_GPROF_SHOW_FLAT, "a.c:1"}};
    const pt_gprof_options options = {.no_static = choices & 1,
                                      .by_line = (choices & 2) != 0,
                                      .static_calls = (choices & 4) != 0,
                                      .with_files = true,
                                      .spec = specs,
                                      .spec_count = choices >> 3 & 3};
    pt_gprof_look look = {.brief = (choices & 32) != 0,
                          .traditional = (choices & 64) != 0,
                          .all = (choices & 128) != 0,
                          .width = 80,
                          .rate = 100,
                          .bin_bytes = 4,
                          .dimension = "seconds",
                          .abbreviation = 's'};
    pt_gprof g;
    if (pt_gprof_open(&g, object, &options, NULL) == PT_OK) {
        pt_gprof_add(&g, profile, 1);
        if (profile->sample->t.count > 0) pt_gprof_add_stacks(&g, profile, 0, 1);
        pt_gprof_assemble(&g);
        print_all(&g, &look);
    }
    pt_gprof_done(&g);
}

static uint64_t total(const pt_profile *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->bin->t.count; i++)
        sum += p->bin->row[i].count;
    for (uint32_t i = 0; i < p->arc->t.count; i++)
        sum += p->arc->calls[i];
    return sum;
}

static void check_sum(const pt_profile *profile)
{
    const pt_profile *const both[] = {profile, profile};
    pt_buf sum = PT_BUF_INIT;
    pt_status status;
    if (pt_gmon_sum(both, 2, false, &sum, NULL, NULL) == PT_OK) {
        const pt_profile *again = fuzz_read(pt_format_find("gmon"), sum.data, sum.size, &status);
        if (again == NULL) fuzz_fail("sum", "cannot be read");
        /* Bins of no width, and 64-bit counts, may not be told apart again. */
        if (status == PT_OK && total(again) > 2 * total(profile)) fuzz_fail("sum", "too much");
        pt_profile_unref(again);
    }
    pt_buf_done(&sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) return 0;
    const size_t image_bytes = (size_t)data[1] | (size_t)data[2] << 8;
    if (size - HEAD_BYTES < image_bytes) return 0;
    pt_status status;
    const uint8_t *rest = data + HEAD_BYTES + image_bytes;
    const size_t rest_bytes = size - HEAD_BYTES - image_bytes;
    const bool is_gmon = rest_bytes >= 4 && memcmp(rest, "gmon", 4) == 0;
    const pt_profile *profile =
        fuzz_read(pt_format_find(is_gmon ? "gmon" : "gperftools"), rest, rest_bytes, &status);
    if (profile == NULL) return 0;
    uint8_t *image = malloc(image_bytes + 1); /* its own, so that reads past its end are seen */
    memcpy(image, data + HEAD_BYTES, image_bytes);
    pt_object *object = open_image(image, image_bytes);
    if (object != NULL) report(object, profile, data[0]);
    if (is_gmon && status == PT_OK) check_sum(profile);
    pt_object_free(object);
    free(image);
    pt_profile_unref(profile);
    return 0;
}
