/* visible.h: text of strangers without what a terminal obeys. The one list of such characters, and
 * the one way to show them.
 *
 *     ESC            ^[         C0 controls and DEL, in caret notation
 *     U+009B         \xc2\x9b   C1 controls, marks that turn the direction of writing: their bytes
 *     ff             \xff       bytes that are no UTF-8
 */
#ifndef PT_BASE_VISIBLE_H
#define PT_BASE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False for C0, DEL and C1 controls (ECMA-48), the separators of lines and paragraphs, and the
 * marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode UAX 9). Tab and
 * newline are controls, too. */
bool pt_is_visible(uint32_t character);

/* How many bytes at the beginning of the text are visible ASCII, none of it in `but`. Text is put
 * in such runs: most names are one. */
size_t pt_visible_ascii(const void *text, size_t size, const char *but);

#define PT_VISIBLE_MAX 16 /* of the 4 bytes that a character has at most */

/* Puts what stands for the bytes (1 to 4) of one character that is not visible, or not valid.
 * ASCII, a column a byte, not terminated. Returns the length. */
size_t pt_visible_escape(const uint8_t *bytes, size_t count, char to[PT_VISIBLE_MAX]);

#endif
