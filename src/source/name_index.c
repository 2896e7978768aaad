/* name_index.c: see name_index.h. */
#include "source/name_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

#define VERSION       1 /* of the layout and of what the answers mean */
#define ORDER         UINT32_C(0x01020304)
#define STAMP_BYTES   32
#define SUFFIX        ".names"
#define TOUCH_AFTER_S 600
#define STALE_TEMP_S  3600

static const char magic[8] = "ptnames";

typedef struct {
    char magic[8];
    uint32_t order, version;
    char stamp[STAMP_BYTES];
    uint64_t file_bytes, string_bytes;
    uint32_t address_count, frame_count, function_count;
    uint32_t crc; /* of the file with zero here */
} header;

/* ---- layout ---- */

typedef struct {
    uint64_t address, symbol, first, frame, function, string, end;
} layout;

/* No sum can wrap: each count is below 2^32, and string_bytes is below 2^33. */
static layout layout_of(const header *h)
{
    layout at = {.address = sizeof *h};
    at.symbol = at.address + (uint64_t)h->address_count * sizeof(uint64_t);
    at.first = at.symbol + (uint64_t)h->address_count * sizeof(pt_name_symbol);
    at.frame = at.first + ((uint64_t)h->address_count + 1) * sizeof(uint32_t);
    at.function = at.frame + (uint64_t)h->frame_count * sizeof(pt_name_frame);
    at.string = at.function + (uint64_t)h->function_count * sizeof(pt_name_function);
    at.end = at.string + h->string_bytes;
    return at;
}

static uint32_t checksum(const header *h, const uint8_t *bytes, size_t size_bytes)
{
    header blank = *h;
    blank.crc = 0;
    const uint32_t crc = libdeflate_crc32(0, &blank, sizeof blank);
    return libdeflate_crc32(crc, bytes + sizeof blank, size_bytes - sizeof blank);
}

static void set_stamp(char stamp[STAMP_BYTES], const char *text)
{
    memset(stamp, 0, STAMP_BYTES);
    if (text != NULL) memcpy(stamp, text, strnlen(text, STAMP_BYTES - 1));
}

/* ---- reading ---- */

/* The promises that finding relies on. */
static const char *broken_promise(const pt_name_index *x)
{
    for (uint32_t i = 1; i < x->address_count; i++)
        if (x->address[i] <= x->address[i - 1]) return "addresses do not ascend";
    if (x->first[0] != 0 || x->first[x->address_count] != x->frame_count)
        return "frames do not fit the addresses";
    for (uint32_t i = 0; i < x->address_count; i++)
        if (x->first[i + 1] < x->first[i]) return "frames do not ascend";
    for (uint32_t i = 0; i < x->frame_count; i++)
        if (x->frame[i].function >= x->function_count) return "a frame has no function";
    for (uint32_t i = 0; i < x->function_count; i++) {
        const pt_name_function *f = &x->function[i];
        uint32_t most = f->linkage_name > f->name ? f->linkage_name : f->name;
        most = f->file > most ? f->file : most;
        for (int m = 0; m < PT_NAME_MODES; m++)
            most = f->readable[m] > most ? f->readable[m] : most;
        if (most >= x->string_bytes) return "a function has no name";
    }
    return NULL;
}

