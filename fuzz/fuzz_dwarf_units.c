/* fuzz_dwarf_units.c: all sections of DWARF: headers of units, packages, tables that point into
 * each other. Each section is
 *
 *   number (see `names`) | bytes (2, little endian) | contents
 *
 * Separate files that are asked for (split units, packages, supplements) are the image itself. */
#include "dwarf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
    ".debug_info",       ".debug_abbrev",   ".debug_str",          ".debug_str_offsets",
    ".debug_line",       ".debug_line_str", ".debug_addr",         ".debug_ranges",
    ".debug_rnglists",   ".debug_cu_index", ".debug_info.dwo",     ".debug_abbrev.dwo",
    ".debug_str.dwo",    ".debug_line.dwo", ".debug_rnglists.dwo", ".debug_str_offsets.dwo",
    ".gnu_debugaltlink", ".zdebug_info",    ".gnu_debugdata",      ".debug_info",
};
enum { PACKED = 19 }; /* the last name: with a header that says how it is compressed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_section sections[IMAGE_SECTIONS_MAX];
    size_t count = 0;
    while (size >= 3 && count < IMAGE_SECTIONS_MAX) {
        const unsigned number = data[0] % (sizeof names / sizeof names[0]);
        size_t bytes = data[1] | (size_t)data[2] << 8;
        if (bytes > size - 3) bytes = size - 3;
        sections[count++] = (image_section){.name = names[number],
                                            .data = data + 3,
                                            .size = bytes,
                                            .flags = number == PACKED ? SHF_COMPRESSED : 0};
        data += 3 + bytes;
        size -= 3 + bytes;
    }
    pt_buf file = PT_BUF_INIT;
    make_image(sections, count, &file);
    ask_image(&file);
    pt_buf_done(&file);
    return 0;
}
