/* graphviz_svg.c: reads Graphviz's SVG and writes the elements and attributes of an allow-list.
 *
 * Graphviz copies some texts of a graph into its SVG without escaping them, and its plugins may
 * write anything. A browser runs what SVG holds, so only elements and attributes that a graph needs
 * are written, each value is checked by its kind, and all text is escaped again. Comments,
 * processing instructions, the document type, scripts, styles and links to other documents are left
 * out. Input that is not well-formed XML 1.0 (section 2.1) is an error.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/span.h"
#include "base/utf8.h"
#include "base/xml.h"
#include "picture/picture.h"
#include "picture/script.h"

#define MOST_OPEN 64 /* limit of elements inside each other; Graphviz nests six */
#define ROOT_CONSTANT                                                                              \
    "<svg width=\"100%\" height=\"100%\" xmlns=\"http://www.w3.org/2000/svg\" "                    \
    "xmlns:xlink=\"http://www.w3.org/1999/xlink\""

typedef struct {
    const char *begin, *at, *end;
    pt_out *out;
    pt_span open[MOST_OPEN];
    unsigned depth;   /* elements that are open */
    unsigned dropped; /* depth of the outermost open element that is left out; 0 = none */
    bool has_root;
    const char *problem; /* the reason why the input is refused, a static text; NULL while the input
                          * is accepted */
} svg_filter;

static void refuse_input(svg_filter *f, const char *problem)
{
    if (f->problem == NULL) f->problem = problem;
}

/* ---- The allow-list ---- */

static const char *const allowed_elements[] = {"g",    "polygon", "polyline", "path",
                                               "text", "title",   "ellipse",  "a"};

static bool is_allowed_element(pt_span name)
{
    return PT_ANY(i, PT_COUNT(allowed_elements), pt_span_is(name, allowed_elements[i]));
}

/* Is this an element whose text is shown? */
static bool holds_text(pt_span name)
{
    return pt_span_is(name, "text") || pt_span_is(name, "title");
}

typedef enum {
    VALUE_NUMBERS, /* numbers, commands of paths, functions of transform */
    VALUE_WORDS,   /* names, families of fonts, colours */
    VALUE_TEXT,    /* any text: it is shown, so it is escaped */
    VALUE_PLACE,   /* a reference to an element of this document: #ID */
} value_kind;

static const struct {
    const char *name;
    value_kind kind;
} allowed_attributes[] = {
    {"class", VALUE_WORDS},
    {"cx", VALUE_NUMBERS},
    {"cy", VALUE_NUMBERS},
    {"d", VALUE_NUMBERS},
    {"fill", VALUE_WORDS},
    {"fill-opacity", VALUE_NUMBERS},
    {"font-family", VALUE_WORDS},
    {"font-size", VALUE_NUMBERS},
    {"font-style", VALUE_WORDS},
    {"font-weight", VALUE_WORDS},
    {"id", VALUE_WORDS},
    {"points", VALUE_NUMBERS},
    {"rx", VALUE_NUMBERS},
    {"ry", VALUE_NUMBERS},
    {"stroke", VALUE_WORDS},
    {"stroke-dasharray", VALUE_NUMBERS},
    {"stroke-opacity", VALUE_NUMBERS},
    {"stroke-width", VALUE_NUMBERS},
    {"text-anchor", VALUE_WORDS},
    {"text-decoration", VALUE_WORDS},
    {"transform", VALUE_NUMBERS},
    {"x", VALUE_NUMBERS},
    {"xlink:href", VALUE_PLACE},
    {"xlink:title", VALUE_TEXT},
    {"xml:space", VALUE_WORDS},
    {"y", VALUE_NUMBERS},
};

static bool consists_of(pt_span value, const char *others)
{
    for (size_t i = 0; i < value.size; i++)
        if (!isalnum((unsigned char)value.at[i]) && strchr(others, value.at[i]) == NULL)
            return false;
    return memchr(value.at, '\0', value.size) == NULL;
}

