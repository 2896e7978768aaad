/* object.h: facts about one image: symbol, function, file and line of an address, and the functions
 * that were inlined there.
 *
 * Addresses are virtual addresses as linked (elf/image.h converts addresses of a process). The
 * caller provides the image, and separate debug files through a callback. This header does not
 * depend on how DWARF is read.
 *
 * One thread at a time may use an object; different objects may be used at once. A call may
 * distribute its work over a pool; callbacks still run on the caller's thread.
 */
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"
#include "elf/image.h"

/* A file: its bytes, and a descriptor (or -1) for readers that map the file themselves. All three
 * members are owned. */
typedef struct pt_image_file {
    pt_blob blob;
    int fd;
    char *path; /* for messages */
} pt_image_file;

#define PT_IMAGE_FILE_INIT ((pt_image_file){.blob = PT_BLOB_INIT, .fd = -1})
/* Frees the bytes and the path, and closes the descriptor. */
void pt_image_file_done(pt_image_file *file);

typedef enum {
    PT_COMPANION_DEBUG,      /* the separate debug file of a stripped image */
    PT_COMPANION_SUPPLEMENT, /* the file that dwz made of parts common to several debug files
                                (.gnu_debugaltlink) */
    PT_COMPANION_DWP,        /* the package of an image's split units ("IMAGE.dwp") */
    PT_COMPANION_DWO,        /* one split unit, where the compiler wrote it */
} pt_companion_kind;

/* A companion file that an object needs. */
typedef struct pt_companion {
    pt_companion_kind kind;
    const char *image_path;
    pt_elf_id build_id;    /* required build id; its bytes are NULL if it is unknown, and always for
                            * DWP and DWO */
    const char *link_name; /* file name in the image's debug link, or (DWO) in the unit; or NULL */
    bool has_crc;          /* link_crc is known: the CRC-32 of the whole file */
    uint32_t link_crc;
    const char *folder; /* DWO: folder of link_name if that is relative; or NULL */
    uint64_t dwo_id;    /* DWO: id of the unit; the object checks this id itself */
} pt_companion;

/* Finds a companion; the object takes over *ret_file. False: not found. Called only during a call
 * of the object's functions, on that call's thread. */
typedef bool pt_find_companion(void *context, const pt_companion *wanted, pt_image_file *ret_file);

typedef struct pt_object pt_object;

/* Opens an object. Takes over *image in any case and leaves it empty. find may be NULL. Fails with
 * PT_ERR_FORMAT if the file is no ELF file; PT_ERR_UNSUPPORTED if it is a relocatable file, whose
 * sections have no addresses yet. */
pt_status pt_object_open(pt_image_file *image, pt_find_companion *find, void *context,
                         pt_object **ret_object, pt_error *reterr);
void pt_object_free(pt_object *object); /* accepts NULL */

/* The version of the built-in liblzma, which reads .gnu_debugdata; NULL in a build without it.
 * Static. */
const char *pt_object_xz_version(void);

/* The ELF view of the image; lives as long as the object. */
const pt_elf *pt_object_elf(const pt_object *object);

typedef enum {
    PT_OBJECT_SYMBOLS, /* symbol tables only: one frame, no lines */
    PT_OBJECT_LINES,   /* DWARF where DWARF covers the address, else the symbol */
} pt_object_detail;

/* The sources that the object has. Finds and opens the necessary companions. For PT_OBJECT_SYMBOLS
 * the fields about lines stay empty. */
typedef struct pt_object_facts {
    uint32_t symbol_count; /* symbols of code */
    bool is_dynamic_only; /* the symbols are those of .dynsym: exported symbols only, since the file
                           * was stripped
                           */
    bool has_lines;       /* the DWARF has units */
    const char *debug_path;  /* the separate debug file in use, or NULL */
    const char *lines_error; /* why the DWARF cannot be read, or NULL */
} pt_object_facts;
void pt_object_look(pt_object *object, pt_object_detail detail, pt_object_facts *ret_facts);
/* pt_object_facts.has_lines alone, without reading symbols. */
bool pt_object_has_lines(pt_object *object);

typedef struct pt_object_symbol {
    const char *name; /* as linked; lives as long as the object */
    uint64_t addr, end_addr;
} pt_object_symbol;

