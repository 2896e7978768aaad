/* test_base_json.c: the JSON writer and the pull reader, with RFC 8259 and jansson to judge. */
#include "base_check.h"

#include "base/json.h"
#include "base/utf8.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_sample(pt_json_w *w)
{
    pt_json_object(w);
    pt_json_key(w, "name");
    pt_json_text(w, "a\"b\\c/\b\f\n\r\t\x01\x7f");
    pt_json_key(w, "least");
    pt_json_int(w, INT64_MIN);
    pt_json_key(w, "most");
    pt_json_uint(w, UINT64_MAX);
    pt_json_key(w, "list");
    pt_json_array(w);
    pt_json_bool(w, true);
    pt_json_null(w);
    pt_json_double(w, 0.1);
    pt_json_array(w);
    pt_json_array_end(w);
    pt_json_array_end(w);
    pt_json_key(w, "");
    pt_json_object(w);
    pt_json_object_end(w);
    pt_json_object_end(w);
}

static void check_written(pt_json_flags flags, void (*writes)(pt_json_w *), const char *expected)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_json_w w;
    pt_out_to_buf(&out, &buf);
    pt_json_w_init(&w, &out, flags);
    writes(&w);
    pt_json_w_done(&w);
    pt_out_done(&out, NULL);
    assert_string_equal(pt_buf_text(&buf), expected);
    pt_buf_done(&buf);
}

static void writes_compactly_or_indented(void **state)
{
    check_written(0, write_sample,
                  "{\"name\":\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u007f\","
                  "\"least\":-9223372036854775808,\"most\":18446744073709551615,"
                  "\"list\":[true,null,0.1,[]],\"\":{}}");
    check_written(PT_JSON_INDENT, write_sample,
                  "{\n"
                  "  \"name\": \"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u007f\",\n"
                  "  \"least\": -9223372036854775808,\n"
                  "  \"most\": 18446744073709551615,\n"
                  "  \"list\": [\n"
                  "    true,\n"
                  "    null,\n"
                  "    0.1,\n"
                  "    []\n"
                  "  ],\n"
                  "  \"\": {}\n"
                  "}\n");
}

/* Unicode 15, table 3-8: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64 has six ill-formed parts. */
static void write_ill_formed(pt_json_w *w)
{
    pt_json_text(w, "a\xf1\x80\x80\xe1\x80\xc2"
                    "b\x80"
                    "c\x80\xbf"
                    "d\xed\xa0\x80\xe2\x82\xac");
}

static void bad_utf8_is_replaced_as_unicode_recommends(void **state)
{
#define R "\xef\xbf\xbd"
    check_written(0, write_ill_formed, "\"a" R R R "b" R "c" R R "d" R R R "\xe2\x82\xac\"");
}

static void write_script(pt_json_w *w)
{
    pt_json_text(w, "</script><!--");
}

static void nothing_in_an_embedded_document_ends_the_script(void **state)
{
    check_written(PT_JSON_IN_HTML, write_script, "\"\\u003c/script>\\u003c!--\"");
    check_written(0, write_script, "\"</script><!--\"");
}

static void write_copy(pt_json_w *w)
{
    static const char json[] = "[\"a<b<\",1,{\"<\":null}]";
    pt_json_array(w);
    pt_json_copy(w, json, sizeof json - 1);
    pt_json_copy(w, "0", 1);
    pt_json_array_end(w);
}

static void a_copied_document_ends_no_script_either(void **state)
{
    check_written(PT_JSON_IN_HTML, write_copy, "[[\"a\\u003cb\\u003c\",1,{\"\\u003c\":null}],0]");
    check_written(0, write_copy, "[[\"a<b<\",1,{\"<\":null}],0]");
}

