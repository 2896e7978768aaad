/* cgroup_mount.c: see cgroup_mount.h. */
#include "base/cgroup_mount.h"
#include "base/text.h"

#include <string.h>

bool pt_comma_list_has(const char *list, size_t length, const char *word)
{
    const size_t word_bytes = strlen(word);
    while (length > 0) {
        const char *const comma = memchr(list, ',', length);
        const size_t bytes = comma != NULL ? (size_t)(comma - list) : length;
        if (bytes == word_bytes && memcmp(list, word, bytes) == 0) return true;
        if (comma == NULL) return false;
        list += bytes + 1;
        length -= bytes + 1;
    }
    return false;
}

bool pt_cgroup_line_next(const char **at, pt_cgroup_line *ret_line)
{
    while (**at != '\0') {
        const char *const line = *at, *const end = strchrnul(line, '\n');
        *at = *end != '\0' ? end + 1 : end;
        const char *const first = memchr(line, ':', (size_t)(end - line));
        const char *const second =
            first != NULL ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
        if (second == NULL) continue;
        *ret_line = (pt_cgroup_line){.controllers = first + 1,
                                     .controllers_bytes = (size_t)(second - first - 1),
                                     .group = second + 1,
                                     .group_bytes = (size_t)(end - second - 1)};
        return true;
    }
    return false;
}

bool pt_cgroup_mount_has(const pt_cgroup_mount *mount, const char *controller)
{
    return !mount->is_second &&
           pt_comma_list_has(mount->options, strlen(mount->options), controller);
}

bool pt_cgroup_mount_parse(char *line, pt_cgroup_mount *ret_mount)
{
    enum { ROOT_FIELD = 3, PATH_FIELD = 4, FIELDS };
    static const char separator[] = " - ", type[] = "cgroup";
    char *const dash = strstr(line, separator);
    if (dash == NULL) return false;
    const char *const type_at = dash + sizeof separator - 1;
    if (!pt_begins(type_at, type)) return false;
    const char *const options = strrchr(type_at, ' ');
    char *state = NULL, *fields[FIELDS];
    *dash = '\0';
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strtok_r(i == 0 ? line : NULL, " ", &state);
        if (fields[i] == NULL) return false;
    }
    *ret_mount = (pt_cgroup_mount){.root = fields[ROOT_FIELD],
                                   .path = fields[PATH_FIELD],
                                   .options = options != NULL ? options + 1 : "",
                                   .is_second = type_at[sizeof type - 1] == '2'};
    return true;
}
