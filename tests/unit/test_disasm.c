/* test_disasm.c: machine code as text. Encodings are those of the manuals: Intel's SDM volume 2,
 * the Arm Architecture Reference Manual, the Power ISA, the z/Architecture Principles of Operation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "elf_maker.h"
#include "object/disasm.h"

#define CODE_ADDR 0x401000

static void put_line(void *context, const pt_instruction *i)
{
    pt_buf *text = context;
    pt_putf(text, "%llx+%u %s %s", (unsigned long long)i->addr, i->size_bytes, i->mnemonic,
            i->operands);
    if (i->has_target) pt_putf(text, " ->%llx", (unsigned long long)i->target);
    if (i->has_reference) pt_putf(text, " @%llx", (unsigned long long)i->target);
    pt_put_text(text, "\n");
}

typedef struct {
    uint16_t machine;
    bool is_64, is_big_endian;
    pt_syntax syntax;
    const uint8_t *code;
    size_t size;
} sample;

/* Disassembles [CODE_ADDR + from, CODE_ADDR + to). */
static pt_status disassemble(const sample *s, uint64_t from, uint64_t to, pt_buf *text,
                             pt_error *reterr)
{
    const made_section section = {.name = ".text",
                                  .type = SHT_PROGBITS,
                                  .flags = SHF_ALLOC | SHF_EXECINSTR,
                                  .addr = CODE_ADDR,
                                  .data = s->code,
                                  .size_bytes = s->size,
                                  .align = 4};
    const made_segment segment = {.type = PT_LOAD,
                                  .flags = PF_R | PF_X,
                                  .addr = CODE_ADDR,
                                  .memory_bytes = s->size,
                                  .of_section = 1};
    const made_elf made = {.is_64 = s->is_64,
                           .is_big_endian = s->is_big_endian,
                           .type = ET_EXEC,
                           .machine = s->machine,
                           .segments = &segment,
                           .segment_count = 1,
                           .sections = &section,
                           .section_count = 1};
    made_bytes bytes = make_elf(&made);
    pt_elf elf;
    assert_int_equal(pt_elf_open(bytes.bytes, bytes.size_bytes, &elf), PT_ELF_OK);
    const pt_status status =
        pt_disasm(&elf, CODE_ADDR + from, CODE_ADDR + to, s->syntax, put_line, text, reterr);
    free(bytes.bytes);
    return status;
}

static void expect_code(const sample *s, const char *expected)
{
    if (pt_disasm_version() == NULL) {
        puts("# skip: built without capstone");
        skip();
    }
    pt_buf text = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(disassemble(s, 0, s->size, &text, &error), PT_OK);
    assert_string_equal(pt_buf_text(&text), expected);
    pt_buf_done(&text);
}

#define SAMPLE(m, is64, isbig, syn, ...)                                                           \
    (&(sample){.machine = (m),                                                                     \
               .is_64 = (is64),                                                                    \
               .is_big_endian = (isbig),                                                           \
               .syntax = (syn),                                                                    \
               .code = (const uint8_t[]){__VA_ARGS__},                                             \
               .size = sizeof((const uint8_t[]){__VA_ARGS__})})

/* push rbp; mov rbp, rsp; ret */
static void x86_64_is_told_in_both_syntaxes(void **state)
{
    expect_code(SAMPLE(EM_X86_64, true, false, PT_SYNTAX_ATT, 0x55, 0x48, 0x89, 0xe5, 0xc3),
                "401000+1 pushq %rbp\n401001+3 movq %rsp, %rbp\n401004+1 retq \n");
    expect_code(SAMPLE(EM_X86_64, true, false, PT_SYNTAX_INTEL, 0x55, 0x48, 0x89, 0xe5, 0xc3),
                "401000+1 push rbp\n401001+3 mov rbp, rsp\n401004+1 ret \n");
}