pt_status pt_name_index_parse(const void *bytes, size_t size_bytes, const char *stamp,
                              pt_name_index *ret_index, pt_error *reterr)
{
    header h;
    char wanted[STAMP_BYTES];
    if (size_bytes < sizeof h || (uintptr_t)bytes % sizeof(uint64_t) != 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "is too short for an index of names");
    memcpy(&h, bytes, sizeof h);
    set_stamp(wanted, stamp);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.order != ORDER || h.version != VERSION ||
        memcmp(h.stamp, wanted, sizeof wanted) != 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "is not an index of names of this version");
    if (h.file_bytes != size_bytes || h.string_bytes == 0 || h.string_bytes > size_bytes ||
        layout_of(&h).end != size_bytes)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "has %zu bytes, which its counts deny",
                            size_bytes);
    if (checksum(&h, bytes, size_bytes) != h.crc)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "does not have the checksum it should have");
    const layout at = layout_of(&h);
    const uint8_t *base = bytes;
    const pt_name_index index = {
        .blob = PT_BLOB_INIT,
        .address_count = h.address_count,
        .frame_count = h.frame_count,
        .function_count = h.function_count,
        .string_bytes = h.string_bytes,
        .address = (const uint64_t *)(const void *)(base + at.address),
        .symbol = (const pt_name_symbol *)(const void *)(base + at.symbol),
        .first = (const uint32_t *)(const void *)(base + at.first),
        .frame = (const pt_name_frame *)(const void *)(base + at.frame),
        .function = (const pt_name_function *)(const void *)(base + at.function),
        .string = (const char *)(base + at.string),
    };
    const char *problem = broken_promise(&index);
    if (problem == NULL && (index.string[0] != '\0' || index.string[h.string_bytes - 1] != '\0'))
        problem = "its strings do not end";
    if (problem != NULL) return pt_error_set(reterr, PT_ERR_DAMAGED, "%s", problem);
    *ret_index = index;
    return PT_OK;
}

