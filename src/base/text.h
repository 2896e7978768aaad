/* text.h: prefixes and suffixes of texts, classes of characters, and hexadecimal digits. A text is
 * NUL-terminated, or (functions in _n) has a length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Does the text begin with `with`, end in `with`, or equal `other`? */
static inline bool pt_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static inline bool pt_begins_n(const char *text, size_t size, const char *with)
{
    const size_t wanted = strlen(with);
    return size >= wanted && memcmp(text, with, wanted) == 0;
}

static inline bool pt_ends_n(const char *text, size_t size, const char *with)
{
    const size_t wanted = strlen(with);
    return size >= wanted && memcmp(text + size - wanted, with, wanted) == 0;
}

static inline bool pt_ends(const char *text, const char *with)
{
    return pt_ends_n(text, strlen(text), with);
}

static inline bool pt_equals_n(const char *text, size_t size, const char *other)
{
    return size == strlen(other) && memcmp(text, other, size) == 0;
}

/* For qsort and bsearch: compares two items of an array of texts by strcmp. */
static inline int pt_compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is the path the folder itself, or below it? */
static inline bool pt_is_below(const char *path, size_t size, const char *folder)
{
    const size_t length = strlen(folder);
    return pt_begins_n(path, size, folder) && (size == length || path[length] == '/');
}

/* Is the text neither NULL nor empty? */
static inline bool pt_is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The next word of a list of words that are separated by spaces. Sets *ret_word and moves *rest to
 * the end of the word; the list may be NULL. Returns the word's length, or 0 if there is no further
 * word.
 *
 *     for (const char *rest = list; (n = pt_next_word(&rest, &word)) > 0;)
 */
static inline size_t pt_next_word(const char **rest, const char **ret_word)
{
    if (*rest == NULL) return 0;
    *ret_word = *rest + strspn(*rest, " ");
    const size_t length = strcspn(*ret_word, " ");
    *rest = *ret_word + length;
    return length;
}

/* The position of the word in a list of words that are separated by spaces; -1 if the word is not
 * in the list. */
static inline int pt_word_position(const char *list, const char *word, size_t length)
{
    const char *at;
    int position = 0;
    for (size_t n; (n = pt_next_word(&list, &at)) > 0; position++)
        if (n == length && memcmp(at, word, n) == 0) return position;
    return -1;
}

/* Classes of ASCII characters, whatever the locale. pt_is_blank: space or tab. pt_is_space: also
 * \n, \v, \f and \r. */
static inline bool pt_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool pt_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool pt_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The digit's value, 0 to 15; -1 if c is no hexadecimal digit. */
static inline int pt_hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Writes two digits for each byte and a NUL: 2 * count + 1 characters. */
static inline void pt_hex_spell(char *to, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *to = '\0';
}
