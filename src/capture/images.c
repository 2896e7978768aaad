/* images.c: mapped files and their unwind tables. See images.h. */
#include "capture/images.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/kept.h"
#include "elf/image.h"
#include "interp/java.h"
#include "process/path_kind.h"

#define FILE_MAX (UINT64_C(8) << 30)

void pt_images_init(pt_images *images)
{
    *images = (pt_images){0};
    pt_index_init(&images->index);
    pt_index_init(&images->of_id);
}

/* Frees the tables, unless they belong to another image. */
static void free_mapped(pt_image *image)
{
    if (image->owner != NULL) image->mapped.blob = image->mapped.base_blob = NULL;
    pt_mapped_image_done(&image->mapped);
}

static void free_image(pt_image *image)
{
    free(image->path);
    free_mapped(image);
    free(image);
}

void pt_images_done(pt_images *images)
{
    for (size_t i = 0; i < images->all.count; i++)
        free_image(images->all.items[i]);
    free(images->all.items);
    pt_index_done(&images->index);
    pt_index_done(&images->of_id);
    *images = (pt_images){0};
}

/* ---- identity ---- */

static uint64_t key_hash(const pt_image_key *key)
{
    if (key->build_id_bytes > 0) return pt_hash_bytes(key->build_id, key->build_id_bytes);
    return pt_hash_mix(pt_hash_bytes(key->path, strlen(key->path)), key->inode);
}

static bool has_key(const pt_image *image, const pt_image_key *key)
{
    if (strcmp(image->path, key->path) != 0) return false;
    if (key->build_id_bytes > 0)
        return image->build_id_bytes == key->build_id_bytes &&
               memcmp(image->build_id, key->build_id, key->build_id_bytes) == 0;
    return image->major == key->major && image->minor == key->minor && image->inode == key->inode;
}

uint32_t pt_images_add(pt_images *images, const pt_image_key *key)
{
    const uint64_t hash = key_hash(key);
    const uint32_t known =
        PT_INDEX_FIND(&images->index, hash, i, has_key(images->all.items[i], key));
    if (known != PT_NONE) return known;
    pt_image *const image = pt_alloc(1, sizeof *image);
    *image = (pt_image){.path = pt_strdup(key->path),
                        .major = key->major,
                        .minor = key->minor,
                        .inode = key->inode,
                        .build_id_bytes = key->build_id_bytes};
    memcpy(image->build_id, key->build_id, sizeof image->build_id);
    return PT_INDEX_PUSH(&images->index, hash, images->all, image);
}

/* ---- reading files ---- */

static bool has_id(const pt_image *image, pt_elf_id id)
{
    return id.size_bytes >= image->build_id_bytes &&
           memcmp(id.bytes, image->build_id, image->build_id_bytes) == 0;
}

static pt_elf_id id_of(const pt_image *image)
{
    return (pt_elf_id){.bytes = image->build_id, .size_bytes = image->build_id_bytes};
}

/* True if the tables of another image are those of the same file. */
static bool has_same_file(const pt_image *image, const pt_image *other)
{
    return other->mapped.blob != NULL && other->owner == NULL && image->status.st_ino != 0 &&
           pt_same_file(&other->status, &image->status) &&
           other->build_id_bytes == image->build_id_bytes && has_id(image, id_of(other));
}

/* Takes the tables of another image of the same file. One file may be two images, because the
 * kernel reports a build id at a mapping, and /proc/PID/maps an inode. */
static bool share_table(pt_image *image, uint32_t number, pt_images *images)
{
    enum { ID_BYTES_MIN = 8 };
    if (image->build_id_bytes < ID_BYTES_MIN) return false;
    const uint64_t hash = pt_hash_bytes(image->build_id, image->build_id_bytes);
    pt_image *const *const all = images->all.items;
    const uint32_t found =
        PT_INDEX_FIND(&images->of_id, hash, i, i != number && has_same_file(image, all[i]));
    if (found != PT_NONE) {
        pt_mapped_image *const mapped = &image->mapped;
        const pt_mapped_image own = *mapped;
        *mapped = all[found]->mapped;
        mapped->segments = own.segments;
        mapped->segment_count = own.segment_count;
        image->owner = all[found];
        return true;
    }
    if (!image->is_listed) pt_index_add(&images->of_id, hash, number);
    image->is_listed = true;
    return false;
}

/* Gets the unwind table: from another image, from disk, or by compiling. */
static void find_table(pt_image *image, uint32_t number, pt_images *images, const pt_elf *elf)
{
    const pt_table_cache *const cache = &images->cache;
    if (share_table(image, number, images)) return;
    pt_mapped_image *const mapped = &image->mapped;
    if (pt_table_kept(cache, id_of(image), &image->status, &mapped->blob, &mapped->blob_bytes,
                      &mapped->table))
        return;
    image->is_compiled =
        pt_mapped_image_compile(mapped, elf, image->build_id, image->build_id_bytes);
}