/* call +0x10 (from the next instruction); jne -7; mov eax, [rip+0x20] */
static void jumps_and_references_have_their_targets(void **state)
{
    expect_code(SAMPLE(EM_X86_64, true, false, PT_SYNTAX_INTEL, 0xe8, 0x10, 0, 0, 0, 0x75, 0xf9,
                       0x8b, 0x05, 0x20, 0, 0, 0),
                "401000+5 call 0x401015 ->401015\n"
                "401005+2 jne 0x401000 ->401000\n"
                "401007+6 mov eax, dword ptr [rip + 0x20] @40102d\n");
}

/* 06 (push es) is no instruction of 64-bit mode. */
static void what_cannot_be_decoded_is_given_as_bytes(void **state)
{
    expect_code(SAMPLE(EM_X86_64, true, false, PT_SYNTAX_ATT, 0x06, 0xc3),
                "401000+1 .byte 0x06\n401001+1 retq \n");
}

/* ret; b +8; an unallocated encoding (0) */
static void aarch64_is_known(void **state)
{
    expect_code(SAMPLE(EM_AARCH64, true, false, PT_SYNTAX_ATT, 0xc0, 0x03, 0x5f, 0xd6, 0x02, 0, 0,
                       0x14, 0, 0, 0, 0),
                "401000+4 ret \n401004+4 b #0x40100c ->40100c\n"
                "401008+4 .byte 0x00, 0x00, 0x00, 0x00\n");
}

/* blr, in both byte orders */
static void powerpc_is_known_in_both_byte_orders(void **state)
{
    expect_code(SAMPLE(EM_PPC64, true, true, PT_SYNTAX_ATT, 0x4e, 0x80, 0x00, 0x20),
                "401000+4 blr \n");
    expect_code(SAMPLE(EM_PPC64, true, false, PT_SYNTAX_ATT, 0x20, 0x00, 0x80, 0x4e),
                "401000+4 blr \n");
}

/* br %r14 */
static void s390x_is_known(void **state)
{
    expect_code(SAMPLE(EM_S390, true, true, PT_SYNTAX_ATT, 0x07, 0xfe), "401000+2 br %r14\n");
}

static void a_range_ends_where_the_segments_bytes_do(void **state)
{
    if (pt_disasm_version() == NULL) skip();
    pt_buf text = PT_BUF_INIT;
    const sample *s = SAMPLE(EM_X86_64, true, false, PT_SYNTAX_ATT, 0x90, 0xc3);
    assert_int_equal(disassemble(s, 1, UINT64_C(1) << 40, &text, NULL), PT_OK);
    assert_string_equal(pt_buf_text(&text), "401001+1 retq \n");
    pt_buf_done(&text);
}

static void where_there_is_no_code_is_said(void **state)
{
    if (pt_disasm_version() == NULL) skip();
    pt_buf text = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    const sample *s = SAMPLE(EM_X86_64, true, false, PT_SYNTAX_ATT, 0x90, 0xc3);
    assert_int_equal(disassemble(s, 2, 3, &text, &error), PT_ERR_NOTFOUND);
    assert_string_equal(error.message, "no code at 0x401002");
    assert_int_equal(disassemble(s, 1, 1, &text, &error), PT_ERR_NOTFOUND);
    assert_int_equal(text.size, 0);
    pt_buf_done(&text);
}

static void a_machine_that_is_not_known_is_said(void **state)
{
    pt_buf text = PT_BUF_INIT;
    const sample *s = SAMPLE(EM_VAX, false, false, PT_SYNTAX_ATT, 0x90);
    assert_int_equal(disassemble(s, 0, 1, &text, NULL), PT_ERR_UNSUPPORTED);
    pt_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_64_is_told_in_both_syntaxes),
        cmocka_unit_test(jumps_and_references_have_their_targets),
        cmocka_unit_test(what_cannot_be_decoded_is_given_as_bytes),
        cmocka_unit_test(aarch64_is_known),
        cmocka_unit_test(powerpc_is_known_in_both_byte_orders),
        cmocka_unit_test(s390x_is_known),
        cmocka_unit_test(a_range_ends_where_the_segments_bytes_do),
        cmocka_unit_test(where_there_is_no_code_is_said),
        cmocka_unit_test(a_machine_that_is_not_known_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
