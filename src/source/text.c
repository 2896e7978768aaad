/* text.c: finds source files by their names, reads each once and splits it into lines. */
#include "source/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/text.h"

#define MAX_FILE_BYTES (UINT64_C(64) << 20)
#define LONG_LINE      65536 /* bufio.MaxScanTokenSize of Go */

struct pt_source_texts {
    char *source_path, *trim_path;
    pt_find_source *find;
    void *context;
    bool confined;
    char **folders; /* folders of source_path, links resolved, each with a slash at the end */
    size_t folder_count, folder_cap;
    char *here; /* the current folder in the same form; or NULL */
    pt_source_vouch *vouch;
    void *vouch_context;
    pt_source_file **items;
    size_t count, cap;
    pt_index index;
};

/* ---- lists and paths, by the rules of Go's path/filepath ---- */

/* The next item of a list with ':'; false after the last one. An empty list has none. *at becomes
 * NULL at the end. */
static bool next_item(const char **at, const char **ret_item, size_t *ret_size)
{
    if (*at == NULL) return false;
    const char *end = strchrnul(*at, ':');
    *ret_item = *at;
    *ret_size = (size_t)(end - *at);
    *at = *end == ':' ? end + 1 : NULL;
    return true;
}

static const char *list_of(const char *path)
{
    return path != NULL && path[0] != '\0' ? path : NULL;
}

/* "/a/b//" -> "b"; "" -> "."; "///" -> "/". */
static char *base_of(const char *path, size_t size)
{
    if (size == 0) return pt_strdup(".");
    while (size > 0 && path[size - 1] == '/')
        size--;
    if (size == 0) return pt_strdup("/");
    size_t begin = size;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return pt_strndup(path + begin, size - begin);
}

char *pt_source_clean(const char *path)
{
    const bool rooted = path[0] == '/';
    const size_t size = strlen(path);
    char *out = pt_alloc(size + 2, 1);
    size_t count = 0,
           floor = 0; /* ".." never removes parts below floor: the root, or leading ".." */
    if (rooted) out[count++] = '/', floor = 1;
    for (size_t i = 0; i < size;) {
        const size_t length = strcspn(path + i, "/");
        if (length == 2 && path[i] == '.' && path[i + 1] == '.' && count > floor) {
            while (count > floor && out[count - 1] != '/')
                count--;
            if (count > floor) count--; /* the slash before it */
        } else if (length > 0 && !(length == 1 && path[i] == '.') &&
                   !(rooted && length == 2 && path[i] == '.' && path[i + 1] == '.')) {
            if (count > (rooted ? 1 : 0)) out[count++] = '/';
            memcpy(out + count, path + i, length);
            count += length;
            if (length == 2 && path[i] == '.' && path[i + 1] == '.') floor = count;
        }
        i += length + (path[i + length] == '/');
    }
    if (count == 0) out[count++] = '.';
    out[count] = '\0';
    return out;
}

const char *pt_source_trim(const char *name, const char *trim_path, const char *source_path)
{
    static const char *const always[] = {"/proc/self/cwd/./", "/proc/self/cwd/"};
    const char *item;
    size_t size;
    const char *list = list_of(trim_path) == NULL ? list_of(source_path) : NULL;
    while (next_item(&list, &item, &size)) {
        PT_FREE char *base = base_of(item, size);
        PT_FREE char *wanted = pt_strf("/%s/", base);
        const char *found = strstr(name, wanted);
        if (found != NULL) return found + strlen(wanted);
    }
    list = list_of(trim_path);
    while (next_item(&list, &item, &size)) {
        const bool has_slash = size > 0 && item[size - 1] == '/';
        if (strncmp(name, item, size) == 0 && (has_slash || name[size] == '/'))
            return name + size + !has_slash;
    }
    for (size_t i = 0; i < PT_COUNT(always); i++)
        if (strncmp(name, always[i], strlen(always[i])) == 0) return name + strlen(always[i]);
    return name;
}

/* ---- confinement ---- */

/* The folder with links resolved and a slash at its end; NULL if it does not exist, and for "/". */
static char *real_folder(const char *path)
{
    PT_FREE char *real = realpath(path, NULL);
    return real != NULL && real[1] != '\0' ? pt_strf("%s/", real) : NULL;
}

