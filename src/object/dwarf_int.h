/* dwarf_int.h: shared by the files of the DWARF reader. Section numbers in comments are those of
 * the DWARF 5 standard (dwarfstd.org).
 *
 *   pt_dwarf          an image's debug information
 *     pt_dwarf_file   one ELF file of it: the image or its debug file, the file that dwz split off
 *                     (supplement), packages (.dwp) and single files (.dwo) of split units
 *       pt_dwarf_unit   a unit of the file's .debug_info
 *     range[]         addresses -> unit
 *
 *   resolve           addresses -> units that contain them -> one task per unit, on any thread
 *     pt_dwarf_worker   a thread's state across tasks: tables, columns, strings
 *
 * The caller's thread makes all of a pt_dwarf except the workers; tasks only read it. */
#pragma once

#include <stdatomic.h>

#include "base/grow.h"
#include "object/dwarf_read.h"
#include "object/object_int.h"

typedef struct {
    const uint8_t *data; /* NULL: the section is absent */
    uint64_t size_bytes;
} pt_dwarf_bytes;

typedef enum {
    PT_DWARF_INFO,
    PT_DWARF_ABBREV,
    PT_DWARF_STR,
    PT_DWARF_STR_OFFSETS,
    PT_DWARF_LINE,
    PT_DWARF_LINE_STR,
    PT_DWARF_ADDR,
    PT_DWARF_RANGES,
    PT_DWARF_RNGLISTS,
    PT_DWARF_CU_INDEX,
    PT_DWARF_SECTIONS
} pt_dwarf_section;

typedef struct pt_dwarf_file pt_dwarf_file;
typedef struct pt_dwarf_unit pt_dwarf_unit;

/* The value of an attribute in its stored form. */
typedef struct {
    uint16_t form; /* DW_FORM_*; 0: no value */
    uint64_t number;
    const char *text; /* DW_FORM_string */
} pt_dwarf_value;

/* The address attributes of an entry; a form is 0 if the entry lacks the attribute. */
typedef struct {
    pt_dwarf_value low, high, list;
} pt_dwarf_extent;

/* A unit of .debug_info. */
struct pt_dwarf_unit {
    pt_dwarf_file *file;
    uint64_t off, end_off; /* offsets in .debug_info */
    uint64_t root_off;     /* offset of the unit's first entry */
    uint64_t abbrev_off;
    uint16_t version;
    uint8_t type; /* DW_UT_*; DW_UT_compile before version 5 */
    uint8_t addr_bytes, offset_bytes;
    bool is_searched; /* the unit may describe code: a compilation unit, or the skeleton of one */
    bool is_cxx, is_assembler, is_rust;
    bool lists_too_little; /* the unit's range list is incomplete: only its functions have the other
                            * addresses */
    bool split_sought;     /* the search for its split unit has been made */
    bool has_dwo_id;
    bool has_line;
    uint64_t dwo_id;
    uint64_t line_off; /* offset in .debug_line */
    uint64_t low_addr; /* the base of its ranges */
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t ranges_base; /* of DWARF 4 split units: base of DW_AT_ranges in the split unit */
    const char *folder;   /* DW_AT_comp_dir, or NULL */
    const char *dwo_name; /* DW_AT_dwo_name, or NULL */
    pt_dwarf_unit *split; /* of a skeleton: the split unit, or NULL */
    /* Of a split unit: its skeleton, which has the addresses and lines. */
    const pt_dwarf_unit *skeleton;
    pt_dwarf_extent extent;
    uint32_t range_first, range_count; /* rows of pt_dwarf.ranges */
};

/* An ELF file with debug information. */
struct pt_dwarf_file {
    pt_dwarf_bytes sections[PT_DWARF_SECTIONS];
    pt_blob inflated[PT_DWARF_SECTIONS];    /* memory of decompressed sections */
    uint64_t text_bytes[PT_DWARF_SECTIONS]; /* end of the last terminated string of each section */
    bool swap;                              /* its byte order differs from the host's */
    bool is_split;                          /* a .dwo or .dwp file */
    pt_dwarf_file *supplement;
    PT_VECTOR(pt_dwarf_unit) units;   /* ascending by offset */
    PT_VECTOR(pt_dwarf_unit *) by_id; /* of a split file: units with a dwo id, by that id */
    pt_image_file image;              /* of a split file, which the reader owns */
};

/* ---- dwarf_section.c: the sections of a file ---- */