static bool is_allowed_value(value_kind kind, pt_span value)
{
    switch (kind) {
    case VALUE_NUMBERS: return consists_of(value, " \n\t.,+-()%");
    case VALUE_WORDS: return consists_of(value, " .,_#-");
    case VALUE_PLACE: return value.size > 0 && value.at[0] == '#' && consists_of(value, "#_.-");
    case VALUE_TEXT: return true;
    }
    return false;
}

/* Attributes that begin with "xlink:" are allowed only in links; all other known attributes are
 * allowed in any element. */
static bool is_allowed_attribute(pt_span element, pt_span name, pt_span value)
{
    for (size_t i = 0; i < PT_COUNT(allowed_attributes); i++) {
        if (!pt_span_is(name, allowed_attributes[i].name)) continue;
        if (pt_begins(allowed_attributes[i].name, "xlink:") && !pt_span_is(element, "a"))
            return false;
        return is_allowed_value(allowed_attributes[i].kind, value);
    }
    return false;
}

/* ---- Text and references ---- */

/* The character that the part "#38" of "&#38;", or "#x26" of "&#x26;", stands for; 0 if there is no
 * such character. */
static uint32_t character_of(pt_span digits)
{
    char text[12];
    if (digits.size < 2 || digits.size >= sizeof text || digits.at[0] != '#') return 0;
    const bool hex = digits.at[1] == 'x';
    memcpy(text, digits.at + 1 + hex, digits.size - 1 - hex);
    text[digits.size - 1 - hex] = '\0';
    if (!isxdigit((unsigned char)text[0])) return 0;
    char *end;
    const unsigned long code = strtoul(text, &end, hex ? 16 : 10);
    return *end == '\0' && code <= 0x10ffff ? (uint32_t)code : 0;
}

/* Puts the character of the reference with which s begins, such as "&lt;". Returns the length of
 * the reference in bytes; 0 for an unknown reference, for which nothing is put. */
static size_t put_reference(pt_buf *to, pt_span s)
{
    static const struct {
        const char *name;
        uint32_t character;
    } named[] = {{"amp", '&'},  {"lt", '<'},    {"gt", '>'},
                 {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xa0}};
    const char *close = memchr(s.at, ';', s.size < 14 ? s.size : 14);
    if (close == NULL) return 0;
    const pt_span name = {s.at + 1, (size_t)(close - s.at - 1)};
    uint32_t character = character_of(name);
    for (size_t i = 0; i < PT_COUNT(named); i++)
        if (pt_span_is(name, named[i].name)) character = named[i].character;
    if (character == 0) return 0;
    uint8_t bytes[4];
    pt_put(to, bytes, pt_utf8_encode(character, bytes));
    return name.size + 2;
}

/* Resolves the references in the text, escapes the resulting text and puts it. An "&" that begins
 * no known reference is an ordinary character of the text. */
static void put_text_again(pt_out *out, pt_span text)
{
    PT_AUTO(pt_buf) plain = PT_BUF_INIT;
    for (size_t i = 0; i < text.size;) {
        const pt_span rest = {text.at + i, text.size - i};
        const size_t taken = text.at[i] == '&' ? put_reference(&plain, rest) : 0;
        if (taken == 0) pt_put_u8(&plain, (uint8_t)text.at[i]);
        i += taken > 0 ? taken : 1;
    }
    pt_xml_text(out, (const char *)plain.data, plain.size);
}

static bool is_blank(pt_span text)
{
    return !PT_ANY(i, text.size, memchr(" \r\n\t", text.at[i], 4) == NULL);
}

