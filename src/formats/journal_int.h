/* journal_int.h: shared by the readers of a journal's areas. A reading fills a builder with many
 * journals; g->map and g->code belong to the current journal. */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "formats/journal.h"
#include "machine/machine.h"

/* A mapping of the current journal, and its mapping in the builder. */
typedef struct {
    uint64_t start, limit;
    uint64_t
        upto; /* the largest limit of this row and all earlier rows; shows a backward search where
               * to end */
    uint64_t delta; /* address in the builder's mapping - address in this process, mod 2^64 */
    uint64_t epoch_from, epoch_to;
    uint32_t mapping;
} pt_journal_known_map;

/* A code object of the current journal; function is PT_NONE if its record is missing. */
typedef struct {
    uint32_t function;
    int32_t first_line;
    uint32_t lines_bytes;
    unsigned minor, language; /* PT_JOURNAL_LANGUAGE_X */
    const uint8_t *lines;     /* in the file */
} pt_journal_known_code;

/* A copy of a builder's string at a fixed address, which stays valid while journals are read. */
typedef struct {
    uint32_t string;
    char *text;
} pt_journal_kept_text;

enum { PT_JOURNAL_CODES_KNOWN = 4096 };

struct pt_journal_reading {
    pt_builder *builder;
    bool label_processes;
    const pt_read_hooks *hooks; /* or NULL */
    pt_journal_bounds bounds;
    uint64_t most_weight; /* of the current journal */
    /* For copied stacks: the mappings of an epoch of the current journal. */
    PT_VECTOR(pt_read_map) module;
    uint64_t listed; /* number of mappings that were examined for all lists so far */
    uint32_t module_epoch, module_generation; /* PT_NONE = no list was made yet */
    PT_VECTOR(pt_journal_kept_text) text;
    pt_index text_index;
    const pt_machine *machine; /* the process's machine; NULL if it is not supported */
    pt_journal_spans spans;
    pt_index shared; /* builder ids of the mappings of all journals, by content */
    PT_VECTOR(pt_journal_known_map) map;
    PT_VECTOR(uint32_t) frame;
    PT_VECTOR(uint64_t) pc;
    PT_VECTOR(pt_journal_known_code) code; /* index: number of the code object */
    struct {
        uint64_t word; /* 0 = free */
        uint32_t location;
    } codes_known[PT_JOURNAL_CODES_KNOWN];   /* cache for the current journal, by the hash of a
                                              * frame's word */
    uint64_t lines_read;                     /* bytes of line tables decoded so far */
    uint32_t language[PT_JOURNAL_LANGUAGES]; /* mappings of their frames; PT_NONE = none yet */
    uint32_t key_pid, key_comm, key_merge, uncertain; /* strings */
};

/* ---- journal.c ---- */

/* Adds a sample of the stack in g->pc, leaf first. merged: PT_JOURNAL_NATIVE ... */
void pt_journal_add_stack(pt_journal_reading *g, pt_journal_facts *f, uint64_t weight,
                          pt_stack_end end, uint16_t epoch, unsigned merged);

/* ---- journal_maps.c ---- */

/* Reads the records of an area of mappings into g->map. After the last area the caller calls
 * pt_journal_sort_maps. */
void pt_journal_read_maps(pt_journal_reading *g, pt_reader *r, const pt_journal_facts *f);
void pt_journal_sort_maps(pt_journal_reading *g);
/* The mapping at an address in an epoch; NULL if no mapping is known there. */
const pt_journal_known_map *pt_journal_find_map(const pt_journal_reading *g, uint64_t addr,
                                                uint16_t epoch);

/* ---- journal_codes.c ---- */

/* Reads the records of an area of code objects into g->code. */
void pt_journal_read_codes(pt_journal_reading *g, pt_reader *r);
/* For a word of a stack (the 64-bit number of a frame) with the flag PT_JOURNAL_CODE_FRAME: the
 * number of the frame's language (PT_JOURNAL_LANGUAGE_X), and the builder's location of the frame's
 * line. */
unsigned pt_journal_language_of(const pt_journal_reading *g, uint64_t word);
uint32_t pt_journal_code_location(pt_journal_reading *g, uint64_t word);

/* ---- journal_copies.c ---- */

/* Unwinds the copied stacks of an area with g->hooks and adds their samples. */
void pt_journal_read_copies(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f);
