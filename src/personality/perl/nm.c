/* nm.c: the symbols of an image as `nm -n --demangle` lists them, as procedures. A procedure ends
 * at the next symbol of any kind. object/symbol_class.h decides the letters, elf the versions.
 *
 * Symbols at one address are one procedure. It has the name of the first symbol, followed by
 * "<address>" to keep equal names apart. If a later symbol is code (nm's t or T), the procedure has
 * the bare name (without "<address>") of the last of these symbols. Of several procedures with one
 * bare name the last is kept. The dynamic symbol table is read if the usual symbol table gives no
 * procedure.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/regex.h"
#include "elf/image.h"
#include "object/demangle.h"
#include "object/symbol_class.h"
#include "personality/perl/perl.h"

typedef PT_VECTOR(pt_class_symbol) symbol_list;

PT_ORDER(by_address, pt_class_symbol, PT_UP(addr) ?: PT_TEXT_UP(name) ?: PT_UP(index));

/* Lists the symbols of a symbol table; returns false if the image has no such table. */
static bool list_symbols(const pt_elf *elf, uint32_t section_type, symbol_list *list)
{
    pt_class_table table;
    pt_class_symbol symbol;
    if (!pt_class_table_open(&table, elf, section_type)) return false;
    while (pt_class_table_next(&table, &symbol)) {
        if (symbol.name[0] == '\0') continue;
        PT_PUSH(*list, symbol);
    }
    pt_class_table_done(&table);
    if (list->count > 0) qsort(list->items, list->count, sizeof *list->items, by_address);
    return true;
}

/* ---- Procedures ---- */

/* Appends "@@GLIBC_2.2.5", or "@GLIBC_2.2.5" for a version that is not the default, or nothing. */
static void put_version(pt_buf *text, const pt_elf_versions *versions,
                        const pt_class_symbol *symbol)
{
    bool is_hidden;
    const char *name = pt_elf_version_of(versions, symbol->index, &is_hidden);
    if (name != NULL && strcmp(name, symbol->name) != 0)
        pt_putf(text, "%s%s", is_hidden ? "@" : "@@", name);
}

/* The symbol's name as a report shows it. versions: NULL for a table without versions. tagged: add
 * "<address>". The caller frees. */
static char *shown_name(const pt_perl_session *s, const pt_elf_versions *versions,
                        const pt_class_symbol *symbol, bool tagged)
{
    pt_buf text = PT_BUF_INIT;
    PT_FREE char *demangled = pt_demangle(symbol->name, PT_DEMANGLE_BINUTILS);
    pt_put_text(&text, demangled != NULL ? demangled : symbol->name);
    if (versions != NULL) put_version(&text, versions, symbol);
    char hex[17];
    if (tagged) pt_putf(&text, "<%s>", pt_perl_hex(s, symbol->addr, hex));
    return pt_buf_take(&text, NULL);
}

static bool matches_pattern(const pt_regex *pattern, const char *name)
{
    bool match = true;
    return pattern == NULL ||
           (pt_regex_match(pattern, name, strlen(name), &match, NULL) == PT_OK && match);
}

/* Removes an earlier procedure with the same bare name. */
static void drop_earlier_procedure(pt_perl_nm *nm, pt_index *bare, const char *name)
{
    const uint64_t hash = pt_hash_bytes(name, strlen(name));
    PT_INDEX_EACH (bare, hash, id) {
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

static void cut_symbols(pt_perl_nm *nm, const pt_perl_session *s, const symbol_list *list,
                        const pt_elf_versions *versions, const pt_regex *pattern)
{
    PT_AUTO(pt_index) bare;
    pt_index_init(&bare);
    for (size_t i = 0; i < list->count;) {
        size_t chosen = i, next = i + 1;
        for (; next < list->count && list->items[next].addr == list->items[i].addr; next++)
            if (list->items[next].letter == 't' || list->items[next].letter == 'T') chosen = next;
        if (strcmp(list->items[i].name, "_fini") == 0) nm->has_separator = true;
        char *name = shown_name(s, versions, &list->items[chosen], chosen == i);
        if (matches_pattern(pattern, name)) {
            if (chosen != i) drop_earlier_procedure(nm, &bare, name);
            PT_PUSH(*nm, (pt_perl_procedure){.start = list->items[i].addr,
                                             .end = list->items[next < list->count ? next : i].addr,
                                             .name = name});
        } else {
            free(name);
        }
        i = next;
    }
    drop_holes(nm);
}

void pt_perl_nm_init(pt_perl_nm *nm, const pt_perl_session *session, const char *path,
                     const pt_regex *pattern)
{
    *nm = (pt_perl_nm){0};
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    pt_elf elf;
    if (pt_file_read(path, PT_FILE_REGULAR, UINT64_MAX, &blob, NULL) == PT_OK &&
        pt_elf_open(blob.data, blob.size, &elf) == PT_ELF_OK) {
        static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
        for (size_t i = 0; nm->count == 0 && i < PT_COUNT(tables); i++) {
            symbol_list list = {0};
            if (!list_symbols(&elf, tables[i], &list)) continue;
            pt_elf_versions versions;
            pt_elf_versions_open(&elf, &versions);
            cut_symbols(nm, session, &list, tables[i] == SHT_DYNSYM ? &versions : NULL, pattern);
            free(list.items);
        }
        if (!pt_blob_intact(&blob)) pt_perl_say("%s: " PT_FILE_SHRANK "\n", path);
    }
}

void pt_perl_nm_done(pt_perl_nm *nm)
{
    for (size_t i = 0; i < nm->count; i++)
        free(nm->items[i].name);
    free(nm->items);
    *nm = (pt_perl_nm){0};
}
