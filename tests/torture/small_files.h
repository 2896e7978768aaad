/* small_files.h: profiles of at most a kilobyte that nobody meant well, from a seed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PT_SMALL_BYTES_MAX 1024

/* A sequence of numbers, the same on every machine. */
typedef struct pt_random {
    uint64_t state;
} pt_random;

uint64_t pt_random_next(pt_random *random);
/* One of [0, n); 0 for n = 0. */
size_t pt_random_below(pt_random *random, size_t n);

/* Files of one format that others are made of. */
typedef struct pt_seeds {
    pt_buf *items;
    size_t count, cap;
} pt_seeds;

/* Makes one file of at most PT_SMALL_BYTES_MAX bytes out of the seeds, at least one, or, for
 * is_proto, of nothing but numbers of the random sequence. It may be compressed, and then inflate
 * to as much as a megabyte. */
void pt_small_file(pt_random *random, const pt_seeds *seeds, bool is_proto, pt_buf *ret_file);

/* ---- Reports (small_reports.c) ---- */

/* What a report needs to be loaded once, for all of its kind. */
typedef enum pt_small_kind {
    PT_SMALL_OWN,     /* a profile, as `pitot shell` has it */
    PT_SMALL_PPROF,   /* the same of pprof's shell */
    PT_SMALL_PROGRAM, /* nothing: the report is a run of the whole program */
    PT_SMALL_KINDS,
} pt_small_kind;

/* Takes the reports whose line has the word in it, NULL: all, kind by kind; returns how many. */
size_t pt_small_choose(const char *word);
/* As it would be typed, without the file where that is loaded before. */
const char *pt_small_line(size_t index);
/* Is the report of the kind, and about files of that format? */
bool pt_small_is_for(size_t index, pt_small_kind kind, const char *format);

/* Once: the profile's file, a program's, and the beginning of the names of what reports write. All
 * are borrowed. */
void pt_small_use(const char *path, const char *program, const char *out);
/* Loads the file for reports of the kind. False: there is nothing to report on. Must be closed in
 * both cases. */
bool pt_small_open(pt_small_kind kind);
void pt_small_close(pt_small_kind kind, bool is_open);
/* Its kind is open. */
void pt_small_run(size_t index);
