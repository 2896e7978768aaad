/* dwarf_int.h: what the files of the DWARF reader share. Numbers of sections in comments are those
 * of the DWARF 5 standard (dwarfstd.org).
 *
 *   pt_dwarf          an image's debug information
 *     pt_dwarf_file   one ELF file with it: the image or its debug file, what dwz moved out
 *                     (supplement), packages (.dwp) and single files (.dwo) of split units
 *       pt_dwarf_unit   a unit of its .debug_info
 *     range[]         addresses -> unit
 *
 *   resolve           addresses -> units that hold any of them -> one task a unit, on any thread
 *     pt_dwarf_worker   what a thread keeps from task to task: tables, columns, strings
 *
 * Everything of a pt_dwarf but the workers is made on the caller's thread and then only read. */
#ifndef PT_OBJECT_DWARF_INT_H
#define PT_OBJECT_DWARF_INT_H

#include <stdatomic.h>

#include "object/dwarf_read.h"
#include "object/object_int.h"

typedef struct {
    const uint8_t *data; /* NULL: none */
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

/* The value of an attribute as it is stored. */
typedef struct {
    uint16_t form; /* DW_FORM_*; 0: no value */
    uint64_t number;
    const char *text; /* DW_FORM_string */
} pt_dwarf_value;

/* What an entry says of its addresses; form 0 where it says nothing. */
typedef struct {
    pt_dwarf_value low, high, list;
} pt_dwarf_extent;

struct pt_dwarf_unit {
    pt_dwarf_file *file;
    uint64_t off, end_off; /* in .debug_info */
    uint64_t root_off;     /* of its first entry */
    uint64_t abbrev_off;
    uint16_t version;
    uint8_t type; /* DW_UT_*; before version 5 compile */
    uint8_t addr_bytes, offset_bytes;
    bool is_searched; /* may hold code: a compilation unit or the skeleton of one */
    bool is_cxx, is_assembler, is_rust;
    bool lists_too_little; /* some of its addresses are known by its functions only */
    bool split_asked;
    bool has_dwo_id;
    bool has_line;
    uint64_t dwo_id;
    uint64_t line_off; /* in .debug_line */
    uint64_t low_addr; /* base of its ranges */
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t ranges_base;          /* DWARF 4 split units: of DW_AT_ranges in the split unit */
    const char *folder;            /* DW_AT_comp_dir, or NULL */
    const char *dwo_name;          /* or NULL */
    pt_dwarf_unit *split;          /* of a skeleton: the unit with its entries, or NULL */
    const pt_dwarf_unit *skeleton; /* the way back: addresses and lines are there */
    pt_dwarf_extent extent;
    uint32_t range_first, range_count; /* in pt_dwarf.ranges */
};

struct pt_dwarf_file {
    pt_dwarf_bytes sections[PT_DWARF_SECTIONS];
    pt_blob inflated[PT_DWARF_SECTIONS];
    uint64_t text_bytes[PT_DWARF_SECTIONS]; /* behind the last zero: strings before that end */
    bool swap;
    bool is_split; /* a .dwo or .dwp */
    pt_dwarf_file *supplement;
    struct {
        pt_dwarf_unit *items; /* ascending offsets */
        size_t count, cap;
    } units;
    struct {
        pt_dwarf_unit **items; /* of a split file: those with a dwo id, in its order */
        size_t count, cap;
    } by_id;
    pt_image_file image; /* of split files, which are ours */
};

/* ---- dwarf_section.c: the sections of a file ---- */

/* Finds the sections, and inflates compressed ones. elf need not stay. PT_ERR_DAMAGED or
 * PT_ERR_UNSUPPORTED when one of them cannot be inflated. */
pt_status pt_dwarf_file_init(pt_dwarf_file *file, const pt_elf *elf, pt_pool *pool,
                             pt_error *reterr);
void pt_dwarf_file_done(pt_dwarf_file *file);
/* Reads [off, end_off) of a section; nothing when that does not lie in it. */
pt_dwarf_cursor pt_dwarf_cursor_at(const pt_dwarf_file *file, pt_dwarf_section section,
                                   uint64_t off, uint64_t end_off);
/* The string at off, or NULL. */
const char *pt_dwarf_string_at(const pt_dwarf_file *file, pt_dwarf_section section, uint64_t off);

/* ---- dwarf_form.c: values of attributes ---- */

/* How many bytes a form takes in a unit's entries, or -1 when that differs from value to value. -2:
 * no form that is known. */
int pt_dwarf_form_bytes(const pt_dwarf_unit *unit, unsigned form);
/* Steps over a value whose size differs. */
void pt_dwarf_skip_form(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form);
pt_dwarf_value pt_dwarf_read_form(const pt_dwarf_unit *unit, pt_dwarf_cursor *c, unsigned form,
                                  int64_t implicit);
/* NULL when the value is no string that is there. */
const char *pt_dwarf_text_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value);
/* False when the value is no address that is there. */
bool pt_dwarf_addr_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value, uint64_t *ret_addr);
/* Entry i of the unit's addresses (.debug_addr). */
bool pt_dwarf_indexed_addr(const pt_dwarf_unit *unit, uint64_t i, uint64_t *ret_addr);
bool pt_dwarf_is_addr_form(unsigned form);

