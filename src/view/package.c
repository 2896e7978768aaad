/* package.c: finds the package or namespace in a function's name, by the conventions of languages:
 *
 *   void std::sort<int*>(int*, int*)       std          the first part of the path before "::"
 *   <alloc::vec::Vec<T> as Trait>::push    alloc
 *   net/http.(*conn).serve                 net/http     up to the first dot after the last slash
 *   java.util.HashMap.get                  java.util    all parts but class and method
 *   memcpy, parse.part.0                   -            a plain C name has no package */
#include "view/flame.h"

#include <string.h>

#include "view/own_code.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (uint8_t)c >= 0x80;
}

/* Does the text begin with the word, and does the word end there? */
static bool starts_with_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && !is_word(text[length]);
}

/* The first part of the path that contains the first "::" outside template arguments. */
static const char *first_of_path(const char *name, size_t *ret_bytes)
{
    int level = 0;
    const char *part = name; /* the beginning of the last word that is not in brackets */
    for (const char *c = name; *c != '\0'; c++) {
        if (c[0] == ':' && c[1] == ':' && level == 0) {
            const char *end = part;
            while (is_word(*end))
                end++;
            *ret_bytes = (size_t)(end - part);
            return part;
        }
        if (*c == '<' || *c == '(') level++;
        if ((*c == '>' || *c == ')') && level > 0) level--;
        if (level == 0 && !is_word(*c) && *c != ':' && is_word(c[1])) part = c + 1;
    }
    *ret_bytes = 0;
    return name;
}

/* The path in brackets that begins a name of Rust: "<a::b::C as Trait>::f" and "<&mut a::C>::f"
 * belong to package a. */
static const char *inside_brackets(const char *name)
{
    static const char *const words[] = {"mut", "dyn", "const"};
    if (*name != '<') return name;
    for (name++;;) {
        while (*name != '\0' && !is_word(*name))
            name++;
        size_t skipped = 0;
        for (size_t i = 0; i < PT_COUNT(words); i++)
            if (starts_with_word(name, words[i]) && !is_word(name[strlen(words[i])]))
                skipped = strlen(words[i]);
        if (skipped == 0) return name;
        name += skipped;
    }
}

/* The package in a dotted path: if it has one dot, the part before the dot; if it has more dots,
 * all parts but class and method. */
static size_t dotted_bytes(const char *name)
{
    const size_t plain = strcspn(name, "([<{ ");
    size_t tail = 0;
    for (size_t i = 0; i < plain; i++)
        if (name[i] == '/') tail = i + 1;
    size_t dots = 0, first = 0, before_class = 0, last = 0;
    for (size_t i = tail; i < plain; i++) {
        if (name[i] != '.') continue;
        if (dots == 0 && pt_is_compilers_suffix(name + i)) return 0;
        if (dots++ == 0) first = i;
        before_class = last;
        last = i;
    }
    if (dots == 0) return 0;
    return dots >= 2 && tail == 0 && before_class > first ? before_class : first;
}

const char *pt_flame_package(const char *name, size_t *ret_bytes)
{
    const char *path = inside_brackets(name);
    const char *part = first_of_path(path, ret_bytes);
    if (*ret_bytes > 0) return part;
    *ret_bytes = dotted_bytes(name);
    return name;
}

const char *pt_flame_short_name(const char *name, size_t *ret_bytes)
{
    int level = 0;
    size_t begin = 0, end = 0; /* end of the last part, 0 = not seen */
    for (size_t i = 0; name[i] != '\0'; i++) {
        const char c = name[i];
        const bool opens = c == '<' || c == '(';
        if (opens && level == 0 && i > begin && end == 0 &&
            (is_word(name[i - 1]) || name[i - 1] == '>'))
            end = i;
        if (opens) level++;
        if ((c == '>' || c == ')') && level > 0) level--;
        if (level > 0) continue;
        const bool separates = c == '/' || (c == ':' && i > 0 && name[i - 1] == ':');
        if (separates && name[i + 1] != '\0') {
            begin = i + 1;
            end = 0;
        }
    }
    if (name[0] == '[') begin = end = 0;
    *ret_bytes = end > begin ? end - begin : strlen(name + begin);
    return name + begin;
}
