/* fuzz_json.c: pulling JSON from hostile bytes. What can be read is written again, and what was
 * written must read as the same. */
#include "base/json.h"

#include <stdlib.h>

static void copy_token(const pt_json_r *r, pt_json_w *w)
{
    switch (r->token) {
    case PT_JSON_OBJECT: pt_json_object(w); break;
    case PT_JSON_OBJECT_END: pt_json_object_end(w); break;
    case PT_JSON_ARRAY: pt_json_array(w); break;
    case PT_JSON_ARRAY_END: pt_json_array_end(w); break;
    case PT_JSON_KEY: pt_json_key_n(w, r->text, r->length); break;
    case PT_JSON_STRING: pt_json_text_n(w, r->text, r->length); break;
    case PT_JSON_INT: /* "-0" is the integer 0, and the double -0 */
        if (r->integer != 0)
            pt_json_int(w, r->integer);
        else
            pt_json_double(w, r->number);
        break;
    case PT_JSON_NUMBER: pt_json_double(w, r->number); break;
    case PT_JSON_BOOL: pt_json_bool(w, r->boolean); break;
    case PT_JSON_NULL: pt_json_null(w); break;
    case PT_JSON_ERROR:
    case PT_JSON_EOF: abort();
    }
}

/* Puts what data says into *copy; false if it is no JSON. */
static bool copied(const uint8_t *data, size_t size, pt_json_flags flags, pt_buf *copy)
{
    pt_error error = PT_ERROR_INIT;
    pt_json_r r;
    pt_json_w w;
    pt_out out;
    pt_out_to_buf(&out, copy);
    pt_json_r_init(&r, data, size, &error);
    pt_json_w_init(&w, &out, flags);
    while (pt_json_next(&r) > PT_JSON_EOF)
        copy_token(&r, &w);
    const bool whole = r.token == PT_JSON_EOF;
    if (!whole && (error.status == PT_OK || error.message[0] == '\0')) abort();
    pt_json_w_done(&w);
    pt_json_r_done(&r);
    if (pt_out_done(&out, NULL) != PT_OK) abort();
    return whole;
}

static void step_over(const uint8_t *data, size_t size)
{
    pt_json_r r;
    pt_json_r_init(&r, data, size, NULL);
    pt_json_next(&r);
    while (pt_json_next(&r) > PT_JSON_EOF) {
        if (pt_json_skip(&r) == PT_JSON_ERROR) break;
    }
    pt_json_r_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_buf once = PT_BUF_INIT, twice = PT_BUF_INIT;
    if (copied(data, size, PT_JSON_INDENT, &once)) {
        if (!copied(once.data, once.size, PT_JSON_INDENT, &twice)) abort();
        if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0) abort();
    }
    pt_buf_done(&once);
    pt_buf_done(&twice);
    step_over(data, size);
    return 0;
}
