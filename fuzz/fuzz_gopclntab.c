/* fuzz_gopclntab.c: the table of Go's runtime. Its inline trees are looked for in the table itself:
 * the image's data holds a runtime.moduledata that says so. */
#include "dwarf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TABLE_ADDR = 0x4000, DATA_ADDR = 0x3000, MODULE_WORDS = 41 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_buf module = PT_BUF_INIT, file = PT_BUF_INIT;
    for (int i = 0; i < MODULE_WORDS; i++)
        pt_put_le(&module, TABLE_ADDR, 8);
    const image_section sections[] = {
        {.name = ".data",
         .data = module.data,
         .size = module.size,
         .addr = DATA_ADDR,
         .flags = SHF_WRITE},
        {.name = ".gopclntab", .data = data, .size = size, .addr = TABLE_ADDR},
    };
    make_image(sections, 2, &file);
    ask_image(&file);
    pt_buf_done(&module);
    pt_buf_done(&file);
    return 0;
}
