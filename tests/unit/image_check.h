/* image_check.h: what the tests that look into images share: the folder of images that were built
 * for them (tests/unit/images/make-images), and opening one. */
#pragma once

#include "base_check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object/object.h"

/* The path of an image, in one of a few static buffers; NULL when the machine could not build it.
 */
static inline const char *image_path(const char *name)
{
    static char paths[8][1024];
    static unsigned turn;
    const char *folder = getenv("PITOT_TEST_IMAGES");
    char *path = paths[turn++ % 8];
    if (folder == NULL || snprintf(path, sizeof paths[0], "%s/%s", folder, name) < 0 ||
        access(path, R_OK) != 0)
        return NULL;
    return path;
}

/* For use at the start of a test: skips it without the image. */
#define NEED_IMAGE(name)                                                                           \
    do {                                                                                           \
        if (image_path(name) == NULL) skip();                                                      \
    } while (0)

static inline pt_image_file open_image_file(const char *path)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_error error = PT_ERROR_INIT;
    file.fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file.fd >= 0);
    file.path = pt_strdup(path);
    assert_int_equal(pt_file_read_fd(file.fd, path, 0, UINT64_C(1) << 30, &file.blob, &error),
                     PT_OK);
    return file;
}

/* A pt_find_companion for split units that lie where the compiler left them, and for packages and
 * supplements beside the image. */
static inline bool find_beside(void *context, const pt_companion *wanted, pt_image_file *ret_file)
{
    (void)context;
    char path[2048] = "";
    if (wanted->kind == PT_COMPANION_DWO && wanted->link_name != NULL)
        snprintf(path, sizeof path, "%s/%s", wanted->folder != NULL ? wanted->folder : ".",
                 wanted->link_name);
    else if (wanted->kind == PT_COMPANION_DWP)
        snprintf(path, sizeof path, "%s.dwp", wanted->image_path);
    else if (wanted->kind == PT_COMPANION_SUPPLEMENT && wanted->link_name != NULL)
        snprintf(path, sizeof path, "%.*s/%s",
                 (int)(strrchr(wanted->image_path, '/') - wanted->image_path), wanted->image_path,
                 wanted->link_name);
    if (access(path, R_OK) != 0) return false;
    *ret_file = open_image_file(path);
    return true;
}

static inline pt_object *open_object(const char *path)
{
    pt_image_file file = open_image_file(path);
    pt_object *object = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_object_open(&file, find_beside, NULL, &object, &error) != PT_OK)
        fail_msg("%s: %s", path, error.message);
    return object;
}

/* The name of the symbol that covers addr, or "". */
static inline const char *symbol_at(pt_object *object, uint64_t addr)
{
    pt_object_symbol symbol;
    return pt_object_symbol_at(object, addr, &symbol) ? symbol.name : "";
}

/* The address of a symbol, by the image's own table; fails the test when there is none. */
static inline uint64_t address_of(pt_object *object, uint32_t table, const char *name)
{
    pt_elf_symbols symbols;
    pt_elf_symbol s;
    assert_true(pt_elf_symbols_open(pt_object_elf(object), table, &symbols));
    for (uint32_t i = 0; pt_elf_symbol_at(&symbols, i, &s); i++)
        if (strcmp(s.name, name) == 0) return s.value;
    fail_msg("no symbol %s", name);
    return 0;
}
