/* xml.c: escaping for XML. */
#include "base/xml.h"

#include "base/utf8.h"
#include "base/visible.h"

/* The characters that are written as entities, and their entities in the same order. */
static const char special[] = "&<>\"'";
static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

static const char *entity_of(uint32_t code)
{
    for (size_t i = 0; special[i] != '\0'; i++)
        if (code == (uint8_t)special[i]) return entities[i];
    return NULL;
}

static bool is_xml_character(uint32_t code)
{
    return code == '\t' || code == '\n' || code == '\r' ||
           (code >= 0x20 && code != 0xfffe && code != 0xffff);
}

void pt_xml_text(pt_out *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const size_t plain = pt_visible_ascii(text + at, bytes - at, special);
        if (plain > 0) {
            pt_out_put(out, text + at, plain);
            at += plain;
            continue;
        }
        uint32_t code;
        int valid;
        const size_t size = pt_utf8_decode((const uint8_t *)text + at, bytes - at, &code, &valid);
        const char *escaped = entity_of(code);
        if (escaped != NULL)
            pt_out_text(out, escaped);
        else if (valid && is_xml_character(code))
            pt_out_put(out, text + at, size);
        else
            pt_out_text(out, "\xef\xbf\xbd");
        at += size;
    }
}
