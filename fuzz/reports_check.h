/* reports_check.h: what holds of a report whatever texts a profile brings: JSON is JSON, CSV has as
 * many fields in each row as in its head, XML is well formed and has no script of the profile's,
 * text has no control characters, a graph in dot has its own nodes and attributes. */
#pragma once

#include "base/json.h"
#include "formats_fuzz.h"

static inline void check_json(const pt_buf *report)
{
    pt_error error = PT_ERROR_INIT;
    pt_json_r r;
    pt_json_r_init(&r, report->data, report->size, &error);
    while (pt_json_next(&r) > PT_JSON_EOF)
        continue;
    if (r.token != PT_JSON_EOF) fuzz_fail("JSON", error.message);
    pt_json_r_done(&r);
}

/* RFC 4180, lines end with CR LF or LF. */
static inline void check_csv(const pt_buf *report)
{
    size_t columns = 0, fields = 1;
    bool is_quoted = false;
    for (size_t i = 0; i < report->size; i++) {
        const uint8_t c = report->data[i];
        if (c == '"') {
            is_quoted = !is_quoted;
        } else if (!is_quoted && c == ',') {
            fields++;
        } else if (!is_quoted && c == '\n') {
            if (columns != 0 && fields != columns) fuzz_fail("CSV", "rows of different lengths");
            columns = fields;
            fields = 1;
        }
    }
    if (is_quoted) fuzz_fail("CSV", "a quote is open at the end");
}

/* Of a report that goes to a terminal without colours. */
static inline void check_text(const pt_buf *report)
{
    for (size_t i = 0; i < report->size; i++) {
        const uint8_t c = report->data[i];
        if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
            fuzz_fail("text", "a control character");
    }
}

/* ---- dot ---- */

typedef struct {
    const char *at, *end;
} dot_reader;

/* A string between quotes, as Graphviz's scanner has it: a backslash takes the next character. */
static inline void skip_dot_string(dot_reader *r)
{
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at == '\\' && r->at + 1 < r->end) r->at++;
        if (*r->at == '\0') fuzz_fail("dot", "a zero byte");
    }
    if (r->at >= r->end) fuzz_fail("dot", "a string without an end");
    r->at++;
}

static inline size_t dot_word(dot_reader *r, const char **ret_word)
{
    *ret_word = r->at;
    while (r->at < r->end &&
           ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') ||
            (*r->at >= '0' && *r->at <= '9') || *r->at == '_' || *r->at == '.' || *r->at == '#'))
        r->at++;
    return (size_t)(r->at - *ret_word);
}

static inline bool is_dot_attribute(const char *word, size_t length)
{
    static const char *const names[] = {
        "label",     "id",        "fontsize",  "shape",       "tooltip",      "color",
        "fillcolor", "weight",    "penwidth",  "minlen",      "labeltooltip", "style",
        "fontname",  "fillcolor", "URL",       "peripheries", "height",       "width",
        "size",      "nodesep",   "fontcolor", "target"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0) return true;
    return false;
}

static inline void check_dot_attributes(dot_reader *r)
{
    const char *word;
    for (r->at++; r->at < r->end && *r->at != ']';) {
        if (*r->at == ' ' || *r->at == ',') {
            r->at++;
            continue;
        }
        const size_t length = dot_word(r, &word);
        if (!is_dot_attribute(word, length)) fuzz_fail("dot", "an attribute of the profile's");
        while (r->at < r->end && (*r->at == ' ' || *r->at == '='))
            r->at++;
        if (r->at < r->end && *r->at == '"')
            skip_dot_string(r);
        else if (dot_word(r, &word) == 0)
            fuzz_fail("dot", "an attribute without a value");
    }
    if (r->at >= r->end) fuzz_fail("dot", "attributes without an end");
    r->at++;
}

/* Goes over a graph as pprof writes it; returns how many nodes it has that are called N and a
 * number. Strings may hold anything, and stay strings. */
