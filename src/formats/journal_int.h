/* journal_int.h: what the readers of a journal's areas share. One reading fills one builder; g->map
 * and g->code are of the journal that is being read. */
#ifndef PT_FORMATS_JOURNAL_INT_H
#define PT_FORMATS_JOURNAL_INT_H

#include "base/index.h"
#include "formats/journal.h"
#include "machine/machine.h"

/* A mapping of the journal being read, and what it is in the builder. */
typedef struct {
    uint64_t start, limit;
    uint64_t upto;  /* the largest limit up to here: where a search backwards ends */
    uint64_t delta; /* address in the builder's mapping - address in this process, mod 2^64 */
    uint64_t epoch_from, epoch_to;
    uint32_t mapping;
} pt_journal_known_map;

/* A code object of the journal being read; a function of PT_NONE: its record is not there. */
typedef struct {
    uint32_t function;
    int32_t first_line;
    uint32_t lines_bytes;
    unsigned minor;
    const uint8_t *lines; /* in the file */
} pt_journal_known_code;

/* Text that stays where it is while journals are read, by the number that it has in the builder. */
typedef struct {
    uint32_t string;
    char *text;
} pt_journal_kept_text;

enum { PT_JOURNAL_PYTHON_KNOWN = 4096 };

struct pt_journal_reading {
    pt_builder *builder;
    bool label_processes;
    const pt_read_hooks *hooks; /* or NULL */
    /* For copied stacks: what was mapped in one epoch of the journal being read. */
    struct {
        pt_read_map *items;
        size_t count, cap;
    } module;
    uint64_t listed;                          /* mappings, of all epochs for which it was made */
    uint32_t module_epoch, module_generation; /* PT_NONE: not made yet */
    struct {
        pt_journal_kept_text *items;
        size_t count, cap;
    } text;
    pt_index text_index;
    const pt_machine *machine; /* of the process; NULL: not known here */
    pt_journal_spans spans;
    pt_index shared; /* mappings of all journals by content, to builder ids */
    struct {
        pt_journal_known_map *items;
        size_t count, cap;
    } map;
    struct {
        uint32_t *items;
        size_t count, cap;
    } frame;
    struct {
        uint64_t *items;
        size_t count, cap;
    } pc;
    struct {
        pt_journal_known_code *items; /* by number */
        size_t count, cap;
    } code;
    struct {
        uint64_t word; /* 0 = free */
        uint32_t location;
    } python_known[PT_JOURNAL_PYTHON_KNOWN]; /* of the journal being read, by the word's hash */
    uint64_t lines_read;                     /* bytes of line tables, for all its words */
    uint32_t python; /* the mapping of Python's frames; PT_NONE = none yet */
    uint32_t key_pid, key_comm, key_merge, uncertain; /* strings */
    pt_labels_id labels, labels_uncertain;            /* of the process being read */
};

/* ---- journal.c ---- */

/* Adds a sample of the stack in g->pc, leaf first. merged: PT_JOURNAL_NATIVE ... */
void pt_journal_add_stack(pt_journal_reading *g, pt_journal_facts *f, uint64_t weight,
                          pt_stack_end end, uint16_t epoch, unsigned merged);

/* ---- journal_maps.c ---- */

/* Reads the records of an area of mappings into g->map; those of all areas are then to be sorted.
 */
void pt_journal_read_maps(pt_journal_reading *g, pt_reader *r, const pt_journal_facts *f);
void pt_journal_sort_maps(pt_journal_reading *g);
/* NULL if nothing known was mapped there in that epoch. */
const pt_journal_known_map *pt_journal_find_map(const pt_journal_reading *g, uint64_t addr,
                                                uint16_t epoch);

/* ---- journal_python.c ---- */

/* Reads the records of an area of code objects into g->code. */
void pt_journal_read_python(pt_journal_reading *g, pt_reader *r);
/* The builder's location of a stack's word with PT_JOURNAL_PYTHON_FRAME. */
uint32_t pt_journal_python_location(pt_journal_reading *g, uint64_t word);

/* ---- journal_copies.c ---- */

/* Walks the copied stacks of an area, by g->hooks, and adds their samples. */
void pt_journal_read_copies(pt_journal_reading *g, pt_reader *r, pt_journal_facts *f);

#endif
