/* visible.h: escapes for the characters of untrusted texts that a terminal would obey. No other
 * file lists such characters or has escapes for them.
 *
 *     ESC            ^[         C0 controls and DEL, in caret notation
 *     U+009B         \xc2\x9b   C1 controls and bidirectional marks: their bytes
 *     ff             \xff       bytes that are not UTF-8
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is the character safe for a terminal? False for C0, DEL and C1 controls (ECMA-48), including tab
 * and newline; for line and paragraph separators; and for the marks, embeddings, overrides and
 * isolates of the bidirectional algorithm (Unicode UAX 9). */
bool pt_is_visible(uint32_t character);

/* The length of the text's leading run of visible ASCII characters, none of which is in `but`. Most
 * names are a single run. */
size_t pt_visible_ascii(const void *text, size_t size, const char *but);

#define PT_VISIBLE_MAX 16 /* for the 4 bytes of the longest character */

/* Writes the escape for the bytes (1 to 4) of a character that is not visible, or of an invalid
 * sequence. The escape is ASCII, one column per byte, without a NUL. Returns its length. */
size_t pt_visible_escape(const uint8_t *bytes, size_t count, char to[PT_VISIBLE_MAX]);

/* A pt_out to a terminal passes newlines and tabs unchanged, so they would move the cells of a
 * table. */
bool pt_has_newline_or_tab(const char *text, size_t size);
/* The text with ^J for each newline and ^I for each tab, with a NUL after it. The caller frees the
 * text. */
char *pt_on_one_line(const char *text, size_t size, size_t *ret_size);
