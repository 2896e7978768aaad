/* rust_name.c: decides whether libiberty may print a Rust name. Its printer loops once for each
 * lifetime that "for<'a, 'b, ...>" binds. The name contains their number, which can be 2^64, and
 * for parts that are not printed nothing stops the loop. So this file parses names by the grammar
 * of Rust's RFC 2603 ("v0" symbols), as far as necessary to find those numbers. */
#include <string.h>

#include "base/text.h"
#include "object/object_int.h"

enum {
    BINDERS_MAX = 1000, /* of one "for<>"; compilers use a handful */
    DEPTH_MAX = 4096,   /* libiberty recurses 1024 levels deep */
};

/* The kinds of part still to parse. Each LIST has parts of other kinds and ends with E. */
typedef enum { PATH, TYPE, CONST, NAME, LIFETIME, GENERIC_LIST, TYPE_LIST, TRAIT_LIST, BOUND } part;

typedef struct {
    const char *at;
    part todo[DEPTH_MAX]; /* a stack; the last one is next */
    unsigned depth;
    bool failed;
} parser;

static void push_part(parser *p, part kind)
{
    if (p->depth < DEPTH_MAX)
        p->todo[p->depth++] = kind;
    else
        p->failed = true;
}

static bool eat_char(parser *p, char c)
{
    if (*p->at != c) return false;
    p->at++;
    return true;
}

/* base-62-number: "_" is 0, "0_" 1, "1_" 2 ... A number that is too large becomes 1 << 63. */
static uint64_t base_62(parser *p)
{
    uint64_t value = 0;
    if (eat_char(p, '_')) return 0;
    for (;; p->at++) {
        const char c = *p->at;
        const unsigned digit = pt_is_digit(c)         ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                      : 62;
        if (digit == 62) break;
        value = value < UINT64_MAX / 128 ? value * 62 + digit : UINT64_MAX / 2;
    }
    p->failed |= !eat_char(p, '_');
    return value + 1;
}

static void read_binder(parser *p)
{
    if (eat_char(p, 'G') && base_62(p) >= BINDERS_MAX) p->failed = true;
}

/* ["u"] decimal-number ["_"] bytes */
static void read_identifier(parser *p)
{
    size_t length = 0;
    eat_char(p, 'u');
    if (!pt_is_digit(*p->at)) p->failed = true;
    if (!eat_char(p, '0'))
        for (; pt_is_digit(*p->at); p->at++)
            length = length < SIZE_MAX / 16 ? length * 10 + (size_t)(*p->at - '0') : length;
    eat_char(p, '_');
    if (strnlen(p->at, length) < length)
        p->failed = true;
    else
        p->at += length;
}

static void read_name(parser *p)
{
    if (eat_char(p, 's')) base_62(p);
    read_identifier(p);
}

static void read_path(parser *p)
{
    switch (*p->at++) {
    case 'C': push_part(p, NAME); return;
    case 'N':
        p->failed |= *p->at == '\0';
        if (!p->failed) p->at++;
        push_part(p, NAME);
        push_part(p, PATH);
        return;
    case 'M':
    case 'X': {
        const bool has_trait = p->at[-1] == 'X';
        if (eat_char(p, 's')) base_62(p);
        if (has_trait) push_part(p, PATH);
        push_part(p, TYPE);
        push_part(p, PATH);
        return;
    }
    case 'Y':
        push_part(p, PATH);
        push_part(p, TYPE);
        return;
    case 'I':
        push_part(p, GENERIC_LIST);
        push_part(p, PATH);
        return;
    case 'B': base_62(p); return;
    default: p->failed = true;
    }
}

static void read_type(parser *p)
{
    const char tag = *p->at;
    if (tag != '\0' && strchr("abcdefhijlmnopstuvxyz", tag) != NULL) {
        p->at++;
        return;
    }
    if (tag == '\0' || strchr("RQPOASTFDB", tag) == NULL) {
        read_path(p);
        return;
    }
    p->at++;
    if ((tag == 'R' || tag == 'Q') && eat_char(p, 'L')) base_62(p);
    if (tag == 'A') push_part(p, CONST);
    if (strchr("RQPOAS", tag) != NULL) push_part(p, TYPE);
    if (tag == 'T') push_part(p, TYPE_LIST);
    if (tag == 'B') base_62(p);
    if (tag == 'F' || tag == 'D') read_binder(p);
    if (tag == 'F') {
        eat_char(p, 'U');
        if (eat_char(p, 'K') && !eat_char(p, 'C')) read_identifier(p);
        push_part(p, TYPE);
        push_part(p, TYPE_LIST);
    }
    if (tag == 'D') {
        push_part(p, LIFETIME);
        push_part(p, TRAIT_LIST);
    }
}

/* Reads a type and the constant's value in hexadecimal, or "p" if there is no value. */
static void read_constant(parser *p)
{
    if (eat_char(p, 'B')) {
        base_62(p);
        return;
    }
    if (eat_char(p, 'p')) return;
    p->failed |= *p->at == '\0';
    if (p->failed) return;
    p->at++;
    eat_char(p, 'n');
    p->at += strspn(p->at, "0123456789abcdef");
    p->failed |= !eat_char(p, '_');
}

/* Returns whether the list has another element; if so, pushes the list again. */
static bool has_element(parser *p, part list)
{
    if (eat_char(p, 'E')) return false;
    push_part(p, list);
    return true;
}

static void parse_part(parser *p, part kind)
{
    switch (kind) {
    case PATH: read_path(p); return;
    case TYPE: read_type(p); return;
    case CONST: read_constant(p); return;
    case NAME: read_name(p); return;
    case LIFETIME:
        p->failed |= !eat_char(p, 'L');
        base_62(p);
        return;
    case GENERIC_LIST:
        if (!has_element(p, kind)) return;
        if (eat_char(p, 'L'))
            base_62(p);
        else
            push_part(p, eat_char(p, 'K') ? CONST : TYPE);
        return;
    case TYPE_LIST:
        if (has_element(p, kind)) push_part(p, TYPE);
        return;
    case TRAIT_LIST:
        if (!has_element(p, kind)) return;
        push_part(p, BOUND);
        push_part(p, PATH);
        return;
    case BOUND: /* "p" name type: an associated type; repeated */
        if (!eat_char(p, 'p')) return;
        read_identifier(p);
        push_part(p, BOUND);
        push_part(p, TYPE);
        return;
    }
}

bool pt_rust_name_is_bounded(const char *text)
{
    parser p = {.at = text + 2};
    do {
        push_part(&p, PATH);
        while (p.depth > 0 && !p.failed)
            parse_part(&p, p.todo[--p.depth]);
        /* Then the path of the instantiating crate. */
    } while (!p.failed && *p.at >= 'A' && *p.at <= 'Z');
    return !p.failed;
}
