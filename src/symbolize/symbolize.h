/* symbolize.h: gives the locations of a profile functions, lines and inlined frames.
 *
 *   locations that stacks and arcs use, by image -> one task an image, in parallel:
 *       image -> addresses as linked, ascending -> symbols, DWARF -> functions, demangled once each
 *       kernel -> its symbols, vmlinux; code without a file -> maps and dumps of the process
 *   -> committed in the order of the locations, so that threads do not change a byte
 *
 * Unchanged are mappings with names and locations with lines (unless forced), addresses that no
 * symbol covers (reports show [libfoo.so+0x1234], see pt_location_text), and code without a file or
 * map.
 */
#pragma once

#include "base/pool.h"
#include "base/progress.h"
#include "model/profile.h"
#include "object/demangle.h"
#include "source/images.h"
#include "source/name_index.h"

/* The first words of a fact about addresses that got no name: one for each reason, mostly one for
 * each file. */
#define PT_SYMBOLIZE_NAMELESS "addresses without a name: "

typedef enum {
    PT_SYMBOLIZE_FULL = 0, /* functions, files, lines, inlined frames */
    PT_SYMBOLIZE_SYMBOLS,  /* functions from symbol tables only: no DWARF is read */
    PT_SYMBOLIZE_OFF,
} pt_symbolize_mode;

typedef struct pt_symbolize_options {
    pt_symbolize_mode mode;
    pt_demangle_mode demangle;
    bool names_code;     /* also kernel and just-in-time compiled code (source/code.h) */
    bool force;          /* replaces existing names where better ones are found */
    const char *program; /* file of the main binary, instead of its recorded path; or NULL. In a
                            profile without mappings all addresses are in it */
    const bool *unseen;  /* for each location: reports show no frame of it, so a missing name is no
                            fact; NULL: they show all */
    int64_t taken_ns; /* Unix time of the profile, if the profile itself has none; 0: unknown. Newer
                         files without a build id are reported */
    pt_source_options source;
    pt_name_cache cache;   /* disk cache; folder NULL: none */
    pt_progress *progress; /* addresses of all images; may be NULL */
} pt_symbolize_options;

/* Returns the profile with names; a new reference to the same one if nothing was added. diag gets
 * facts (counted in addresses) about addresses without a name and the reason: no file, another
 * build, no symbols. Functions get the demangled name and, as system name, the mangled one;
 * mappings get their bias and flags. Fails only as the builder does (limits). */
pt_status pt_symbolize(const pt_profile *profile, const pt_symbolize_options *options,
                       pt_pool *pool, const pt_profile **ret_profile, pt_diag *diag,
                       pt_error *reterr);

/* Makes the names in the profile readable as google/pprof does after symbolizing: each function
 * whose name is still the linker's; with force also names that were readable before. mode: one of
 * PT_DEMANGLE_PPROF..., or BINUTILS for pprof's demangle=none, which shows everything, with clone
 * suffixes. */
pt_status pt_symbolize_rename(const pt_profile *profile, pt_demangle_mode mode, bool force,
                              const pt_profile **ret_profile, pt_error *reterr);
