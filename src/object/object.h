/* object.h: facts about one image: which symbol, function, file and line an address belongs to,
 * with the functions that were inlined there.
 *
 * Addresses are virtual addresses as linked (elf/image.h turns addresses of a process into them).
 * Where files come from is the caller's business: the image is given, separate debug files are
 * asked for through a callback. How DWARF is read does not show in this header.
 *
 * An object belongs to one thread at a time; different objects may be used at once. The work of one
 * call may be shared out over a pool; callbacks come on the caller's thread all the same.
 */
#ifndef PT_OBJECT_OBJECT_H
#define PT_OBJECT_OBJECT_H

#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"
#include "elf/image.h"

/* A file that somebody found: its bytes, and a descriptor (or -1) for readers that map it on their
 * own. All three parts are owned. */
typedef struct pt_image_file {
    pt_blob blob;
    int fd;
    char *path; /* for messages */
} pt_image_file;

#define PT_IMAGE_FILE_INIT ((pt_image_file){.blob = PT_BLOB_INIT, .fd = -1})
void pt_image_file_done(pt_image_file *file);

typedef enum {
    PT_COMPANION_DEBUG,      /* the separate debug file of a stripped image */
    PT_COMPANION_SUPPLEMENT, /* what dwz moved out of several debug files (.gnu_debugaltlink) */
    PT_COMPANION_DWP,        /* the package of an image's split units ("IMAGE.dwp") */
    PT_COMPANION_DWO,        /* one split unit that lies where the compiler left it */
} pt_companion_kind;

typedef struct pt_companion {
    pt_companion_kind kind;
    const char *image_path;
    pt_elf_id build_id;    /* that the file must have; bytes NULL: unknown; never for DWP, DWO */
    const char *link_name; /* file name in the image's debug link, or DWO: in the unit; or NULL */
    bool has_crc;          /* link_crc is known: CRC-32 of the whole file */
    uint32_t link_crc;
    const char *folder; /* DWO: where link_name is, if it is relative; or NULL */
    uint64_t dwo_id;    /* DWO: whoever finds a file need not check it */
} pt_companion;

/* Finds a companion; the result passes to the object. False when there is none. Only ever called
 * while the object is being used, on that thread. */
typedef bool pt_find_companion(void *context, const pt_companion *wanted, pt_image_file *ret_file);

typedef struct pt_object pt_object;

/* Takes over *image in any case (it is left empty). find may be NULL. PT_ERR_FORMAT when it is no
 * ELF file, PT_ERR_UNSUPPORTED for relocatable files, whose sections have no addresses yet. */
pt_status pt_object_open(pt_image_file *image, pt_find_companion *find, void *context,
                         pt_object **ret_object, pt_error *reterr);
void pt_object_free(pt_object *object); /* accepts NULL */

/* The version of liblzma that is built in, for .gnu_debugdata; NULL without. */
const char *pt_object_xz_version(void);

/* Lives as long as the object. */
const pt_elf *pt_object_elf(const pt_object *object);

typedef enum {
    PT_OBJECT_SYMBOLS, /* symbol tables only: one frame, no lines */
    PT_OBJECT_LINES,   /* DWARF where it knows the address, else the symbol */
} pt_object_detail;

/* What there is to work with for that detail; finds and opens the companions that it takes to tell.
 * For PT_OBJECT_SYMBOLS nothing is said of lines. */
typedef struct pt_object_facts {
    uint32_t symbol_count;   /* that name code */
    bool is_dynamic_only;    /* of .dynsym: exported ones, the rest was stripped */
    bool has_lines;          /* DWARF with units */
    const char *debug_path;  /* the separate debug file in use, or NULL */
    const char *lines_error; /* why DWARF that is there cannot be read, or NULL */
} pt_object_facts;
void pt_object_look(pt_object *object, pt_object_detail detail, pt_object_facts *ret_facts);
/* has_lines alone: symbols are not read for it. */
bool pt_object_has_lines(pt_object *object);

