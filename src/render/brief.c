/* brief.c: names short enough to read in a table. */
#include "render/brief.h"

#include <ctype.h>
#include <string.h>

#define WIDE_BYTES 60

/* Long forms of demanglers with the short forms that people write. Of two that begin alike the
 * longer stands first. */
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
    const size_t n = sizeof synonyms / sizeof synonyms[0];
    for (const char *next; (next = strstr(name, "std::")) != NULL;) {
        pt_put(out, name, (size_t)(next - name));
        name = next;
        size_t i = 0;
        while (i < n && strncmp(name, synonyms[i].spelt, strlen(synonyms[i].spelt)) != 0)
            i++;
        if (i < n) {
            pt_put_text(out, synonyms[i].brief);
            name += strlen(synonyms[i].spelt);
        } else {
            pt_put_u8(out, (uint8_t)*name++);
        }
    }
    pt_put_text(out, name);
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
    if (*text != *word || strncmp(text, word, n) != 0 || (text > name && is_word(text[-1])) ||
        is_word(text[n]))
        return 0;
    return n + strspn(text + n, "<>=-+*/%^&|!~,()[]");
}

/* Returns for each '<' of the name the offset after the '>' that closes it, or 0 if no '>' does.
 * "->" closes nothing. Open brackets wait on a stack that uses the same array: while the bracket at
 * i is open, ends[i] is the offset, plus one, of the open bracket before it. The caller frees the
 * array. */
static uint32_t *find_bracket_ends(const char *name, size_t size)
{
    uint32_t *const ends = pt_alloc(size, sizeof *ends);
    size_t top = 0; /* the innermost open bracket's offset plus one; 0: none is open */
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '<') {
            ends[i] = (uint32_t)top;
            top = i + 1;
        } else if (name[i] == '>' && top > 0 && name[i - 1] != '-') {
            const size_t open = top - 1;
            top = ends[open];
            ends[open] = (uint32_t)i + 1;
        }
    }
    while (top > 0) {
        const size_t open = top - 1;
        top = ends[open];
        ends[open] = 0;
    }
    return ends;
}

static void put_without_arguments(const char *name, size_t size, pt_buf *out)
{
    PT_FREE uint32_t *ends = find_bracket_ends(name, size);
    for (size_t i = 0; i < size;) {
        const size_t operator_size = operator_bytes(name, name + i);
        if (operator_size > 0) {
            pt_put(out, name + i, operator_size);
            i += operator_size;
            continue;
        }
        const bool opens = name[i] == '<' && i > 0 && (is_word(name[i - 1]) || name[i - 1] == ':');
        if (opens && ends[i] > i + strlen("<...>")) {
            pt_put_text(out, "<...>");
            i = ends[i];
        } else {
            pt_put_u8(out, (uint8_t)name[i++]);
        }
    }
}

void pt_brief_name(const char *name, pt_buf *ret_brief)
{
    pt_buf_clear(ret_brief);
    put_synonyms(name, ret_brief);
    if (ret_brief->size <= WIDE_BYTES || ret_brief->size > UINT32_MAX) return;
    size_t size;
    PT_FREE char *spelt = pt_buf_take(ret_brief, &size);
    put_without_arguments(spelt, strlen(spelt), ret_brief);
}