/* Finds the sections and decompresses compressed ones. elf is not kept. PT_ERR_DAMAGED or
 * PT_ERR_UNSUPPORTED when a section cannot be decompressed. */
pt_status pt_dwarf_file_init(pt_dwarf_file *file, const pt_elf *elf, pt_pool *pool,
                             pt_error *reterr);
void pt_dwarf_file_done(pt_dwarf_file *file);
/* A cursor over [off, end_off) of a section; empty when the range is not inside it. */
pt_dwarf_cursor pt_dwarf_cursor_at(const pt_dwarf_file *file, pt_dwarf_section section,
                                   uint64_t off, uint64_t end_off);
/* The string at off of a section, or NULL. */
const char *pt_dwarf_string_at(const pt_dwarf_file *file, pt_dwarf_section section, uint64_t off);

/* ---- dwarf_form.c: values of attributes ---- */

/* The size in bytes of a form's value in a unit's entries; -1 if the size varies; -2 if the form is
 * unknown. */
int pt_dwarf_form_bytes(const pt_dwarf_unit *unit, unsigned form);
/* Skips a value of varying size. */
void pt_dwarf_skip_form(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form);
/* Reads a value. implicit: the value of DW_FORM_implicit_const. */
pt_dwarf_value pt_dwarf_read_form(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form,
                                  int64_t implicit);
/* The string of a value; NULL if the value is not a string, or the string is out of bounds. */
const char *pt_dwarf_text_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value);
/* The address of a value. False: not an address, or out of bounds. */
bool pt_dwarf_addr_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value, uint64_t *ret_addr);
/* Entry i of the unit's address table (.debug_addr). False: out of bounds. */
bool pt_dwarf_indexed_addr(const pt_dwarf_unit *unit, uint64_t i, uint64_t *ret_addr);
bool pt_dwarf_is_addr_form(unsigned form);

/* A debugging information entry: its place in the .debug_info of unit->file. */
typedef struct {
    const pt_dwarf_unit *unit; /* NULL: none */
    uint64_t off;
} pt_dwarf_entry;

/* The entry that a reference refers to; unit is NULL when the reference is out of bounds. */
pt_dwarf_entry pt_dwarf_entry_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value);

/* ---- dwarf_abbrev.c: abbreviations, and how to skip or read their entries ---- */

/* What an entry with this abbreviation can describe. */
typedef enum {
    PT_DWARF_OTHER,     /* contains no code, in the output of known compilers */
    PT_DWARF_FUNCTION,  /* DW_TAG_subprogram with addresses */
    PT_DWARF_INLINED,   /* DW_TAG_inlined_subroutine */
    PT_DWARF_BLOCK,     /* lexical blocks and the like, which belong to the enclosing function */
    PT_DWARF_NAMESPACE, /* or a module */
    PT_DWARF_TYPE,      /* a class: may contain functions */
    PT_DWARF_ABSTRACT,  /* DW_TAG_subprogram without addresses */
} pt_dwarf_kind;

/* An attribute of an abbreviation. */
typedef struct {
    uint16_t name, form;
    int8_t bytes; /* pt_dwarf_form_bytes */
    int64_t implicit;
} pt_dwarf_attribute;

/* Why a step stops at a value. */
typedef enum {
    PT_DWARF_SKIPPED, /* its size varies */
    PT_DWARF_LOW_PC,
    PT_DWARF_HIGH_PC,
    PT_DWARF_RANGE_LIST,
    PT_DWARF_SIBLING,
} pt_dwarf_role;

/* A step over part of an entry: fixed_bytes forward, then one value. */
typedef struct {
    uint32_t fixed_bytes;
    uint16_t form;
    uint8_t role;       /* pt_dwarf_role */
    int8_t bytes;       /* size of the value; pt_dwarf_form_bytes */
    uint32_t attribute; /* index of the attribute */
} pt_dwarf_step;

/* An abbreviation. */
typedef struct {
    uint64_t code;
    uint8_t kind; /* pt_dwarf_kind */
    bool has_children;
    bool has_sibling;
    uint16_t tag;
    uint16_t skip_count;    /* number of steps over values of varying size */
    uint16_t sibling_skips; /* number of those before DW_AT_sibling */
    uint32_t skip_first;
    uint32_t tail_bytes;    /* bytes after the last of these steps */
    uint32_t sibling_bytes; /* bytes from the last step before DW_AT_sibling to that attribute */
    uint16_t sibling_form;
    uint16_t read_count; /* number of steps that also stop at addresses; for FUNCTION and INLINED */
    uint32_t read_first;
    uint32_t read_tail_bytes;
    uint32_t attribute_first, attribute_count;
} pt_dwarf_abbrev;

