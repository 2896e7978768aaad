/* listen_symbols.c: names for addresses of this process, for /pprof/symbol.
 *
 *   addresses, sorted -> the line of /proc/self/maps that holds them -> the file's symbol table
 *                     -> for each symbol the addresses that it covers
 *
 * Files are read, not mapped: a file that is cut while it is mapped would end the host. Only a
 * file's headers and symbols are read. They are read into reserved memory of the file's size, each
 * at its offset in the file; the parts that are not read cost no memory. The loader is not used: a
 * thread of the host may hold the loader's lock and wait for a thread of the library. A file that
 * was replaced since it was mapped has another inode, and is not read. */
#include "agent/agent.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/plain/ascending.h"
#include "elf/image.h"
#include "process/maps.h"

enum {
    NAME_MAX_BYTES = 4096,
    MAPS_MAX_BYTES = 4 << 20,
    FILE_MAX_BYTES = 1 << 30, /* of what is read of one file */
    ADDRESSES_MAX = 1 << 17,  /* 1 MiB holds no more */
};

typedef struct {
    uint64_t address;
    uint64_t linked;  /* the address in the file as linked; UINT64_MAX = not in the present file */
    uint64_t symbol;  /* where its symbol begins */
    const char *name; /* in names */
} wanted;

typedef struct {
    wanted *items;
    size_t count;
    char *names; /* texts, terminated by 0, one after the other */
    size_t names_bytes, names_cap;
} lookup;

void pt_agent_unmap(void *at, size_t bytes)
{
    if (at != NULL) munmap(at, bytes);
}

/* ---- addresses ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    const int low = c | 0x20;
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Parses "0xA+0xB"; any text may separate the numbers. */
static size_t parse_addresses(const char *text, wanted *items)
{
    size_t count = 0;
    while (*text != '\0' && count < ADDRESSES_MAX) {
        const bool prefix = text[0] == '0' && (text[1] | 0x20) == 'x' && hex_digit(text[2]) >= 0;
        if (!prefix) {
            text++;
            continue;
        }
        uint64_t value = 0;
        for (text += 2; hex_digit(*text) >= 0; text++)
            value = value << 4 | (uint64_t)hex_digit(*text);
        items[count++] = (wanted){.address = value};
    }
    return count;
}

/* Heapsort: libc's qsort may call malloc. */
static void sift_down(wanted *items, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && items[child].address < items[child + 1].address) child++;
        if (items[root].address >= items[child].address) return;
        const wanted moving = items[root];
        items[root] = items[child];
        items[child] = moving;
    }
}

static void sort_wanted(wanted *items, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(items, i, count);
    for (size_t end = count; end-- > 1;) {
        const wanted largest = items[0];
        items[0] = items[end];
        items[end] = largest;
        sift_down(items, 0, end);
    }
}

/* The index of the first item at or above the address. */
static size_t first_from(const lookup *l, uint64_t address)
{
    return PT_FIRST_FROM(l->items, l->count, address, address);
}

/* ---- a file's symbols ---- */

typedef struct {
    int fd;
    uint8_t *bytes;
    uint64_t size, got;
    pt_elf elf;
} image;

