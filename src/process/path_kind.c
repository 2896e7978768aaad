/* path_kind.c: see path_kind.h. */
#include "process/path_kind.h"

#include <string.h>

static bool path_begins(const char *path, size_t bytes, const char *with)
{
    const size_t length = strlen(with);
    return bytes >= length && memcmp(path, with, length) == 0;
}

static bool path_ends(const char *path, size_t bytes, const char *with)
{
    const size_t length = strlen(with);
    return bytes >= length && memcmp(path + bytes - length, with, length) == 0;
}

size_t pt_mapped_path_bytes(const char *path, size_t bytes)
{
    static const char deleted[] = " (deleted)";
    const bool is_deleted = bytes >= sizeof deleted && path_ends(path, bytes, deleted);
    return is_deleted ? bytes - (sizeof deleted - 1) : bytes;
}

/* The number in a file name of the form "HEAD-NUMBER.TAIL", with or without folders; 0 for another
 * form. */
static int64_t number_in_name(const char *path, size_t bytes, const char *head, const char *tail)
{
    const char *const slash = bytes > 0 ? memrchr(path, '/', bytes) : NULL;
    const char *const name = slash != NULL ? slash + 1 : path;
    const size_t name_bytes = bytes - (size_t)(name - path);
    const size_t head_bytes = strlen(head), tail_bytes = strlen(tail);
    int64_t number = 0;
    if (name_bytes <= head_bytes + tail_bytes || !path_begins(name, name_bytes, head) ||
        !path_ends(name, name_bytes, tail))
        return 0;
    for (size_t i = head_bytes; i < name_bytes - tail_bytes; i++) {
        if (name[i] < '0' || name[i] > '9' || number > INT32_MAX) return 0;
        number = number * 10 + (name[i] - '0');
    }
    return number;
}

int64_t pt_mapped_jitdump_pid(const char *path, size_t bytes)
{
    return number_in_name(path, bytes, "jit-", ".dump");
}

/* The first matching row decides. */
static const struct {
    const char *path;
    bool is_whole; /* false: the path only has to begin so */
    pt_mapped_kind kind;
} places[] = {
    {"", true, PT_MAPPED_ANONYMOUS},
    {"//anon", true, PT_MAPPED_ANONYMOUS}, /* perf's name */
    {"[anon", false, PT_MAPPED_ANONYMOUS}, /* [anon:NAME], [anon_shmem:NAME] */
    {"/dev/zero", true, PT_MAPPED_ANONYMOUS},
    {"/anon_hugepage", true, PT_MAPPED_ANONYMOUS},
    {"[heap]", true, PT_MAPPED_HEAP},
    {"[stack", false, PT_MAPPED_HEAP}, /* [stack:TID] of older kernels */
    {"/memfd:", false, PT_MAPPED_SHARED},
    {"/SYSV", false, PT_MAPPED_SHARED},
    {"anon_inode:", false, PT_MAPPED_SHARED},
    {"/dev/shm/", false, PT_MAPPED_FILE}, /* a file system, not a device */
    {"/dev/hugepages/", false, PT_MAPPED_FILE},
    {"/dev/", false, PT_MAPPED_DEVICE},
    {"[vdso", false, PT_MAPPED_VDSO}, /* [vdso32] */
    {"linux-vdso.so", false, PT_MAPPED_VDSO},
    {"linux-gate.so", false, PT_MAPPED_VDSO},
    {"[kernel", false, PT_MAPPED_KERNEL},
    {"[guest.kernel", false, PT_MAPPED_KERNEL},
    {"[", false, PT_MAPPED_OTHER},
    {"//", false, PT_MAPPED_OTHER},
};

pt_mapped_kind pt_mapped_kind_of(const char *path, size_t bytes)
{
    bytes = pt_mapped_path_bytes(path, bytes);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (path_begins(path, bytes, places[i].path) &&
            (!places[i].is_whole || bytes == strlen(places[i].path)))
            return places[i].kind;
    }
    if (pt_mapped_jitdump_pid(path, bytes) != 0) return PT_MAPPED_JITDUMP;
    /* perf script and perf report print anonymous memory as the map file that names its code. */
    if (number_in_name(path, bytes, "perf-", ".map") != 0) return PT_MAPPED_ANONYMOUS;
    return PT_MAPPED_FILE;
}

pt_mapped_kind pt_mapped_kind_of_text(const char *path)
{
    return pt_mapped_kind_of(path, strlen(path));
}

const pt_mapped_language pt_mapped_languages[PT_MAPPED_LANGUAGES] = {
    {.name = "Python", .mapping = PT_MAPPED_PYTHON, .is_counted = true},
    {.name = "JavaScript", .mapping = PT_MAPPED_JAVASCRIPT},
    {.name = "PHP", .mapping = PT_MAPPED_PHP, .is_counted = true, .has_lines = true},
    {.name = "Ruby", .mapping = PT_MAPPED_RUBY, .is_counted = true, .has_lines = true},
    {.name = "Perl", .mapping = PT_MAPPED_PERL, .is_counted = true, .has_lines = true},
    {.name = "Java", .mapping = PT_MAPPED_JAVA, .has_lines = true},
};

bool pt_mapped_is_language(const char *name)
{
    for (int i = 0; i < PT_MAPPED_LANGUAGES; i++)
        if (strcmp(name, pt_mapped_languages[i].mapping) == 0) return true;
    return false;
}

bool pt_mapped_is_image(pt_mapped_kind kind)
{
    return kind == PT_MAPPED_FILE || kind == PT_MAPPED_VDSO;
}

bool pt_mapped_is_memory(pt_mapped_kind kind)
{
    return kind == PT_MAPPED_ANONYMOUS || kind == PT_MAPPED_HEAP || kind == PT_MAPPED_SHARED;
}

pt_mapped pt_mapped_as(const char *path, size_t bytes, uint64_t start, uint64_t file_offset)
{
    static const char jit[] = "[anon:jit]";
    const pt_mapped_kind kind = pt_mapped_kind_of(path, bytes);
    const bool is_anonymous = kind == PT_MAPPED_ANONYMOUS;
    return (pt_mapped){
        .kind = kind,
        .name = is_anonymous ? jit : path,
        .name_bytes = is_anonymous ? sizeof jit - 1 : pt_mapped_path_bytes(path, bytes),
        .file_offset = is_anonymous || kind == PT_MAPPED_HEAP ? start : file_offset,
    };
}