void pt_source_texts_confine(pt_source_texts *texts, const char *here, pt_source_vouch *vouch,
                             void *context)
{
    const char *item;
    size_t size;
    const char *list = list_of(texts->source_path);
    texts->here = here != NULL ? real_folder(here) : NULL;
    while (next_item(&list, &item, &size)) {
        PT_FREE char *folder = pt_strndup(item, size);
        char *real = real_folder(folder);
        if (real == NULL) continue;
        /* The rule for `here` is stricter. */
        if (texts->here != NULL && strcmp(real, texts->here) == 0) {
            free(real);
            continue;
        }
        texts->folders = pt_grow(texts->folders, &texts->folder_cap, texts->folder_count + 1,
                                 sizeof *texts->folders);
        texts->folders[texts->folder_count++] = real;
    }
    texts->confined = true;
    texts->vouch = vouch;
    texts->vouch_context = context;
}

static bool is_below(const char *path, const char *folder)
{
    return folder != NULL && pt_begins(path, folder);
}

/* path: links resolved. */
static bool is_in_folders(const pt_source_texts *texts, const char *path)
{
    for (size_t i = 0; i < texts->folder_count; i++)
        if (is_below(path, texts->folders[i])) return true;
    return is_below(path, texts->here) && strstr(path + strlen(texts->here) - 1, "/.") == NULL;
}

/* True if the open file may be shown, whatever path led to it. */
static bool may_show(const pt_source_texts *texts, const pt_source_file *file, int fd)
{
    if (!texts->confined || file->of_image) return true;
    if (texts->vouch != NULL && texts->vouch(texts->vouch_context, file->name)) return true;
    PT_FREE char *link = pt_strf("/proc/self/fd/%d", fd);
    PT_FREE char *path = realpath(link, NULL);
    return path != NULL && is_in_folders(texts, path);
}

/* ---- Finding and reading ---- */

/* Splits the text into lines; text after the last newline is a line unless empty. */
static void split_lines(pt_source_file *file)
{
    const char *text = (const char *)file->text.data;
    const size_t size = file->text.size;
    size_t cap = 0;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t next = end != NULL ? (size_t)(end + 1 - text) : size;
        file->line = pt_grow(file->line, &cap, file->line_count + 2, sizeof *file->line);
        file->line[file->line_count] = at;
        const size_t length = next - at - (end != NULL);
        if (file->short_count == file->line_count && length < LONG_LINE) file->short_count++;
        file->line_count++;
        at = next;
    }
    if (file->line != NULL) file->line[file->line_count] = size;
}

/* Reads a file. A file that is not regular counts as found and has no lines, like a folder in
 * pprof. */
static bool read_at(const pt_source_texts *texts, pt_source_file *file, const char *path)
{
    struct stat status;
    pt_error error = PT_ERROR_INIT;
    PT_CLOSE int fd = pt_open_regular(path, &status);
    if (fd < 0 && errno != EINVAL) return false;
    if (fd >= 0 && !may_show(texts, file, fd)) {
        errno = EACCES;
        return false;
    }
    file->path = pt_strdup(path);
    if (fd < 0) return true;
    file->changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if ((uint64_t)status.st_size > MAX_FILE_BYTES) {
        file->error = pt_strf("%s is larger than 64 MiB", path);
        return true;
    }
    if (pt_file_read_fd(fd, path, PT_FILE_EMPTY_OK, MAX_FILE_BYTES, &file->text, &error) == PT_OK)
        split_lines(file);
    else
        file->error = pt_strdup(error.message);
    return true;
}

static char *join_path(const char *folder, const char *name)
{
    PT_FREE char *path = folder[0] != '\0' ? pt_strf("%s/%s", folder, name) : pt_strdup(name);
    return pt_source_clean(path);
}

/* Tries each folder of the list and all its parents. */
static bool find_below(const pt_source_texts *texts, pt_source_file *file, const char *name)
{
    const char *item;
    size_t size;
    const char *list = list_of(texts->source_path);
    while (next_item(&list, &item, &size)) {
        char *folder = pt_strndup(item, size);
        for (;;) {
            PT_FREE char *path = join_path(folder, name);
            if (read_at(texts, file, path)) {
                free(folder);
                return true;
            }
            /* The parent folder; a path without one is its own. */
            const char *slash = strrchr(folder, '/');
            PT_FREE char *above =
                pt_strndup(folder, slash != NULL ? (size_t)(slash + 1 - folder) : 0);
            char *parent = pt_source_clean(above);
            const bool top = strcmp(parent, folder) == 0;
            free(folder);
            folder = parent;
            if (top) break;
        }
        free(folder);
    }
    return false;
}