static inline size_t check_dot(const pt_buf *report)
{
    dot_reader r = {(const char *)report->data, (const char *)report->data + report->size};
    const char *word, *first = NULL;
    size_t nodes = 0, length = 0;
    while (r.at < r.end) {
        if (*r.at == '"') {
            skip_dot_string(&r);
        } else if (*r.at == '[') {
            bool is_node = first != NULL && first[0] == 'N';
            for (size_t i = 1; is_node && i < length; i++)
                is_node = first[i] >= '0' && first[i] <= '9';
            nodes += is_node && length > 1;
            check_dot_attributes(&r);
            first = NULL;
        } else if (strchr(" \n{};=->", *r.at) != NULL && *r.at != '\0') {
            if (*r.at == '>') first = NULL; /* an edge */
            if (*r.at == '\n' || *r.at == ';') first = NULL;
            if (*r.at == '>') {
                r.at++;
                while (r.at < r.end && *r.at == ' ')
                    r.at++;
                dot_word(&r, &word);
                continue;
            }
            r.at++;
        } else {
            length = dot_word(&r, &first);
            if (length == 0) fuzz_fail("dot", "a character outside of strings");
        }
    }
    return nodes;
}

/* ---- XML ---- */

static inline bool xml_begins(const char *at, const char *end, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/* Moves behind the text; ends the program if it does not come. */
static inline const char *xml_behind(const char *at, const char *end, const char *text)
{
    while (at < end && !xml_begins(at, end, text))
        at++;
    if (at >= end) fuzz_fail("XML", text);
    return at + strlen(text);
}

/* A tag: quotes of values are closed before it ends, and no < stands in it. */
static inline const char *xml_tag(const char *at, const char *end)
{
    char quote = '\0';
    for (; at < end; at++) {
        if (*at == '<') fuzz_fail("XML", "< inside a tag");
        if (quote != '\0' ? *at == quote : *at == '"' || *at == '\'')
            quote = quote != '\0' ? '\0' : *at;
        else if (quote == '\0' && *at == '>')
            return at + 1;
    }
    fuzz_fail("XML", "a tag without an end");
}

/* Elements are closed in their order, & begins an entity, and there are no more scripts than
 * `scripts`. */
static inline void check_xml(const pt_buf *report, size_t scripts)
{
    const char *at = (const char *)report->data, *const end = at + report->size;
    size_t depth = 0, found = 0;
    while (at < end) {
        const unsigned char c = (unsigned char)*at;
        if (c < ' ' && c != '\n' && c != '\t' && c != '\r') fuzz_fail("XML", "a control character");
        if (*at == '&' && (at + 1 >= end || strchr("aglq#", at[1]) == NULL))
            fuzz_fail("XML", "& that is no entity");
        if (*at != '<') {
            at++;
        } else if (xml_begins(at, end, "<?xml ")) {
            at = xml_behind(at, end, "?>");
        } else if (xml_begins(at, end, "<!--")) {
            at = xml_behind(at, end, "-->");
        } else if (xml_begins(at, end, "<![CDATA[")) {
            at = xml_behind(at, end, "]]>");
        } else if (xml_begins(at, end, "<!DOCTYPE")) {
            at = xml_tag(at + 1, end);
        } else if (xml_begins(at, end, "</")) {
            if (depth-- == 0) fuzz_fail("XML", "more ends than beginnings");
            at = xml_tag(at + 1, end);
        } else {
            if (at + 1 >= end || !((at[1] >= 'a' && at[1] <= 'z'))) fuzz_fail("XML", "a stray <");
            found += xml_begins(at, end, "<script");
            at = xml_tag(at + 1, end);
            depth += at[-2] != '/';
        }
    }
    if (depth != 0) fuzz_fail("XML", "elements without an end");
    if (found > scripts) fuzz_fail("XML", "a script of the profile's");
}
