/* utf8.h: decodes and encodes UTF-8; the input may be invalid (RFC 3629; Unicode 15 section 3.9).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PT_UTF8_REPLACEMENT 0xfffdu

/* Decodes the character at text[0] (size >= 1) and returns its length in bytes. For an invalid
 * sequence, *ret_char is PT_UTF8_REPLACEMENT, *ret_valid is 0, and the length covers the longest
 * part that could begin a character, at least one byte (Unicode table 3-8). Else *ret_valid is
 * 1. */
size_t pt_utf8_decode(const uint8_t *text, size_t size, uint32_t *ret_char, int *ret_valid);

/* Writes the character as UTF-8 and returns the number of bytes. Surrogates and values above 10FFFF
 * become the replacement character. */
size_t pt_utf8_encode(uint32_t character, uint8_t text[4]);
