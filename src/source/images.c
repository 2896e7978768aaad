/* images.c: opens and checks the candidates of a search, one after the other. */
#include "source/images.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/place.h"
#include "base/text.h"
#include "process/path_kind.h"
#include "source/text.h"

#include <elf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)
#define HEX_BYTES_MAX     129 /* ids of up to 64 bytes */

static const char *const default_debug_dirs[] = {"/usr/lib/debug"};

/* The state of a search. */
typedef struct {
    const pt_source_search *search;
    const char *wanted_id; /* lower-case hex; "": unknown */
    bool needs_crc;        /* without a wanted id, the CRC must match */
    uint32_t crc;
    bool for_names;         /* for a debug file: it must have symbols or DWARF */
    const char *image_name; /* for facts: name of the image */
    pt_error *rejection;    /* receives the reason why the last candidate was rejected; or NULL */
} trial;

static const char *const *debug_dirs_of(const pt_source_options *options, size_t *ret_count)
{
    const bool given = options->debug_dir_count > 0;
    *ret_count = given ? options->debug_dir_count : 1;
    return given ? options->debug_dirs : default_debug_dirs;
}

/* ---- one candidate ---- */

/* The length of "/proc/PID/root" at the beginning of a path; 0: none. The rest is a path as that
 * process sees it. */
static size_t root_bytes(const char *path)
{
    static const char proc[] = "/proc/", root[] = "/root/";
    if (!pt_begins(path, proc)) return 0;
    const size_t digits = strspn(path + sizeof proc - 1, "0123456789");
    const size_t at = sizeof proc - 1 + digits;
    return digits > 0 && pt_begins(path + at, root) ? at + sizeof root - 2 : 0;
}

/* Opens a candidate. Its path comes from a profile and may be anything; a path below a process's
 * root cannot leave the root. */
static int open_candidate(const char *path, struct stat *ret_status)
{
    const size_t root = root_bytes(path);
    if (root == 0) return pt_open_regular(path, ret_status);
    PT_FREE char *root_path = pt_strndup(path, root);
    return pt_open_regular_in(root_path, path + root, ret_status);
}

static bool open_regular(const pt_source_options *options, const char *path,
                         pt_image_file *ret_file)
{
    struct stat status;
    const int fd = open_candidate(path, &status);
    pt_image_file file = PT_IMAGE_FILE_INIT;
    if (fd < 0) return false;
    const uint64_t max = options->max_bytes != 0 ? options->max_bytes : DEFAULT_MAX_BYTES;
    if (status.st_size == 0 || pt_file_read_fd(fd, path, PT_FILE_MAP | PT_FILE_OF_ANY_SIZE, max,
                                               &file.blob, NULL) != PT_OK) {
        close(fd);
        return false;
    }
    file.fd = fd;
    file.path = pt_strdup(path);
    *ret_file = file;
    return true;
}

/* True if two ids are equal, or one is the other plus zeros: some recorders pad ids to 20 bytes. */
static bool same_id(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return a[strspn(a, "0")] == '\0' && b[strspn(b, "0")] == '\0';
}

static bool names_code(const pt_elf *elf)
{
    pt_elf_section s;
    uint64_t size_bytes;
    return (pt_elf_section_named(elf, ".debug_info", &s) &&
            pt_elf_section_bytes(elf, &s, &size_bytes) != NULL) ||
           (pt_elf_section_named(elf, ".zdebug_info", &s) &&
            pt_elf_section_bytes(elf, &s, &size_bytes) != NULL) ||
           (pt_elf_section_typed(elf, SHT_SYMTAB, &s) &&
            pt_elf_section_bytes(elf, &s, &size_bytes) != NULL);
}

