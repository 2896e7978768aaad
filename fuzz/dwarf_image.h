/* dwarf_image.h: an image around sections of the fuzzer's making: x86-64, code at 0x1000, one
 * symbol that covers it, so that every way to answer is tried. */
#pragma once

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "object/object.h"

enum { IMAGE_CODE_ADDR = 0x1000, IMAGE_CODE_BYTES = 0x1000, IMAGE_SECTIONS_MAX = 20 };

typedef struct {
    const char *name;
    const uint8_t *data;
    size_t size;
    uint64_t addr, flags; /* addr 0: not loaded */
} image_section;

static inline void image_add_header(pt_buf *headers, pt_buf *names, const Elf64_Shdr *shape,
                                    const char *name)
{
    Elf64_Shdr header = *shape;
    header.sh_name = (Elf64_Word)names->size;
    pt_put(names, name, strlen(name) + 1);
    pt_put(headers, &header, sizeof header);
}

/* The bytes of the image; free *ret_file. */
static inline void make_image(const image_section *sections, size_t count, pt_buf *ret_file)
{
    const Elf64_Phdr code = {.p_type = PT_LOAD,
                             .p_flags = PF_R | PF_X,
                             .p_vaddr = IMAGE_CODE_ADDR,
                             .p_memsz = IMAGE_CODE_BYTES};
    const Elf64_Sym symbols[] = {{0},
                                 {.st_name = 1,
                                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                  .st_shndx = 1,
                                  .st_value = IMAGE_CODE_ADDR,
                                  .st_size = IMAGE_CODE_BYTES}};
    pt_buf body = PT_BUF_INIT, headers = PT_BUF_INIT, names = PT_BUF_INIT;
    const uint64_t body_off = sizeof(Elf64_Ehdr) + sizeof code;
    pt_put(&body, symbols, sizeof symbols);
    pt_put(&body, "\0all", 5);
    image_add_header(&headers, &names, &(Elf64_Shdr){0}, "");
    image_add_header(&headers, &names,
                     &(Elf64_Shdr){.sh_type = SHT_NOBITS,
                                   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                   .sh_addr = IMAGE_CODE_ADDR,
                                   .sh_size = IMAGE_CODE_BYTES},
                     ".text");
    image_add_header(&headers, &names,
                     &(Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                   .sh_offset = body_off,
                                   .sh_size = sizeof symbols,
                                   .sh_link = 3,
                                   .sh_entsize = sizeof symbols[0]},
                     ".symtab");
    image_add_header(
        &headers, &names,
        &(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = body_off + sizeof symbols, .sh_size = 5},
        ".strtab");
    for (size_t i = 0; i < count; i++) {
        const image_section *s = &sections[i];
        image_add_header(&headers, &names,
                         &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                       .sh_flags = s->flags | (s->addr != 0 ? SHF_ALLOC : 0),
                                       .sh_addr = s->addr,
                                       .sh_offset = body_off + body.size,
                                       .sh_size = s->size},
                         s->name);
        pt_put(&body, s->data, s->size);
    }
    image_add_header(&headers, &names, &(Elf64_Shdr){0}, ".shstrtab");
    Elf64_Shdr *last = (Elf64_Shdr *)(void *)(headers.data + headers.size - sizeof(Elf64_Shdr));
    last->sh_type = SHT_STRTAB;
    last->sh_offset = body_off + body.size;
    last->sh_size = names.size;
    pt_put(&body, names.data, names.size);
    const Elf64_Ehdr elf = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                            .e_type = ET_DYN,
                            .e_machine = EM_X86_64,
                            .e_version = EV_CURRENT,
                            .e_phoff = sizeof elf,
                            .e_shoff = body_off + body.size,
                            .e_ehsize = sizeof elf,
                            .e_phentsize = sizeof code,
                            .e_phnum = 1,
                            .e_shentsize = sizeof(Elf64_Shdr),
                            .e_shnum = (Elf64_Half)(count + 5),
                            .e_shstrndx = (Elf64_Half)(count + 4)};
    pt_put(ret_file, &elf, sizeof elf);
    pt_put(ret_file, &code, sizeof code);
    pt_put(ret_file, body.data, body.size);
    pt_put(ret_file, headers.data, headers.size);
    pt_buf_done(&body);
    pt_buf_done(&headers);
    pt_buf_done(&names);
}

static volatile size_t image_kept;

static inline void image_look(void *context, size_t index, const pt_object_frame *frames,
                              size_t count, uint64_t symbol_bytes)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        image_kept +=
            strlen(frames[i].linkage_name) + strlen(frames[i].name) + strlen(frames[i].file);
    image_kept += index + symbol_bytes;
}

/* Every companion is the image itself: context is its pt_buf. */
static inline bool image_is_companion(void *context, const pt_companion *wanted,
                                      pt_image_file *ret_file)
{
    const pt_buf *file = context;
    (void)wanted;
    *ret_file = PT_IMAGE_FILE_INIT;
    ret_file->blob = pt_blob_borrow(file->data, file->size);
    return true;
}

/* Asks for addresses all over the image's code. */
static inline void ask_image(pt_buf *file)
{
    pt_image_file image = PT_IMAGE_FILE_INIT;
    pt_object *object;
    image.blob = pt_blob_borrow(file->data, file->size);
    if (pt_object_open(&image, image_is_companion, file, &object, NULL) != PT_OK) return;
    uint64_t addrs[128];
    for (size_t i = 0; i < 128; i++)
        addrs[i] = IMAGE_CODE_ADDR + i * (i < 64 ? 1 : IMAGE_CODE_BYTES / 128);
    pt_object_resolve(object, PT_OBJECT_LINES, addrs, 128, NULL, image_look, NULL);
    pt_object_free(object);
}
