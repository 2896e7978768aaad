/* nm.c: the symbols of an image as `nm -n --demangle` lists them, cut into procedures as the
 * Perl pprof does: each reaches to the next symbol, whatever that is.
 *
 * Of symbols at one address the first is meant, with "<address>" behind its name so that equal
 * names stay apart; but a later one in code (nm's t or T) takes its place, with its bare name. Of
 * equal bare names the last counts. Without a symbol table that gives anything the dynamic one is
 * asked.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/regex.h"
#include "elf/image.h"
#include "object/demangle.h"
#include "personality/perl/perl.h"

typedef struct {
    uint64_t value;
    const char *name;
    uint32_t index; /* in its table */
    bool is_code;   /* t or T */
} raw_symbol;

typedef struct {
    raw_symbol *items;
    size_t count, cap;
} raw_symbols;

static int by_value(const void *a, const void *b)
{
    const raw_symbol *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    const int names = strcmp(x->name, y->name);
    return names != 0 ? names : x->index < y->index ? -1 : x->index > y->index;
}

static bool is_code_symbol(const pt_elf *elf, const pt_elf_symbol *symbol)
{
    pt_elf_section section;
    return (symbol->binding == STB_GLOBAL || symbol->binding == STB_LOCAL) &&
           symbol->type != STT_GNU_IFUNC && !symbol->is_reserved_index &&
           pt_elf_section_at(elf, symbol->section_index, &section) &&
           (section.flags & SHF_EXECINSTR) != 0;
}

static void collect(const pt_elf *elf, const pt_elf_symbols *table, raw_symbols *list)
{
    pt_elf_symbol symbol;
    for (uint32_t i = 1; pt_elf_symbol_at(table, i, &symbol); i++) {
        if (symbol.section_index == SHN_UNDEF || symbol.type == STT_FILE ||
            symbol.type == STT_SECTION || symbol.name[0] == '\0')
            continue;
        PT_GROW(*list, list->count + 1);
        list->items[list->count++] = (raw_symbol){.value = symbol.value,
                                                  .name = symbol.name,
                                                  .index = i,
                                                  .is_code = is_code_symbol(elf, &symbol)};
    }
    if (list->count > 0) qsort(list->items, list->count, sizeof *list->items, by_value);
}

/* ---- Versions of dynamic symbols ---- */

/* What GNU's versioning of symbols holds: a half word a symbol, and a list of names. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *of_symbol; /* NULL: none */
    uint64_t of_symbol_bytes;
    const uint8_t *names; /* Verdef records */
    uint64_t names_bytes;
    const char *strings;
    uint64_t strings_bytes;
} versions;