typedef struct pt_object_symbol {
    const char *name; /* as linked; lives as long as the object */
    uint64_t addr, end_addr;
} pt_object_symbol;

/* The symbol that covers addr.
 *
 * A symbol ends at its size or at its section's end, whichever comes first; one without a size
 * (assembler) ends where the next symbol or its section does. Past the end there is no symbol:
 * false, never the previous name. Where several cover an address the one that begins last is meant;
 * of those that begin together a function is preferred to an untyped symbol, global to weak to
 * local, fewer leading underscores, then the lesser name. Labels inside a sized symbol, mapping
 * symbols ($x) and compiler's local labels (.L) are not names. Clones (foo.cold, foo.isra.0) are
 * symbols of their own. The stub of a call into a library is "puts@plt", as objdump has it
 * (x86-64).
 */
bool pt_object_symbol_at(pt_object *object, uint64_t addr, pt_object_symbol *ret_symbol);

/* What binutils takes for the function of an address that no line is known of: the nearest function
 * symbol before it in its section, however far. False: there is none, or the address lies in no
 * section that is loaded. */
typedef struct pt_object_nearest {
    const char *name; /* as linked */
    const char *file; /* of the STT_FILE symbol before it; NULL when unknown. Both live as long as
                         the object */
    uint64_t addr;
} pt_object_nearest;
bool pt_object_nearest_symbol(pt_object *object, uint64_t addr, pt_object_nearest *ret_nearest);

/* The symbol of data (STT_OBJECT) that covers addr; the last that begins before it, if that has no
 * size. False when there is none. */
typedef struct pt_object_data {
    const char *name; /* as linked; lives as long as the object */
    uint64_t addr, size_bytes;
} pt_object_data;
bool pt_object_data_at(pt_object *object, uint64_t addr, pt_object_data *ret_data);

/* One function at an address: the innermost inlined one, its caller, ... up to the function that
 * has the code. Strings live as long as the object. */
typedef struct pt_object_frame {
    const char *linkage_name; /* mangled if it is; else the same as name */
    const char *name;         /* as in the source, maybe without its scope; "" if only mangled */
    const char *file;         /* of the line; "" = unknown. Joined with the unit's directories,
                                 "." and "x/.." taken out */
    uint32_t line, column;    /* of the address, or of the call of the frame before; 0 = unknown */
    uint32_t start_line;      /* where the function is declared, when that is in `file`; or 0 */
} pt_object_frame;

/* frames: innermost first, valid during the call. symbol_bytes: size of the symbol that covers the
 * address, or 0. */
typedef void pt_object_sink(void *context, size_t index, const pt_object_frame *frames,
                            size_t frame_count, uint64_t symbol_bytes);

/* The path of a file of the image's that became shorter since it was opened: what was found in it
 * may be wrong, and things be missing. NULL if none did. As long as the object. */
const char *pt_object_shrunk(const pt_object *object);

/* From now on, and before the first look or resolve: paths stay as DWARF's parts of them join
 * ("./csu/../csu/x.c"), and functions without a linkage name have the name that DWARF gives them,
 * without a scope and without help from symbols; linkage_name is "" for those of C++. An address
 * with a line and neither function nor symbol has one frame without names. For those who answer as
 * other tools do. */
void pt_object_keep_as_written(pt_object *object);

/* From now on, and before the first look or resolve: the function that has the code is named by its
 * symbol where that is of a clone (foo.isra.0, foo.cold), as llvm-symbolizer does; else clones have
 * the name of what they are made of. */
void pt_object_keep_clones(pt_object *object);

/* Resolves many addresses at once, which must ascend: the work is one walk over each compilation
 * unit that holds any of them, units in parallel on the pool (NULL: inline). The sink is called on
 * this thread, once for each address that has a name, in an order that depends on the file and the
 * addresses only. Returns how many had one. */
size_t pt_object_resolve(pt_object *object, pt_object_detail detail, const uint64_t *addrs,
                         size_t count, pt_pool *pool, pt_object_sink *sink, void *context);

#endif
