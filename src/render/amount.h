/* amount.h: a value of an event as people read it. */
#ifndef PT_RENDER_AMOUNT_H
#define PT_RENDER_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

/* Writes value in the step of its unit that suits its size: "1.23 s" (of any unit of time), "4.50
 * MiB" (of bytes), "12345 samples"; no unit for "count" and "". Three digits or the whole number.
 * Returns what snprintf does. */
int pt_amount_text(char *buf, size_t size, int64_t value, const char *unit);

#endif