static void reject_candidate(const trial *t, const char *path, const char *id)
{
    pt_error ignored;
    pt_error *error = t->rejection != NULL ? t->rejection : &ignored;
    if (id[0] != '\0')
        pt_error_set(error, PT_ERR_FORMAT, "has build id %s, the profile's file had %s", id,
                     t->wanted_id);
    else
        pt_error_set(error, PT_ERR_FORMAT, "has no build id, the profile's file had %s",
                     t->wanted_id);
    pt_error_where(error, path, NULL, -1);
    if (t->for_names)
        pt_diag_add(t->search->diag, 1, "debug files not used: %s has build id %s, %s has %s", path,
                    id[0] != '\0' ? id : "none", t->image_name, t->wanted_id);
}

/* Opens a candidate and checks it. */
static bool try_path(const trial *t, const char *path, pt_image_file *ret_file)
{
    pt_image_file file;
    pt_elf elf;
    char id[HEX_BYTES_MAX];
    if (!open_regular(t->search->options, path, &file)) return false;
    bool fits = pt_elf_open(file.blob.data, file.blob.size, &elf) == PT_ELF_OK &&
                (!t->for_names || names_code(&elf));
    if (fits && t->wanted_id[0] != '\0') {
        pt_elf_id_hex(pt_elf_build_id(&elf), id, sizeof id);
        fits = id[0] != '\0' && same_id(id, t->wanted_id);
        if (!fits) reject_candidate(t, path, id);
    } else if (fits && t->needs_crc && crc32_z(0, file.blob.data, file.blob.size) != t->crc) {
        pt_diag_add(t->search->diag, 1, "debug files not used: %s is not the debug file of %s",
                    path, t->image_name);
        fits = false;
    }
    if (fits)
        *ret_file = file;
    else
        pt_image_file_done(&file);
    return fits;
}

/* Tries a path, and frees it. */
static bool try_owned(const trial *t, char *path, pt_image_file *ret_file)
{
    const bool found = try_path(t, path, ret_file);
    free(path);
    return found;
}

/* Tries a path below the folder, and frees name. A name that leads out of the folder is not tried.
 */
static bool try_below(const trial *t, const char *folder, char *name, pt_image_file *ret_file)
{
    char *const path = pt_path_below(folder, name + strspn(name, "/"));
    free(name);
    return path != NULL && try_owned(t, path, ret_file);
}

/* ---- ids ---- */

/* Lower-case hex; "" for an id that is not a GNU build id. */
static void normalize_id(const char *build_id, char id[HEX_BYTES_MAX])
{
    const size_t n = strlen(build_id);
    id[0] = '\0';
    if (n < 4 || n % 2 != 0 || n >= HEX_BYTES_MAX ||
        strspn(build_id, "0123456789abcdefABCDEF") != n)
        return;
    for (size_t i = 0; i <= n; i++)
        id[i] = (char)(build_id[i] >= 'A' && build_id[i] <= 'F' ? build_id[i] - 'A' + 'a'
                                                                : build_id[i]);
}

static bool try_build_id_trees(const trial *t, const char *suffix, pt_image_file *ret_file)
{
    size_t count;
    const char *const *dirs = debug_dirs_of(t->search->options, &count);
    for (size_t i = 0; i < count && t->wanted_id[0] != '\0'; i++)
        if (try_owned(
                t,
                pt_strf("%s/.build-id/%.2s/%s%s", dirs[i], t->wanted_id, t->wanted_id + 2, suffix),
                ret_file))
            return true;
    return false;
}

/* Tries a file of perf's cache. Each id is a link to a folder, in old caches to the file itself. */
static bool try_perf_cache(const trial *t, const char *name, pt_image_file *ret_file)
{
    const char *dir = t->search->options->perf_dir, *id = t->wanted_id;
    if (dir == NULL || id[0] == '\0') return false;
    return try_owned(t, pt_strf("%s/.build-id/%.2s/%s/%s", dir, id, id + 2, name), ret_file) ||
           try_owned(t, pt_strf("%s/.build-id/%.2s/%s", dir, id, id + 2), ret_file);
}

