/* fuzz_dwarf_lines.c: line tables: a byte for the unit (width of addresses, byte order), then
 * .debug_line. */
#include <string.h>

#include "object/dwarf_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t kept;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ADDRS = 64 };
    static const uint8_t strings[] = "one\0two/three\0../four\0/five";
    if (size == 0) return 0;
    pt_dwarf dwarf = {.work_left = UINT64_MAX};
    pt_dwarf_file file = {.swap = data[0] & 1};
    file.sections[PT_DWARF_LINE] = (pt_dwarf_bytes){data + 1, size - 1};
    file.sections[PT_DWARF_LINE_STR] = (pt_dwarf_bytes){strings, sizeof strings};
    const pt_dwarf_unit unit = {.file = &file,
                                .addr_bytes = data[0] & 2 ? 4 : 8,
                                .offset_bytes = 4,
                                .version = 5,
                                .has_line = true,
                                .folder = "/folder"};
    uint64_t addrs[ADDRS];
    pt_dwarf_row rows[ADDRS];
    for (size_t i = 0; i < ADDRS; i++) {
        addrs[i] = i * i;
        rows[i].file = PT_NONE;
    }
    pt_dwarf_worker *worker = pt_dwarf_worker_new(&dwarf);
    pt_dwarf_line_table *table = pt_dwarf_line_table_for(worker, &unit);
    if (table != NULL) pt_dwarf_run_lines(table, NULL, 0, addrs, ADDRS, rows);
    for (size_t i = 0; i < ADDRS; i++)
        if (rows[i].file != PT_NONE)
            kept += strlen(pt_dwarf_path(worker, table, rows[i].file)) + rows[i].line;
    pt_dwarf_worker_free(worker);
    return 0;
}
