/* jitdump.c: reads the dump that a just-in-time compiler writes for perf
 * (tools/perf/Documentation/jitdump-specification.txt of the kernel, version 1).
 *
 *   header   | magic | version | size | machine | pad | pid | time | flags |
 *   record   | id | size | time | ... |                                      repeated
 *     load   | pid | tid | vma | address | bytes | index | name 0 | code |
 *     move   | pid | tid | vma | old address | new address | bytes | index |
 *     debug  | address | count | (address | line | discriminator | file 0) ... |   before its load
 *
 * Numbers are in the writer's byte order, which the magic shows. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "object/code_names.h"
#include "object/code_names_int.h"

#define MAGIC        UINT32_C(0x4a695444)
#define HEADER_BYTES 40
#define RECORD_BYTES 16
#define V8_PADDING   UINT32_C(0xdeadbeef)

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_DEBUG = 2, RECORD_CLOSE = 3 };

typedef struct {
    const uint8_t *at, *end;
    bool is_swapped, is_short; /* is_short: a read went past the end; sticky */
} cursor;

static uint64_t take_number(cursor *c, unsigned width)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < width) {
        c->is_short = true;
        c->at = c->end;
        return 0;
    }
    for (unsigned i = 0; i < width; i++) {
        const unsigned from = c->is_swapped ? i : width - 1 - i; /* the most significant first */
        value = value << 8 | c->at[from];
    }
    c->at += width;
    return value;
}

static const char *take_text(cursor *c, size_t *ret_length)
{
    const uint8_t *nul = c->at < c->end ? memchr(c->at, '\0', (size_t)(c->end - c->at)) : NULL;
    const char *text = (const char *)c->at;
    if (nul == NULL) {
        c->is_short = true;
        c->at = c->end;
        *ret_length = 0;
        return "";
    }
    *ret_length = (size_t)(nul - c->at);
    c->at = nul + 1;
    return text;
}

typedef struct {
    pt_code_names names;
    pt_index by_index;  /* code index -> its entries */
    uint64_t *index_of; /* code index of each entry */
    size_t index_cap;
    uint64_t line_shift; /* subtracted from the addresses of lines */
    uint64_t debug_addr; /* address of lines whose load record is still to come */
    uint32_t debug_first, debug_count;
} reading;

PT_ORDER(by_addr, pt_code_line, PT_UP(addr));

static void add_entry(reading *r, uint64_t addr, uint64_t bytes, uint64_t index, uint32_t name,
                      uint32_t line_first, uint32_t line_count)
{
    const size_t id = r->names.entries.count;
    if (bytes > UINT64_MAX - addr) return;
    pt_code_add(&r->names, addr, addr + bytes, name, 0);
    if (r->names.entries.count == id) return;
    r->names.entries.items[id].line_first = line_first;
    r->names.entries.items[id].line_count = line_count;
    r->index_of = pt_grow(r->index_of, &r->index_cap, id + 1, sizeof *r->index_of);
    r->index_of[id] = index;
    pt_index_add(&r->by_index, pt_hash_mix(index, 3), (uint32_t)id);
}

static void read_load(reading *r, cursor *c)
{
    size_t length;
    take_number(c, 8); /* pid, tid */
    take_number(c, 8); /* vma */
    const uint64_t addr = take_number(c, 8), bytes = take_number(c, 8), index = take_number(c, 8);
    const char *name = take_text(c, &length);
    if (c->is_short) {
        r->names.damaged_count++;
        return;
    }
    const bool has_lines = r->debug_count > 0 && r->debug_addr == addr;
    add_entry(r, addr, bytes, index, pt_code_text(&r->names, name, length),
              has_lines ? r->debug_first : 0, has_lines ? r->debug_count : 0);
    r->debug_count = 0;
}

/* The entry of that code index that was loaded last, or PT_NONE. The search stops after 4096
 * entries: real functions move a few times. */
static uint32_t latest_of(const reading *r, uint64_t index)
{
    uint32_t latest = PT_NONE, steps = 0;
    PT_INDEX_EACH (&r->by_index, pt_hash_mix(index, 3), id) {
        if (steps++ == 4096) break;
        if (r->index_of[id] == index && (latest == PT_NONE || id > latest)) latest = id;
    }
    return latest;
}

