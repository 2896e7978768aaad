/* span.h: parts of texts without a NUL at their end, and how lines of text are taken apart. A
 * function that takes or skips removes what it returns from the front of the span. Blanks are
 * spaces, tabs, carriage returns, vertical tabs and form feeds.
 */
#pragma once

#include "base/reader.h"
#include "base/text.h"

/* A part of a text, which it borrows. */
typedef struct pt_span {
    const char *at;
    size_t size;
} pt_span;

/* The span of a whole text; it borrows the text. */
static inline pt_span pt_span_of(const char *text)
{
    return (pt_span){text, strlen(text)};
}

/* Is byte i of the span (i < s.size) a blank? */
static inline bool pt_span_is_blank_at(pt_span s, size_t i)
{
    return pt_is_blank(s.at[i]) || (s.at[i] >= '\v' && s.at[i] <= '\r');
}

/* Removes that many bytes from the front. The span must have at least as many. */
static inline void pt_span_drop(pt_span *s, size_t bytes)
{
    s->at += bytes;
    s->size -= bytes;
}

/* The part of the span from `place` on, which points into the span or to its end. */
static inline pt_span pt_span_from(pt_span s, const char *place)
{
    return (pt_span){place, (size_t)(s.at + s.size - place)};
}

/* The part of the span before `place`, which points into the span or to its end. */
static inline pt_span pt_span_upto(pt_span s, const char *place)
{
    return (pt_span){s.at, (size_t)(place - s.at)};
}

/* Does the span begin with the text? */
static inline bool pt_span_begins(pt_span s, const char *with)
{
    return pt_begins_n(s.at, s.size, with);
}

/* Has the span exactly the bytes of the text? */
static inline bool pt_span_is(pt_span s, const char *text)
{
    return pt_equals_n(s.at, s.size, text);
}

/* Have both spans the same bytes? */
static inline bool pt_span_equals(pt_span a, pt_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

/* Skips blanks, if there are any. */
static inline void pt_span_skip_blanks(pt_span *s)
{
    while (s->size > 0 && pt_span_is_blank_at(*s, 0))
        pt_span_drop(s, 1);
}

/* The span without blanks at both ends. */
static inline pt_span pt_span_trim(pt_span s)
{
    while (s.size > 0 && pt_span_is_blank_at(s, s.size - 1))
        s.size--;
    pt_span_skip_blanks(&s);
    return s;
}

/* Skips the text; false if the span has another beginning. */
static inline bool pt_span_skip(pt_span *s, const char *text)
{
    if (!pt_span_begins(*s, text)) return false;
    pt_span_drop(s, strlen(text));
    return true;
}

/* Skips blanks and takes the characters up to the next blank; false if there are none. */
static inline bool pt_span_word(pt_span *s, pt_span *ret_word)
{
    pt_span_skip_blanks(s);
    *ret_word = (pt_span){s->at, 0};
    while (s->size > 0 && !pt_span_is_blank_at(*s, 0)) {
        pt_span_drop(s, 1);
        ret_word->size++;
    }
    return ret_word->size > 0;
}

/* Takes a decimal number; may_sign permits a minus sign. False without digits or on overflow. */
bool pt_span_number(pt_span *s, bool may_sign, int64_t *ret_value);
/* Takes hexadecimal digits; false without digits or beyond 64 bits. */
bool pt_span_hex(pt_span *s, uint64_t *ret_value);
/* Sets *ret_key and *ret_value to the trimmed texts before and after the first '='. Returns false
 * if the span has no '='. */
bool pt_span_pair(pt_span s, pt_span *ret_key, pt_span *ret_value);

/* Reads a line; false at the end. */
static inline bool pt_span_line(pt_reader *r, pt_span *ret_line)
{
    ret_line->at = pt_read_line(r, &ret_line->size);
    return ret_line->at != NULL;
}
