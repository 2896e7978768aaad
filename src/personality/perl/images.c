/* images.c: the files of libraries and of the program. A list of mapped objects may name one file
 * many times, under many names: each file is opened once, at its first use.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/hash.h"
#include "personality/perl/addr2line.h"
#include "personality/perl/perl.h"

struct pt_perl_image {
    dev_t device;
    ino_t inode;
    char *path; /* the name of the file at its first use */
    bool was_measured, has_text, was_opened, has_procedures, has_matching;
    pt_perl_text_section text;
    pt_perl_addr2line *tool;
    pt_perl_nm procedures, matching; /* matching: by the pattern of the current listing */
};

pt_perl_image *pt_perl_image_find(pt_perl_images *images, const char *path)
{
    struct stat st;
    PT_FREE char *debugging = pt_perl_debugging_library(path);
    const char *const there = debugging != NULL ? debugging : path;
    if (stat(there, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    const uint64_t hash = pt_hash_mix(st.st_ino, st.st_dev);
    const uint32_t known = PT_INDEX_FIND(&images->index, hash, id,
                                         images->items[id]->inode == st.st_ino &&
                                             images->items[id]->device == st.st_dev);
    if (known != PT_NONE) return images->items[known];
    pt_perl_image *const image = pt_alloc(1, sizeof *image);
    image->device = st.st_dev;
    image->inode = st.st_ino;
    image->path = pt_strdup(there);
    PT_GROW(*images, images->count + 1);
    pt_index_add(&images->index, hash, (uint32_t)images->count);
    images->items[images->count++] = image;
    return image;
}

bool pt_perl_image_text(pt_perl_image *image, pt_perl_text_section *ret_text)
{
    if (!image->was_measured) image->has_text = pt_perl_find_text(image->path, &image->text);
    image->was_measured = true;
    *ret_text = image->text;
    return image->has_text;
}

struct pt_perl_addr2line *pt_perl_image_tool(pt_perl_session *session, pt_perl_image *image)
{
    if (!image->was_opened) image->tool = pt_perl_addr2line_new(session, image->path);
    image->was_opened = true;
    return image->tool;
}

const pt_perl_nm *pt_perl_image_procedures(const pt_perl_session *session, pt_perl_image *image)
{
    if (!image->has_procedures) pt_perl_nm_init(&image->procedures, session, image->path, NULL);
    image->has_procedures = true;
    return &image->procedures;
}

const pt_perl_nm *pt_perl_image_matching(const pt_perl_session *session, pt_perl_image *image,
                                         const pt_regex *pattern)
{
    if (!image->has_matching) pt_perl_nm_init(&image->matching, session, image->path, pattern);
    image->has_matching = true;
    return &image->matching;
}

void pt_perl_images_forget_matching(pt_perl_images *images)
{
    for (size_t i = 0; i < images->count; i++) {
        pt_perl_nm_done(&images->items[i]->matching);
        images->items[i]->has_matching = false;
    }
}

void pt_perl_images_done(pt_perl_images *images)
{
    pt_perl_images_forget_matching(images);
    for (size_t i = 0; i < images->count; i++) {
        pt_perl_nm_done(&images->items[i]->procedures);
        pt_perl_addr2line_free(images->items[i]->tool);
        PT_FREE_ALL(images->items[i]->path, images->items[i]);
    }
    free(images->items);
    pt_index_done(&images->index);
    *images = (pt_perl_images){0};
}
