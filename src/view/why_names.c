/* why_names.c: see why_causes.h: from the name of a function to the row of the table. */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "view/own_code.h"
#include "view/why_causes.h"

/* Affixes of glibc's variants of one function: __memmove_avx_unaligned_erms, __GI___libc_write. */
static const char *const variants[] = {
    "_avx",       "_sse",  "_evex",  "_erms",   "_ssse3",    "_generic",
    "_unaligned", "_fma",  "_sve",   "_neon",   "_thunderx", "_falkor",
    "_a64fx",     "_mops", "_ifunc", "_cancel", "_nocancel", NULL,
};

/* The name of a C function as the table spells it: *ret_size bytes of name, from the return value
 * on. */
static const char *plain_c_name(const char *name, size_t *ret_size)
{
    const char *at = name;
    *ret_size = strlen(name);
    if (strchr(name, ':') != NULL) return name;
    const char *const dot = strchr(name, '.');
    if (dot != NULL && !pt_is_compilers_suffix(dot)) return name;
    while (*at == '_')
        at++;
    if (pt_begins(at, "GI_")) {
        at += strlen("GI_");
        while (*at == '_')
            at++;
    }
    if (pt_begins(at, "libc_")) at += strlen("libc_");
    size_t size = strcspn(at, "@.");
    for (const char *const *v = variants; *v != NULL; v++) {
        const char *const found = strstr(at, *v);
        if (found != NULL && found > at && (size_t)(found - at) < size) size = (size_t)(found - at);
    }
    *ret_size = size;
    return at;
}

/* Does the text match the pattern, in which each "*" stands for any text? The parts between are
 * looked for from left to right, each at its first place; the first part begins the text, the last
 * one ends it. */
static bool matches_pattern(const char *pattern, const char *text, size_t size)
{
    const char *at = text, *const end = text + size;
    for (const char *part = pattern;; part += strcspn(part, "*") + 1) {
        const size_t length = strcspn(part, "*");
        const size_t left = (size_t)(end - at);
        if (length > left) return false;
        if (part[length] == '\0') {
            if (part == pattern) return left == length && memcmp(at, part, length) == 0;
            return memcmp(end - length, part, length) == 0;
        }
        const char *found = at;
        if (part != pattern)
            found = memmem(at, left, part, length);
        else if (memcmp(at, part, length) != 0)
            return false;
        if (found == NULL) return false;
        at = found + length;
    }
}

/* "_ZNSt6vectorIlSaIlEEC2ERKS1_", "_ZNSt6vectorIlSaIlEEaSERKS1_": a constructor (C1 to C5) or an
 * assignment (aS) of one argument, a reference to const. */
static bool is_copy_of_object(const char *linkage)
{
    static const char parameter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!pt_begins(linkage, "_ZN")) return false;
    const char *rest =
        linkage + strlen(linkage); /* must be the type of the parameter, and nothing else */
    while (rest > linkage && strchr(parameter, rest[-1]) != NULL)
        rest--;
    for (const char *at = strstr(linkage, "ERKS"); at != NULL; at = strstr(at + 1, "ERKS"))
        if (at >= linkage + 5 && at + 4 >= rest &&
            ((at[-2] == 'C' && at[-1] >= '1' && at[-1] <= '5') || (at[-2] == 'a' && at[-1] == 'S')))
            return true;
    return false;
}

typedef struct {
    const char *name, *c_name, *system_name, *file;
    size_t size, c_size;
    const char *builtin; /* of V8, without "Builtin:" or "Builtins_"; NULL = it is none */
} candidate;

/* V8's dump calls a function "Builtin:ArrayMap", the symbol table of node "Builtins_ArrayMap". */
static const char *builtin_name(const char *name)
{
    if (pt_begins(name, "Builtin:")) return name + strlen("Builtin:");
    return pt_begins(name, "Builtins_") ? name + strlen("Builtins_") : NULL;
}

static bool shows_pattern(const candidate *c, const char *pattern, pt_why_origin origin)
{
    if (strcmp(pattern, "copy") == 0) return is_copy_of_object(c->system_name);
    if (origin == PT_WHY_OF_PROGRAM && strstr(pattern, "::") == NULL && c->name[0] != '_')
        return false;
    if (pt_begins(pattern, "file:")) return strstr(c->file, pattern + strlen("file:")) != NULL;
    if (pt_begins(pattern, "Builtin:"))
        return c->builtin != NULL &&
               matches_pattern(pattern + strlen("Builtin:"), c->builtin, strlen(c->builtin));
    return matches_pattern(pattern, c->c_name, c->c_size) ||
           matches_pattern(pattern, c->name, c->size);
}

/* ---- The patterns by their first characters ---- */

typedef struct {
    const char *pattern;
    uint8_t cause;
} row_pattern;

/* By the first character of the names, in the order of the table; at 0 those that any name may
 * match. */
static PT_VECTOR(row_pattern) patterns[UCHAR_MAX + 1];
static pthread_once_t patterns_are_sorted = PTHREAD_ONCE_INIT;

static void sort_patterns(void)
{
    for (size_t i = PT_WHY_INTERPRETER; i < pt_why_cause_count; i++)
        for (const char *const *at = pt_why_causes[i].functions; *at != NULL; at++) {
            const char *const p = *at;
            const bool is_any = p[0] == '*' || pt_begins(p, "file:") || strcmp(p, "copy") == 0;
            PT_PUSH(patterns[is_any ? 0 : (unsigned char)p[0]], (row_pattern){p, (uint8_t)i});
        }
}

/* The first row below `best` with a pattern of this first character that the function shows, or
 * `best`. */
static size_t first_cause(const candidate *c, pt_why_origin origin, unsigned char first,
                          size_t best)
{
    for (size_t i = 0; i < patterns[first].count; i++) {
        const row_pattern *const p = &patterns[first].items[i];
        const pt_why_cause *const cause = &pt_why_causes[p->cause];
        if (p->cause >= best) break;
        if (origin == PT_WHY_OF_KERNEL && cause->rank > PT_WHY_RANK_SYSTEM && !cause->in_kernel)
            continue;
        if (shows_pattern(c, p->pattern, origin)) return p->cause;
    }
    return best;
}

uint8_t pt_why_cause_of(const char *name, const char *system_name, const char *file,
                        pt_why_origin origin)
{
    candidate c = {.name = pt_without_return_type(name), .system_name = system_name, .file = file};
    c.size = strlen(c.name);
    c.c_name = plain_c_name(c.name, &c.c_size);
    c.builtin = builtin_name(c.name);
    if (c.size == 0) return PT_WHY_NO_CAUSE;
    pthread_once(&patterns_are_sorted, sort_patterns);
    const unsigned char begins[] = {0, (unsigned char)c.name[0], (unsigned char)c.c_name[0]};
    size_t best = pt_why_cause_count;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        best = first_cause(&c, origin, begins[i], best);
    return best == pt_why_cause_count ? PT_WHY_NO_CAUSE : (uint8_t)best;
}
