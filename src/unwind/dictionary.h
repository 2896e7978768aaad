/* dictionary.h: values of 12 bytes, each once, by a number of 16 bits. For use inside the layer. */
#ifndef PT_UNWIND_DICTIONARY_H
#define PT_UNWIND_DICTIONARY_H

#include "unwind/scratch.h"

enum { PT_DICTIONARY_VALUE_BYTES = 12, PT_DICTIONARY_MAX = 65536 };

/* Value 0 is that of zeroes. */
typedef struct {
    const pt_unwind_memory *memory;
    pt_scratch values_memory, slots_memory;
    uint8_t *values; /* count of them, one behind the other */
    uint32_t count, cap;
    uint16_t *slots; /* 0 = empty; else the number of a value */
    uint32_t mask;
} pt_dictionary;

/* With room for cap values, a power of two, before it grows. False if there is no memory. */
bool pt_dictionary_init(pt_dictionary *d, const pt_unwind_memory *memory, uint32_t cap);
void pt_dictionary_done(pt_dictionary *d);

/* The number of a value of 12 bytes without holes; 0 when there is no room for one more. */
uint16_t pt_dictionary_number(pt_dictionary *d, const void *value);

/* Value `number`, which was given out; it moves when one is added. */
static inline const void *pt_dictionary_value(const pt_dictionary *d, uint16_t number)
{
    return d->values + (size_t)number * PT_DICTIONARY_VALUE_BYTES;
}

#endif