static void read_interp(pt_image *image, const pt_images *images, const pt_elf *elf)
{
    if (image->has_interp || (!images->wants_interp && !pt_java_is_file(image->path))) return;
    image->has_interp = true;
    pt_interp_image_read(elf, image->path, &image->interp);
    if (images->wants_locks) pt_interp_find_lock_waits(elf, &image->interp);
}

/* Reads an image from the bytes of a file. Returns false if that file is not the mapped one. */
static bool read_image_bytes(pt_images *images, uint32_t number, const void *bytes, size_t size)
{
    pt_image *const image = images->all.items[number];
    pt_elf elf;
    if (pt_elf_open(bytes, size, &elf) != PT_ELF_OK) return false;
    const pt_elf_id id = pt_elf_build_id(&elf);
    if (image->build_id_bytes > 0 && !has_id(image, id)) return false;
    if (image->build_id_bytes == 0 && id.size_bytes > 0 && id.size_bytes <= PT_IMAGE_ID_MAX) {
        memcpy(image->build_id, id.bytes, id.size_bytes);
        image->build_id_bytes = id.size_bytes;
    }
    if (image->is_found) { /* all but the facts about its interpreter was read before */
        read_interp(image, images, &elf);
        return true;
    }
    if (!pt_mapped_image_take_segments(&image->mapped, &elf)) return false;
    image->entry_addr = elf.entry_addr;
    read_interp(image, images, &elf);
    find_table(image, number, images, &elf);
    if (image->mapped.blob != NULL && image->owner == NULL)
        pt_mapped_image_compile_base(&image->mapped, &elf);
    return true;
}

static const pt_interp_image no_interp = {.refused = PT_BPF_NO_LANGUAGE};

/* Drops results from a wrong file, or from a file that shrank while it was read. */
static void drop_file(pt_image *image)
{
    free_mapped(image);
    image->owner = NULL;
    image->is_compiled = image->has_interp = false;
    image->interp = no_interp;
    image->status = (struct stat){0};
}

/* True if the opened file is the mapped one. A build id identifies a file, and so does a link in
 * /proc/PID/map_files (is_mapping). Otherwise the inode of the kernel's record must match. */
static bool is_reported_file(const pt_image *image, const struct stat *st, bool is_mapping)
{
    if (is_mapping || image->build_id_bytes > 0 || image->inode == 0) return true;
    return st->st_ino == image->inode && (image->major == 0 || (major(st->st_dev) == image->major &&
                                                                minor(st->st_dev) == image->minor));
}

/* Reads an image from a file. If the image was read before, reads only the facts about interpreters
 * that it lacks. root: the root of the process that maps the file, or NULL for the recorder's own
 * root. */
static bool read_image_file(pt_images *images, uint32_t number, const char *root, const char *path,
                            bool is_mapping)
{
    pt_image *const image = images->all.items[number];
    struct stat st;
    pt_blob blob = PT_BLOB_INIT;
    PT_CLOSE int fd =
        root != NULL ? pt_open_regular_in(root, path, &st) : pt_open_regular(path, &st);
    if (fd < 0 || !is_reported_file(image, &st, is_mapping) ||
        (image->is_found && !pt_same_file(&image->status, &st)) ||
        pt_file_read_fd(fd, path, PT_FILE_MAP, FILE_MAX, &blob, NULL) != PT_OK)
        return false;
    image->status = st;
    const bool is_it =
        read_image_bytes(images, number, blob.data, blob.size) && pt_blob_intact(&blob);
    pt_blob_done(&blob);
    if (!is_it && image->is_found)
        image->interp = no_interp;
    else if (!is_it)
        drop_file(image);
    return is_it;
}

/* Reads the vDSO of the recorder: all processes of one word size have the same vDSO. Its sections
 * lie after its segments, up to the end of the last page. */
static bool read_image_vdso(pt_images *images, uint32_t number)
{
    const uint8_t *const vdso = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pt_elf elf;
    pt_elf_segment s;
    if (vdso == NULL || pt_elf_open(vdso, page_bytes, &elf) != PT_ELF_OK) return false;
    size_t size = 0;
    for (uint32_t i = 0; pt_elf_segment_at(&elf, i, &s); i++)
        if (s.type == PT_LOAD && s.off + s.file_bytes > size) size = (size_t)(s.off + s.file_bytes);
    size = (size + page_bytes - 1) / page_bytes * page_bytes;
    return read_image_bytes(images, number, vdso, size);
}

