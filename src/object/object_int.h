/* object_int.h: shared by the files of this layer. */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "object/object.h"

/* ---- symbols.c: an index from address to symbol ---- */

typedef struct {
    uint64_t addr, end_addr;          /* the addresses for which this symbol is the result */
    uint64_t symbol_addr, symbol_end; /* the symbol's own range */
    uint32_t symbol;                  /* index in its table */
    uint8_t table;
} pt_symbol_range;

enum { PT_SYMBOL_TABLES = 2 };

typedef struct {
    pt_symbol_range *items; /* disjoint, ascending */
    size_t count, cap;
    uint32_t symbol_count; /* symbols of code */
    pt_elf_symbols tables[PT_SYMBOL_TABLES];
} pt_symbol_index;

/* Indexes the code symbols of up to PT_SYMBOL_TABLES tables; the first table takes precedence. The
 * index refers to the tables' images. */
void pt_symbol_index_init(pt_symbol_index *index, const pt_elf_symbols *tables, size_t count);
void pt_symbol_index_done(pt_symbol_index *index);
/* The symbol that covers addr; false: none. */
bool pt_symbol_index_find(const pt_symbol_index *index, uint64_t addr,
                          pt_object_symbol *ret_symbol);

/* ---- nearest.c: the function symbol before an address, by binutils' rules ---- */

typedef struct {
    uint64_t addr, size_bytes; /* size_bytes: at least 1 */
    uint32_t section, index;   /* index: in its symbol table */
    const char *name, *file;   /* file NULL: unknown */
    bool is_typed;             /* not STT_NOTYPE */
} pt_function_symbol;

typedef struct {
    const pt_elf *image;
    pt_function_symbol *items; /* sorted by section, addr, index */
    size_t count, cap;
} pt_nearest;

/* Lists function symbols. image: provides the sections; symbols: the file with the symbols, the
 * image itself or its debug file. *nearest keeps pointers to both files. */
void pt_nearest_init(pt_nearest *nearest, const pt_elf *image, const pt_elf *symbols);
void pt_nearest_done(pt_nearest *nearest);
/* The nearest function symbol at or before addr in its section, or NULL. */
const pt_function_symbol *pt_nearest_find(const pt_nearest *nearest, uint64_t addr);

/* ---- data.c: symbols of data ---- */

typedef PT_VECTOR(pt_object_data) pt_data_symbols; /* sorted by addr, then by size */

/* Lists the data symbols of .symtab, or else of .dynsym. data refers to the image. */
void pt_data_symbols_init(pt_data_symbols *data, const pt_elf *elf);
void pt_data_symbols_done(pt_data_symbols *data);
bool pt_data_symbols_find(const pt_data_symbols *data, uint64_t addr, pt_object_data *ret_data);

/* ---- plt.c: names of the stubs of calls into libraries ---- */

typedef struct {
    uint64_t addr, end_addr;
    uint32_t symbol; /* index in .dynsym */
    char *name;      /* made on first use */
} pt_plt_stub;

typedef struct {
    pt_plt_stub *items; /* ascending by addr */
    size_t count, cap;
    pt_elf_symbols table;
} pt_plt;

/* Lists the stubs of an image. plt refers to the image. */
void pt_plt_init(pt_plt *plt, const pt_elf *elf);
void pt_plt_done(pt_plt *plt);
/* The stub that covers addr; false: none. */
bool pt_plt_find(pt_plt *plt, uint64_t addr, pt_object_symbol *ret_symbol);

/* ---- dwarf.c: functions, inlined calls and lines from DWARF ---- */

typedef struct pt_dwarf pt_dwarf;

/* A range of addresses with code. Debug information of other addresses describes code that the
 * linker removed. If the list of ranges is empty, any address may be code. */
typedef struct {
    uint64_t addr, end_addr;
} pt_code_range;

/* The inputs of pt_dwarf_open. */
typedef struct {
    const pt_image_file *file;       /* the file with the debug information */
    const pt_image_file *supplement; /* its supplement made by dwz, or NULL */
    const pt_code_range *code;       /* code ranges of the image; copied */
    size_t code_count;
    pt_find_companion *find; /* for split units; may be NULL */
    void *find_context;
    const char *image_path;
    pt_pool *pool;   /* for decompression; NULL: inline */
    bool as_written; /* pt_object_keep_as_written */
    bool keeps_clones;
} pt_dwarf_source;

/* Opens the DWARF of a file. NULL on failure: PT_ERR_NOTFOUND when the file has no units with code,
 * else the reason. The result refers to the files, which stay the caller's. */
pt_dwarf *pt_dwarf_open(const pt_dwarf_source *source, pt_error *reterr);
void pt_dwarf_free(pt_dwarf *dwarf); /* accepts NULL */

/* Calls the sink for each address with a function in the DWARF, or with a line there and a symbol,
 * and sets done[i] for such an address. symbols: names for functions without a full name in
 * DWARF. */
void pt_dwarf_resolve(pt_dwarf *dwarf, const uint64_t *addrs, size_t count, bool *done,
                      const pt_symbol_index *symbols, pt_pool *pool, pt_object_sink *sink,
                      void *context);

/* ---- pieces.c: bounds of code that symbols and DWARF do not name ---- */

typedef PT_VECTOR(pt_code_range) pt_pieces; /* ascending */

/* Finds the pieces in the image's unwind tables; none if it has no tables. The image is not used
 * afterwards. */
void pt_pieces_init(pt_pieces *pieces, const pt_elf *elf);
void pt_pieces_done(pt_pieces *pieces);
/* The piece that holds a linked address, as a symbol without a name. Returns false if no piece
 * holds the address. */
bool pt_pieces_find(const pt_pieces *pieces, uint64_t addr, pt_object_symbol *ret_symbol);

/* ---- gopclntab.c: functions, lines and inlined calls from the table of Go's runtime ---- */

typedef struct pt_go_table pt_go_table;

/* Opens Go's table. Returns NULL when the image has no such table, or the table of a release before
 * Go 1.16. The result keeps a pointer to elf. */
pt_go_table *pt_go_table_open(const pt_elf *elf);
void pt_go_table_free(pt_go_table *table); /* accepts NULL */
/* The number of functions in the table. */
uint64_t pt_go_table_functions(const pt_go_table *table);
/* The function that covers addr; false: none. */
bool pt_go_table_name(pt_go_table *table, uint64_t addr, pt_object_symbol *ret_symbol);
/* Calls the sink for each address that lies in a function and is not done yet, and sets done[i]. */
void pt_go_table_resolve(pt_go_table *table, const uint64_t *addrs, size_t count, bool *done,
                         pt_object_sink *sink, void *context);

/* ---- xz.c ---- */

/* Decompresses an xz file. PT_ERR_LIMIT: the result exceeds max_bytes. PT_ERR_UNSUPPORTED: built
 * without liblzma. */
pt_status pt_xz_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                        pt_error *reterr);

/* ---- paths.c: tidies file names of DWARF ---- */

/* "a/./b//c/../d" -> "a/b/d", as text only (symbolic links could lead elsewhere). Leading ".."
 * stay. Writes at most the length of text plus its terminator. */
void pt_tidy_path_text(const char *text, char *out);

/* ---- rust_name.c ---- */

/* False when a "_R" name is malformed, or binds so many lifetimes that printing it could take
 * without bound. */
bool pt_rust_name_is_bounded(const char *text);
