/* formats_fuzz.h: what is asked of any format, given any bytes: reading keeps its promises, and
 * what was read whole can be written and read again with the same meaning. Written in every other
 * format as well, which may lose facts but must not fail, and keeps the totals if it tells none. */
#pragma once

#include "../tests/check/profile_equal.h"
#include "formats/format.h"
#include "model/builder.h"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What libFuzzer calls; every fuzz_NAME.c defines it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline _Noreturn void fuzz_fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    abort();
}

/* The profile, checked; NULL if nothing was kept. Facts that the reader notes are dropped. */
static inline const pt_profile *fuzz_read_with(const pt_format *format, const uint8_t *data,
                                               size_t size, pt_read_hooks hooks,
                                               pt_status *ret_status)
{
    pt_diag diag;
    pt_error error = PT_ERROR_INIT;
    pt_diag_init(&diag);
    hooks.diag = &diag;
    pt_builder *builder = pt_builder_new();
    pt_reader reader;
    pt_reader_init(&reader, data, size, NULL);
    *ret_status = format->read(&reader, builder, &hooks, &error);
    pt_diag_done(&diag);
    if (*ret_status != PT_OK && error.message[0] == '\0') fuzz_fail(format->name, "no message");
    if (*ret_status != PT_OK && *ret_status != PT_ERR_DAMAGED) {
        pt_builder_free(builder);
        return NULL;
    }
    const pt_profile *profile = NULL;
    if (pt_builder_freeze(builder, &profile, &error) != PT_OK) fuzz_fail("freeze", error.message);
    if (pt_profile_check(profile, &error) != PT_OK) fuzz_fail("check", error.message);
    return profile;
}

static inline const pt_profile *fuzz_read(const pt_format *format, const uint8_t *data, size_t size,
                                          pt_status *ret_status)
{
    return fuzz_read_with(format, data, size, (pt_read_hooks){.inflated_bytes = 16 << 20},
                          ret_status);
}

/* What a writer writes; several files come one after the other. */
typedef struct {
    pt_out out;
    pt_buf bytes;
    unsigned count;
} fuzz_files;

static inline pt_out *fuzz_open(void *context, const char *suffix, pt_error *reterr)
{
    fuzz_files *const files = context;
    (void)suffix;
    (void)reterr;
    files->count++;
    return &files->out;
}

/* False if the format loses anything of the profile, a name had to be changed, or the format
 * refuses it with a message. */
static inline bool fuzz_write(const pt_format *format, const pt_profile *profile, fuzz_files *files)
{
    pt_diag diag;
    pt_error error = PT_ERROR_INIT;
    pt_diag_init(&diag);
    pt_format_losses(profile, format, &diag);
    pt_out_to_buf(&files->out, &files->bytes);
    const pt_output output = {.context = files, .open = fuzz_open};
    const pt_write_options options = {.event = PT_NONE, .raw = true, .diag = &diag};
    const pt_status status = format->write(profile, &output, &options, &error);
    if (status != PT_OK && error.message[0] == '\0') fuzz_fail(format->name, "no message");
    const bool same = status == PT_OK && diag.count == 0;
    pt_out_done(&files->out, NULL);
    pt_diag_done(&diag);
    return same;
}

static inline void fuzz_compare(const pt_profile *a, const pt_profile *b)
{
    char difference[256] = "";
    const pt_profile *x = pt_profile_canonical(a), *y = pt_profile_canonical(b);
    if (!pt_profile_equal(x, y, difference, sizeof difference)) fuzz_fail("round trip", difference);
    pt_profile_unref(x);
    pt_profile_unref(y);
}

/* What was written without a loss has the totals of all events. A format that counts or scales
 * besides may have more events; one that holds no names has one. */
static inline void fuzz_totals(const pt_format *format, const pt_profile *a, const pt_profile *b)
{
    for (uint32_t e = 0; e < a->event->t.count; e++) {
        const int64_t total = pt_profile_total(a, e);
        bool there = total == 0;
        for (uint32_t k = 0; k < b->event->t.count && !there; k++)
            there =
                total == pt_profile_total(b, k) &&
                strcmp(pt_text(a, a->event->row[e].type), pt_text(b, b->event->row[k].type)) == 0;
        if (!there) fuzz_fail(format->name, "a total is lost, and nothing was said");
    }
}

/* These are written for other tools: figures as they were scaled, every frame a return address; or
 * their reader takes off a frame that nearly all records share (gperftools' signal handler), of
 * which there may be fewer the second time. They must be readable again, and need not be the same.
 */
static inline bool fuzz_is_exact(const pt_format *format)
{
    static const char *const others[] = {"heap", "contention", "symbolized", "perf.data",
                                         "gperftools"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (format == pt_format_find(others[i])) return false;
    }
    return true;
}

/* Reads what was written of a profile without a loss. `again`: it was read in the same format. */
static inline void fuzz_read_again(const pt_format *format, const pt_profile *profile,
                                   const pt_buf *bytes, bool again)
{
    pt_status status;
    ASAN_POISON_MEMORY_REGION(bytes->data + bytes->size, bytes->cap - bytes->size);
    const pt_profile *const back = fuzz_read(format, bytes->data, bytes->size, &status);
    ASAN_UNPOISON_MEMORY_REGION(bytes->data + bytes->size, bytes->cap - bytes->size);
    if (!back && profile->sample->t.count == 0) return; /* a text of nothing is no folded stacks */
    if (!back) fuzz_fail(format->name, "what was written cannot be read");
    fuzz_totals(format, profile, back);
    if (again && fuzz_is_exact(format)) fuzz_compare(profile, back);
    pt_profile_unref(back);
}

/* Bytes taken for a format: read, written in each format of the registry, and read again. What is
 * written can be megabytes, and has the memory of what was written before: fresh memory would cost
 * more than all else. */
static inline void fuzz_format(const pt_format *format, const uint8_t *data, size_t size)
{
    static pt_buf memory;
    pt_status status;
    const pt_profile *profile = fuzz_read(format, data, size, &status);
    for (size_t i = 0; profile && i < pt_format_count; i++) {
        fuzz_files files = {.bytes = memory};
        pt_buf_clear(&files.bytes);
        pt_buf_reserve(&files.bytes, 1);
        if (pt_formats[i]->write && fuzz_write(pt_formats[i], profile, &files) &&
            files.count == 1 && status == PT_OK)
            fuzz_read_again(pt_formats[i], profile, &files.bytes, pt_formats[i] == format);
        memory = files.bytes;
    }
    pt_profile_unref(profile);
}
