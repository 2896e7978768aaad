/* code_names.c: entries, ranges and look-up; readers of the two text formats. See code_names.h. */
#include "object/code_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "object/code_names_int.h"

#define NAME_BYTES_MAX 16384
#define PAGE_BYTES     4096
#define GAP_BYTES      (4u << 20)

void pt_code_names_init(pt_code_names *names)
{
    *names = (pt_code_names){.text = PT_BUF_INIT};
    pt_put_u8(&names->text, '\0');
}

void pt_code_names_done(pt_code_names *names)
{
    PT_FREE_ALL(names->entries.items, names->lines.items, names->ranges.items);
    pt_buf_done(&names->text);
    *names = (pt_code_names){.text = PT_BUF_INIT};
}

uint32_t pt_code_text(pt_code_names *names, const char *text, size_t length)
{
    if (length > NAME_BYTES_MAX) length = NAME_BYTES_MAX;
    if (length == 0 || names->text.size + length + 1 > UINT32_MAX) return 0;
    const uint32_t at = (uint32_t)names->text.size;
    pt_put(&names->text, text, length);
    pt_put_u8(&names->text, '\0');
    return at;
}

void pt_code_add(pt_code_names *names, uint64_t addr, uint64_t end_addr, uint32_t name,
                 uint32_t module)
{
    if (end_addr <= addr || names->entries.count >= UINT32_MAX - 1) return;
    PT_PUSH(names->entries,
            (pt_code_entry){.addr = addr, .end_addr = end_addr, .name = name, .module = module});
}

/* ---- ranges ---- */

static int by_addr(const void *x, const void *y, void *context)
{
    const pt_code_entry *entries = context;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (entries[a].addr != entries[b].addr) return entries[a].addr < entries[b].addr ? -1 : 1;
    return (a > b) - (a < b);
}

/* A heap of the entries that cover the current address; the latest in the file is on top. */
typedef struct {
    uint32_t *items;
    size_t count;
} heap;

static void heap_push(heap *h, uint32_t entry)
{
    size_t at = h->count++;
    for (; at > 0 && h->items[(at - 1) / 2] < entry; at = (at - 1) / 2)
        h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = entry;
}

static void heap_pop(heap *h)
{
    const uint32_t last = h->items[--h->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && h->items[child + 1] > h->items[child]) child++;
        if (h->items[child] <= last) break;
        h->items[at] = h->items[child];
        at = child;
    }
    if (h->count > 0) h->items[at] = last;
}

static void add_range(pt_code_names *names, uint64_t addr, uint64_t end_addr, uint32_t entry)
{
    if (addr >= end_addr) return;
    pt_code_span *last =
        names->ranges.count > 0 ? &names->ranges.items[names->ranges.count - 1] : NULL;
    if (last != NULL && last->entry == entry && last->end_addr == addr) {
        last->end_addr = end_addr;
        return;
    }
    PT_PUSH(names->ranges, (pt_code_span){addr, end_addr, entry});
}

void pt_code_lay(pt_code_names *names)
{
    const size_t count = names->entries.count;
    const pt_code_entry *entries = names->entries.items;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    PT_FREE uint32_t *memory = pt_alloc(count + 1, sizeof *memory);
    heap open = {.items = memory};
    qsort_r(order, count, sizeof *order, by_addr, names->entries.items);
    uint64_t at = 0;
    for (size_t next = 0; next < count || open.count > 0;) {
        /* The top entry covers the addresses up to its end, or to the start of the next entry. */
        while (open.count > 0 && entries[open.items[0]].end_addr <= at)
            heap_pop(&open);
        if (open.count == 0 && next == count) break;
        const uint64_t begin = next < count ? entries[order[next]].addr : UINT64_MAX;
        if (open.count == 0) {
            at = begin;
        } else {
            const uint32_t top = open.items[0];
            const uint64_t end = entries[top].end_addr < begin ? entries[top].end_addr : begin;
            add_range(names, at, end, top);
            at = end;
        }
        for (; next < count && entries[order[next]].addr == at; next++)
            heap_push(&open, order[next]);
    }
}

/* ---- finding ---- */

static const char *text_of(const pt_code_names *names, uint32_t at)
{
    return (const char *)names->text.data + at;
}

static void find_line(const pt_code_names *names, const pt_code_entry *e, uint64_t addr,
                      pt_code_answer *answer)
{
    const pt_code_line *lines = names->lines.items + e->line_first;
    const size_t after = PT_FIRST_AFTER(lines, e->line_count, addr, addr);
    if (after == 0) return;
    answer->file = text_of(names, lines[after - 1].file);
    answer->line = lines[after - 1].line;
}