static void read_move(reading *r, cursor *c)
{
    take_number(c, 8); /* pid, tid */
    take_number(c, 8); /* vma */
    const uint64_t from = take_number(c, 8), to = take_number(c, 8), bytes = take_number(c, 8),
                   index = take_number(c, 8);
    const uint32_t old = c->is_short ? PT_NONE : latest_of(r, index);
    if (old == PT_NONE) {
        r->names.damaged_count++;
        return;
    }
    const pt_code_entry e = r->names.entries.items[old];
    const uint32_t first = (uint32_t)r->names.lines.count;
    uint32_t count = 0;
    for (; count < e.line_count && e.addr == from; count++) {
        PT_GROW(r->names.lines, r->names.lines.count + 1);
        pt_code_line line = r->names.lines.items[e.line_first + count];
        line.addr += to - from;
        r->names.lines.items[r->names.lines.count++] = line;
    }
    add_entry(r, to, bytes, index, e.name, first, count);
}

/* V8 may write the content of a string as a file name; such names have control characters. */
static bool is_file_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) return false;
    return length > 0;
}

/* Reads lines. They stay in the table whether or not their load follows. The file name "\xff"
 * stands for the file of the previous line. A record with an invalid name is dropped, since the
 * part after that name is misplaced. */
static void read_debug(reading *r, cursor *c)
{
    r->debug_addr = take_number(c, 8);
    const uint64_t count = take_number(c, 8);
    uint32_t file = 0;
    r->debug_first = (uint32_t)r->names.lines.count;
    r->debug_count = 0;
    for (uint64_t i = 0; i < count && !c->is_short; i++) {
        size_t length;
        const uint64_t addr = take_number(c, 8);
        const uint32_t line = (uint32_t)take_number(c, 4);
        take_number(c, 4); /* discriminator, or column */
        const char *name = take_text(c, &length);
        if (c->is_short || r->names.lines.count >= UINT32_MAX - 1) break;
        if (!is_file_name(name, length)) {
            r->names.lines.count = r->debug_first;
            r->debug_count = 0;
            break;
        }
        if (length != 1 || (unsigned char)name[0] != 0xff)
            file = pt_code_text(&r->names, name, length);
        PT_PUSH(r->names.lines, (pt_code_line){addr - r->line_shift, file, line});
        r->debug_count++;
    }
    if (c->is_short) r->names.damaged_count++;
    if (r->debug_count > 0)
        qsort(r->names.lines.items + r->debug_first, r->debug_count, sizeof(pt_code_line), by_addr);
}

static void read_records(reading *r, cursor *file)
{
    while ((size_t)(file->end - file->at) >= RECORD_BYTES) {
        const uint8_t *start = file->at;
        const uint32_t id = (uint32_t)take_number(file, 4),
                       size_bytes = (uint32_t)take_number(file, 4);
        take_number(file, 8); /* time */
        if (size_bytes < RECORD_BYTES || size_bytes > (size_t)(file->end - start)) {
            r->names.damaged_count++; /* the writer was killed while writing */
            break;
        }
        cursor record = {file->at, start + size_bytes, file->is_swapped, false};
        file->at = start + size_bytes;
        if (id == RECORD_CLOSE) break;
        if (id == RECORD_LOAD) read_load(r, &record);
        if (id == RECORD_MOVE) read_move(r, &record);
        if (id == RECORD_DEBUG) read_debug(r, &record);
    }
}

pt_status pt_jitdump_read(const void *bytes, size_t size_bytes, pt_code_names *ret_names,
                          pt_error *reterr)
{
    const uint8_t *start = bytes;
    cursor c = {.at = start, .end = start + size_bytes};
    if (size_bytes >= HEADER_BYTES && take_number(&c, 4) != MAGIC) {
        c = (cursor){.at = start, .end = start + size_bytes, .is_swapped = true};
        c.is_short = take_number(&c, 4) != MAGIC;
    }
    if (size_bytes < HEADER_BYTES || c.is_short) {
        *ret_names = (pt_code_names){0};
        return pt_error_set(reterr, PT_ERR_FORMAT, "is not a dump of a just-in-time compiler");
    }
    const uint32_t version = (uint32_t)take_number(&c, 4),
                   header_bytes = (uint32_t)take_number(&c, 4);
    if (version != 1 || header_bytes < HEADER_BYTES || header_bytes > size_bytes) {
        *ret_names = (pt_code_names){0};
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "is a jitdump of version %u", version);
    }
    take_number(&c, 4); /* machine */
    /* V8 is recognised by its padding. V8 adds the size of an ELF header to the addresses of lines,
     * since perf makes an ELF file of each function. */
    reading r = {.line_shift = take_number(&c, 4) == V8_PADDING ? sizeof(Elf64_Ehdr) : 0};
    pt_code_names_init(&r.names);
    pt_index_init(&r.by_index);
    c.at = start + header_bytes;
    read_records(&r, &c);
    pt_index_done(&r.by_index);
    free(r.index_of);
    pt_code_lay(&r.names);
    *ret_names = r.names;
    return PT_OK;
}