/* An entry: a place in the .debug_info of unit->file. */
typedef struct {
    const pt_dwarf_unit *unit; /* NULL: none */
    uint64_t off;
} pt_dwarf_entry;

/* The entry that a reference names; unit is NULL when there is no such place. */
pt_dwarf_entry pt_dwarf_entry_of(const pt_dwarf_unit *unit, const pt_dwarf_value *value);

/* ---- dwarf_abbrev.c: abbreviations, with what can be known of their entries in advance ---- */

typedef enum {
    PT_DWARF_OTHER,     /* nothing in it holds code, as far as compilers go */
    PT_DWARF_FUNCTION,  /* DW_TAG_subprogram with addresses */
    PT_DWARF_INLINED,   /* DW_TAG_inlined_subroutine */
    PT_DWARF_BLOCK,     /* lexical blocks and the like: belong to the function around them */
    PT_DWARF_NAMESPACE, /* and modules */
    PT_DWARF_TYPE,      /* a class: may hold functions */
    PT_DWARF_ABSTRACT,  /* DW_TAG_subprogram without addresses */
} pt_dwarf_kind;

typedef struct {
    uint16_t name, form;
    int8_t bytes; /* pt_dwarf_form_bytes */
    int64_t implicit;
} pt_dwarf_attribute;

typedef enum {
    PT_DWARF_SKIPPED, /* only there because its size differs */
    PT_DWARF_LOW_PC,
    PT_DWARF_HIGH_PC,
    PT_DWARF_RANGE_LIST,
    PT_DWARF_SIBLING,
} pt_dwarf_what;

/* One step over an entry: fixed_bytes forward, then a value. */
typedef struct {
    uint32_t fixed_bytes;
    uint16_t form;
    uint8_t what; /* pt_dwarf_what */
    int8_t bytes; /* of the value; pt_dwarf_form_bytes */
    uint32_t attribute;
} pt_dwarf_step;

typedef struct {
    uint64_t code;
    uint8_t kind; /* pt_dwarf_kind */
    bool has_children;
    bool has_sibling;
    uint16_t tag;
    uint16_t skip_count;    /* steps over values of differing size */
    uint16_t sibling_skips; /* of those that come before DW_AT_sibling */
    uint32_t skip_first;
    uint32_t tail_bytes;    /* after the last skip */
    uint32_t sibling_bytes; /* from the last skip before it to DW_AT_sibling */
    uint16_t sibling_form;
    uint16_t read_count; /* steps that stop at addresses as well: FUNCTION and INLINED */
    uint32_t read_first;
    uint32_t read_tail_bytes;
    uint32_t attribute_first, attribute_count;
} pt_dwarf_abbrev;