/* "open PATH: no such file or directory", in Go's form: the system's message in lower case. */
static char *open_error(const char *path, int errnum)
{
    char *text = pt_strf("open %s: %s", path, strerror(errnum));
    char *first = text + strlen("open ") + strlen(path) + strlen(": ");
    *first = (char)tolower((unsigned char)*first);
    return text;
}

/* The message for a missing file. In confinement it is the same whether the file exists or not. */
static char *missing_error(const pt_source_texts *texts, const char *name, int errnum)
{
    if (texts->confined)
        return pt_strf(
            "%s: not below the folders of --source-path and the current one, and named by "
            "the profile alone; --source-path=FOLDER shows what is below FOLDER",
            name);
    return name[0] == '/' ? open_error(name, errnum)
                          : pt_strf("could not find file %s on path %s", name, texts->source_path);
}

static void find_file(pt_source_texts *texts, pt_source_file *file, const char *build_id)
{
    const char *name = pt_source_trim(file->name, texts->trim_path, texts->source_path);
    if (name[0] == '/' ? read_at(texts, file, name) : find_below(texts, file, name)) return;
    file->error = missing_error(texts, name, errno);
    PT_FREE char *found =
        texts->find != NULL ? texts->find(texts->context, build_id, file->name) : NULL;
    if (found == NULL) return;
    PT_FREE char *error = file->error;
    file->error = NULL;
    /* debuginfod found it by build id, not by a path of the profile. */
    const bool of_image = file->of_image;
    file->of_image = true;
    if (!read_at(texts, file, found)) file->error = pt_strdup(error);
    file->of_image = of_image;
}

/* ---- The cache ---- */

pt_source_texts *pt_source_texts_new(const char *source_path, const char *trim_path,
                                     pt_find_source *find, void *context)
{
    pt_source_texts *texts = pt_alloc(1, sizeof *texts);
    texts->source_path = pt_strdup(source_path != NULL ? source_path : "");
    texts->trim_path = pt_strdup(trim_path != NULL ? trim_path : "");
    texts->find = find;
    texts->context = context;
    pt_index_init(&texts->index);
    return texts;
}

static void file_free(pt_source_file *file)
{
    pt_blob_done(&file->text);
    PT_FREE_ALL(file->name, file->path, file->error, file->line, file);
}

void pt_source_texts_free(pt_source_texts *texts)
{
    if (texts == NULL) return;
    for (size_t i = 0; i < texts->count; i++)
        file_free(texts->items[i]);
    for (size_t i = 0; i < texts->folder_count; i++)
        free(texts->folders[i]);
    PT_FREE_ALL(texts->folders, texts->here);
    pt_index_done(&texts->index);
    PT_FREE_ALL(texts->items, texts->source_path, texts->trim_path, texts);
}

static const pt_source_file *find_text(pt_source_texts *texts, const char *name,
                                       const char *build_id, bool of_image)
{
    const uint64_t hash = pt_hash_bytes(name, strlen(name));
    const uint32_t known = PT_INDEX_FIND(&texts->index, hash, i,
                                         strcmp(texts->items[i]->name, name) == 0 &&
                                             texts->items[i]->of_image == of_image);
    if (known != PT_NONE) return texts->items[known];
    pt_source_file *file = pt_alloc(1, sizeof *file);
    file->text = PT_BLOB_INIT;
    file->name = pt_strdup(name);
    file->of_image = of_image;
    find_file(texts, file, build_id != NULL ? build_id : "");
    PT_INDEX_PUSH(&texts->index, hash, *texts, file);
    return file;
}

const pt_source_file *pt_source_texts_file(pt_source_texts *texts, const char *name,
                                           const char *build_id)
{
    return find_text(texts, name, build_id, false);
}

const pt_source_file *pt_source_texts_of_image(pt_source_texts *texts, const char *name,
                                               const char *build_id)
{
    return find_text(texts, name, build_id, texts->confined);
}

bool pt_source_line(const pt_source_file *file, int64_t number, const char **ret_text,
                    size_t *ret_size)
{
    if (number < 1 || (uint64_t)number > file->line_count) return false;
    const char *text = (const char *)file->text.data;
    const size_t begin = file->line[number - 1];
    size_t end = file->line[number];
    if (end > begin && text[end - 1] == '\n') end--;
    if (end > begin && text[end - 1] == '\r') end--;
    *ret_text = text + begin;
    *ret_size = end - begin;
    return true;
}