static void a_buffer_for_json_has_no_white_space_and_a_limit(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    for (uint64_t most = 1; most <= 13; most++) {
        pt_json_w w;
        pt_error error = PT_ERROR_INIT;
        pt_buf_clear(&buf);
        pt_out_to_json(&out, &buf, most);
        pt_json_w_init(&w, &out, PT_JSON_INDENT);
        pt_json_object(&w);
        pt_json_key_double(&w, "half", 0.5); /* {"half":0.5} */
        pt_json_object_end(&w);
        pt_json_w_done(&w);
        assert_int_equal(pt_out_done(&out, &error), most < 12 ? PT_ERR_LIMIT : PT_OK);
        assert_true(buf.size <= most);
    }
    assert_string_equal(pt_buf_text(&buf), "{\"half\":0.5}");
    pt_buf_done(&buf);
}

static void write_doubles(pt_json_w *w)
{
    const double values[] = {
        0,        -0.0,  1,       -7,     999999999999999,        1e15,
        0.5,      1e100, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345680.0,
        INFINITY, NAN};
    pt_json_array(w);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        pt_json_double(w, values[i]);
    pt_json_array_end(w);
}

static void doubles_are_as_short_as_they_can_be(void **state)
{
    check_written(
        0, write_doubles,
        "[0,-0,1,-7,999999999999999,1e+15,0.5,1e+100,0.3333333333333333,4.94065645841247e-324,"
        "1.7976931348623157e+308,1.2345678901234568e+17,null,null]");
}

/* Copies every token to the writer; false if the reader failed. */
static bool copy_tokens(pt_json_r *r, pt_json_w *w)
{
    while (true) {
        switch (pt_json_next(r)) {
        case PT_JSON_ERROR: return false;
        case PT_JSON_EOF: return true;
        case PT_JSON_OBJECT: pt_json_object(w); break;
        case PT_JSON_OBJECT_END: pt_json_object_end(w); break;
        case PT_JSON_ARRAY: pt_json_array(w); break;
        case PT_JSON_ARRAY_END: pt_json_array_end(w); break;
        case PT_JSON_KEY: pt_json_key_n(w, r->text, r->length); break;
        case PT_JSON_STRING: pt_json_text_n(w, r->text, r->length); break;
        case PT_JSON_INT: pt_json_int(w, r->integer); break;
        case PT_JSON_NUMBER: pt_json_double(w, r->number); break;
        case PT_JSON_BOOL: pt_json_bool(w, r->boolean); break;
        case PT_JSON_NULL: pt_json_null(w); break;
        }
    }
}

struct copied {
    bool ok;
    uint64_t replaced;
    pt_error error;
    pt_buf text;
};

static struct copied copy(const void *data, size_t size)
{
    struct copied result = {.error = PT_ERROR_INIT};
    uint8_t *const exact = malloc(size ? size : 1); /* so that asan sees a read past the end */
    if (size > 0) memcpy(exact, data, size);
    pt_json_r r;
    pt_json_w w;
    pt_out out;
    pt_out_to_buf(&out, &result.text);
    pt_json_w_init(&w, &out, 0);
    pt_json_r_init(&r, exact, size, &result.error);
    result.ok = copy_tokens(&r, &w);
    result.replaced = r.replaced;
    pt_json_r_done(&r);
    pt_json_w_done(&w);
    pt_out_done(&out, NULL);
    free(exact);
    return result;
}

static void check_copied(const char *text, const char *expected)
{
    struct copied result = copy(text, strlen(text));
    if (!result.ok) print_message("%s: %s\n", text, result.error.message);
    assert_true(result.ok);
    assert_string_equal(pt_buf_text(&result.text), expected);
    pt_buf_done(&result.text);
}