typedef struct {
    const pt_dwarf_file *file; /* whose, and where: NULL = empty */
    uint64_t off;
    uint16_t version;
    uint8_t addr_bytes, offset_bytes;
    bool is_dense; /* codes are 1, 2, 3, ... */
    struct {
        pt_dwarf_abbrev *items; /* ascending codes */
        size_t count, cap;
    } abbrevs;
    struct {
        pt_dwarf_attribute *items;
        size_t count, cap;
    } attributes;
    struct {
        pt_dwarf_step *items;
        size_t count, cap;
    } steps;
} pt_dwarf_abbrevs;

void pt_dwarf_abbrevs_done(pt_dwarf_abbrevs *table);
bool pt_dwarf_abbrevs_are_of(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit);
/* Fills the table for the unit. Returns the bytes it took. */
uint64_t pt_dwarf_abbrevs_read(pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit);
/* NULL when there is none of that code. */
const pt_dwarf_abbrev *pt_dwarf_abbrev_search(const pt_dwarf_abbrevs *table, uint64_t code);
static inline const pt_dwarf_abbrev *pt_dwarf_abbrev_of(const pt_dwarf_abbrevs *table,
                                                        uint64_t code)
{
    if (__builtin_expect(table->is_dense && code - 1 < table->abbrevs.count, 1))
        return &table->abbrevs.items[code - 1];
    return pt_dwarf_abbrev_search(table, code);
}

/* ---- dwarf_unit.c: headers of units, and what their first entries say ---- */

/* Lists the units of the file, with what their first entries say. budget is taken from as bytes are
 * looked at; at zero the list ends. */
void pt_dwarf_list_units(pt_dwarf_file *file, uint64_t *budget);
/* The unit of the file that holds the offset, or NULL. */
const pt_dwarf_unit *pt_dwarf_unit_at(const pt_dwarf_file *file, uint64_t off);
/* Where an entry is read. */
static inline pt_dwarf_cursor pt_dwarf_entry_cursor(const pt_dwarf_unit *unit, uint64_t off)
{
    return pt_dwarf_cursor_at(unit->file, PT_DWARF_INFO, off, unit->end_off);
}
static inline uint64_t pt_dwarf_off_of(const pt_dwarf_unit *unit, const pt_dwarf_cursor *c)
{
    return (uint64_t)(c->pos - unit->file->sections[PT_DWARF_INFO].data);
}

/* ---- dwarf_ranges.c: the addresses of an entry ---- */

/* Goes over ranges: init, then next until it is false. */
typedef struct {
    const pt_dwarf_unit *unit;
    pt_dwarf_cursor list;
    uint64_t addr, end_addr; /* the one range of an entry without a list */
    uint64_t base;
    uint64_t steps; /* entries of the list that were looked at, those without a range too */
    bool is_list, is_one;
} pt_dwarf_ranges;

void pt_dwarf_ranges_init(pt_dwarf_ranges *ranges, const pt_dwarf_unit *unit,
                          const pt_dwarf_extent *extent);
/* Ranges that are empty, or of code that the linker threw away, are given too. */
bool pt_dwarf_ranges_next(pt_dwarf_ranges *ranges, uint64_t *ret_addr, uint64_t *ret_end_addr);

/* ---- dwarf_split.c: units whose entries are in other files ---- */

typedef struct {
    pt_find_companion *find;
    void *find_context;
    const char *image_path;
    bool package_asked;
    pt_dwarf_file *package; /* or NULL */
    struct {
        pt_dwarf_file **items;
        size_t count, cap;
    } files;
    size_t missing_count;
} pt_dwarf_splits;

void pt_dwarf_splits_done(pt_dwarf_splits *splits);
/* Finds the split unit of a skeleton, once; unit->split stays NULL when there is none. */
void pt_dwarf_find_split(pt_dwarf_splits *splits, pt_dwarf_unit *unit, uint64_t *budget);

/* ---- dwarf_line.c: line tables ---- */

typedef struct {
    const char *name;
    uint64_t folder;
    const char *path; /* put together when it is first asked for, or NULL */
} pt_dwarf_line_file;

