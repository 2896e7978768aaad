/* kernel.c: see kernel.h. */
#include "capture/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "elf/image.h"

/* The build id in /sys/kernel/notes, which has the notes of vmlinux. */
static uint32_t build_id(pt_builder *b)
{
    char hex[65] = "";
    pt_blob blob = PT_BLOB_INIT;
    if (pt_file_read("/sys/kernel/notes", 0, 1 << 20, &blob, NULL) == PT_OK)
        pt_elf_id_hex(pt_elf_build_id_in_notes(blob.data, blob.size, 4,
                                               __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
                      hex, sizeof hex);
    pt_blob_done(&blob);
    return pt_builder_text(b, hex).v;
}

/* The address of _text, which is among the first symbols; 0 where the kernel hides addresses. */
static uint64_t text_start(void)
{
    char line[256], name[200];
    uint64_t found = 0;
    FILE *const file = fopen("/proc/kallsyms", "re");
    for (int i = 0; file != NULL && i < 64 && fgets(line, sizeof line, file) != NULL; i++) {
        uint64_t addr;
        if (sscanf(line, "%" SCNx64 " %*c %199s", &addr, name) == 2 && strcmp(name, "_text") == 0)
            found = addr;
    }
    if (file != NULL) fclose(file);
    return found;
}

pt_mapping pt_kernel_mapping(pt_builder *b)
{
    const uint64_t start = text_start();
    return (pt_mapping){.start = start != 0 ? start : UINT64_C(1) << 63,
                        .limit = UINT64_MAX,
                        .file = pt_builder_text(b, "[kernel.kallsyms]").v,
                        .build_id = build_id(b),
                        .flags = PT_MAPPING_KERNEL};
}

bool pt_kernel_interrupts(pt_bpf_wait_settings *ret_settings)
{
    static const char *const names[] = {"__irqentry_text_start", "__irqentry_text_end",
                                        "__softirqentry_text_start", "__softirqentry_text_end"};
    enum { COUNT = sizeof names / sizeof names[0] };
    char line[256], name[200];
    uint64_t addr, found[COUNT] = {0};
    unsigned left = COUNT;
    FILE *const file = fopen("/proc/kallsyms", "re");
    while (file != NULL && left > 0 && fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, "irqentry_text_") == NULL ||
            sscanf(line, "%" SCNx64 " %*c %199s", &addr, name) != 2)
            continue;
        for (unsigned i = 0; i < COUNT; i++) {
            if (strcmp(name, names[i]) != 0 || addr == 0 || found[i] != 0) continue;
            found[i] = addr;
            left--;
        }
    }
    if (file != NULL) fclose(file);
    ret_settings->hard.start = found[0];
    ret_settings->hard.bytes = found[1] - found[0];
    ret_settings->soft.start = found[2];
    ret_settings->soft.bytes = found[3] - found[2];
    return left == 0;
}

bool pt_kernel_function(const char *function, uint64_t *ret_start, uint64_t *ret_limit)
{
    char line[256], name[200];
    uint64_t addr;
    FILE *const file = fopen("/proc/kallsyms", "re");
    *ret_start = *ret_limit = 0;
    /* The symbols are in the order of their addresses; several may have the same. */
    while (file != NULL && *ret_limit == 0 && fgets(line, sizeof line, file) != NULL) {
        if ((*ret_start == 0 && strstr(line, function) == NULL) ||
            sscanf(line, "%" SCNx64 " %*c %199s", &addr, name) != 2)
            continue;
        if (*ret_start == 0 && strcmp(name, function) == 0)
            *ret_start = addr;
        else if (*ret_start != 0 && addr > *ret_start)
            *ret_limit = addr;
    }
    if (file != NULL) fclose(file);
    return *ret_limit != 0;
}
