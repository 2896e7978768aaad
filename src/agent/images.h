/* images.h: facts about a mapped image, read from its headers (images.c). */
#pragma once

#include <elf.h>

#include "agent/agent.h"

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Phdr pt_image_segment;
#else
typedef Elf32_Phdr pt_image_segment;
#endif

enum { PT_IMAGE_SEGMENTS_MAX = 64 };

typedef struct {
    uint64_t bias; /* the loader's addition to the linked addresses */
    uint16_t machine;
    unsigned count;
    pt_image_segment segments[PT_IMAGE_SEGMENTS_MAX];
} pt_image;

/* Copies the path of a mapped image, in PATH_MAX bytes. Returns false if the mapping has no path or
 * is no image. */
bool pt_images_path(const pt_maps_live *live, char *ret_path);
/* Is the file named like a runtime ("python", "node"), or is it the program itself? */
bool pt_images_may_be(const char *name, const char *path);
/* Reads the image's headers. Returns false if they are not plausible. */
bool pt_image_look(const pt_maps_live *map, pt_image *ret_image);
/* Finds the address and size of a dynamic symbol that the image defines. Returns false if it
 * defines none. */
bool pt_image_symbol(const pt_image *image, const char *name, uint64_t *ret_addr,
                     uint64_t *ret_bytes);
/* Finds the table of the loader's relocations and its size. Returns false if there is none. */
bool pt_image_relocations(const pt_image *image, uint64_t *ret_addr, uint64_t *ret_bytes);
/* The addresses of the functions that .eh_frame describes, ascending, in memory of *ret_map_bytes
 * that the caller unmaps. Returns NULL if the image has no table of these functions
 * (.eh_frame_hdr). */
uint64_t *pt_image_entries(const pt_image *image, uint32_t *ret_count, size_t *ret_map_bytes);