static bool try_debuginfod(const trial *t, pt_debuginfod_kind kind, pt_image_file *ret_file)
{
    pt_debuginfod *client = t->search->options->debuginfod;
    const char *slash = t->image_name != NULL ? strrchr(t->image_name, '/') : NULL;
    pt_error error = PT_ERROR_INIT;
    char *path = NULL;
    if (client == NULL || t->wanted_id[0] == '\0') return false;
    const pt_status status = pt_debuginfod_find(
        client, kind, t->wanted_id, NULL, slash != NULL ? slash + 1 : t->image_name, &path, &error);
    if (status == PT_OK) return try_owned(t, path, ret_file);
    if (status != PT_ERR_NOTFOUND) {
        char text[1024];
        pt_error_text(&error, text, sizeof text);
        pt_diag_add(t->search->diag, 1, "debug files not fetched: %s", text);
    }
    return false;
}

/* ---- images ---- */

/* Tries any file in DIR/ID. */
static bool try_folder(const trial *t, const char *dir, pt_image_file *ret_file)
{
    PT_FREE char *pattern = pt_strf("%s/%s/*", dir, t->wanted_id);
    glob_t found = {0};
    bool any = false;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !any; i++)
            any = try_path(t, found.gl_pathv[i], ret_file);
    globfree(&found);
    return any;
}

static char *folder_of(const char *path);

/* Tries the paths of one folder of PPROF_BINARY_PATH, in google/pprof's order
 * (internal/driver/fetch.go). */
static bool try_binary_dir(const trial *t, const char *dir, const char *path,
                           pt_image_file *ret_file)
{
    const char *id = t->wanted_id, *base = pt_base_name(path);
    if (id[0] != '\0' &&
        (try_below(t, dir, pt_strf("%s/%s", id, base), ret_file) || try_folder(t, dir, ret_file) ||
         try_below(t, dir, pt_strf("%s/%s", path, id), ret_file) ||
         try_below(t, dir, pt_strf("%.2s/%s.debug", id, id + 2), ret_file)))
        return true;
    if (base[0] == '\0') return false;
    PT_FREE char *folder = folder_of(path);
    return try_below(t, dir, pt_strdup(base), ret_file) ||
           try_below(t, dir, pt_strdup(path), ret_file) ||
           try_below(t, dir, pt_strf("%s.debug", path), ret_file) ||
           try_below(t, dir, pt_strf("%s/.debug/%s.debug", folder, base), ret_file) ||
           try_below(t, dir, pt_strf("usr/lib/debug/%s/%s.debug", folder, base), ret_file);
}

/* Tries the path below the root of a process, which may be in a container. The id must be known,
 * since the pid may be another process by now. */
static bool try_process(const trial *t, const char *path, pt_image_file *ret_file)
{
    const int64_t pid = t->search->pid;
    return pid > 0 && t->wanted_id[0] != '\0' && path[0] == '/' &&
           try_owned(t, pt_strf("/proc/%lld/root%s", (long long)pid, path), ret_file);
}

/* Copies the vDSO of this process; its pages cannot be handed out. */
static bool own_vdso(pt_image_file *ret_file)
{
    const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    const uint64_t page_bytes = (uint64_t)getpagesize();
    pt_elf elf;
    pt_elf_segment s;
    /* The first page has the header; the segments show the size of the mapping. */
    if (vdso == NULL || pt_elf_open(vdso, page_bytes, &elf) != PT_ELF_OK) return false;
    uint64_t end = 0;
    for (uint32_t i = 0; pt_elf_segment_at(&elf, i, &s); i++)
        if (s.type == PT_LOAD && s.off + s.file_bytes > end) end = s.off + s.file_bytes;
    const uint64_t size_bytes = (end + page_bytes - 1) & ~(page_bytes - 1);
    if (end == 0 || size_bytes > (1u << 20) ||
        pt_blob_new(size_bytes, &ret_file->blob, NULL) != PT_OK)
        return false;
    memcpy(pt_blob_bytes(&ret_file->blob), vdso, size_bytes);
    ret_file->path = pt_strdup("[vdso]");
    return true;
}