typedef struct {
    const pt_dwarf_file *file;
    uint64_t off;
    const char *unit_folder;
    uint16_t version;
    uint8_t addr_bytes, offset_bytes;
    uint8_t min_bytes, max_ops; /* of an instruction */
    uint8_t first_file;         /* before a row says otherwise: 1 */
    uint8_t line_range, opcode_base;
    int8_t line_base;
    uint8_t opcode_operands[256];
    pt_dwarf_cursor program;
    struct {
        const char **items;
        size_t count, cap;
    } folders;
    struct {
        pt_dwarf_line_file *items; /* by number; before version 5 number 0 is none */
        size_t count, cap;
    } files;
} pt_dwarf_line_table;

typedef struct {
    uint32_t file, line, column; /* file PT_NONE: no row holds the address */
} pt_dwarf_row;

/* Reads the header of the unit's line table; false when it has none that can be read. */
bool pt_dwarf_line_table_read(pt_dwarf_line_table *table, const pt_dwarf_unit *unit);
void pt_dwarf_line_table_done(pt_dwarf_line_table *table);
/* Runs the program: rows[i] is filled for each of the ascending addresses that a row holds. */
void pt_dwarf_run_lines(const pt_dwarf_line_table *table, const pt_code_range *code,
                        size_t code_count, const uint64_t *addrs, size_t count, pt_dwarf_row *rows);

/* ---- dwarf.c: what all tasks share ---- */

typedef struct {
    uint64_t addr, end_addr;
} pt_dwarf_range;

struct pt_dwarf {
    pt_dwarf_file file, supplement;
    pt_code_range *code;
    size_t code_count;
    struct {
        pt_dwarf_range *items;
        size_t count, cap;
    } ranges;
    pt_dwarf_splits splits;
    struct pt_dwarf_worker **workers;
    unsigned worker_count;
    bool as_written;            /* pt_object_keep_as_written */
    bool keeps_clones;          /* pt_object_keep_clones */
    _Atomic uint64_t work_left; /* in the call under way: bytes and steps */
};

/* Code that the linker threw away keeps its description, at address 0 or thereabouts. */
static inline bool pt_dwarf_is_code(const pt_code_range *code, size_t count, uint64_t addr)
{
    for (size_t i = 0; i < count; i++)
        if (addr >= code[i].addr && addr < code[i].end_addr) return true;
    return count == 0;
}

/* ---- dwarf_worker.c: what a thread keeps ---- */

/* A function or an inlined call that holds some of the wanted addresses. */
typedef struct {
    uint64_t off;         /* of its entry, in the unit being walked */
    uint32_t parent;      /* the node that it is inlined into, or PT_NONE */
    uint32_t first, last; /* of the wanted addresses that it holds */
    uint32_t function;    /* filled when it is first named; PT_NONE before */
    const char *call_file;
    uint32_t call_line, call_column;
} pt_dwarf_node;

/* What the debug information says of a function; strings may be NULL. */
typedef struct {
    pt_dwarf_entry entry;    /* it was named from */
    pt_dwarf_entry declared; /* the end of its specifications and abstract origins */
    const char *name, *linkage_name, *declared_file;
    uint32_t declared_line;
} pt_dwarf_function;

/* An entry around another. */
typedef struct {
    uint64_t off;
    uint8_t kind; /* pt_dwarf_kind */
} pt_dwarf_ancestor;

enum { PT_DWARF_TABLES = 8 };

