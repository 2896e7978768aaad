/* doubt.c: see doubt.h. */
#include "symbolize/doubt.h"

#include <elf.h>

#define PAGE_BYTES_MAX ((uint64_t)65536) /* of supported machines; linkers align segments to it */
#define PAGE_BYTES     ((uint64_t)4096)

bool pt_doubt_is_newer(int64_t file_ns, int64_t profile_ns)
{
    return file_ns != 0 && profile_ns != 0 && file_ns > profile_ns;
}

static bool ends_alike(uint64_t a, uint64_t b, uint64_t page_bytes)
{
    return (a + page_bytes - 1) / page_bytes == (b + page_bytes - 1) / page_bytes;
}

bool pt_doubt_differs_in_size(const pt_elf *elf, const pt_mapping *m)
{
    const uint64_t bytes = m->limit - m->start;
    if (bytes == 0 || bytes >= (uint64_t)1 << 40 || m->file_offset >= (uint64_t)1 << 40)
        return false;
    const uint64_t end = m->file_offset + bytes;
    bool holds = false; /* a segment has bytes in the file; those of debug files have none */
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        if (s.type != PT_LOAD || s.file_bytes == 0) continue;
        if (ends_alike(end, s.off + s.file_bytes, PAGE_BYTES) ||
            ends_alike(end, s.off + s.memory_bytes, PAGE_BYTES) ||
            ends_alike(end, s.off + s.file_bytes, PAGE_BYTES_MAX))
            return false;
        holds |= (s.flags & PF_X) != 0;
    }
    return holds;
}