static pt_status find_vdso(const trial *t, pt_image_file *ret_file, pt_error *reterr)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_elf elf;
    char id[HEX_BYTES_MAX] = "";
    if (!own_vdso(&file))
        return pt_error_set(reterr, PT_ERR_NOTFOUND,
                            "pitot's own process has no vdso to read code from");
    if (pt_elf_open(file.blob.data, file.blob.size, &elf) == PT_ELF_OK)
        pt_elf_id_hex(pt_elf_build_id(&elf), id, sizeof id);
    const bool is_known = t->wanted_id[0] != '\0';
    if (is_known ? same_id(id, t->wanted_id) : t->search->options->is_this_boot) {
        *ret_file = file;
        return PT_OK;
    }
    pt_image_file_done(&file);
    if (!is_known)
        return pt_error_set(reterr, PT_ERR_NOTFOUND,
                            "the profile may be of another kernel, whose vdso is not available");
    return pt_error_set(reterr, PT_ERR_FORMAT,
                        "this kernel's vdso has build id %s, the profile's had %s", id,
                        t->wanted_id);
}

pt_status pt_source_find_image(const pt_source_search *search, const char *path,
                               const char *build_id, pt_image_file *ret_file, pt_error *reterr)
{
    char id[HEX_BYTES_MAX];
    normalize_id(build_id, id);
    pt_error rejection = PT_ERROR_INIT;
    const trial t = {
        .search = search, .wanted_id = id, .image_name = path, .rejection = &rejection};
    if (pt_mapped_kind_of_text(path) == PT_MAPPED_VDSO) {
        const pt_status status = find_vdso(&t, ret_file, reterr);
        return status != PT_OK && try_perf_cache(&t, "vdso", ret_file) ? PT_OK : status;
    }
    PT_FREE char *plain = pt_strndup(path, pt_mapped_path_bytes(path, strlen(path)));
    for (size_t i = 0; i < search->options->binary_dir_count; i++)
        if (try_binary_dir(&t, search->options->binary_dirs[i], plain, ret_file)) return PT_OK;
    if (plain[0] != '\0' && plain[0] != '[' && try_path(&t, plain, ret_file)) return PT_OK;
    if (try_process(&t, plain, ret_file) || try_build_id_trees(&t, "", ret_file) ||
        try_build_id_trees(&t, ".debug", ret_file) || try_perf_cache(&t, "elf", ret_file) ||
        try_debuginfod(&t, PT_DEBUGINFOD_EXECUTABLE, ret_file) ||
        try_debuginfod(&t, PT_DEBUGINFOD_DEBUGINFO, ret_file))
        return PT_OK;
    if (rejection.status != PT_OK) {
        if (reterr != NULL) *reterr = rejection;
        return rejection.status;
    }
    pt_error_set(reterr, PT_ERR_NOTFOUND, "there is no such program or library here");
    pt_error_where(reterr, plain, NULL, -1);
    return PT_ERR_NOTFOUND;
}

/* ---- companions ---- */

/* The root of the image's process, as a path; NULL when unknown. The caller frees it. */
static char *root_of(const trial *t, const char *image_path)
{
    const size_t bytes = root_bytes(image_path);
    if (bytes > 0) return pt_strndup(image_path, bytes);
    return t->search->pid > 0 ? pt_strf("/proc/%lld/root", (long long)t->search->pid) : NULL;
}

/* The folder in which an image really lies, since libraries are often named by a link. Links below
 * another root cannot be resolved from here. The caller frees it. */
static char *real_folder(const char *image_path)
{
    PT_FREE char *real = root_bytes(image_path) == 0 ? realpath(image_path, NULL) : NULL;
    return folder_of(real != NULL ? real : image_path);
}