/* The abbreviations of a unit. */
typedef struct {
    const pt_dwarf_file *file; /* the file and offset of the table; NULL: empty */
    uint64_t off;
    uint16_t version;
    uint8_t addr_bytes, offset_bytes;
    bool is_dense;                      /* codes are 1, 2, 3, ... */
    bool has_range_lists;               /* some abbreviation has DW_AT_ranges */
    PT_VECTOR(pt_dwarf_abbrev) abbrevs; /* ascending by code */
    PT_VECTOR(pt_dwarf_attribute) attributes;
    PT_VECTOR(pt_dwarf_step) steps;
} pt_dwarf_abbrevs;

/* Frees the table's memory. */
void pt_dwarf_abbrevs_done(pt_dwarf_abbrevs *table);
/* True if the table is that of this unit. */
bool pt_dwarf_abbrevs_are_of(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit);
/* Reads the unit's table. Returns the number of bytes read. */
uint64_t pt_dwarf_abbrevs_read(pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit);
/* The abbreviation with that code; NULL if the table has no such abbreviation. */
const pt_dwarf_abbrev *pt_dwarf_abbrev_search(const pt_dwarf_abbrevs *table, uint64_t code);
static inline const pt_dwarf_abbrev *pt_dwarf_abbrev_of(const pt_dwarf_abbrevs *table,
                                                        uint64_t code)
{
    if (__builtin_expect(table->is_dense && code - 1 < table->abbrevs.count, 1))
        return &table->abbrevs.items[code - 1];
    return pt_dwarf_abbrev_search(table, code);
}

/* ---- dwarf_unit.c: headers and first entries of units ---- */

/* Lists the units of the file and reads their first entries. Subtracts the bytes read from *budget;
 * stops at zero. */
void pt_dwarf_list_units(pt_dwarf_file *file, uint64_t *budget);
/* The unit that contains an offset of the file's .debug_info, or NULL. */
const pt_dwarf_unit *pt_dwarf_unit_at(const pt_dwarf_file *file, uint64_t off);
/* A cursor at an entry of a unit. */
static inline pt_dwarf_cursor pt_dwarf_entry_cursor(const pt_dwarf_unit *unit, uint64_t off)
{
    return pt_dwarf_cursor_at(unit->file, PT_DWARF_INFO, off, unit->end_off);
}
/* The offset in .debug_info of a cursor. */
static inline uint64_t pt_dwarf_off_of(const pt_dwarf_unit *unit, const pt_dwarf_cursor *c)
{
    return (uint64_t)(c->pos - unit->file->sections[PT_DWARF_INFO].data);
}

/* ---- dwarf_ranges.c: the addresses of an entry ---- */

/* Iterates over the address ranges of an entry: init, then next until it returns false. */
typedef struct {
    const pt_dwarf_unit *unit;
    pt_dwarf_cursor list;
    uint64_t addr, end_addr; /* the only range of an entry without a list */
    uint64_t base;
    uint64_t steps; /* list entries read so far, including those without a range */
    bool is_list, is_one;
} pt_dwarf_ranges;

/* Begins at the first range of the extent. Reads the unit's file, which must outlive *ranges;
 * nothing is to be freed. */
void pt_dwarf_ranges_init(pt_dwarf_ranges *ranges, const pt_dwarf_unit *unit,
                          const pt_dwarf_extent *extent);
/* Gets the next range. Includes empty ranges, and ranges of code that the linker removed. */
bool pt_dwarf_ranges_next(pt_dwarf_ranges *ranges, uint64_t *ret_addr, uint64_t *ret_end_addr);

/* ---- dwarf_split.c: units with their entries in other files ---- */

/* The split units of an image and the files that contain them. */
typedef struct {
    pt_find_companion *find;
    void *find_context;
    const char *image_path;
    bool package_sought;    /* package was looked for */
    pt_dwarf_file *package; /* or NULL */
    PT_VECTOR(pt_dwarf_file *) files;
    size_t missing_count; /* split units that were not found */
} pt_dwarf_splits;

