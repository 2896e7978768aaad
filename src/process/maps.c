/* maps.c: see maps.h. */
#include "process/maps.h"

#include <sys/mman.h>

/* The unread rest of a line. */
typedef struct {
    const char *at, *end;
} cursor;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? (unsigned)(low - 'a') + 10 : 99;
}

/* Reads a number of at most 16 hex digits or 20 decimal digits. */
static bool take_number(cursor *c, unsigned base, uint64_t *ret_value)
{
    const ptrdiff_t most = base == 16 ? 16 : 20;
    const char *const first = c->at;
    uint64_t value = 0;
    for (; c->at < c->end && digit_of(*c->at) < base; c->at++)
        value = value * base + digit_of(*c->at);
    *ret_value = value;
    return c->at > first && c->at - first <= most;
}

static bool take_hex(cursor *c, uint64_t *ret_value)
{
    if (c->end - c->at > 2 && c->at[0] == '0' && (c->at[1] | 0x20) == 'x') c->at += 2;
    return take_number(c, 16, ret_value);
}

static bool take_char(cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool skip_blanks(cursor *c)
{
    const char *const first = c->at;
    while (c->at < c->end && is_blank(*c->at))
        c->at++;
    return c->at > first;
}

/* The next word: characters up to a blank. */
static cursor take_word(cursor *c)
{
    skip_blanks(c);
    cursor word = {c->at, c->at};
    while (c->at < c->end && !is_blank(*c->at))
        c->at++;
    word.end = c->at;
    return word;
}

static bool take_range(cursor *c, uint64_t *ret_start, uint64_t *ret_limit)
{
    return take_hex(c, ret_start) && take_char(c, '-') && take_hex(c, ret_limit) &&
           *ret_start < *ret_limit;
}

size_t pt_maps_range(const char *text, size_t bytes, uint64_t *ret_start, uint64_t *ret_limit)
{
    cursor c = {text, text + bytes};
    uint64_t start, limit;
    if (!take_range(&c, &start, &limit)) return 0;
    *ret_start = start;
    *ret_limit = limit;
    return (size_t)(c.at - text);
}

static void read_device(cursor word, pt_maps_line *line)
{
    uint64_t major, minor;
    if (!take_number(&word, 16, &major) || !take_char(&word, ':') ||
        !take_number(&word, 16, &minor) || word.at != word.end)
        return;
    line->major = (uint32_t)major;
    line->minor = (uint32_t)minor;
}

static void read_inode(cursor word, pt_maps_line *line)
{
    uint64_t inode;
    if (take_number(&word, 10, &inode) && word.at == word.end) line->inode = inode;
}

bool pt_maps_line_parse(const char *text, size_t bytes, pt_maps_line *ret_line)
{
    enum { PROT_BYTES_MIN = 3 };
    cursor c = {text, text + bytes};
    pt_maps_line line = {0};
    if (!take_range(&c, &line.start, &line.limit) || !skip_blanks(&c)) return false;
    const cursor prot = take_word(&c);
    if (prot.end - prot.at < PROT_BYTES_MIN) return false;
    line.prot = (prot.at[0] == 'r' ? PROT_READ : 0u) | (prot.at[1] == 'w' ? PROT_WRITE : 0u) |
                ((prot.at[2] | 0x20) == 'x' ? PROT_EXEC : 0u);
    if (!skip_blanks(&c) || !take_hex(&c, &line.file_offset)) return false;
    const cursor device = take_word(&c), inode = take_word(&c);
    if (inode.at == inode.end) return false;
    read_device(device, &line);
    read_inode(inode, &line);
    skip_blanks(&c);
    line.path = c.at;
    line.path_bytes = (size_t)(c.end - c.at);
    *ret_line = line;
    return true;
}