static void reads_what_rfc_8259_shows(void **state)
{
    check_copied(" {\"Image\": {\"Width\": 800, \"Thumbnail\": {\"Url\": "
                 "\"http://www.example.com/image/481989943\"}, \"Animated\" : false, "
                 "\"IDs\": [116, 943, 234, 38793]}} ",
                 "{\"Image\":{\"Width\":800,\"Thumbnail\":{\"Url\":"
                 "\"http://www.example.com/image/481989943\"},\"Animated\":false,"
                 "\"IDs\":[116,943,234,38793]}}");
    check_copied("\"\\ud834\\udd1e\"", "\"\xf0\x9d\x84\x9e\""); /* section 7: the G clef */
    check_copied("\"\\u00E9\\/\\u002f\"", "\"\xc3\xa9//\"");
    check_copied("[-9223372036854775808, 9223372036854775807, 9007199254740993, -0]",
                 "[-9223372036854775808,9223372036854775807,9007199254740993,0]");
    check_copied("[9223372036854775808, 1e2, -1.5E-1, 0.30000000000000004, 1e400]",
                 "[9.223372036854776e+18,100,-0.15,0.30000000000000004,null]");
    check_copied("\"\\ud800x\\udc00\"", "\"" R "x" R "\"");
    check_copied("\"\\u0000\"", "\"\\u0000\"");
    check_copied("null", "null");
}

static void check_refused(const char *text, pt_status status, const char *message)
{
    struct copied result = copy(text, strlen(text));
    assert_false(result.ok);
    assert_string_equal(result.error.message, message);
    assert_int_equal(result.error.status, status);
    pt_buf_done(&result.text);
}

static void says_what_is_wrong_and_where(void **state)
{
    check_refused("", PT_ERR_DAMAGED, "JSON ends at byte 0, before it is complete");
    check_refused("[1, 2", PT_ERR_DAMAGED, "JSON ends at byte 5, before it is complete");
    check_refused("[1,", PT_ERR_DAMAGED, "JSON ends at byte 3, after a comma");
    check_refused("[1,]", PT_ERR_FORMAT, "JSON is wrong at byte 3, a value was expected");
    check_refused("[1 2]", PT_ERR_FORMAT, "JSON is wrong at byte 3, a comma or ] was expected");
    check_refused("{\"a\" 1}", PT_ERR_FORMAT, "JSON is wrong at byte 5, a colon was expected");
    check_refused("{a:1}", PT_ERR_FORMAT, "JSON is wrong at byte 1, a key in quotes was expected");
    check_refused("{\"a\":1,}", PT_ERR_FORMAT,
                  "JSON is wrong at byte 7, a key in quotes was expected");
    check_refused("[}", PT_ERR_FORMAT, "JSON is wrong at byte 1, a value was expected");
    check_refused("1 1", PT_ERR_FORMAT, "JSON is wrong at byte 2, data follows the value");
    check_refused("\"\\x\"", PT_ERR_FORMAT, "JSON is wrong at byte 2, unknown escape in a string");
    check_refused("\"a\nb\"", PT_ERR_FORMAT,
                  "JSON is wrong at byte 2, a control character inside a string");
    check_refused("\"abc", PT_ERR_DAMAGED, "JSON ends at byte 4, inside a string");
    check_refused("01", PT_ERR_FORMAT, "JSON is wrong at byte 0, a number that begins with 0");
    check_refused("1.x", PT_ERR_FORMAT,
                  "JSON is wrong at byte 2, a number without digits after its point");
    check_refused("1e+", PT_ERR_DAMAGED,
                  "JSON ends at byte 3, a number without digits in its exponent");
    check_refused("nul", PT_ERR_DAMAGED, "JSON ends at byte 3, inside a word");
    check_refused("nulL", PT_ERR_FORMAT, "JSON is wrong at byte 0, unknown word");
}

static void deep_nesting_is_bounded(void **state)
{
    char text[2000];
    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    struct copied result = copy(text + 1000 - 512, 1024);
    assert_true(result.ok);
    pt_buf_done(&result.text);
    result = copy(text + 1000 - 513, 1026);
    assert_false(result.ok);
    assert_string_equal(result.error.message,
                        "JSON is wrong at byte 512, nested deeper than 512 levels");
    pt_buf_done(&result.text);
}