/* Closes the files, and with them the split units that were found. */
void pt_dwarf_splits_done(pt_dwarf_splits *splits);
/* Finds the split unit of a skeleton, once. unit->split stays NULL when it is not found. Subtracts
 * the bytes read from *budget. */
void pt_dwarf_find_split(pt_dwarf_splits *splits, pt_dwarf_unit *unit, uint64_t *budget);

/* ---- dwarf_line.c: line tables ---- */

/* A file of a line table. */
typedef struct {
    const char *name;
    uint64_t folder;
    const char *path; /* the joined path, made on first use; NULL until then */
} pt_dwarf_line_file;

/* A line table: its header, and the program that is still to run. */
typedef struct {
    const pt_dwarf_file *file;
    uint64_t off;
    const char *unit_folder;
    uint16_t version;
    uint8_t addr_bytes, offset_bytes;
    uint8_t min_bytes, max_ops; /* of an instruction */
    uint8_t first_file;         /* the file register's initial value: 1 */
    uint8_t line_range, opcode_base;
    int8_t line_base;
    uint8_t opcode_operands[256];
    pt_dwarf_cursor program;
    PT_VECTOR(const char *) folders;
    PT_VECTOR(pt_dwarf_line_file) files; /* by number; before version 5 number 0 is unused */
} pt_dwarf_line_table;

typedef struct {
    uint32_t file, line, column; /* file PT_NONE: no row covers the address */
} pt_dwarf_row;

/* Reads the header of the unit's line table. Returns false if the unit has no line table, or the
 * header is unreadable. */
bool pt_dwarf_line_table_read(pt_dwarf_line_table *table, const pt_dwarf_unit *unit);
void pt_dwarf_line_table_done(pt_dwarf_line_table *table);
/* Runs the program and sets rows[i] for each address that a row covers. addrs: ascending. code: the
 * image's code ranges; rows outside are ignored. */
void pt_dwarf_run_lines(const pt_dwarf_line_table *table, const pt_code_range *code,
                        size_t code_count, const uint64_t *addrs, size_t count, pt_dwarf_row *rows);

/* ---- dwarf.c: shared by all tasks ---- */

typedef struct {
    uint64_t addr, end_addr;
} pt_dwarf_range;

/* The debug information of an image. */
struct pt_dwarf {
    pt_dwarf_file file, supplement;
    pt_code_range *code;
    size_t code_count;
    PT_VECTOR(pt_dwarf_range) ranges;
    pt_dwarf_splits splits;
    struct pt_dwarf_worker **workers;
    unsigned worker_count;
    bool as_written;            /* pt_object_keep_as_written */
    bool keeps_clones;          /* pt_object_keep_clones */
    _Atomic uint64_t work_left; /* what is left of the current call's budget, in bytes and steps */
};

/* True if addr is in the image's code. Debug information keeps descriptions of functions that the
 * linker removed, at address 0 or close to it. */
static inline bool pt_dwarf_is_code(const pt_code_range *code, size_t count, uint64_t addr)
{
    for (size_t i = 0; i < count; i++)
        if (addr >= code[i].addr && addr < code[i].end_addr) return true;
    return count == 0;
}

/* ---- dwarf_worker.c: the state of a thread ---- */

/* A function or inlined call that contains some of the wanted addresses. */
typedef struct {
    uint64_t off;         /* offset of its entry, in the unit of the walk */
    uint32_t parent;      /* the node into which it is inlined, or PT_NONE */
    uint32_t first, last; /* the first and last of the wanted addresses that the node contains */
    uint32_t function;    /* row of `functions`, set by pt_dwarf_name_nodes; PT_NONE before */
    const char *call_file;
    uint32_t call_line, call_column;
} pt_dwarf_node;

/* A function as the debug information describes it; strings may be NULL. */
typedef struct {
    pt_dwarf_entry entry; /* the entry whose name was needed */
    /* The end of its chain of DW_AT_specification and DW_AT_abstract_origin. */
    pt_dwarf_entry declared;
    const char *name, *linkage_name, *declared_file;
    uint32_t declared_line;
} pt_dwarf_function;

/* An entry that encloses another. */
typedef struct {
    uint64_t off;
    uint8_t kind; /* pt_dwarf_kind */
} pt_dwarf_ancestor;

enum { PT_DWARF_TABLES = 8 };