static bool read_range(image *m, uint64_t from, uint64_t size)
{
    if (from > m->size || size > m->size - from || size > FILE_MAX_BYTES - m->got) return false;
    m->got += size;
    while (size > 0) {
        const ssize_t n = pread(m->fd, m->bytes + from, size, (off_t)from);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

static bool read_section(image *m, uint32_t i, pt_elf_section *ret)
{
    return pt_elf_section_at(&m->elf, i, ret) && ret->type != SHT_NOBITS &&
           read_range(m, ret->off, ret->size_bytes);
}

/* Reads the headers, then the symbol table of this type and its strings. Returns false if the file
 * has no such table. */
static bool read_table(image *m, uint32_t type, pt_elf_symbols *ret_symbols)
{
    for (uint32_t i = 0; i < m->elf.section_count; i++) {
        pt_elf_section table, strings;
        if (!pt_elf_section_at(&m->elf, i, &table) || table.type != type) continue;
        return read_section(m, i, &table) && read_section(m, table.link, &strings) &&
               pt_elf_symbols_open(&m->elf, type, ret_symbols);
    }
    return false;
}

static bool open_image(image *m, const char *path, uint64_t inode, uint64_t device)
{
    enum { HEAD_BYTES = 4096 };
    struct stat st;
    *m = (image){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (m->fd < 0) return false;
    if (pt_libc_fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != inode ||
        (uint64_t)st.st_dev != device || st.st_size < (off_t)sizeof(Elf32_Ehdr))
        return false;
    m->size = (uint64_t)st.st_size;
    void *const at = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    m->bytes = at;
    if (!read_range(m, 0, m->size < HEAD_BYTES ? m->size : HEAD_BYTES) ||
        pt_elf_open(m->bytes, m->size, &m->elf) != PT_ELF_OK)
        return false;
    return read_range(m, m->elf.sections_off,
                      (uint64_t)m->elf.section_stride * m->elf.section_count) &&
           read_range(m, m->elf.segments_off,
                      (uint64_t)m->elf.segment_stride * m->elf.segment_count) &&
           pt_elf_open(m->bytes, m->size, &m->elf) == PT_ELF_OK;
}

static void close_image(image *m)
{
    if (m->bytes != NULL) munmap(m->bytes, m->size);
    if (m->fd >= 0) close(m->fd);
}

/* ---- naming ---- */

static const char *keep_name(lookup *l, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || length >= NAME_MAX_BYTES || length + 1 > l->names_cap - l->names_bytes)
        return NULL;
    char *const at = l->names + l->names_bytes;
    for (size_t i = 0; i < length; i++)
        at[i] = (unsigned char)name[i] < ' ' ? '?' : name[i];
    at[length] = '\0';
    l->names_bytes += length + 1;
    return at;
}

/* Gives the symbol's name to those of items [first, limit) that the symbol covers, except to an
 * item that has the name of a symbol that begins nearer to it. Within one mapping `linked` ascends
 * with the address. */
static void take_symbol(lookup *l, size_t first, size_t limit, const pt_elf_symbol *s)
{
    const uint64_t size = s->size_bytes > 0 ? s->size_bytes : 1;
    size_t i = first + PT_FIRST_FROM(l->items + first, limit - first, linked, s->value);
    const char *name = NULL;
    for (; i < limit && l->items[i].linked - s->value < size; i++) {
        wanted *const w = &l->items[i];
        if (w->linked == UINT64_MAX || (w->name != NULL && w->symbol >= s->value)) continue;
        if (name == NULL) name = keep_name(l, s->name);
        if (name == NULL) return;
        w->name = name;
        w->symbol = s->value;
    }
}

static void name_mapping(lookup *l, const pt_maps_line *row)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    const size_t first = first_from(l, row->start), limit = first_from(l, row->limit);
    image m;
    if (first == limit || row->inode == 0) return;
    if (open_image(&m, row->path, row->inode, makedev(row->major, row->minor))) {
        for (size_t i = first; i < limit; i++) {
            if (!pt_elf_addr_of_mapped(&m.elf, row->start, row->limit, row->file_offset,
                                       l->items[i].address, &l->items[i].linked))
                l->items[i].linked = UINT64_MAX;
        }
        pt_elf_symbols symbols;
        for (size_t t = 0; t < 2; t++) {
            if (!read_table(&m, types[t], &symbols)) continue;
            for (uint32_t i = 0; i < symbols.count; i++) {
                pt_elf_symbol s;
                if (pt_elf_symbol_at(&symbols, i, &s) &&
                    (s.type == STT_FUNC || s.type == STT_GNU_IFUNC) && s.section_index != SHN_UNDEF)
                    take_symbol(l, first, limit, &s);
            }
            break; /* a full table also contains all dynamic symbols */
        }
    }
    close_image(&m);
}

static void name_all(lookup *l)
{
    char *const text = pt_agent_map(MAPS_MAX_BYTES + 1);
    const int fd = text != NULL ? open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC) : -1;
    size_t held = 0;
    while (fd >= 0 && held < MAPS_MAX_BYTES) {
        const ssize_t got = read(fd, text + held, MAPS_MAX_BYTES - held);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        held += (size_t)got;
    }
    if (fd >= 0) close(fd);
    for (char *line = text; line != NULL && *line != '\0';) {
        char *const end = strchr(line, '\n');
        pt_maps_line row;
        if (end != NULL) *end = '\0';
        if (pt_maps_line_parse(line, strlen(line), &row) && (row.prot & PROT_EXEC))
            name_mapping(l, &row);
        line = end != NULL ? end + 1 : NULL;
    }
    pt_agent_unmap(text, MAPS_MAX_BYTES + 1);
}

/* Prints "0x40156a<tab>name" for each address with a name. */
static size_t print_names(const lookup *l, char *to, size_t cap)
{
    size_t held = (size_t)snprintf(to, cap, "num_symbols: 1\n");
    for (size_t i = 0; i < l->count; i++) {
        const wanted *const w = &l->items[i];
        if (w->name == NULL || (i > 0 && l->items[i - 1].address == w->address)) continue;
        if (cap - held < strlen(w->name) + 32) break;
        held += (size_t)snprintf(to + held, cap - held, "0x%llx\t%s\n",
                                 (unsigned long long)w->address, w->name);
    }
    return held;
}

char *pt_listen_names(const char *addresses, size_t *ret_bytes, size_t *ret_map_bytes)
{
    enum { NAMES_BYTES = 16 << 20, ANSWER_BYTES = 32 << 20 }; /* address space, until touched */
    lookup l = {.names_cap = NAMES_BYTES};
    l.items = pt_agent_map(ADDRESSES_MAX * sizeof *l.items);
    l.names = pt_agent_map(NAMES_BYTES);
    char *const answer = pt_agent_map(ANSWER_BYTES);
    const bool room = l.items != NULL && l.names != NULL && answer != NULL;
    if (room) {
        l.count = parse_addresses(addresses, l.items);
        sort_wanted(l.items, l.count);
        name_all(&l);
        *ret_bytes = print_names(&l, answer, ANSWER_BYTES);
        *ret_map_bytes = ANSWER_BYTES;
    } else {
        pt_agent_unmap(answer, ANSWER_BYTES);
    }
    pt_agent_unmap(l.items, ADDRESSES_MAX * sizeof *l.items);
    pt_agent_unmap(l.names, NAMES_BYTES);
    return room ? answer : NULL;
}