/* "/usr/bin/x" -> "/usr/bin"; "" for a name alone. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return pt_strndup(path, slash != NULL ? (size_t)(slash - path) : 0);
}

static bool try_debug_link(const trial *t, const char *image_path, const char *link_name,
                           pt_image_file *ret_file)
{
    const pt_source_options *options = t->search->options;
    const size_t root = root_bytes(image_path);
    PT_FREE char *folder = real_folder(image_path);
    if (strchr(link_name, '/') != NULL) return false;
    PT_FREE char *below = pt_strf("%s/%s", folder + root, link_name);
    if (try_below(t, folder, pt_strdup(link_name), ret_file) ||
        try_below(t, folder, pt_strf(".debug/%s", link_name), ret_file))
        return true;
    size_t count;
    const char *const *dirs = debug_dirs_of(options, &count);
    for (size_t i = 0; i < count && root > 0; i++) {
        PT_FREE char *inside = pt_strf("%.*s%s", (int)root, folder, dirs[i]);
        if (try_below(t, inside, pt_strdup(below), ret_file)) return true;
    }
    for (size_t i = 0; i < count; i++)
        if (try_below(t, dirs[i], pt_strdup(below), ret_file)) return true;
    for (size_t i = 0; i < options->binary_dir_count; i++) {
        const char *dir = options->binary_dirs[i];
        if (try_below(t, dir, pt_strdup(link_name), ret_file) ||
            try_below(t, dir, pt_strf("%s/.debug/%s", folder, link_name), ret_file) ||
            try_below(t, dir, pt_strf("usr/lib/debug%s/%s", folder, link_name), ret_file))
            return true;
    }
    return false;
}

static bool find_debug_file(const trial *t, const pt_companion *wanted, pt_image_file *ret_file)
{
    const pt_source_options *options = t->search->options;
    if (try_build_id_trees(t, ".debug", ret_file)) return true;
    PT_FREE char *root = root_of(t, wanted->image_path);
    size_t dir_count;
    const char *const *dirs = debug_dirs_of(options, &dir_count);
    for (size_t i = 0; i < dir_count && root != NULL && t->wanted_id[0] != '\0'; i++)
        if (try_owned(t,
                      pt_strf("%s%s/.build-id/%.2s/%s.debug", root, dirs[i], t->wanted_id,
                              t->wanted_id + 2),
                      ret_file))
            return true;
    for (size_t i = 0; i < options->binary_dir_count && t->wanted_id[0] != '\0'; i++)
        if (try_owned(t,
                      pt_strf("%s/%.2s/%s.debug", options->binary_dirs[i], t->wanted_id,
                              t->wanted_id + 2),
                      ret_file))
            return true;
    return (wanted->link_name != NULL && (t->wanted_id[0] != '\0' || t->needs_crc) &&
            try_debug_link(t, wanted->image_path, wanted->link_name, ret_file)) ||
           try_perf_cache(t, "debug", ret_file) ||
           try_debuginfod(t, PT_DEBUGINFOD_DEBUGINFO, ret_file);
}

/* Tries ".../.dwz/REST" below each debug folder. */
static bool try_dwz_trees(const trial *t, const char *link_name, pt_image_file *ret_file)
{
    size_t count;
    const char *const *dirs = debug_dirs_of(t->search->options, &count);
    const char *rest = strstr(link_name, "/.dwz/");
    for (size_t i = 0; i < count && rest != NULL; i++)
        if (try_below(t, dirs[i], pt_strdup(rest), ret_file)) return true;
    return false;
}

static bool is_below(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || length == 0);
}

/* The path of a dwz supplement; the link mostly begins with "../". It must lie in the image's
 * folder or below, in a debug folder, or in a folder .dwz; NULL otherwise. The caller frees it. */