bool pt_code_names_find(const pt_code_names *names, uint64_t addr, pt_code_answer *ret_answer)
{
    const size_t after = PT_FIRST_AFTER(names->ranges.items, names->ranges.count, addr, addr);
    if (after == 0 || addr >= names->ranges.items[after - 1].end_addr) return false;
    const pt_code_entry *e = &names->entries.items[names->ranges.items[after - 1].entry];
    *ret_answer = (pt_code_answer){.name = text_of(names, e->name),
                                   .module = text_of(names, e->module),
                                   .file = "",
                                   .addr = e->addr,
                                   .end_addr = e->end_addr};
    if (e->line_count > 0) find_line(names, e, addr, ret_answer);
    return true;
}

/* ---- text ---- */

/* Reads the next line of [*at, end), without its newline. False at the end. */
static bool next_line(const char **at, const char *end, const char **ret_line, size_t *ret_length)
{
    if (*at >= end) return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *stop = newline != NULL ? newline : end;
    *ret_line = *at;
    *ret_length = (size_t)(stop - *at);
    *at = newline != NULL ? newline + 1 : end;
    return true;
}

/* Reads a hexadecimal number, with 0x or without, and the white space after it. */
static bool take_hex(const char **at, const char *end, uint64_t *ret_value)
{
    const char *c = *at;
    uint64_t value = 0;
    if (end - c > 2 && c[0] == '0' && (c[1] == 'x' || c[1] == 'X')) c += 2;
    const char *digits = c;
    for (; c < end; c++) {
        const int digit = pt_hex_digit(*c);
        if (digit < 0) break;
        if (value >> 60 != 0) return false;
        value = value << 4 | (uint64_t)digit;
    }
    if (c == digits || (c < end && *c != ' ' && *c != '\t')) return false;
    while (c < end && (*c == ' ' || *c == '\t'))
        c++;
    *at = c;
    *ret_value = value;
    return true;
}

/* ---- the kernel ---- */

typedef struct {
    uint64_t addr;
    uint32_t name, module;
    char type;
} kernel_symbol;

typedef PT_VECTOR(kernel_symbol) kernel_symbols;

typedef struct {
    uint64_t addr, end_addr;
} extent;

static bool is_code(char type)
{
    return strchr("tTwW", type) != NULL;
}

static void take_kernel_line(pt_code_names *names, kernel_symbols *list, const char *line,
                             size_t length)
{
    const char *at = line, *end = line + length;
    kernel_symbol s = {0};
    if (!take_hex(&at, end, &s.addr) || end - at < 3 || (at[1] != ' ' && at[1] != '\t')) {
        names->damaged_count++;
        return;
    }
    s.type = at[0];
    at += 2;
    const char *name_end = at;
    while (name_end < end && *name_end != '\t' && *name_end != ' ')
        name_end++;
    const char *open = memchr(name_end, '[', (size_t)(end - name_end));
    const char *close = open != NULL ? memchr(open, ']', (size_t)(end - open)) : NULL;
    if (s.addr == 0) {
        names->hidden_count++;
        return;
    }
    if (is_code(s.type)) {
        if (pt_equals_n(at, (size_t)(name_end - at), "_stext")) names->text_addr = s.addr;
        s.name = pt_code_text(names, at, (size_t)(name_end - at));
        /* Symbols of one module follow each other: the module's name is stored once. */
        const kernel_symbol *last = list->count > 0 ? &list->items[list->count - 1] : NULL;
        const size_t module_length = close != NULL ? (size_t)(close - open - 1) : 0;
        const bool is_same = last != NULL && last->module != 0 && module_length > 0 &&
                             strlen(text_of(names, last->module)) == module_length &&
                             memcmp(text_of(names, last->module), open + 1, module_length) == 0;
        s.module = module_length == 0 ? 0
                   : is_same          ? last->module
                                      : pt_code_text(names, open + 1, module_length);
    }
    PT_PUSH(*list, s);
}

static unsigned count_underscores(const char *name)
{
    return (unsigned)strspn(name, "_");
}

static unsigned rank_of(char type)
{
    return type == 'T' ? 3 : type == 'W' || type == 'w' ? 2 : type == 't' ? 1 : 0;
}

static int by_preference(const void *x, const void *y, void *context)
{
    const kernel_symbol *a = x, *b = y;
    const pt_code_names *names = context;
    if (a->addr != b->addr) return a->addr < b->addr ? -1 : 1;
    if (rank_of(a->type) != rank_of(b->type)) return rank_of(a->type) > rank_of(b->type) ? -1 : 1;
    const char *p = text_of(names, a->name), *q = text_of(names, b->name);
    if (count_underscores(p) != count_underscores(q))
        return count_underscores(p) < count_underscores(q) ? -1 : 1;
    return strcmp(p, q);
}

PT_ORDER(by_extent, extent, PT_UP(addr));

