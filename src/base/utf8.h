/* utf8.h: decoding UTF-8 that may be wrong (RFC 3629; Unicode 15 section 3.9). */
#ifndef PT_BASE_UTF8_H
#define PT_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define PT_UTF8_REPLACEMENT 0xfffdu

/* Decodes the character at text[0] (size >= 1) and returns how many bytes it takes. A sequence that
 * is wrong gives PT_UTF8_REPLACEMENT for its longest part that could have begun a character (at
 * least one byte), as Unicode table 3-8 recommends; *ret_valid is then 0, else 1. */
size_t pt_utf8_decode(const uint8_t *text, size_t size, uint32_t *ret_char, int *ret_valid);

/* Writes the UTF-8 of a character (surrogates and those above 10FFFF as the replacement) into
 * text[4] and returns how many bytes. */
size_t pt_utf8_encode(uint32_t character, uint8_t text[4]);

#endif
