/* paths.c: file names as DWARF gives them, made tidy once each. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "object/object_int.h"

void pt_tidy_path_text(const char *text, char *out)
{
    const bool is_absolute = text[0] == '/';
    char *const base = out + (is_absolute ? 1 : 0); /* nothing is taken out before it */
    char *to = base;
    char *floor = base; /* after leading "..": they cannot be taken back */
    if (is_absolute) out[0] = '/';
    while (*text != '\0') {
        while (*text == '/')
            text++;
        const size_t n = strcspn(text, "/");
        if (n == 0) break;
        const bool is_up = n == 2 && text[0] == '.' && text[1] == '.';
        if (is_up && to > floor) {
            while (to > floor && to[-1] != '/')
                to--;
            to -= to > floor; /* and the separator */
        } else if (!(n == 1 && text[0] == '.') && !(is_up && is_absolute)) {
            if (to > base) *to++ = '/';
            memmove(to, text, n);
            to += n;
            if (is_up) floor = to;
        }
        text += n;
    }
    *to = '\0';
}

static bool is_tidy(const char *text)
{
    return strstr(text, "//") == NULL && strstr(text, "/.") == NULL && strncmp(text, "./", 2) != 0;
}

void pt_tidy_paths_init(pt_tidy_paths *paths)
{
    *paths = (pt_tidy_paths){0};
    pt_index_init(&paths->index);
}

void pt_tidy_paths_done(pt_tidy_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        if (paths->items[i].is_owned) free((char *)paths->items[i].tidy);
    free(paths->items);
    pt_index_done(&paths->index);
}

const char *pt_tidy_path_of(pt_tidy_paths *paths, const char *raw)
{
    if (raw == NULL) return "";
    if (is_tidy(raw)) return raw;
    const uint64_t hash = pt_hash_mix((uintptr_t)raw, 1);
    pt_probe probe;
    for (uint32_t i = pt_index_first(&paths->index, hash, &probe); i != PT_NONE;
         i = pt_index_next(&paths->index, &probe))
        if (paths->items[i].raw == raw) return paths->items[i].tidy;
    char *tidy = pt_alloc(strlen(raw) + 1, 1);
    pt_tidy_path_text(raw, tidy);
    PT_GROW(*paths, paths->count + 1);
    paths->items[paths->count] = (pt_tidy_path){raw, tidy, true};
    pt_index_add(&paths->index, hash, (uint32_t)paths->count++);
    return tidy;
}