static void take_text(svg_filter *f)
{
    const char *end = memchr(f->at, '<', (size_t)(f->end - f->at));
    const pt_span text = {f->at, (size_t)((end != NULL ? end : f->end) - f->at)};
    f->at += text.size;
    if (f->depth == 0) {
        if (!is_blank(text)) refuse_input(f, "text outside of its element");
    } else if (f->dropped == 0 && holds_text(f->open[f->depth - 1])) {
        put_text_again(f->out, text);
    }
}

/* ---- Tags ---- */

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == ':' || c == '_' || c == '-' || c == '.' ||
           (unsigned char)c >= 0x80;
}

static pt_span take_name(svg_filter *f)
{
    const char *from = f->at;
    while (f->at < f->end && is_name_character(*f->at))
        f->at++;
    if (f->at == from) refuse_input(f, "a tag without a name");
    return (pt_span){from, (size_t)(f->at - from)};
}

static bool skip_blanks(svg_filter *f)
{
    const char *from = f->at;
    while (f->at < f->end && isspace((unsigned char)*f->at))
        f->at++;
    return f->at > from;
}

/* Reads name="value". False: the tag has no further attribute, or the input was refused. */
static bool take_attribute(svg_filter *f, pt_span *ret_name, pt_span *ret_value)
{
    const bool apart = skip_blanks(f);
    if (f->at >= f->end || *f->at == '>' || *f->at == '/') return false;
    if (!apart) refuse_input(f, "attributes that are not apart");
    *ret_name = take_name(f);
    const char quote = f->end - f->at >= 2 && f->at[0] == '=' ? f->at[1] : '\0';
    const char *from = f->at + 2;
    const char *close =
        quote == '"' || quote == '\'' ? memchr(from, quote, (size_t)(f->end - from)) : NULL;
    if (close == NULL || memchr(from, '<', (size_t)(close - from)) != NULL) {
        refuse_input(f, "an attribute without a quoted value");
        return false;
    }
    *ret_value = (pt_span){from, (size_t)(close - from)};
    f->at = close + 1;
    return f->problem == NULL;
}

static void put_attribute(pt_out *out, pt_span name, pt_span value)
{
    pt_out_char(out, ' ');
    pt_out_put(out, name.at, name.size);
    pt_out_text(out, "=\"");
    put_text_again(out, value);
    pt_out_char(out, '"');
}

/* Reads the attributes of the root element and writes the root. Only the view box is kept. Also
 * opens the group that the script moves. */
static void take_root_attributes(svg_filter *f)
{
    pt_span attribute, value;
    pt_out_text(f->out, ROOT_CONSTANT);
    while (take_attribute(f, &attribute, &value))
        if (pt_span_is(attribute, "viewBox") && is_allowed_value(VALUE_NUMBERS, value))
            put_attribute(f->out, attribute, value);
    pt_out_text(f->out, ">\n<g id=\"viewport\">\n");
}

/* Reads the end of a tag, ">" or "/>". Returns true for "/>". */
static bool take_tag_end(svg_filter *f)
{
    const bool empty = f->at < f->end && *f->at == '/';
    if (empty) f->at++;
    if (f->at >= f->end || *f->at != '>')
        refuse_input(f, "a tag that does not end");
    else
        f->at++;
    return empty;
}

/* Writes an end tag and a newline; before the end tag of the root element, writes the script. */
static void put_end_tag(svg_filter *f, pt_span name)
{
    if (f->depth == 0) {
        pt_out_text(f->out, "</g>\n");
        pt_picture_script(f->out);
        pt_out_text(f->out, "</svg>\n");
        return;
    }
    pt_out_text(f->out, "</");
    pt_out_put(f->out, name.at, name.size);
    pt_out_text(f->out, ">\n");
}

static void close_element(svg_filter *f)
{
    const pt_span name = f->open[--f->depth];
    if (f->dropped == 0) put_end_tag(f, name);
    if (f->dropped == f->depth + 1) f->dropped = 0;
}

