/* tables.c: makes unwind tables for the next recording, of the images that have samples. The tables
 * that the library made in the recorded processes are gone with the processes. See recording.h. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "elf/image.h"
#include "process/image.h"
#include "recording/recording.h"

static void keep_table(const char *path, const char *build_id, const pt_table_cache *cache)
{
    struct stat st;
    pt_elf elf;
    char hex[2 * PT_UNWIND_ID_MAX + 1];
    pt_blob blob = PT_BLOB_INIT;
    pt_mapped_image image = {0};
    if (stat(path, &st) != 0 || pt_table_is_kept(cache, build_id, &st)) return;
    PT_CLOSE int fd = pt_open_regular(path, &st);
    if (fd < 0 ||
        pt_file_read_fd(fd, path, PT_FILE_MAP, (uint64_t)st.st_size, &blob, NULL) != PT_OK)
        return;
    if (pt_elf_open(blob.data, blob.size, &elf) == PT_ELF_OK) {
        const pt_elf_id id = pt_elf_build_id(&elf);
        pt_elf_id_hex(id, hex, sizeof hex);
        if (id.size_bytes > 0 && strcmp(hex, build_id) == 0 &&
            pt_mapped_image_compile(&image, &elf, id.bytes, id.size_bytes) && pt_blob_intact(&blob))
            pt_table_keep(cache, id, &st, image.blob, image.blob_bytes);
    }
    pt_mapped_image_done(&image);
    pt_blob_done(&blob);
}

void pt_recorded_keep_tables(const pt_profile *p, const pt_table_cache *cache)
{
    PT_FREE bool *sampled = pt_recorded_mappings(p);
    for (uint32_t m = 0; m < p->mapping->t.count && cache->folder != NULL; m++) {
        const pt_mapping *const row = &p->mapping->row[m];
        if (sampled[m] && pt_text(p, row->file)[0] == '/')
            keep_table(pt_text(p, row->file), pt_text(p, row->build_id), cache);
    }
}
