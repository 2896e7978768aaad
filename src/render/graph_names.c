/* graph_names.c: names short enough for a box of a graph. The comment of each rule has the regular
 * expression of google/pprof (internal/graph/graph.go) that the rule follows. */
#include <string.h>

#include "base/text.h"
#include "render/graph_report.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_begin(char c)
{
    return is_word(c) && !(c >= '0' && c <= '9');
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static size_t count_words(const char *text, const char *more)
{
    size_t n = 0;
    while (is_word(text[n]) || (text[n] != '\0' && strchr(more, text[n]) != NULL))
        n++;
    return n;
}

/* The name without its module version: ^(.*?)/v(?:[2-9]|[1-9][0-9]+)([./].*)$ */
static char *without_version(const char *name)
{
    if (strchr(name, '\n') != NULL) return pt_strdup(name);
    for (const char *at = strstr(name, "/v"); at != NULL; at = strstr(at + 1, "/v")) {
        const char *digits = at + 2;
        const size_t count = strspn(digits, "0123456789");
        const bool version = count == 1 ? digits[0] >= '2' : count > 1 && digits[0] != '0';
        if (version && (digits[count] == '.' || digits[count] == '/'))
            return pt_strf("%.*s%s", (int)(at - name), name, digits + count);
    }
    return pt_strdup(name);
}

/* The last part of a Go package's path, and the name after it: ^(?:[\w\-\.]+\/)+([^.]+\..+) */
static char *go_name(const char *name)
{
    char *found = NULL;
    for (const char *at = name;;) {
        const size_t part = count_words(at, "-.");
        if (part == 0 || at[part] != '/') return found;
        at += part + 1;
        const size_t head = strcspn(at, ".");
        if (head == 0 || at[head] == '\0' || at[head + 1] == '\0' || at[head + 1] == '\n') continue;
        PT_FREE char *older = found;
        found = pt_strndup(at, head + 1 + strcspn(at + head + 1, "\n"));
    }
}

/* A Java class and method:
 * ^(?:[a-z]\w*\.)*([A-Z][\w\$]*\.(?:<init>|[a-z][\w\$]*(?:\$\d+)?))(?:(?:\()|$) */
static char *java_name(const char *name)
{
    while (is_lower(*name)) {
        const size_t part = count_words(name, "");
        if (name[part] != '.') return NULL;
        name += part + 1;
    }
    if (!is_upper(*name)) return NULL;
    size_t length = count_words(name, "$");
    if (name[length] != '.') return NULL;
    length++;
    if (pt_begins(name + length, "<init>"))
        length += 6;
    else if (is_lower(name[length]))
        length += count_words(name + length, "$");
    else
        return NULL;
    return name[length] == '(' || name[length] == '\0' ? pt_strndup(name, length) : NULL;
}

/* Bytes of a C++ class and method at the beginning, _*[A-Z]\w*::~?[_a-zA-Z]\w*(?:<.*>)?; 0 if there
 * is none. */
static size_t method_length(const char *name)
{
    if (!is_upper(name[strspn(name, "_")])) return 0;
    size_t length = count_words(name, "");
    if (!pt_begins(name + length, "::")) return 0;
    length += 2;
    length += name[length] == '~';
    if (!is_begin(name[length])) return 0;
    length += count_words(name + length, "");
    if (name[length] != '<') return length;
    size_t end = 0;
    for (size_t i = length; name[i] != '\0' && name[i] != '\n'; i++)
        if (name[i] == '>') end = i + 1;
    return end > 0 ? end : length;
}

/* The class and method after as many namespaces as possible: ^(?:[_a-zA-Z]\w*::)+(...) */
static char *cpp_name(const char *name)
{
    char *found = NULL;
    for (;;) {
        const size_t part = count_words(name, "");
        if (part == 0 || !is_begin(*name) || !pt_begins(name + part, "::")) return found;
        name += part + 2;
        const size_t length = method_length(name);
        if (length == 0) continue;
        PT_FREE char *older = found;
        found = pt_strndup(name, length);
    }
}

char *pt_short_name(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)::";
    if (pt_begins(name, anonymous)) name += sizeof anonymous - 1;
    char *whole = without_version(name);
    char *found = go_name(whole);
    if (found == NULL) found = java_name(whole);
    if (found == NULL) found = cpp_name(whole);
    if (found == NULL) return whole;
    PT_FREE char *unused = whole;
    return found;
}