static char *supplement_path(const trial *t, const pt_companion *wanted)
{
    PT_FREE char *folder = real_folder(wanted->image_path);
    PT_FREE char *joined = wanted->link_name[0] == '/'
                               ? pt_strdup(wanted->link_name)
                               : pt_strf("%s/%s", folder, wanted->link_name);
    char *const path = pt_source_clean(joined);
    size_t count;
    const char *const *dirs = debug_dirs_of(t->search->options, &count);
    bool is_meant = is_below(path, folder) || strstr(path, "/.dwz/") != NULL;
    for (size_t i = 0; i < count && !is_meant; i++)
        is_meant = is_below(path, dirs[i]);
    if (is_meant) return path;
    free(path);
    return NULL;
}

static bool find_supplement(const trial *t, const pt_companion *wanted, pt_image_file *ret_file)
{
    if (t->wanted_id[0] == '\0' || wanted->link_name == NULL) return false;
    PT_FREE char *path = supplement_path(t, wanted);
    return (path != NULL && try_path(t, path, ret_file)) ||
           try_dwz_trees(t, wanted->link_name, ret_file) ||
           try_build_id_trees(t, ".debug", ret_file) ||
           try_debuginfod(t, PT_DEBUGINFOD_DEBUGINFO, ret_file);
}

static bool find_package(const trial *t, const pt_companion *wanted, pt_image_file *ret_file)
{
    if (wanted->image_path == NULL) return false;
    PT_FREE char *real = realpath(wanted->image_path, NULL);
    return try_owned(t, pt_strf("%s.dwp", wanted->image_path), ret_file) ||
           (real != NULL && try_owned(t, pt_strf("%s.dwp", real), ret_file));
}

/* Tries the path where the compiler wrote the unit, else the image's folder. */
static bool find_split_unit(const trial *t, const pt_companion *wanted, pt_image_file *ret_file)
{
    const char *name = wanted->link_name, *slash = name != NULL ? strrchr(name, '/') : NULL;
    if (name == NULL) return false;
    if (name[0] == '/' || wanted->folder == NULL
            ? try_path(t, name, ret_file)
            : try_owned(t, pt_strf("%s/%s", wanted->folder, name), ret_file))
        return true;
    if (wanted->image_path == NULL) return false;
    PT_FREE char *real = realpath(wanted->image_path, NULL);
    PT_FREE char *folder = folder_of(real != NULL ? real : wanted->image_path);
    return try_owned(t, pt_strf("%s/%s", folder, slash != NULL ? slash + 1 : name), ret_file);
}

bool pt_source_find_companion(void *context, const pt_companion *wanted, pt_image_file *ret_file)
{
    char id[HEX_BYTES_MAX];
    pt_elf_id_hex(wanted->build_id, id, sizeof id);
    const trial t = {.search = context,
                     .wanted_id = id,
                     .needs_crc = wanted->has_crc,
                     .crc = wanted->link_crc,
                     .for_names = wanted->kind == PT_COMPANION_DEBUG ||
                                  wanted->kind == PT_COMPANION_SUPPLEMENT,
                     .image_name = wanted->image_path};
    switch (wanted->kind) {
    case PT_COMPANION_DEBUG: return find_debug_file(&t, wanted, ret_file);
    case PT_COMPANION_SUPPLEMENT: return find_supplement(&t, wanted, ret_file);
    case PT_COMPANION_DWP: return find_package(&t, wanted, ret_file);
    case PT_COMPANION_DWO: return find_split_unit(&t, wanted, ret_file);
    }
    return false;
}

char *pt_source_fetch_text(void *context, const char *build_id, const char *name)
{
    const pt_source_search *search = context;
    char id[HEX_BYTES_MAX], *path = NULL;
    normalize_id(build_id, id);
    return pt_debuginfod_find(search->options->debuginfod, PT_DEBUGINFOD_SOURCE, id, name, NULL,
                              &path, NULL) == PT_OK
               ? path
               : NULL;
}
