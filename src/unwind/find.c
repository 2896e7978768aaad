/* find.c: locates the call frame information of an image. */
#include "unwind/table.h"

#include <elf.h>

#include "elf/image.h"
#include "unwind/cfi.h"

#ifndef SHF_COMPRESSED
#define SHF_COMPRESSED (1 << 11)
#endif

bool pt_unwind_eh_frame_addr(const uint8_t *hdr, uint64_t hdr_bytes, uint64_t hdr_addr,
                             uint64_t *ret_eh_frame_addr)
{
    /* | version 1 | eh_frame_ptr encoding | count encoding | table encoding | eh_frame_ptr ... */
    const pt_unwind_frames frames = {
        .bytes = hdr, .size_bytes = hdr_bytes, .addr = hdr_addr, .data_addr = hdr_addr};
    pt_cursor c = {hdr, hdr + hdr_bytes, false};
    if (pt_cursor_fixed(&c, 1) != 1) return false;
    const uint8_t encoding = (uint8_t)pt_cursor_fixed(&c, 1);
    pt_cursor_skip(&c, 2);
    return !c.bad && pt_cfi_pointer(&c, encoding, hdr_addr + 4, &frames, ret_eh_frame_addr);
}

static bool section_frames(const pt_elf *elf, const char *name, pt_unwind_frames *frames)
{
    pt_elf_section section;
    if (!pt_elf_section_named(elf, name, &section) || (section.flags & SHF_COMPRESSED))
        return false;
    frames->bytes = pt_elf_section_bytes(elf, &section, &frames->size_bytes);
    frames->addr = section.addr;
    frames->is_whole_section = true;
    return frames->bytes != NULL;
}

/* By the program headers, for images without section headers: from the address in .eh_frame_hdr to
 * the segment's end. */
static bool segment_frames(const pt_elf *elf, pt_unwind_frames *frames)
{
    pt_elf_segment hdr = {0}, s;
    uint32_t i = 0;
    while (pt_elf_segment_at(elf, i, &hdr) && hdr.type != PT_GNU_EH_FRAME)
        i++;
    uint64_t addr;
    if (hdr.type != PT_GNU_EH_FRAME || hdr.off > elf->size_bytes ||
        hdr.file_bytes > elf->size_bytes - hdr.off ||
        !pt_unwind_eh_frame_addr(elf->bytes + hdr.off, hdr.file_bytes, hdr.addr, &addr))
        return false;
    for (i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        if (s.type != PT_LOAD || addr < s.addr || addr - s.addr >= s.file_bytes) continue;
        const uint64_t off = s.off + (addr - s.addr);
        uint64_t size = s.file_bytes - (addr - s.addr);
        if (off < s.off || off >= elf->size_bytes) return false;
        if (size > elf->size_bytes - off) size = elf->size_bytes - off;
        frames->bytes = elf->bytes + off;
        frames->size_bytes = size;
        frames->addr = addr;
        frames->is_whole_section = false;
        return true;
    }
    return false;
}

/* True if the section has at least one FDE. */
static bool has_fde(const pt_unwind_frames *frames)
{
    uint64_t off = 0;
    bool is_fde = false;
    while (!is_fde && pt_cfi_next(frames, &off, &is_fde))
        ;
    return is_fde;
}

bool pt_unwind_frames_of_elf(const pt_elf *elf, pt_unwind_frames *ret_frames)
{
    if (!elf->is_64 || elf->is_big_endian || pt_machine_of_elf(elf->machine) == NULL) return false;
    pt_unwind_frames frames = {.machine = elf->machine};
    pt_elf_section section;
    if (pt_elf_section_named(elf, ".text", &section)) frames.text_addr = section.addr;
    if (pt_elf_section_named(elf, ".got", &section)) frames.data_addr = section.addr;
    bool found = (section_frames(elf, ".eh_frame", &frames) && has_fde(&frames)) ||
                 (segment_frames(elf, &frames) && has_fde(&frames));
    if (!found) {
        frames.is_debug_frame = true;
        found = section_frames(elf, ".debug_frame", &frames) && has_fde(&frames);
    }
    if (found) *ret_frames = frames;
    return found;
}

void pt_unwind_each_piece(const pt_unwind_frames *frames, pt_unwind_piece *piece, void *arg)
{
    pt_cfi_reader reader = {.frames = frames, .machine = pt_machine_of_elf(frames->machine)};
    uint64_t off = 0, at;
    pt_cfi_fde fde;
    /* A linker that drops a function may leave the function's entry, with address 0. */
    while (pt_cfi_next_fde(&reader, &off, &at, &fde))
        if (fde.start_addr != 0) piece(arg, fde.start_addr, fde.size_bytes);
}