/* Reads lines "NAME SIZE USES USERS STATE ADDRESS ..." (proc(5)). The caller frees the result. */
static extent *read_modules(const char *text, size_t size_bytes, size_t *ret_count)
{
    extent *list = NULL;
    size_t count = 0, cap = 0, length;
    const char *at = text, *line;
    while (at != NULL && next_line(&at, text + size_bytes, &line, &length)) {
        PT_FREE char *copy = pt_strndup(line, length);
        char *state = NULL, *word = strtok_r(copy, " ", &state), *size = NULL;
        for (int i = 1; word != NULL && i < 6; i++) {
            word = strtok_r(NULL, " ", &state);
            if (i == 1) size = word;
        }
        const uint64_t addr = word != NULL ? strtoull(word, NULL, 16) : 0;
        const uint64_t bytes = size != NULL ? strtoull(size, NULL, 10) : 0;
        if (addr == 0 || bytes == 0 || bytes > UINT64_MAX - addr) continue;
        list = pt_grow(list, &cap, count + 1, sizeof *list);
        list[count++] = (extent){addr, addr + bytes};
    }
    if (count > 0) qsort(list, count, sizeof *list, by_extent);
    *ret_count = count;
    return list;
}

/* The upper limit of a symbol's end: the end of its module, or UINT64_MAX if the symbol is in no
 * module. */
static uint64_t module_end(const extent *modules, size_t count, uint64_t addr)
{
    const size_t after = PT_FIRST_AFTER(modules, count, addr, addr);
    if (after > 0 && addr < modules[after - 1].end_addr) return modules[after - 1].end_addr;
    return UINT64_MAX;
}

/* The end of the page of addr: the limit of the kernel's last symbol, as in perf. */
static uint64_t page_end(uint64_t addr)
{
    const uint64_t end = (addr | (PAGE_BYTES - 1)) + 1;
    return end > addr ? end : UINT64_MAX;
}

/* Adds the symbols; each ends at the next symbol of any kind. */
static void add_kernel_symbols(pt_code_names *names, const kernel_symbols *list,
                               const extent *modules, size_t module_count)
{
    for (size_t i = 0, next; i < list->count; i = next) {
        const kernel_symbol *s = &list->items[i];
        for (next = i + 1; next < list->count && list->items[next].addr == s->addr; next++) {
        }
        if (!is_code(s->type)) continue;
        uint64_t end = next < list->count ? list->items[next].addr : page_end(s->addr);
        const uint64_t last = module_end(modules, module_count, s->addr);
        if (last < end) end = last;
        if (end - s->addr > GAP_BYTES) end = page_end(s->addr); /* no kernel function is so large */
        pt_code_add(names, s->addr, end, s->name, s->module);
    }
}

pt_status pt_kallsyms_read(const char *text, size_t size_bytes, const char *modules,
                           size_t modules_bytes, pt_code_names *ret_names, pt_error *reterr)
{
    pt_code_names names;
    kernel_symbols list = {0};
    const char *at = text, *line;
    size_t length, module_count;
    pt_code_names_init(&names);
    while (at != NULL && next_line(&at, text + size_bytes, &line, &length))
        take_kernel_line(&names, &list, line, length);
    if (list.count > 0) qsort_r(list.items, list.count, sizeof *list.items, by_preference, &names);
    PT_FREE extent *extents = read_modules(modules, modules_bytes, &module_count);
    add_kernel_symbols(&names, &list, extents, module_count);
    free(list.items);
    pt_code_lay(&names);
    if (names.ranges.count > 0) {
        *ret_names = names;
        return PT_OK;
    }
    const bool is_hidden = names.hidden_count > 0;
    pt_code_names_done(&names);
    *ret_names = (pt_code_names){0};
    return is_hidden ? pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                                    "the kernel hides its addresses; run as root or with "
                                    "CAP_SYSLOG, or once: sudo sysctl kernel.kptr_restrict=0")
                     : pt_error_set(reterr, PT_ERR_FORMAT, "has no kernel symbols");
}

/* ---- perf-PID.map ---- */

pt_status pt_perf_map_read(const char *text, size_t size_bytes, pt_code_names *ret_names,
                           pt_error *reterr)
{
    pt_code_names names;
    const char *at = text, *line;
    size_t length;
    pt_code_names_init(&names);
    while (at != NULL && next_line(&at, text + size_bytes, &line, &length)) {
        const char *c = line, *end = line + length;
        uint64_t addr, bytes;
        if (end > c && end[-1] == '\r') end--;
        if (!take_hex(&c, end, &addr) || !take_hex(&c, end, &bytes) || c == end ||
            bytes > UINT64_MAX - addr) {
            names.damaged_count += end > line;
            continue;
        }
        pt_code_add(&names, addr, addr + bytes, pt_code_text(&names, c, (size_t)(end - c)), 0);
    }
    pt_code_lay(&names);
    if (names.ranges.count > 0) {
        *ret_names = names;
        return PT_OK;
    }
    pt_code_names_done(&names);
    *ret_names = (pt_code_names){0};
    return pt_error_set(reterr, PT_ERR_FORMAT, "has no lines of the form START SIZE NAME");
}
