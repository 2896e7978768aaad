/* brief.c: names short enough to read in a table. */
#include "render/brief.h"

#include <ctype.h>
#include <string.h>

#define WIDE_BYTES 60

/* What the demangler spells out and people write short; the longer one of two that begin alike
 * comes first. */
static const struct {
    const char *spelt, *brief;
} synonyms[] = {
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
     "std::string"},
    {"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
    {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
    {"std::basic_ostream<char, std::char_traits<char> >", "std::ostream"},
    {"std::basic_istream<char, std::char_traits<char> >", "std::istream"},
    {"std::__cxx11::", "std::"},
};

static void put_synonyms(const char *name, pt_buf *out)
{
    while (*name != '\0') {
        size_t i = 0;
        const size_t n = sizeof synonyms / sizeof synonyms[0];
        while (i < n && strncmp(name, synonyms[i].spelt, strlen(synonyms[i].spelt)) != 0)
            i++;
        if (i < n) {
            pt_put_text(out, synonyms[i].brief);
            name += strlen(synonyms[i].spelt);
        } else {
            pt_put_u8(out, (uint8_t)*name++);
        }
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Bytes of an operator's name at text, "operator<<", "operator()", "operator->"; 0 if there is
 * none. */
static size_t operator_bytes(const char *name, const char *text)
{
    static const char word[] = "operator";
    const size_t n = sizeof word - 1;
    if (strncmp(text, word, n) != 0 || (text > name && is_word(text[-1])) || is_word(text[n]))
        return 0;
    return n + strspn(text + n, "<>=-+*/%^&|!~,()[]");
}

/* Past the '>' that closes the '<' at text; the text's end if none does. */
static const char *after_arguments(const char *text)
{
    size_t depth = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '<') depth++;
        if (*at == '>' && at[-1] != '-' && --depth == 0) return at + 1;
    }
    return NULL;
}

static void put_without_arguments(const char *name, pt_buf *out)
{
    for (const char *at = name; *at != '\0';) {
        const size_t operator_size = operator_bytes(name, at);
        if (operator_size > 0) {
            pt_put(out, at, operator_size);
            at += operator_size;
            continue;
        }
        const bool opens = *at == '<' && at > name && (is_word(at[-1]) || at[-1] == ':');
        const char *end = opens ? after_arguments(at) : NULL;
        if (end != NULL && end - at > (ptrdiff_t)strlen("<...>")) {
            pt_put_text(out, "<...>");
            at = end;
        } else {
            pt_put_u8(out, (uint8_t)*at++);
        }
    }
}

void pt_brief_name(const char *name, pt_buf *ret_brief)
{
    pt_buf_clear(ret_brief);
    put_synonyms(name, ret_brief);
    if (ret_brief->size <= WIDE_BYTES) return;
    size_t size;
    PT_FREE char *spelt = pt_buf_take(ret_brief, &size);
    put_without_arguments(spelt, ret_brief);
}
