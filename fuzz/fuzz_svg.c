/* fuzz_svg.c: anything in the place of what Graphviz printed as SVG: what passes the allow-list is
 * well-formed, has no script but our own, and nothing in it that runs or leads elsewhere.
 */
#include "picture/picture.h"
#include "reports_check.h"

/* In a tag: names of attributes are those of drawings. */
static void check_attributes(const char *at, const char *end)
{
    static const char *const elsewhere[] = {
        "on", "href=", "src=", "from=", "to=", "attributeName="};
    for (const char *p = at; p < end; p++) {
        if (*p != ' ') continue;
        for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
            if (xml_begins(p + 1, end, elsewhere[i])) fuzz_fail("SVG", elsewhere[i]);
        const char *const value = memchr(p, '"', (size_t)(end - p));
        if (value == NULL) return;
        p = memchr(value + 1, '"', (size_t)(end - value - 1));
        if (p == NULL) fuzz_fail("SVG", "a value without an end");
    }
}

static void check_tags(const pt_buf *svg, size_t ours)
{
    static const char *const allowed[] = {"svg",   "g",       "polygon", "polyline", "path", "text",
                                          "title", "ellipse", "a",       "script",   "style"};
    const char *at = (const char *)svg->data, *const end = at + svg->size;
    size_t tags = 0;
    while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        const char *const tag = ++at;
        if (*tag == '/' || *tag == '!' || *tag == '?') {
            if (xml_begins(tag, end, "![CDATA[")) at = xml_behind(tag, end, "]]>");
            continue;
        }
        size_t length = 0;
        while (tag + length < end && tag[length] >= 'a' && tag[length] <= 'z')
            length++;
        bool is_known = false;
        for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
            is_known =
                is_known || (strlen(allowed[i]) == length && memcmp(allowed[i], tag, length) == 0);
        if (!is_known) fuzz_fail("SVG", "an element that is not allowed");
        if (++tags > ours) check_attributes(tag + length, xml_tag(tag, end));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_buf svg = PT_BUF_INIT;
    pt_out out;
    pt_error error = PT_ERROR_INIT;
    pt_out_to_buf(&out, &svg);
    const pt_status status = pt_picture_svg_of_dot(&out, (const char *)data, size, &error);
    pt_out_done(&out, NULL);
    if (status != PT_OK && error.message[0] == '\0') fuzz_fail("SVG", "no message");
    if (status == PT_OK) {
        check_xml(&svg, 1);
        check_tags(&svg, 1); /* the first is the root, whose attributes are ours */
    }
    pt_buf_done(&svg);
    return 0;
}