static void take_start_tag(svg_filter *f)
{
    f->at++;
    const pt_span name = take_name(f);
    const bool root = f->depth == 0;
    if (root && (f->has_root || !pt_span_is(name, "svg"))) refuse_input(f, "no single element svg");
    if (f->depth == MOST_OPEN) refuse_input(f, "too many elements inside each other");
    if (f->problem != NULL) return;
    const bool in_text = f->depth > 1 && holds_text(f->open[f->depth - 1]);
    const bool drop = f->dropped > 0 || (!root && (in_text || !is_allowed_element(name)));
    f->has_root = true;
    f->open[f->depth++] = name;
    if (drop && f->dropped == 0) f->dropped = f->depth;
    if (root) {
        take_root_attributes(f);
    } else {
        if (!drop) {
            pt_out_char(f->out, '<');
            pt_out_put(f->out, name.at, name.size);
        }
        pt_span attribute, value;
        while (take_attribute(f, &attribute, &value))
            if (!drop && is_allowed_attribute(name, attribute, value))
                put_attribute(f->out, attribute, value);
        if (!drop) pt_out_text(f->out, holds_text(name) ? ">" : ">\n");
    }
    if (take_tag_end(f)) close_element(f);
}

static void take_end_tag(svg_filter *f)
{
    f->at += 2;
    const pt_span name = take_name(f);
    skip_blanks(f);
    if (f->depth == 0 || name.size != f->open[f->depth - 1].size ||
        memcmp(name.at, f->open[f->depth - 1].at, name.size) != 0)
        return refuse_input(f, "an end tag without its beginning");
    take_tag_end(f);
    close_element(f);
}

/* ---- Markup that is no element ---- */

static void skip_past_text(svg_filter *f, const char *end, const char *problem)
{
    const char *found = memmem(f->at, (size_t)(f->end - f->at), end, strlen(end));
    if (found == NULL) return refuse_input(f, problem);
    f->at = found + strlen(end);
}

static bool input_begins(const svg_filter *f, const char *text)
{
    const size_t size = strlen(text);
    return (size_t)(f->end - f->at) >= size && memcmp(f->at, text, size) == 0;
}

/* Skips the document type. A document type with declarations of its own, or at a wrong place, is
 * refused. */
static void skip_document_type(svg_filter *f)
{
    const char *close = memchr(f->at, '>', (size_t)(f->end - f->at));
    if (f->depth > 0 || f->has_root || close == NULL ||
        memchr(f->at, '[', (size_t)(close - f->at)) != NULL)
        return refuse_input(f, "a document type of its own");
    f->at = close + 1;
}

static void take_markup(svg_filter *f)
{
    if (input_begins(f, "<!--")) {
        f->at += 4;
        skip_past_text(f, "-->", "a comment that does not end");
    } else if (input_begins(f, "<?")) {
        skip_past_text(f, "?>", "a processing instruction that does not end");
    } else if (input_begins(f, "<!DOCTYPE")) {
        skip_document_type(f);
    } else if (input_begins(f, "<!")) {
        refuse_input(f, "a section or declaration");
    } else if (input_begins(f, "</")) {
        take_end_tag(f);
    } else {
        take_start_tag(f);
    }
}

pt_status pt_picture_svg_of_dot(pt_out *out, const char *svg, size_t size, pt_error *reterr)
{
    svg_filter f = {.begin = svg, .at = svg, .end = svg + size, .out = out};
    pt_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
    while (f.at < f.end && f.problem == NULL) {
        if (*f.at == '<')
            take_markup(&f);
        else
            take_text(&f);
    }
    if (!f.has_root || f.depth > 0) refuse_input(&f, "no whole element svg");
    if (f.problem == NULL) return PT_OK;
    pt_error_set(reterr, PT_ERR_FORMAT,
                 "dot's picture cannot be passed on: %s at byte %zu; pitot draws without dot by "
                 "graph --engine=own",
                 f.problem, (size_t)(f.at - f.begin));
    return PT_ERR_FORMAT;
}
