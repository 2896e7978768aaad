/* interp_image.h: facts about the interpreter in a mapped file, and about libc's keys of threads.
 */
#pragma once

#include "bpf/layout.h"
#include "elf/image.h"
#include "interp/java.h"
#include "interp/merge.h"
#include "interp/php.h"

enum { PT_INTERP_LOCK_WAITS_MAX = 4 };

/* Addresses are as linked. */
typedef struct pt_interp_image {
    pt_bpf_interp facts; /* language PT_BPF_NO_LANGUAGE: no interpreter whose frames can be read */
    pt_interp_evaluator evaluator;
    /* With pt_images.wants_locks: return addresses of the calls in which threads wait for the
     * interpreter's lock; 0 if there are none. */
    uint64_t lock_waits[PT_INTERP_LOCK_WAITS_MAX];
    uint32_t refused; /* PT_BPF_PYTHON, ...: an interpreter whose frames cannot be read */
    char reason[160]; /* why its frames cannot be read */
    /* If the file is glibc's: the offset of the blocks of thread-specific values in the structure
     * of a thread. 0: it is not. */
    uint32_t thread_keys;
    /* If the file is libjvm.so: the addresses of its symbols, as in pt_java_symbols. Else the first
     * is 0. */
    uint64_t java[PT_JAVA_SYMBOLS];
} pt_interp_image;

/* Reads the facts; all zero if the file has none. path: as mapped. */
void pt_interp_image_read(const pt_elf *elf, const char *path, pt_interp_image *ret_image);

/* Sets lock_waits of an image whose other facts are known. */
void pt_interp_find_lock_waits(const pt_elf *elf, pt_interp_image *image);

/* ---- for the languages (interp_language.h) ---- */

/* A symbol that is wanted. */
typedef struct {
    const char *name;
    uint64_t addr, bytes; /* addr 0: not found */
    bool is_found;        /* (the place of a thread-local variable may be 0) */
    uint32_t number;      /* in the table of dynamic symbols; 0: it is not there */
} pt_wanted_symbol;

/* Finds symbols among the dynamic symbols; and those that are missing there among all symbols, if
 * the file has a table of these. */
void pt_wanted_symbols_find(const pt_elf *elf, pt_wanted_symbol *wanted, size_t count);

/* The file's bytes at a linked address; NULL if the file does not have them. */
const uint8_t *pt_interp_bytes_at(const pt_elf *elf, uint64_t addr, uint64_t bytes);

/* The addresses of the functions in .eh_frame, ascending; the caller frees them. NULL if the file
 * has no table of these functions. */
uint64_t *pt_interp_entries(const pt_elf *elf, uint32_t *ret_count);

/* Sets the evaluator's code; leaves it empty if the file does not have it. */
void pt_interp_find_evaluator(const pt_elf *elf, const pt_wanted_symbol *symbol,
                              pt_interp_evaluator *evaluator);

/* The layout of the PHP whose build text the file has among its constants. A file without sections
 * is searched as a whole. NULL: there is no text of a known build. */
const pt_php_layout *pt_interp_php_layout(const pt_elf *elf);