/* The state of a thread across tasks. */
typedef struct pt_dwarf_worker {
    pt_dwarf *dwarf;
    pt_dwarf_abbrevs tables[PT_DWARF_TABLES];
    unsigned next_table;
    PT_VECTOR(char *) chunks; /* memory of strings; lives as long as the pt_dwarf */
    size_t chunk_used, chunk_bytes;
    PT_VECTOR(pt_dwarf_line_table *) line_tables;
    pt_index line_index; /* of line_tables */
    size_t files_kept;   /* files and folders in all line tables */
    PT_VECTOR(pt_dwarf_node) nodes;
    PT_VECTOR(uint32_t) levels; /* of the walk: the enclosing node at each depth */
    struct {
        uint64_t *items; /* ascending */
        size_t count, cap;
        uint64_t seen;             /* number of candidates so far */
        const pt_dwarf_unit *unit; /* the unit of the last walk */
    } places;                      /* offsets of entries directly below the unit's first entry */
    PT_VECTOR(pt_dwarf_ancestor) ancestors;
    PT_VECTOR(pt_dwarf_function) functions;
    pt_index function_index; /* row of `functions` by entry */
} pt_dwarf_worker;

/* Allocates a worker; the caller frees it with pt_dwarf_worker_free. */
pt_dwarf_worker *pt_dwarf_worker_new(pt_dwarf *dwarf);
void pt_dwarf_worker_free(pt_dwarf_worker *worker);
/* Drops all state of units, but not the strings. */
void pt_dwarf_worker_clear(pt_dwarf_worker *worker);
/* Drops the state of the current unit: nodes and functions. */
void pt_dwarf_worker_next_unit(pt_dwarf_worker *worker);
/* The unit's abbreviations; valid until PT_DWARF_TABLES other tables were requested. */
const pt_dwarf_abbrevs *pt_dwarf_abbrevs_for(pt_dwarf_worker *worker, const pt_dwarf_unit *unit);
/* Subtracts from the budget of the current call. False: the budget is spent. */
bool pt_dwarf_spend(pt_dwarf *dwarf, uint64_t amount);
/* Allocates size_bytes for a string, which lives as long as the pt_dwarf. */
char *pt_dwarf_string_room(pt_dwarf_worker *worker, size_t size_bytes);
/* The unit's line table, or NULL. */
pt_dwarf_line_table *pt_dwarf_line_table_for(pt_dwarf_worker *worker, const pt_dwarf_unit *unit);
/* The path of file i of a line table, joined with its folders and tidied; "" when the table has no
 * such file. */
const char *pt_dwarf_path(pt_dwarf_worker *worker, pt_dwarf_line_table *table, uint64_t i);

/* ---- dwarf_walk.c: finds functions and inlined calls by address ---- */

/* How far a walk descends into entries that contain no wanted address but may enclose functions:
 *
 * QUICK     not at all; it enters namespaces only when they cannot be skipped (gcc puts functions
 *           with code outside of them, with a reference to the declaration inside)
 * LOCAL     into functions and the types in them: lambdas, local classes
 * THOROUGH  into everything */
typedef enum { PT_DWARF_QUICK, PT_DWARF_LOCAL, PT_DWARF_THOROUGH } pt_dwarf_depth;

/* Sets node_of[i] to the innermost node that contains addrs[i] (ascending). Returns whether a
 * deeper walk could find more. */
bool pt_dwarf_walk(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint64_t *addrs,
                   size_t count, uint32_t *node_of, pt_dwarf_depth depth);
/* Calls add for each address range of each function of the unit. Returns the number of list entries
 * read; stops after the list in which that number exceeds `most`. */
typedef void pt_dwarf_add_range(void *context, uint64_t addr, uint64_t end_addr);
uint64_t pt_dwarf_walk_ranges(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                              uint64_t most, pt_dwarf_add_range *add, void *context);

/* Finds the entries that enclose each of the entries at offs (ascending): from the outermost, which
 * lies directly below the unit's first entry, to the innermost. Calls `found` once for each of
 * offs, with its index. */
typedef void pt_dwarf_around(void *context, size_t index, const pt_dwarf_ancestor *around,
                             size_t depth);
void pt_dwarf_find_around(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint64_t *offs,
                          size_t count, pt_dwarf_around *found, void *context);

/* ---- dwarf_name.c: names of functions ---- */

/* Sets function and call site of each node in used (indexes of worker->nodes). */
void pt_dwarf_name_nodes(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint32_t *used,
                         size_t count);
