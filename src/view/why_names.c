/* why_names.c: see why_causes.h: finds the row of the table for the name of a function. */
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

static bool begins_variant(const char *text)
{
    for (const char *const *v = variants; *v != NULL; v++)
        if (pt_begins(text, *v)) return true;
    return false;
}

/* The name of a C function as the table spells it: *ret_size bytes from the returned address on. */
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
    const size_t size = strcspn(at, "@.");
    *ret_size = size;
    for (size_t i = 1; i < size && *ret_size == size; i++)
        if (at[i] == '_' && begins_variant(at + i)) *ret_size = i;
    return at;
}

/* Does the text match the pattern, in which each "*" matches any text? The parts between the "*"
 * are searched from left to right, each at its first place; the first part must begin the text, the
 * last one must end it. */
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

/* Is it the linkage name of a constructor (C1 to C5) or an assignment (aS) with one parameter, a
 * reference to const? "_ZNSt6vectorIlSaIlEEC2ERKS1_" and "_ZNSt6vectorIlSaIlEEaSERKS1_" are. */
static bool is_copy_of_object(const char *linkage)
{
    static const char parameter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!pt_begins(linkage, "_ZN")) return false;
    const char *rest =
        linkage + strlen(linkage); /* the remaining text must be the parameter's type, and nothing
                                    * else */
    while (rest > linkage && strchr(parameter, rest[-1]) != NULL)
        rest--;
    for (const char *at = strstr(linkage, "ERKS"); at != NULL; at = strstr(at + 1, "ERKS"))
        if (at >= linkage + 5 && at + 4 >= rest &&
            ((at[-2] == 'C' && at[-1] >= '1' && at[-1] <= '5') || (at[-2] == 'a' && at[-1] == 'S')))
            return true;
    return false;
}

/* ---- The patterns by their first characters ---- */

typedef enum { OF_NAME, OF_BUILTIN, OF_FILE, OF_COPY } pattern_kind;

typedef struct {
    const char *text; /* without "file:" and "Builtin:" */
    uint64_t head;    /* the characters before the first "*", at most eight ... */
    uint64_t mask;    /* ... and a mask of their bytes */
    pattern_kind kind;
    uint8_t cause;
    bool has_scope; /* the name contains "::" */
} row_pattern;

typedef PT_VECTOR(row_pattern) row_patterns;

/* Patterns in the order of the table: patterns[c]: those that begin with the character c; any_name:
 * those that a name with any first character may match; of_files: those of files. */
static row_patterns patterns[UCHAR_MAX + 1], any_name, of_files;
static pthread_once_t patterns_are_sorted = PTHREAD_ONCE_INIT;

/* The first eight bytes of a text, with zeros after its end. */
static uint64_t head_of(const char *text, size_t size)
{
    uint64_t head = 0;
    memcpy(&head, text, size < sizeof head ? size : sizeof head);
    return head;
}

static row_pattern pattern_of(const char *text, uint8_t cause)
{
    static const char ones[] = "\xff\xff\xff\xff\xff\xff\xff\xff";
    row_pattern p = {.text = text, .cause = cause, .has_scope = strstr(text, "::") != NULL};
    if (strcmp(text, "copy") == 0) p.kind = OF_COPY;
    if (pt_begins(text, "file:")) p.kind = OF_FILE;
    if (pt_begins(text, "Builtin:")) p.kind = OF_BUILTIN;
    if (p.kind == OF_FILE) p.text += strlen("file:");
    if (p.kind == OF_BUILTIN) p.text += strlen("Builtin:");
    PT_BUG_IF(p.kind == OF_FILE && p.text[0] != '/');
    const size_t size = strcspn(p.text, "*");
    p.head = head_of(p.text, size);
    p.mask = head_of(ones, size);
    return p;
}

