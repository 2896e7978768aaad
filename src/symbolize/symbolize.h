/* symbolize.h: gives the locations of a profile functions, lines and inlined frames.
 *
 *   locations that stacks and arcs use, by image -> one task an image, in parallel:
 *       image -> addresses as linked, ascending -> symbols, DWARF -> functions, demangled once each
 *       kernel -> its symbols, vmlinux; code of no file -> maps and dumps of the process
 *   -> committed in the order of the locations, so that threads do not change a byte
 *
 * Left alone: mappings that have names and locations that have lines (unless forced), addresses
 * that no symbol covers (reports show [libfoo.so+0x1234], see pt_location_text), what is in no
 * file.
 */
#ifndef PT_SYMBOLIZE_SYMBOLIZE_H
#define PT_SYMBOLIZE_SYMBOLIZE_H

#include "base/pool.h"
#include "model/profile.h"
#include "object/demangle.h"
#include "source/images.h"
#include "source/name_index.h"

/* How facts begin that tell why addresses got no name: one a reason, mostly one a file. */
#define PT_SYMBOLIZE_NAMELESS "addresses without a name: "

typedef enum {
    PT_SYMBOLIZE_FULL = 0, /* functions, files, lines, inlined frames */
    PT_SYMBOLIZE_SYMBOLS,  /* functions by symbol tables only: no DWARF is read */
    PT_SYMBOLIZE_OFF,
} pt_symbolize_mode;

/* The mode called "full", "symbols" or "off". */
bool pt_symbolize_mode_named(const char *text, pt_symbolize_mode *ret_mode);

typedef struct pt_symbolize_options {
    pt_symbolize_mode mode;
    pt_demangle_mode demangle;
    bool names_code;     /* kernel and just-in-time compiled code, too (source/code.h) */
    bool force;          /* names that are there are replaced where better ones are found */
    const char *program; /* the file of the main binary, instead of its recorded path; or NULL.
                            In a profile without mappings all addresses are taken to be in it */
    int64_t taken_ns; /* Unix time at which the profile was there, if it does not tell; 0 = unknown.
                         Files without a build id that are newer are doubted */
    pt_source_options source;
    pt_name_cache cache; /* where answers are kept; folder NULL: nowhere */
} pt_symbolize_options;

/* The profile with names; a reference to the same one when there was nothing to add. Facts (counted
 * in addresses) say what stayed without a name and why: no file, another build, no symbols.
 * Function rows get the demangled name and, as system name, the mangled one; mappings get their
 * bias and what they now have. Fails only as the builder does (limits). */
pt_status pt_symbolize(const pt_profile *profile, const pt_symbolize_options *options,
                       pt_pool *pool, const pt_profile **ret_profile, pt_diag *diag,
                       pt_error *reterr);

/* The profile with the names that it has made readable as google/pprof does it after symbolizing:
 * each function whose name is still the linker's; with force also those that were made readable
 * before. mode: one of PT_DEMANGLE_PPROF..., or BINUTILS for its demangle=none, which shows
 * everything, clone suffixes too. */
pt_status pt_symbolize_rename(const pt_profile *profile, pt_demangle_mode mode, bool force,
                              const pt_profile **ret_profile, pt_error *reterr);

#endif
