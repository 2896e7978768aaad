/* dwarf_worker.c: the state of a thread across units: abbreviations, line tables and strings. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "object/dwarf_int.h"

enum {
    CHUNK_BYTES = 64 << 10,
    FILES_KEPT = 1 << 18, /* limit of files in line tables; when there are more, the tables are
                           * dropped */
};

pt_dwarf_worker *pt_dwarf_worker_new(pt_dwarf *dwarf)
{
    pt_dwarf_worker *w = pt_alloc(1, sizeof *w);
    w->dwarf = dwarf;
    pt_index_init(&w->line_index);
    pt_index_init(&w->function_index);
    return w;
}

static void drop_line_tables(pt_dwarf_worker *w)
{
    for (size_t i = 0; i < w->line_tables.count; i++) {
        pt_dwarf_line_table_done(w->line_tables.items[i]);
        free(w->line_tables.items[i]);
    }
    w->line_tables.count = 0;
    w->files_kept = 0;
    pt_index_done(&w->line_index);
    pt_index_init(&w->line_index);
}

void pt_dwarf_worker_clear(pt_dwarf_worker *w)
{
    drop_line_tables(w);
    PT_FREE_ALL(w->line_tables.items, w->nodes.items, w->levels.items, w->places.items,
                w->ancestors.items, w->functions.items);
    pt_index_done(&w->function_index);
    for (unsigned i = 0; i < PT_DWARF_TABLES; i++)
        pt_dwarf_abbrevs_done(&w->tables[i]);
    pt_dwarf_worker kept = *w;
    *w = (pt_dwarf_worker){.dwarf = kept.dwarf,
                           .chunks = kept.chunks,
                           .chunk_used = kept.chunk_used,
                           .chunk_bytes = kept.chunk_bytes};
    pt_index_init(&w->line_index);
    pt_index_init(&w->function_index);
}

void pt_dwarf_worker_free(pt_dwarf_worker *w)
{
    if (w == NULL) return;
    pt_dwarf_worker_clear(w);
    for (size_t i = 0; i < w->chunks.count; i++)
        free(w->chunks.items[i]);
    PT_FREE_ALL(w->chunks.items, w);
}

void pt_dwarf_worker_next_unit(pt_dwarf_worker *w)
{
    w->nodes.count = 0;
    w->functions.count = 0;
    pt_index_done(&w->function_index);
    pt_index_init(&w->function_index);
    if (w->files_kept > FILES_KEPT) drop_line_tables(w);
}

bool pt_dwarf_spend(pt_dwarf *dwarf, uint64_t amount)
{
    uint64_t left = atomic_load_explicit(&dwarf->work_left, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&dwarf->work_left, &left,
                                                  left > amount ? left - amount : 0,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return left > amount;
}

const pt_dwarf_abbrevs *pt_dwarf_abbrevs_for(pt_dwarf_worker *w, const pt_dwarf_unit *unit)
{
    for (unsigned i = 0; i < PT_DWARF_TABLES; i++)
        if (pt_dwarf_abbrevs_are_of(&w->tables[i], unit)) return &w->tables[i];
    pt_dwarf_abbrevs *table = &w->tables[w->next_table++ % PT_DWARF_TABLES];
    pt_dwarf_spend(w->dwarf, pt_dwarf_abbrevs_read(table, unit));
    return table;
}

char *pt_dwarf_string_room(pt_dwarf_worker *w, size_t size_bytes)
{
    if (size_bytes > w->chunk_bytes - w->chunk_used) {
        w->chunk_bytes = size_bytes > CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
        w->chunk_used = 0;
        PT_PUSH(w->chunks, pt_alloc(w->chunk_bytes, 1));
    }
    char *room = w->chunks.items[w->chunks.count - 1] + w->chunk_used;
    w->chunk_used += size_bytes;
    return room;
}

/* ---- line tables ---- */

pt_dwarf_line_table *pt_dwarf_line_table_for(pt_dwarf_worker *w, const pt_dwarf_unit *unit)
{
    if (unit->skeleton != NULL) unit = unit->skeleton;
    if (!unit->has_line) return NULL;
    const uint64_t hash = pt_hash_mix((uintptr_t)unit->file, unit->line_off);
    PT_INDEX_EACH (&w->line_index, hash, i) {
        pt_dwarf_line_table *t = w->line_tables.items[i];
        if (t->file == unit->file && t->off == unit->line_off) return t;
    }
    pt_dwarf_line_table *t = pt_alloc(1, sizeof *t);
    if (!pt_dwarf_line_table_read(t, unit)) t->program = pt_dwarf_no_bytes(false);
    /* The standard starts with file 1; GNU's tools start version 5 with 0. */
    t->first_file = w->dwarf->as_written && t->version >= 5 ? 0 : 1;
    w->files_kept += t->files.count + t->folders.count;
    pt_dwarf_spend(w->dwarf, 16 * (t->files.count + t->folders.count));
    PT_INDEX_PUSH(&w->line_index, hash, w->line_tables, t);
    return t;
}

const char *pt_dwarf_path(pt_dwarf_worker *w, pt_dwarf_line_table *t, uint64_t i)
{
    if (t == NULL || i >= t->files.count || t->files.items[i].name == NULL) return "";
    pt_dwarf_line_file *file = &t->files.items[i];
    if (file->path != NULL) return file->path;
    const char *unit_folder = t->unit_folder != NULL ? t->unit_folder : "";
    const char *folder = file->folder < t->folders.count ? t->folders.items[file->folder] : NULL;
    if (folder == NULL || file->name[0] == '/') folder = "";
    if (folder[0] == '/' || file->name[0] == '/') unit_folder = "";
    PT_FREE char *raw = pt_strf("%s%s%s%s%s", unit_folder, unit_folder[0] != '\0' ? "/" : "",
                                folder, folder[0] != '\0' ? "/" : "", file->name);
    const size_t size_bytes = strlen(raw) + 1;
    char *path = pt_dwarf_string_room(w, size_bytes);
    if (w->dwarf->as_written)
        memcpy(path, raw, size_bytes);
    else
        pt_tidy_path_text(raw, path);
    file->path = path;
    return path;
}