typedef struct pt_dwarf_worker {
    pt_dwarf *dwarf;
    pt_dwarf_abbrevs tables[PT_DWARF_TABLES];
    unsigned next_table;
    struct {
        char **items;
        size_t count, cap;
    } chunks; /* strings; live as long as the pt_dwarf */
    size_t chunk_used, chunk_bytes;
    struct {
        pt_dwarf_line_table **items;
        size_t count, cap;
    } line_tables;
    pt_index line_index; /* of line_tables */
    size_t files_kept;   /* files and folders in them */
    struct {
        pt_dwarf_node *items;
        size_t count, cap;
    } nodes;
    struct {
        uint32_t *items;
        size_t count, cap;
    } levels; /* of the walk: the node around */
    struct {
        uint64_t *items; /* ascending */
        size_t count, cap;
        uint64_t seen;             /* entries that might have been kept */
        const pt_dwarf_unit *unit; /* that was walked last */
    } places;                      /* of entries right below the unit's first */
    struct {
        pt_dwarf_ancestor *items;
        size_t count, cap;
    } ancestors;
    struct {
        pt_dwarf_function *items;
        size_t count, cap;
    } functions;
    pt_index function_index; /* of functions, by entry */
} pt_dwarf_worker;

pt_dwarf_worker *pt_dwarf_worker_new(pt_dwarf *dwarf);
void pt_dwarf_worker_free(pt_dwarf_worker *worker);
/* Forgets what was kept of units, not strings. */
void pt_dwarf_worker_clear(pt_dwarf_worker *worker);
/* Forgets what belongs to one unit alone: nodes and functions. */
void pt_dwarf_worker_next_unit(pt_dwarf_worker *worker);
/* The unit's abbreviations; valid until PT_DWARF_TABLES others were asked for. */
const pt_dwarf_abbrevs *pt_dwarf_abbrevs_for(pt_dwarf_worker *worker, const pt_dwarf_unit *unit);
/* Takes from what is left of the work; false when nothing is. */
bool pt_dwarf_spend(pt_dwarf *dwarf, uint64_t amount);
/* Room for size_bytes of a string. */
char *pt_dwarf_string_room(pt_dwarf_worker *worker, size_t size_bytes);
/* The unit's line table, or NULL. */
pt_dwarf_line_table *pt_dwarf_line_table_for(pt_dwarf_worker *worker, const pt_dwarf_unit *unit);
/* File number i of a table: joined with its folders and tidy; "" when there is none. */
const char *pt_dwarf_path(pt_dwarf_worker *worker, pt_dwarf_line_table *table, uint64_t i);

/* ---- dwarf_walk.c: from addresses to functions and inlined calls ---- */

/* How far a walk goes into entries that hold no wanted address, but may have functions inside:
 *
 * QUICK     nowhere; namespaces are entered only when they cannot be jumped over (gcc puts the code
 *           of their functions outside, with a reference to what is declared there)
 * LOCAL     functions, and the types in them: lambdas, local classes
 * THOROUGH  everything */
typedef enum { PT_DWARF_QUICK, PT_DWARF_LOCAL, PT_DWARF_THOROUGH } pt_dwarf_depth;

/* Sets node_of[i] to the innermost node that holds addrs[i] (ascending). Returns whether a deeper
 * walk would see more. */
bool pt_dwarf_walk(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint64_t *addrs,
                   size_t count, uint32_t *node_of, pt_dwarf_depth depth);
/* Calls add for each range of each function of the unit, without regard to addresses. Returns the
 * entries of lists that it looked at, no more than most and one list. */
typedef void pt_dwarf_add_range(void *context, uint64_t addr, uint64_t end_addr);
uint64_t pt_dwarf_walk_ranges(const pt_dwarf_abbrevs *table, const pt_dwarf_unit *unit,
                              uint64_t most, pt_dwarf_add_range *add, void *context);

/* Finds the entries around those at offs (ascending), from the one below the unit's first to the
 * innermost, and calls found for each. */
typedef void pt_dwarf_around(void *context, size_t index, const pt_dwarf_ancestor *around,
                             size_t depth);
void pt_dwarf_find_around(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint64_t *offs,
                          size_t count, pt_dwarf_around *found, void *context);

/* ---- dwarf_name.c: what functions are called ---- */

/* Fills function and call place of each node in used (ids of worker->nodes). */
void pt_dwarf_name_nodes(pt_dwarf_worker *worker, const pt_dwarf_unit *unit, const uint32_t *used,
                         size_t count);

#endif