/* Finds the symbol that covers addr.
 *
 * A symbol ends at its size or at its section's end, whichever comes first; a symbol without a size
 * (assembly) ends at the next symbol or at its section's end. Past the end no symbol covers the
 * address: the result is false, never the previous symbol. Where several symbols cover an address,
 * the symbol with the highest start counts; of equal starts, a function comes before an
 * untyped symbol, global before weak before local, then fewer leading underscores, then the
 * alphabetically first. Ignored are labels inside a sized symbol, mapping symbols ($x) and local
 * labels of compilers (.L). Clones (foo.cold, foo.isra.0) are symbols of their own. The stub of a
 * call into a library is "puts@plt", as in objdump (x86-64).
 */
bool pt_object_symbol_at(pt_object *object, uint64_t addr, pt_object_symbol *ret_symbol);

/* Finds the bounds of the piece of code around addr by the image's unwind tables, which strip
 * keeps: a function, or a part of a function that the compiler placed elsewhere (foo.cold). The
 * name is "". Returns false if no entry covers addr. */
bool pt_object_code_at(pt_object *object, uint64_t addr, pt_object_symbol *ret_symbol);

/* The function that binutils shows for an address without a line: the nearest function symbol
 * before the address in its section, at any distance. Returns false if there is none, or if the
 * address lies in no allocated section.
 */
typedef struct pt_object_nearest {
    const char *name; /* as linked */
    /* The name of the STT_FILE symbol before it in the table; NULL if unknown. Lives as long as the
     * object. */
    const char *file;
    uint64_t addr;
} pt_object_nearest;
bool pt_object_nearest_symbol(pt_object *object, uint64_t addr, pt_object_nearest *ret_nearest);

/* The data symbol (STT_OBJECT) that covers addr, or the last data symbol before addr if that has no
 * size. False: none. */
typedef struct pt_object_data {
    const char *name; /* as linked; lives as long as the object */
    uint64_t addr, size_bytes;
} pt_object_data;
bool pt_object_data_at(pt_object *object, uint64_t addr, pt_object_data *ret_data);

/* One function at an address. The frames of an address run from the innermost inlined function over
 * its callers to the function that contains the code. Strings live as long as the object. */
typedef struct pt_object_frame {
    const char *linkage_name; /* the mangled name if there is one; else the same as name */
    /* As in the source, maybe without its scope; "" if only the mangled name is known. */
    const char *name;
    const char *file; /* of the line, joined with the unit's directories, "." and "x/.." removed;
                         "": unknown */
    uint32_t line, column; /* of the address, or of the call of the previous frame; 0 if unknown */
    uint32_t start_line;   /* line of the function's declaration, if that is in `file`; or 0 */
} pt_object_frame;

/* Receives the frames of addrs[index], innermost first, valid during the call. symbol_bytes: size
 * of the symbol that covers the address, or 0. */
typedef void pt_object_sink(void *context, size_t index, const pt_object_frame *frames,
                            size_t frame_count, uint64_t symbol_bytes);

/* The path of a file of the object that shrank after it was opened; results from that file may be
 * wrong or incomplete. NULL if no file shrank. Lives as long as the object. */
const char *pt_object_shrunk(const pt_object *object);

/* Call before the first look or resolve. Afterwards paths are the joined parts of DWARF's paths,
 * not tidied ("./csu/../csu/x.c"). A function without a linkage name has the name in DWARF, without
 * its scope; its symbol is not used for the name. linkage_name is "" for such functions of C++. An
 * address with a line but neither function nor symbol has one frame without names. For commands
 * that reproduce the output of other tools. */
void pt_object_keep_as_written(pt_object *object);

/* Call before the first look or resolve. Afterwards a function whose symbol is a clone (foo.isra.0,
 * foo.cold) has the clone's name, as in llvm-symbolizer. By default a clone has the name of the
 * original function. */
void pt_object_keep_clones(pt_object *object);

/* Resolves many ascending addresses at once. The work is one walk over each compilation unit that
 * contains any of these addresses; units are walked in parallel on the pool (NULL: one after the
 * other on this thread). Calls the sink on this thread, once for each address with a name; the
 * order depends only on the file and the addresses. Returns the number of addresses with a name. */
size_t pt_object_resolve(pt_object *object, pt_object_detail detail, const uint64_t *addrs,
                         size_t count, pt_pool *pool, pt_object_sink *sink, void *context);