uint32_t pt_name_index_find(const pt_name_index *index, uint64_t address)
{
    uint32_t low = 0, high = index->address_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (index->address[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->address_count && index->address[low] == address ? low : PT_NONE;
}

void pt_name_index_done(pt_name_index *index)
{
    pt_blob_done(&index->blob);
    *index = PT_NAME_INDEX_INIT;
}

/* ---- writing ---- */

/* Strings, each once. */
typedef struct {
    pt_buf bytes;
    pt_index index; /* of rows of .at */
    struct {
        uint32_t *items;
        size_t count, cap;
    } at;
    bool is_full; /* an offset would not fit */
} strings;

static uint32_t string_of(strings *s, const char *text)
{
    const size_t length = strlen(text);
    const uint64_t hash = pt_hash_bytes(text, length);
    pt_probe probe = {0};
    for (uint32_t i = pt_index_first(&s->index, hash, &probe); i != PT_NONE;
         i = pt_index_next(&s->index, &probe))
        if (strcmp((const char *)s->bytes.data + s->at.items[i], text) == 0) return s->at.items[i];
    if (s->bytes.size + length + 1 > UINT32_MAX) {
        s->is_full = true;
        return 0;
    }
    const uint32_t offset = (uint32_t)s->bytes.size;
    PT_GROW(s->at, s->at.count + 1);
    s->at.items[s->at.count] = offset;
    pt_index_add(&s->index, hash, (uint32_t)s->at.count++);
    pt_put(&s->bytes, text, length + 1);
    return offset;
}

static pt_name_function packed(strings *s, const pt_name_text *f)
{
    pt_name_function row = {.linkage_name = string_of(s, f->linkage_name),
                            .name = string_of(s, f->name),
                            .file = string_of(s, f->file),
                            .start_line = f->start_line};
    for (int m = 0; m < PT_NAME_MODES; m++)
        row.readable[m] = f->readable[m] != NULL ? string_of(s, f->readable[m]) : 0;
    return row;
}

pt_status pt_name_index_put(pt_buf *buf, const pt_name_columns *c, const char *stamp,
                            pt_error *reterr)
{
    strings s = {.bytes = PT_BUF_INIT};
    pt_index_init(&s.index);
    string_of(&s, "");
    PT_FREE pt_name_function *functions = pt_alloc(c->function_count + 1, sizeof *functions);
    for (size_t i = 0; i < c->function_count; i++)
        functions[i] = packed(&s, &c->function[i]);
    pt_status status = PT_OK;
    if (s.is_full || c->address_count >= UINT32_MAX || c->frame_count >= UINT32_MAX) {
        status = pt_error_set(reterr, PT_ERR_LIMIT, "the names do not fit into an index");
    } else {
        header h = {.order = ORDER,
                    .version = VERSION,
                    .string_bytes = s.bytes.size,
                    .address_count = (uint32_t)c->address_count,
                    .frame_count = (uint32_t)c->frame_count,
                    .function_count = (uint32_t)c->function_count};
        memcpy(h.magic, magic, sizeof magic);
        set_stamp(h.stamp, stamp);
        h.file_bytes = layout_of(&h).end;
        const size_t start = buf->size;
        pt_buf_reserve(buf, h.file_bytes);
        pt_put(buf, &h, sizeof h);
        pt_put(buf, c->address, c->address_count * sizeof *c->address);
        pt_put(buf, c->symbol, c->address_count * sizeof *c->symbol);
        pt_put(buf, c->first, (c->address_count + 1) * sizeof *c->first);
        pt_put(buf, c->frame, c->frame_count * sizeof *c->frame);
        pt_put(buf, functions, c->function_count * sizeof *functions);
        pt_put(buf, s.bytes.data, s.bytes.size);
        h.crc = checksum(&h, buf->data + start, h.file_bytes);
        memcpy(buf->data + start, &h, sizeof h);
    }
    pt_buf_done(&s.bytes);
    pt_index_done(&s.index);
    free(s.at.items);
    return status;
}

/* ---- the folder ---- */

char *pt_name_index_key(const pt_elf *elf, int fd)
{
    enum { ID_BYTES_MAX = 64, LATELY_S = 2 };
    char hex[2 * ID_BYTES_MAX + 1];
    struct stat st;
    struct timespec now;
    /* Shorter ids (lld's fast ones have 8 bytes) are not told apart well enough to be believed. */
    const pt_elf_id id = pt_elf_build_id(elf);
    if (id.bytes != NULL && id.size_bytes >= 8 && pt_elf_id_hex(id, hex, sizeof hex) > 0)
        return pt_strdup(hex);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    if (st.st_ctim.tv_sec + LATELY_S >= now.tv_sec) return NULL;
    return pt_strf("file-%llx-%llx-%llx-%llx.%lx-%llx.%lx", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
                   (unsigned long long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec,
                   (unsigned long long)st.st_ctim.tv_sec, (unsigned long)st.st_ctim.tv_nsec);
}

static char *path_of(const pt_name_cache *cache, const char *key)
{
    return pt_strf("%s/%s" SUFFIX, cache->folder, key);
}

/* What others could write to is not believed. */
static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static pt_status no_index(pt_error *reterr, const char *path)
{
    pt_error_set(reterr, PT_ERR_NOTFOUND, "there is no index of names");
    if (reterr != NULL) pt_error_where(reterr, path, NULL, -1);
    return PT_ERR_NOTFOUND;
}

pt_status pt_name_index_open(const pt_name_cache *cache, const char *key, pt_name_index *ret_index,
                             pt_error *reterr)
{
    if (cache->folder == NULL || key == NULL) return no_index(reterr, "");
    PT_FREE char *path = path_of(cache, key);
    PT_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    struct stat st;
    pt_blob blob = PT_BLOB_INIT;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !is_ours(&st))
        return no_index(reterr, path);
    const uint64_t max = cache->max_bytes != 0 ? cache->max_bytes : PT_NAME_CACHE_BYTES;
    pt_status status = pt_file_read_fd(fd, path, 0, max, &blob, reterr);
    if (status != PT_OK) return status;
    status = pt_name_index_parse(blob.data, blob.size, cache->stamp, ret_index, reterr);
    if (status != PT_OK) {
        if (reterr != NULL) pt_error_where(reterr, path, NULL, -1);
        pt_blob_done(&blob);
        return status;
    }
    ret_index->blob = blob;
    if (st.st_mtim.tv_sec + TOUCH_AFTER_S < time(NULL)) futimens(fd, NULL);
    return PT_OK;
}

/* Makes the folder with those above it, as the XDG base directory specification wants them. */
static bool make_folder(const char *folder)
{
    struct stat st;
    PT_FREE char *path = pt_strdup(folder);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_ours(&st);
}

typedef struct {
    char *path;
    uint64_t bytes;
    struct timespec used;
} kept_file;

typedef struct {
    kept_file *items;
    size_t count, cap;
} kept_files;

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Our files in the folder; removes what killed writers left. */
static kept_files list_files(const pt_name_cache *cache)
{
    kept_files list = {0};
    DIR *dir = cache->folder != NULL ? opendir(cache->folder) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        const bool is_temp = name[0] == '.' && ends_with(name, ".tmp");
        struct stat st;
        if ((!is_temp && (name[0] == '.' || !ends_with(name, SUFFIX))) ||
            fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (is_temp) {
            if (st.st_mtim.tv_sec + STALE_TEMP_S < time(NULL)) unlinkat(dirfd(dir), name, 0);
            continue;
        }
        PT_GROW(list, list.count + 1);
        list.items[list.count++] =
            (kept_file){pt_strf("%s/%s", cache->folder, name), (uint64_t)st.st_size, st.st_mtim};
    }
    if (dir != NULL) closedir(dir);
    return list;
}

static void free_files(kept_files *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
}

static int by_use(const void *x, const void *y)
{
    const kept_file *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void trim(const pt_name_cache *cache, uint64_t max_bytes)
{
    kept_files list = list_files(cache);
    uint64_t sum = 0;
    for (size_t i = 0; i < list.count; i++)
        sum += list.items[i].bytes;
    if (sum > max_bytes) qsort(list.items, list.count, sizeof *list.items, by_use);
    for (size_t i = 0; i < list.count && sum > max_bytes; i++)
        if (unlink(list.items[i].path) == 0) sum -= list.items[i].bytes;
    free_files(&list);
}

pt_status pt_name_index_save(const pt_name_cache *cache, const char *key,
                             const pt_name_columns *columns, pt_error *reterr)
{
    const uint64_t max = cache->max_bytes != 0 ? cache->max_bytes : PT_NAME_CACHE_BYTES;
    if (cache->folder == NULL || key == NULL || cache->folder[0] != '/')
        return pt_error_set(reterr, PT_ERR_USAGE, "there is no folder to keep names in");
    if (!make_folder(cache->folder)) {
        pt_error_set(reterr, PT_ERR_SYSTEM, "is not a folder of yours alone; no names are kept");
        pt_error_where(reterr, cache->folder, NULL, -1);
        return PT_ERR_SYSTEM;
    }
    pt_buf bytes = PT_BUF_INIT;
    pt_status status = pt_name_index_put(&bytes, columns, cache->stamp, reterr);
    if (status == PT_OK && bytes.size > max / 4)
        status = pt_error_set(reterr, PT_ERR_LIMIT,
                              "%zu bytes of names are more than a quarter of what may be kept",
                              bytes.size);
    if (status == PT_OK) {
        PT_FREE char *path = path_of(cache, key);
        pt_file_writer writer;
        status = pt_file_create(path, &writer, reterr);
        if (status == PT_OK) {
            fchmod(writer.fd, 0600);
            pt_out_put(&writer.out, bytes.data, bytes.size);
            status = pt_file_commit(&writer, false, reterr);
        }
        trim(cache, max);
    }
    pt_buf_done(&bytes);
    return status;
}

void pt_name_cache_look(const pt_name_cache *cache, bool clear, pt_name_cache_facts *ret_facts)
{
    kept_files list = list_files(cache);
    *ret_facts = (pt_name_cache_facts){0};
    for (size_t i = 0; i < list.count; i++) {
        if (clear && unlink(list.items[i].path) != 0) continue;
        ret_facts->file_count++;
        ret_facts->file_bytes += list.items[i].bytes;
    }
    free_files(&list);
}
