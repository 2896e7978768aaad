/* object_int.h: what the files of this layer share. */
#ifndef PT_OBJECT_OBJECT_INT_H
#define PT_OBJECT_OBJECT_INT_H

#include "base/index.h"
#include "object/object.h"

/* ---- symbols.c: an index from address to symbol ---- */

typedef struct {
    uint64_t addr, end_addr;          /* the addresses at which this symbol is the answer */
    uint64_t symbol_addr, symbol_end; /* the symbol's own */
    uint32_t symbol;                  /* in its table */
    uint8_t table;
} pt_symbol_range;

enum { PT_SYMBOL_TABLES = 2 };

typedef struct {
    pt_symbol_range *items; /* disjoint, ascending */
    size_t count, cap;
    uint32_t symbol_count; /* that name code */
    pt_elf_symbols tables[PT_SYMBOL_TABLES];
} pt_symbol_index;

/* Symbols of these tables (at most PT_SYMBOL_TABLES) which name code; the first table is preferred.
 * Their images stay in use. */
void pt_symbol_index_init(pt_symbol_index *index, const pt_elf_symbols *tables, size_t count);
void pt_symbol_index_done(pt_symbol_index *index);
bool pt_symbol_index_find(const pt_symbol_index *index, uint64_t addr,
                          pt_object_symbol *ret_symbol);

/* ---- nearest.c: the function symbol before an address, by binutils' choice ---- */

typedef struct {
    uint64_t addr, size_bytes; /* size_bytes: at least 1 */
    uint32_t section, index;   /* index: in its table */
    const char *name, *file;   /* file: NULL when unknown */
    bool is_typed;             /* not STT_NOTYPE */
} pt_function_symbol;

typedef struct {
    const pt_elf *image;
    pt_function_symbol *items; /* by section, addr, index */
    size_t count, cap;
} pt_nearest;

/* image: whose sections hold addresses; symbols: the file with the symbols, the same one or its
 * debug file. Both stay in use. */
void pt_nearest_init(pt_nearest *nearest, const pt_elf *image, const pt_elf *symbols);
void pt_nearest_done(pt_nearest *nearest);
const pt_function_symbol *pt_nearest_find(const pt_nearest *nearest, uint64_t addr);

/* ---- data.c: symbols of data ---- */

typedef struct {
    pt_object_data *items; /* by addr, then by size */
    size_t count, cap;
} pt_data_symbols;

/* Of .symtab, or else of .dynsym. The image stays in use. */
void pt_data_symbols_init(pt_data_symbols *data, const pt_elf *elf);
void pt_data_symbols_done(pt_data_symbols *data);
bool pt_data_symbols_find(const pt_data_symbols *data, uint64_t addr, pt_object_data *ret_data);

/* ---- plt.c: names for the stubs of calls into libraries ---- */

typedef struct {
    uint64_t addr, end_addr;
    uint32_t symbol; /* in .dynsym */
    char *name;      /* made when it is first asked for */
} pt_plt_stub;

typedef struct {
    pt_plt_stub *items; /* ascending */
    size_t count, cap;
    pt_elf_symbols table;
} pt_plt;

void pt_plt_init(pt_plt *plt, const pt_elf *elf);
void pt_plt_done(pt_plt *plt);
bool pt_plt_find(pt_plt *plt, uint64_t addr, pt_object_symbol *ret_symbol);

/* ---- dwarf.c: functions, inlined calls and lines by DWARF ---- */

typedef struct pt_dwarf pt_dwarf;

/* Ranges of addresses that hold code; what DWARF says of others is about code that the linker threw
 * away. None: anything may be code. */
typedef struct {
    uint64_t addr, end_addr;
} pt_code_range;

typedef struct {
    const pt_image_file *file;       /* with the debug information */
    const pt_image_file *supplement; /* what dwz moved out of it, or NULL */
    const pt_code_range *code;       /* of the image; copied */
    size_t code_count;
    pt_find_companion *find; /* for split units; may be NULL */
    void *find_context;
    const char *image_path;
    pt_pool *pool;   /* for inflating; NULL: inline */
    bool as_written; /* pt_object_keep_as_written */
    bool keeps_clones;
} pt_dwarf_source;

/* NULL with PT_ERR_NOTFOUND when the file has no units with code, else with why they cannot be
 * read. The files stay the caller's and in use. */
pt_dwarf *pt_dwarf_open(const pt_dwarf_source *source, pt_error *reterr);
void pt_dwarf_free(pt_dwarf *dwarf); /* accepts NULL */

/* Calls the sink for each address that a function or, with a symbol, a line is known of, and sets
 * done[i] for it. Symbols are for functions that DWARF does not name fully. */
void pt_dwarf_resolve(pt_dwarf *dwarf, const uint64_t *addrs, size_t count, bool *done,
                      const pt_symbol_index *symbols, pt_pool *pool, pt_object_sink *sink,
                      void *context);

/* ---- gopclntab.c: functions, lines and inlined calls by the table of Go's runtime ---- */

typedef struct pt_go_table pt_go_table;

/* NULL when the image has no such table, or one of a release before Go 1.16. elf stays in use. */
pt_go_table *pt_go_table_open(const pt_elf *elf);
void pt_go_table_free(pt_go_table *table); /* accepts NULL */
uint64_t pt_go_table_functions(const pt_go_table *table);
/* The function that covers addr; false when there is none. */
bool pt_go_table_name(pt_go_table *table, uint64_t addr, pt_object_symbol *ret_symbol);
/* Calls the sink for each address that is not done and lies in a function, and sets done[i]. */
void pt_go_table_resolve(pt_go_table *table, const uint64_t *addrs, size_t count, bool *done,
                         pt_object_sink *sink, void *context);

/* ---- xz.c ---- */

/* Inflates an xz file. PT_ERR_LIMIT beyond max_bytes, PT_ERR_UNSUPPORTED in a program that was
 * built without liblzma. */
pt_status pt_xz_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                        pt_error *reterr);

/* ---- paths.c: file names as DWARF gives them, made tidy ---- */

/* "a/./b//c/../d" -> "a/b/d", by text alone (a symbolic link could have meant another folder).
 * Leading ".." stay. Writes at most as many bytes as text has. */
void pt_tidy_path_text(const char *text, char *out);

/* ---- rust_name.c ---- */

/* False when the "_R" name cannot be taken apart, or binds so many lifetimes that printing it might
 * not end. */
bool pt_rust_name_is_bounded(const char *text);

#endif
