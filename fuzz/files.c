/* files.c: walks the folders of replay and sweep. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    char **paths;
    size_t count, cap;
} path_list;

static _Noreturn void die(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
    exit(1);
}

static void push(path_list *list, char *path)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 64;
        list->paths = realloc(list->paths, list->cap * sizeof *list->paths);
        if (list->paths == NULL) die(path, "remember");
    }
    list->paths[list->count++] = path;
}

static void push_folder(path_list *list, const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) die(folder, "open");
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *path = NULL;
        if (entry->d_name[0] == '.') continue;
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) die(folder, "name");
        push(list, path);
    }
    closedir(dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint8_t *read_whole(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size);
    if (file == NULL || (bytes == NULL && size > 0) || fread(bytes, 1, size, file) != size)
        die(path, "read");
    fclose(file);
    return bytes;
}

size_t for_each_file(int count, char **names,
                     void (*each)(const char *path, uint8_t *bytes, size_t size))
{
    path_list todo = {0}, files = {0};
    for (int i = 0; i < count; i++)
        push(&todo, strdup(names[i]));

    /* The list grows by the contents of each folder that is met in it. */
    for (size_t i = 0; i < todo.count; i++) {
        struct stat st;
        if (stat(todo.paths[i], &st) != 0)
            free(todo.paths[i]);
        else if (S_ISDIR(st.st_mode)) {
            push_folder(&todo, todo.paths[i]);
            free(todo.paths[i]);
        } else {
            push(&files, todo.paths[i]);
        }
    }
    if (files.count > 0) qsort(files.paths, files.count, sizeof *files.paths, by_name);

    for (size_t i = 0; i < files.count; i++) {
        struct stat st;
        if (stat(files.paths[i], &st) != 0) die(files.paths[i], "stat");
        uint8_t *bytes = read_whole(files.paths[i], (size_t)st.st_size);
        each(files.paths[i], bytes, (size_t)st.st_size);
        free(bytes);
        free(files.paths[i]);
    }
    free(todo.paths);
    free(files.paths);
    return files.count;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}
