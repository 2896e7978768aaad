/* gnu_hash.h: finds a symbol by the table .gnu.hash, as binutils writes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The callbacks that read the caller's tables. */
typedef struct {
    /* Copies bytes of the table. Returns false if they cannot be read. */
    bool (*read)(const void *arg, uint64_t addr, void *to, size_t size);
    /* Is symbol number `index` a definition of the name? */
    bool (*is_definition)(const void *arg, uint32_t index, const char *name);
    const void *arg;
    unsigned word_bytes; /* of the image's class: 4 or 8 */
} pt_gnu_hash_reader;

/* The number of the symbol of that name, which is never 0; 0: there is none. table: address of
 * .gnu.hash, in the form that read takes; in the host's byte order. A bucket leads to a chain of
 * hashes; bit 0 is set in the last hash of a chain. Inline, so that the compiler can inline the
 * reader, too. */
static inline uint32_t pt_gnu_hash_find(uint64_t table, const pt_gnu_hash_reader *reader,
                                        const char *name)
{
    enum { CHAIN_MAX = 1 << 16 };
    struct {
        uint32_t buckets, first_symbol, bloom_words, bloom_shift;
    } head;
    uint32_t hash = 5381, index, link;
    for (const char *c = name; *c != '\0'; c++)
        hash = hash * 33 + (uint8_t)*c;
    if (!reader->read(reader->arg, table, &head, sizeof head) || head.buckets == 0) return 0;
    const uint64_t buckets = table + sizeof head + (uint64_t)head.bloom_words * reader->word_bytes;
    const uint64_t chain = buckets + sizeof link * (uint64_t)head.buckets;
    if (!reader->read(reader->arg, buckets + sizeof index * (uint64_t)(hash % head.buckets), &index,
                      sizeof index) ||
        index < head.first_symbol)
        return 0;
    for (int steps = 0; steps < CHAIN_MAX; steps++, index++) {
        if (!reader->read(reader->arg, chain + sizeof link * (uint64_t)(index - head.first_symbol),
                          &link, sizeof link))
            return 0;
        if ((link | 1) == (hash | 1) && reader->is_definition(reader->arg, index, name))
            return index;
        if ((link & 1) != 0) return 0;
    }
    return 0;
}