/* Reads an image's file, as the process sees it or by its path. */
static bool read_image(pt_images *images, uint32_t number, uint32_t pid, uint64_t start,
                       uint64_t limit)
{
    const char *const path = images->all.items[number]->path;
    if (pid != 0) {
        PT_FREE char *mapping =
            pt_strf("/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start, limit);
        PT_FREE char *root = pt_strf("/proc/%" PRIu32 "/root", pid);
        if (read_image_file(images, number, NULL, mapping, true) ||
            read_image_file(images, number, root, path, false))
            return true;
    }
    return read_image_file(images, number, NULL, path, false);
}

void pt_images_look(pt_images *images, uint32_t number, uint32_t pid, uint64_t start,
                    uint64_t limit)
{
    enum { TRIES_MAX = 16 };
    pt_image *const image = images->all.items[number];
    const pt_mapped_kind kind = pt_mapped_kind_of_text(image->path);
    if (image->is_looked_at) {
        const bool lacks_interp = images->wants_interp && image->is_found && !image->has_interp;
        if (lacks_interp && kind == PT_MAPPED_FILE) read_image(images, number, pid, start, limit);
        return;
    }
    image->is_looked_at = true;
    images->read_count++;
    if (kind == PT_MAPPED_VDSO) image->is_found = read_image_vdso(images, number);
    if (kind != PT_MAPPED_FILE) return;
    image->is_found = read_image(images, number, pid, start, limit);
    /* The files of a process that ended cannot be read; the next process that maps the image
     * provides the file. */
    if (!image->is_found && pid == 0) image->is_looked_at = ++image->tries >= TRIES_MAX;
}

/* Do the inodes show that an older mapping's image, whose file was not read, is another file than
 * the present mapping's? Inodes are compared only on one device: some file systems report another
 * device to the kernel's records than to stat. */
static bool is_other_inode(const pt_image *older, const pt_image *now)
{
    const struct stat *const st = &now->status;
    if (older->is_looked_at || older->inode == 0) return false;
    if (now->inode != 0) return now->inode != older->inode;
    return st->st_ino != 0 && st->st_ino != older->inode && major(st->st_dev) == older->major &&
           minor(st->st_dev) == older->minor;
}

bool pt_images_are_same(pt_images *images, uint32_t a, uint32_t b, uint32_t pid, uint64_t start,
                        uint64_t limit)
{
    if (a == b) return true;
    const pt_image *const one = images->all.items[a], *const other = images->all.items[b];
    if (strcmp(one->path, other->path) != 0) return false;
    pt_images_look(images, b, pid, start, limit);
    if (is_other_inode(one, other)) return false; /* a's file is not at this mapping */
    pt_images_look(images, a, pid, start, limit);
    return one->build_id_bytes > 0 && one->build_id_bytes == other->build_id_bytes &&
           has_id(one, id_of(other));
}

static void keep_table(const pt_images *images, const pt_image *image)
{
    if (image->is_compiled)
        pt_table_keep(&images->cache, id_of(image), &image->status, image->mapped.blob,
                      image->mapped.blob_bytes);
}

void pt_images_keep(const pt_images *images)
{
    for (size_t i = 0; i < images->all.count; i++)
        keep_table(images, images->all.items[i]);
}

void pt_images_sweep(pt_images *images, void (*forget)(void *arg, const pt_unwind_table *table),
                     void *arg)
{
    images->read_count = 0;
    for (size_t i = 0; i < images->all.count; i++) {
        const pt_image *const image = images->all.items[i];
        if (image->is_mapped && image->owner != NULL) image->owner->is_mapped = true;
    }
    for (size_t i = 0; i < images->all.count; i++) {
        pt_image *const image = images->all.items[i];
        const bool is_vdso = image->status.st_ino == 0; /* or there was no file */
        const bool is_used = image->is_mapped || is_vdso;
        image->is_mapped = false;
        if (is_used) continue;
        keep_table(images, image);
        const bool has_tables = image->mapped.blob != NULL && image->owner == NULL;
        if (has_tables) forget(arg, &image->mapped.table);
        if (has_tables && image->mapped.base_blob != NULL) forget(arg, &image->mapped.base_table);
        drop_file(image);
        image->is_looked_at = image->is_found = false;
    }
}

bool pt_image_bias(const pt_image *image, uint64_t start, uint64_t file_offset, uint64_t *ret_bias)
{
    return pt_elf_bias(image->mapped.segments, image->mapped.segment_count, start, file_offset,
                       ret_bias);
}

bool pt_image_is_entry(const pt_image *image, uint64_t start, uint64_t file_offset, uint64_t pc)
{
    enum { START_BYTES = 80 }; /* size of _start in known libcs */
    uint64_t bias;
    if (image->entry_addr == 0 || !pt_image_bias(image, start, file_offset, &bias)) return false;
    return pc - bias - image->entry_addr < START_BYTES;
}
