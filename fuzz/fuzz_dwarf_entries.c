/* fuzz_dwarf_entries.c: abbreviations and the entries that are made of them, behind a header that
 * is always right:
 *
 *   form of the unit (version, widths) | abbreviation bytes (2, little endian) | abbreviations |
 *   entries
 *
 * The abbreviations' bytes are lists of ranges, addresses and strings, too. */
#include "dwarf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    const unsigned version = 2 + data[0] % 4;
    const bool is_long = data[0] & 0x80;
    const uint8_t addr_bytes = data[0] & 0x40 ? 4 : 8;
    size_t abbrev_bytes = data[1] | (size_t)data[2] << 8;
    if (abbrev_bytes > size - 3) abbrev_bytes = size - 3;
    const uint8_t *abbrevs = data + 3, *entries = abbrevs + abbrev_bytes;
    const size_t entry_bytes = size - 3 - abbrev_bytes;
    pt_buf header = PT_BUF_INIT, info = PT_BUF_INIT, file = PT_BUF_INIT;
    pt_put_le(&header, version, 2);
    if (version >= 5) {
        pt_put_u8(&header, 1);
        pt_put_u8(&header, addr_bytes);
    }
    pt_put_le(&header, 0, is_long ? 8 : 4);
    if (version < 5) pt_put_u8(&header, addr_bytes);
    if (is_long) pt_put_le(&info, UINT32_MAX, 4);
    pt_put_le(&info, header.size + entry_bytes, is_long ? 8 : 4);
    pt_put(&info, header.data, header.size);
    pt_put(&info, entries, entry_bytes);
    const image_section sections[] = {
        {.name = ".debug_info", .data = info.data, .size = info.size},
        {.name = ".debug_abbrev", .data = abbrevs, .size = abbrev_bytes},
        {.name = ".debug_ranges", .data = abbrevs, .size = abbrev_bytes},
        {.name = ".debug_rnglists", .data = abbrevs, .size = abbrev_bytes},
        {.name = ".debug_addr", .data = abbrevs, .size = abbrev_bytes},
        {.name = ".debug_str", .data = abbrevs, .size = abbrev_bytes},
        {.name = ".debug_str_offsets", .data = abbrevs, .size = abbrev_bytes},
        {.name = ".debug_line", .data = entries, .size = entry_bytes},
    };
    make_image(sections, sizeof sections / sizeof sections[0], &file);
    ask_image(&file);
    pt_buf_done(&header);
    pt_buf_done(&info);
    pt_buf_done(&file);
    return 0;
}