static uint32_t read_half(const pt_elf *elf, const uint8_t *p)
{
    return elf->is_big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t read_four(const pt_elf *elf, const uint8_t *p)
{
    return elf->is_big_endian ? read_half(elf, p) << 16 | read_half(elf, p + 2)
                              : read_half(elf, p + 2) << 16 | read_half(elf, p);
}

static versions versions_of(const pt_elf *elf)
{
    versions v = {.elf = elf};
    pt_elf_section section, strings;
    if (!pt_elf_section_typed(elf, SHT_GNU_versym, &section)) return v;
    v.of_symbol = pt_elf_section_bytes(elf, &section, &v.of_symbol_bytes);
    if (!pt_elf_section_typed(elf, SHT_GNU_verdef, &section)) return v;
    v.names = pt_elf_section_bytes(elf, &section, &v.names_bytes);
    if (pt_elf_section_at(elf, section.link, &strings))
        v.strings = (const char *)pt_elf_section_bytes(elf, &strings, &v.strings_bytes);
    return v;
}

/* The name of a version; NULL if there is none. *ret_is_base: it stands for the file itself. */
static const char *version_name(const versions *v, uint32_t wanted, bool *ret_is_base)
{
    uint64_t at = 0;
    for (uint32_t i = 0; v->names != NULL && v->strings != NULL && i < 65536; i++) {
        if (v->names_bytes < 20 || at > v->names_bytes - 20) return NULL;
        const uint8_t *def = v->names + at;
        const uint64_t aux = at + read_four(v->elf, def + 12);
        if (read_half(v->elf, def + 4) == wanted) {
            *ret_is_base = (read_half(v->elf, def + 2) & 1) != 0; /* VER_FLG_BASE */
            if (v->names_bytes < 8 || aux > v->names_bytes - 8) return NULL;
            const uint32_t name = read_four(v->elf, v->names + aux);
            const bool whole = name < v->strings_bytes &&
                               memchr(v->strings + name, '\0', v->strings_bytes - name) != NULL;
            return whole ? v->strings + name : NULL;
        }
        const uint32_t next = read_four(v->elf, def + 16);
        if (next == 0) return NULL;
        at += next;
    }
    return NULL;
}

/* "@@GLIBC_2.2.5", "@GLIBC_2.2.5" where another is the default; "" without a version. */
static void put_version(pt_buf *text, const versions *v, const raw_symbol *symbol)
{
    if (v->of_symbol == NULL || (uint64_t)symbol->index * 2 + 2 > v->of_symbol_bytes) return;
    const uint32_t word = read_half(v->elf, v->of_symbol + (size_t)symbol->index * 2);
    const uint32_t number = word & 0x7fff;
    bool is_base = false;
    const char *name = number > 0 ? version_name(v, number, &is_base) : NULL;
    if (name == NULL || is_base || strcmp(name, symbol->name) == 0) return;
    pt_put_text(text, word & 0x8000 ? "@" : "@@");
    pt_put_text(text, name);
}

/* ---- Procedures ---- */

/* The caller frees. */
static char *shown_name(const pt_perl_session *s, const versions *v, const raw_symbol *symbol,
                        bool tagged)
{
    pt_buf text = PT_BUF_INIT;
    PT_FREE char *demangled = pt_demangle(symbol->name, PT_DEMANGLE_BINUTILS);
    pt_put_text(&text, demangled != NULL ? demangled : symbol->name);
    if (v != NULL) put_version(&text, v, symbol);
    char hex[17];
    if (tagged) pt_putf(&text, "<%s>", pt_perl_hex(s, symbol->value, hex));
    return pt_buf_take(&text, NULL);
}

static bool is_wanted(const pt_regex *pattern, const char *name)
{
    bool match = true;
    return pattern == NULL ||
           (pt_regex_match(pattern, name, strlen(name), &match, NULL) == PT_OK && match);
}

/* An untagged name that was there before moves to its later place. */
static void drop_earlier(pt_perl_nm *nm, pt_index *bare, const char *name)
{
    const uint64_t hash = pt_hash_bytes(name, strlen(name));
    pt_probe probe;
    for (uint32_t id = pt_index_first(bare, hash, &probe); id != PT_NONE;
         id = pt_index_next(bare, &probe)) {
        if (nm->items[id].name == NULL || strcmp(nm->items[id].name, name) != 0) continue;
        free(nm->items[id].name);
        nm->items[id].name = NULL;
    }
    pt_index_add(bare, hash, (uint32_t)nm->count);
}

static void drop_holes(pt_perl_nm *nm)
{
    size_t kept = 0;
    for (size_t i = 0; i < nm->count; i++)
        if (nm->items[i].name != NULL) nm->items[kept++] = nm->items[i];
    nm->count = kept;
}

static void cut(pt_perl_nm *nm, const pt_perl_session *s, const raw_symbols *list,
                const versions *v, const pt_regex *pattern)
{
    pt_index bare;
    pt_index_init(&bare);
    for (size_t i = 0; i < list->count;) {
        size_t chosen = i, next = i + 1;
        for (; next < list->count && list->items[next].value == list->items[i].value; next++)
            if (list->items[next].is_code) chosen = next;
        if (strcmp(list->items[i].name, "_fini") == 0) nm->has_separator = true;
        char *name = shown_name(s, v, &list->items[chosen], chosen == i);
        if (is_wanted(pattern, name)) {
            if (chosen != i) drop_earlier(nm, &bare, name);
            PT_GROW(*nm, nm->count + 1);
            nm->items[nm->count++] =
                (pt_perl_procedure){.start = list->items[i].value,
                                    .end = list->items[next < list->count ? next : i].value,
                                    .name = name};
        } else {
            free(name);
        }
        i = next;
    }
    drop_holes(nm);
    pt_index_done(&bare);
}

void pt_perl_nm_init(pt_perl_nm *nm, const pt_perl_session *session, const char *path,
                     const pt_regex *pattern)
{
    *nm = (pt_perl_nm){0};
    pt_blob blob = PT_BLOB_INIT;
    pt_elf elf;
    if (pt_file_read(path, PT_FILE_REGULAR, UINT64_MAX, &blob, NULL) == PT_OK &&
        pt_elf_open(blob.data, blob.size, &elf) == PT_ELF_OK) {
        static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
        for (size_t i = 0; nm->count == 0 && i < sizeof tables / sizeof tables[0]; i++) {
            pt_elf_symbols table;
            raw_symbols list = {0};
            if (!pt_elf_symbols_open(&elf, tables[i], &table)) continue;
            const versions v = versions_of(&elf);
            collect(&elf, &table, &list);
            cut(nm, session, &list, tables[i] == SHT_DYNSYM ? &v : NULL, pattern);
            free(list.items);
        }
        if (!pt_blob_intact(&blob)) pt_perl_say("%s: " PT_FILE_SHRANK "\n", path);
    }
    pt_blob_done(&blob);
}

void pt_perl_nm_done(pt_perl_nm *nm)
{
    for (size_t i = 0; i < nm->count; i++)
        free(nm->items[i].name);
    free(nm->items);
    *nm = (pt_perl_nm){0};
}