static void whole_values_can_be_skipped(void **state)
{
    const char text[] = "{\"a\":{\"x\":[1,{\"y\":2}]},\"b\":7,\"c\":\"z\"}";
    pt_json_r r;
    pt_json_r_init(&r, text, sizeof text - 1, NULL);
    assert_int_equal(pt_json_next(&r), PT_JSON_OBJECT);
    assert_int_equal(pt_json_next(&r), PT_JSON_KEY);
    assert_int_equal(pt_json_skip(&r), PT_JSON_OBJECT_END);
    assert_int_equal(pt_json_next(&r), PT_JSON_KEY);
    assert_true(pt_json_is(&r, "b"));
    assert_false(pt_json_is(&r, "bb"));
    assert_int_equal(pt_json_skip(&r), PT_JSON_INT);
    assert_int_equal(r.integer, 7);
    assert_int_equal(pt_json_next(&r), PT_JSON_KEY);
    assert_int_equal(pt_json_skip(&r), PT_JSON_STRING);
    assert_int_equal(pt_json_next(&r), PT_JSON_OBJECT_END);
    assert_int_equal(pt_json_next(&r), PT_JSON_EOF);
    assert_int_equal(pt_json_next(&r), PT_JSON_EOF);
    pt_json_r_done(&r);
}

/* --- jansson --- */

static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        if (json_is_integer(a) && json_is_integer(b))
            return json_integer_value(a) == json_integer_value(b);
        return json_number_value(a) == json_number_value(b);
    }
    if (json_typeof(a) != json_typeof(b)) return false;
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b)) return false;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!same_value(json_array_get(a, i), json_array_get(b, i))) return false;
        return true;
    }
    if (json_is_object(a)) {
        if (json_object_size(a) != json_object_size(b)) return false;
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)a, key, value)
        {
            const json_t *const other = json_object_get(b, key);
            if (other == NULL || !same_value(value, other)) return false;
        }
        return true;
    }
    return json_equal(a, b);
}

/* A random document, with escapes, numbers and white space of every kind. */
static void put_random_value(pt_buf *buf, uint64_t *seed, int depth)
{
    static const char *const strings[] = {"\"\"",
                                          "\"plain\"",
                                          "\"caf\xc3\xa9\"",
                                          "\"\\u20ac\\n\"",
                                          "\"\\ud83d\\ude00 tail of a longer string\"",
                                          "\"\\\\\\\"\\/\"",
                                          "\"\xf0\x9f\x98\x80\""};
    static const char *const words[] = {"true", "false", "null", " null ", "0", "-0.0", "1E5"};
    const uint64_t what = next_random(seed) % (depth > 5 ? 4 : 7);
    const uint64_t count = next_random(seed) % 5;
    switch (what) {
    case 0: pt_put_text(buf, strings[next_random(seed) % 7]); break;
    case 1: pt_put_text(buf, words[next_random(seed) % 7]); break;
    case 2: pt_putf(buf, "%lld", (long long)random_of_any_size(seed)); break;
    case 3:
        pt_putf(buf, "%.*g", (int)(1 + next_random(seed) % 19),
                (double)(int64_t)random_of_any_size(seed) /
                    (double)(1 + random_of_any_size(seed) % 1000000));
        break;
    case 4:
    case 5:
        pt_put_text(buf, "[");
        for (uint64_t i = 0; i < count; i++) {
            if (i > 0) pt_put_text(buf, " ,\t");
            put_random_value(buf, seed, depth + 1);
        }
        pt_put_text(buf, "\r\n]");
        break;
    case 6:
        pt_put_text(buf, "{");
        for (uint64_t i = 0; i < count; i++) {
            pt_putf(buf, "%s\"key %d\\u00e9\" : ", i > 0 ? "," : "", (int)i);
            put_random_value(buf, seed, depth + 1);
        }
        pt_put_text(buf, "}");
        break;
    }
}

