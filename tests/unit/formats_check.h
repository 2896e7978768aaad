/* formats_check.h: what the tests of formats and load share: bytes to a profile and back. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../check/profile_equal.h"
#include "base/file.h"
#include "formats/format.h"
#include "model/builder.h"

#include "proto_text.h"

/* The result of reading an input. */
typedef struct {
    pt_status status; /* of the reader */
    pt_error error;
    pt_diag diag;
    const pt_profile *profile; /* NULL if nothing was kept */
} reading;

static inline reading read_as(const char *format, const void *data, size_t size)
{
    reading r = {.error = PT_ERROR_INIT};
    pt_diag_init(&r.diag);
    const pt_read_hooks hooks = {.diag = &r.diag};
    pt_builder *builder = pt_builder_new();
    /* A copy of its own, so that a sanitizer sees reads past either end. */
    uint8_t *copy = malloc(size ? size : 1);
    if (size > 0) memcpy(copy, data, size);
    pt_reader reader;
    pt_reader_init(&reader, copy, size, NULL);
    r.status = pt_format_find(format)->read(&reader, builder, &hooks, &r.error);
    free(copy);
    if (r.status != PT_OK && r.status != PT_ERR_DAMAGED) {
        pt_builder_free(builder);
        return r;
    }
    pt_error error = PT_ERROR_INIT;
    const pt_status frozen = pt_builder_freeze(builder, &r.profile, &error);
    if (frozen != PT_OK) fail_msg("freeze: %s", error.message);
    if (pt_profile_check(r.profile, &error) != PT_OK) fail_msg("check: %s", error.message);
    return r;
}

#ifdef PT_GOLDEN_FOLDER
/* A golden of the format, from the folder that has the format's name. */
static inline reading read_golden(const char *format, const char *name)
{
    char path[2048];
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    snprintf(path, sizeof path, "%s/%s/%s", PT_GOLDEN_FOLDER, format, name);
    if (pt_file_read(path, 0, 1 << 20, &blob, &error) != PT_OK) fail_msg("%s", error.message);
    reading r = read_as(format, blob.data, blob.size);
    pt_blob_done(&blob);
    return r;
}
#endif

static inline void reading_done(reading *r)
{
    pt_profile_unref(r->profile);
    pt_diag_done(&r->diag);
}

/* The count of the fact whose text contains `part`; 0 if there is none. */
static inline uint64_t fact(const pt_diag *diag, const char *part)
{
    for (size_t i = 0; i < diag->count; i++) {
        if (strstr(diag->facts[i].text, part)) return diag->facts[i].count;
    }
    return 0;
}

static inline pt_out *open_buffer(void *context, const char *suffix, pt_error *reterr)
{
    (void)suffix;
    (void)reterr;
    return context;
}

/* The uncompressed output of the format. The caller frees it with pt_buf_done. */
static inline pt_buf written_as(const char *format, const pt_profile *profile, pt_diag *diag)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    const pt_output output = {.context = &out, .open = open_buffer};
    const pt_write_options options = {.event = PT_NONE, .raw = true, .diag = diag};
    pt_error error = PT_ERROR_INIT;
    if (pt_format_find(format)->write(profile, &output, &options, &error) != PT_OK)
        fail_msg("write: %s", error.message);
    pt_out_done(&out, NULL);
    return buf;
}

static inline void assert_same_meaning(const pt_profile *a, const pt_profile *b)
{
    char difference[256] = "";
    const pt_profile *x = pt_profile_canonical(a), *y = pt_profile_canonical(b);
    if (!pt_profile_equal(x, y, difference, sizeof difference)) fail_msg("%s", difference);
    pt_profile_unref(x);
    pt_profile_unref(y);
}

/* A profile has 256 events at most. */
static inline void assert_events_or_too_many(const reading *r, unsigned events)
{
    assert_int_equal(r->status, events <= 256 ? PT_OK : PT_ERR_LIMIT);
    if (events <= 256)
        assert_int_equal(r->profile->event->t.count, events);
    else
        assert_string_equal(r->error.message, "more than 256 events");
}