static void sort_patterns(void)
{
    for (size_t i = PT_WHY_INTERPRETER; i < pt_why_cause_count; i++)
        for (const char *const *at = pt_why_causes[i].functions; *at != NULL; at++) {
            const row_pattern p = pattern_of(*at, (uint8_t)i);
            if (p.kind == OF_FILE)
                PT_PUSH(of_files, p);
            else if (p.kind == OF_COPY || (*at)[0] == '*')
                PT_PUSH(any_name, p);
            else
                PT_PUSH(patterns[(unsigned char)(*at)[0]], p);
        }
}

/* ---- A function ---- */

typedef struct {
    const char *text;
    size_t size;
    uint64_t head;
} spelling;

typedef struct {
    spelling name, c_name;
    spelling builtin; /* name of a builtin of V8, without "Builtin:" or "Builtins_"; NULL if the
                       * function is not a builtin */
    spelling file;    /* the file's path from one of its slashes on */
    const char *system_name;
    pt_why_origin origin;
} candidate;

static spelling spelling_of(const char *text, size_t size)
{
    return (spelling){text, size, head_of(text, size)};
}

/* The builtin of V8 in a name: V8's dump writes "Builtin:ArrayMap", the symbol table of node
 * "Builtins_ArrayMap". */
static spelling builtin_of(const char *name)
{
    const char *text = NULL;
    if (pt_begins(name, "Builtin:")) text = name + strlen("Builtin:");
    if (pt_begins(name, "Builtins_")) text = name + strlen("Builtins_");
    return text != NULL ? spelling_of(text, strlen(text)) : (spelling){0};
}

static bool matches_spelling(const row_pattern *p, const spelling *s)
{
    return (s->head & p->mask) == p->head && s->text != NULL &&
           matches_pattern(p->text, s->text, s->size);
}

static bool shows_pattern(const candidate *c, const row_pattern *p)
{
    if (p->kind == OF_COPY) return is_copy_of_object(c->system_name);
    if (c->origin == PT_WHY_OF_PROGRAM && !p->has_scope && c->name.text[0] != '_') return false;
    switch (p->kind) {
    case OF_FILE: return (c->file.head & p->mask) == p->head && pt_begins(c->file.text, p->text);
    case OF_BUILTIN: return matches_spelling(p, &c->builtin);
    default: return matches_spelling(p, &c->c_name) || matches_spelling(p, &c->name);
    }
}

/* The least row below `best` of which the function matches one of the patterns `among`; `best` if
 * there is no such row. */
static size_t first_cause(const candidate *c, const row_patterns *among, size_t best)
{
    for (size_t i = 0; i < among->count; i++) {
        const row_pattern *const p = &among->items[i];
        const pt_why_cause *const cause = &pt_why_causes[p->cause];
        if (p->cause >= best) break;
        if (c->origin == PT_WHY_OF_KERNEL && cause->rank > PT_WHY_RANK_SYSTEM && !cause->in_kernel)
            continue;
        if (shows_pattern(c, p)) return p->cause;
    }
    return best;
}

uint8_t pt_why_cause_of(const char *name, const char *system_name, const char *file,
                        pt_why_origin origin)
{
    candidate c = {.file = {.text = ""}, .system_name = system_name, .origin = origin};
    size_t size;
    const char *const typeless = pt_without_return_type(name);
    const char *const c_name = plain_c_name(typeless, &size);
    c.name = spelling_of(typeless, strlen(typeless));
    c.c_name = spelling_of(c_name, size);
    c.builtin = builtin_of(typeless);
    if (c.name.size == 0) return PT_WHY_NO_CAUSE;
    pthread_once(&patterns_are_sorted, sort_patterns);
    const unsigned char first = (unsigned char)typeless[0], c_first = (unsigned char)c_name[0];
    size_t best = first_cause(&c, &any_name, pt_why_cause_count);
    best = first_cause(&c, &patterns[first], best);
    if (c_first != first) best = first_cause(&c, &patterns[c_first], best);
    for (const char *at = strchr(file, '/'); at != NULL; at = strchr(at + 1, '/')) {
        c.file = spelling_of(at, strlen(at));
        best = first_cause(&c, &of_files, best);
    }
    return best == pt_why_cause_count ? PT_WHY_NO_CAUSE : (uint8_t)best;
}