static void check_against_jansson(const pt_buf *text)
{
    json_error_t error;
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *const theirs = json_loadb((const char *)text->data, text->size, flags, &error);
    struct copied ours = copy(text->data, text->size);
    const bool range = theirs == NULL && json_error_code(&error) == json_error_numeric_overflow;
    const bool tolerated = ours.replaced > 0; /* jansson refuses bad UTF-8 */
    const bool nul_key = theirs == NULL && json_error_code(&error) == json_error_null_byte_in_key;
    if (!range && !tolerated && !nul_key) {
        if (ours.ok != (theirs != NULL))
            print_message("%.*s\nours: %s; theirs: %s\n", (int)text->size, (const char *)text->data,
                          ours.error.message, error.text);
        assert_true(ours.ok == (theirs != NULL));
    }
    if (ours.ok && theirs != NULL) {
        json_t *const again =
            json_loadb((const char *)ours.text.data, ours.text.size, flags, &error);
        assert_non_null(again);
        assert_true(same_value(theirs, again));
        json_decref(again);
    }
    json_decref(theirs);
    pt_buf_done(&ours.text);
}

static void agrees_with_jansson_on_whole_and_on_damaged_documents(void **state)
{
    static const char spice[] = "\"\\{}[],:0123456789eE+-. \ntfnu\x80\xc3\xff";
    uint64_t seed = 11;
    for (int round = 0; round < 3000; round++) {
        pt_buf text = PT_BUF_INIT;
        put_random_value(&text, &seed, 0);
        check_against_jansson(&text);
        for (int k = 0; k < 6 && text.size > 0; k++) {
            pt_buf damaged = PT_BUF_INIT;
            const size_t at = next_random(&seed) % text.size;
            const size_t dropped = next_random(&seed) % 3;
            pt_put(&damaged, text.data, at);
            for (uint64_t n = next_random(&seed) % 3; n > 0; n--)
                pt_put_u8(&damaged, (uint8_t)spice[next_random(&seed) % (sizeof spice - 1)]);
            const size_t rest = at + dropped < text.size ? at + dropped : text.size;
            pt_put(&damaged, text.data + rest, text.size - rest);
            check_against_jansson(&damaged);
            pt_buf_done(&damaged);
        }
        pt_buf_done(&text);
    }
}

static void every_double_comes_back(void **state)
{
    uint64_t seed = 5;
    pt_buf buf = PT_BUF_INIT;
    for (int i = 0; i < 50000; i++) {
        const uint64_t bits = next_random(&seed);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        if (i % 2) value = (double)(int64_t)(bits >> 20) / 1000; /* the everyday kind */
        pt_out out;
        pt_json_w w;
        pt_buf_clear(&buf);
        pt_out_to_buf(&out, &buf);
        pt_json_w_init(&w, &out, 0);
        pt_json_double(&w, value);
        pt_json_w_done(&w);
        pt_json_r r;
        pt_json_r_init(&r, buf.data, buf.size, NULL);
        assert_int_not_equal(pt_json_next(&r), PT_JSON_ERROR);
        assert_true(r.number == value);
        pt_json_r_done(&r);
    }
    pt_buf_done(&buf);
}

static void utf8_goes_both_ways_for_every_character(void **state)
{
    for (uint32_t c = 0; c <= 0x110000; c++) {
        uint8_t text[4];
        uint32_t back;
        int valid;
        const size_t length = pt_utf8_encode(c, text);
        assert_int_equal(pt_utf8_decode(text, length, &back, &valid), length);
        assert_true(valid);
        assert_int_equal(back, (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0xfffd : c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_compactly_or_indented),
        cmocka_unit_test(bad_utf8_is_replaced_as_unicode_recommends),
        cmocka_unit_test(nothing_in_an_embedded_document_ends_the_script),
        cmocka_unit_test(a_copied_document_ends_no_script_either),
        cmocka_unit_test(a_buffer_for_json_has_no_white_space_and_a_limit),
        cmocka_unit_test(doubles_are_as_short_as_they_can_be),
        cmocka_unit_test(reads_what_rfc_8259_shows),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(deep_nesting_is_bounded),
        cmocka_unit_test(whole_values_can_be_skipped),
        cmocka_unit_test(agrees_with_jansson_on_whole_and_on_damaged_documents),
        cmocka_unit_test(every_double_comes_back),
        cmocka_unit_test(utf8_goes_both_ways_for_every_character),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
