/* symbolize_files.c: finds and opens each requested file once. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "cmd/symbolize_int.h"

/* The first path that exists, else the first. */
static const char *choose_path(const char *const *paths)
{
    for (const char *const *path = paths; *path != NULL; path++)
        if (access(*path, R_OK) == 0) return *path;
    return paths[0];
}

static image_entry *open_image(const image_table *table, const char *name, const char *path)
{
    image_entry *image = pt_alloc(1, sizeof *image);
    image->name = pt_strdup(name);
    pt_diag_init(&image->diag);
    image->search =
        (pt_source_search){.options = table->source, .diag = &image->diag, .pid = table->pid};
    /* Opens the file at exactly this path, and searches no other folders for it. The file's debug
     * file may be in other folders. */
    pt_source_options named = *table->source;
    const pt_source_search search = {.options = &named, .diag = &image->diag};
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_error error = PT_ERROR_INIT;
    named.binary_dir_count = 0;
    if (pt_source_find_image(&search, path, "", &file, &error) != PT_OK ||
        pt_chains_open(&file, &image->search, &table->how, &image->chains, &error) != PT_OK) {
        if (error.path[0] == '\0') pt_error_where(&error, path, NULL, -1);
        pt_fail(&error);
    }
    return image;
}

image_entry *images_named(image_table *table, const char *name, const char *const *paths)
{
    for (size_t i = table->count; i > 0; i--) /* the latest image is requested most often */
        if (strcmp(table->items[i - 1]->name, name) == 0) return table->items[i - 1];
    PT_PUSH(*table, open_image(table, name, choose_path(paths)));
    return table->items[table->count - 1];
}

void images_done(image_table *table, pt_diag *diag)
{
    for (size_t i = 0; i < table->count; i++) {
        PT_FREE image_entry *image = table->items[i];
        pt_chains_free(image->chains);
        pt_diag_merge(diag, &image->diag);
        pt_diag_done(&image->diag);
        free(image->name);
    }
    free(table->items);
    *table = (image_table){0};
}
