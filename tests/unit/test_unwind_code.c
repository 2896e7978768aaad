/* test_unwind_code.c: rules from code, and from the tables of Go. Bytes are hand-assembled; beside
 * each stands the instruction. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base_check.h"
#include "elf/image.h"
#include "elf_maker.h"
#include "unwind/x86.h"
#include "unwind_maker.h"

#define TEXT 0x1000

static void expect_length(const char *bytes, size_t given, unsigned length)
{
    pt_insn insn;
    assert_true(pt_x86_decode((const uint8_t *)bytes, given, &insn));
    assert_int_equal(insn.length, length);
}
#define LENGTH(bytes, n) expect_length(bytes, sizeof bytes - 1, n)

/* Intel SDM, volume 2: the examples are one of each way to encode operands. */
static void instructions_have_the_length_that_the_manual_gives(void **state)
{
    LENGTH("\x90", 1);                                      /* nop */
    LENGTH("\x48\x89\xe5", 3);                              /* mov rbp, rsp */
    LENGTH("\x48\x8b\x44\x24\x08", 5);                      /* mov rax, [rsp+8] */
    LENGTH("\x48\x8d\x05\x01\x02\x03\x04", 7);              /* lea rax, [rip+...] */
    LENGTH("\x66\x81\xc1\x34\x12", 5);                      /* add cx, 0x1234 */
    LENGTH("\x49\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10); /* movabs r8, ... */
    LENGTH("\xf6\xc1\x01", 3);                              /* test cl, 1 */
    LENGTH("\xf6\xd9", 2);                                  /* neg cl */
    LENGTH("\xc8\x10\x00\x00", 4);                          /* enter 16, 0 */
    LENGTH("\x0f\x84\x01\x02\x03\x04", 6);                  /* je */
    LENGTH("\x66\x0f\x3a\x0f\xc1\x08", 6);                  /* palignr xmm0, xmm1, 8 */
    LENGTH("\xc5\xf8\x77", 3);                              /* vzeroupper */
    LENGTH("\xc5\xf9\x70\xc1\x1b", 5);                      /* vpshufd xmm0, xmm1, 0x1b */
    LENGTH("\xc4\xe3\x7d\x39\xc1\x01", 6);                  /* vextracti128 xmm1, ymm0, 1 */
    LENGTH("\x62\xf1\x7c\x48\x10\x40\x01", 7);              /* vmovups zmm0, [rax+64] */
    LENGTH("\x62\xf3\x7d\x48\x3b\xc1\x01", 7);              /* vextracti32x8 ymm1, zmm0, 1 */
    LENGTH("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10); /* cs nopw */
    pt_insn insn;
    assert_false(pt_x86_decode((const uint8_t *)"\x48\x8b", 2, &insn)); /* cut short */
    assert_false(pt_x86_decode((const uint8_t *)"\x06", 1, &insn));     /* none in 64 bits */
}

/* If 15 bytes are available, tables decode plain and common instructions; else they are decoded
 * byte by byte. */
static void the_short_way_to_an_instruction_agrees_with_the_long_way(void **state)
{
    enum { AT_HAND = 15, ONE_LESS = 14, TIMES = 1000000 };
    static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x40, 0x41, 0x44, 0x48, 0x4c, 0x0f};
    uint64_t random = 20;
    for (unsigned i = 0; i < TIMES; i++) {
        uint8_t bytes[16];
        for (unsigned at = 0; at < sizeof bytes; at += 8)
            memcpy(bytes + at, &(uint64_t){next_random(&random)}, 8);
        for (unsigned at = 0; at < 3 && next_random(&random) % 2 == 0; at++)
            bytes[at] = prefixes[next_random(&random) % sizeof prefixes];
        pt_insn by_tables = {0}, by_bytes = {0};
        const bool is_one = pt_x86_decode(bytes, AT_HAND, &by_tables);
        if (is_one && by_tables.length == AT_HAND) continue;
        assert_int_equal(is_one, pt_x86_decode(bytes, ONE_LESS, &by_bytes));
        assert_int_equal(by_tables.length, by_bytes.length);
        assert_int_equal(by_tables.kind, by_bytes.kind);
        assert_int_equal(by_tables.is_direct, by_bytes.is_direct);
        assert_int_equal(by_tables.value, by_bytes.value);
    }
}

/* An image of the code at TEXT with the symbols. */
static made_bytes file_with(const char *code, size_t size, const made_symbol *symbols, size_t count)
{
    made_bytes entries, strings;
    make_symbols(true, false, symbols, count, &entries, &strings);
    const made_section sections[] = {
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, size, .align = 16},
        {".symtab", SHT_SYMTAB, .data = entries.bytes, .size_bytes = entries.size_bytes, .link = 3,
         .align = 8, .entry_bytes = sizeof(Elf64_Sym)},
        {".strtab", SHT_STRTAB, .data = strings.bytes, .size_bytes = strings.size_bytes,
         .align = 1},
    };
    const made_segment segment = {.type = PT_LOAD,
                                  .flags = PF_R | PF_X,
                                  .addr = TEXT,
                                  .memory_bytes = size,
                                  .align = 16,
                                  .of_section = 1};
    const made_elf elf = {.is_64 = true,
                          .type = ET_DYN,
                          .machine = EM_X86_64,
                          .segments = &segment,
                          .segment_count = 1,
                          .sections = sections,
                          .section_count = 3};
    const made_bytes file = make_elf(&elf);
    free(entries.bytes);
    free(strings.bytes);
    return file;
}

/* The same with a symbol "f" at its start, and one for each name given, at the offsets. */
static made_bytes file_of(const char *code, size_t size, const uint32_t *begins, size_t count)
{
    made_symbol symbols[8] = {{0}};
    symbols[0] = (made_symbol){"f", TEXT, 0, 1, STB_GLOBAL, STT_FUNC};
    for (size_t i = 0; i < count; i++)
        symbols[i + 1] = (made_symbol){"g", TEXT + begins[i], 0, 1, STB_GLOBAL, STT_FUNC};
    return file_with(code, size, symbols, count + 1);
}

static made_table table_of(const char *code, size_t size, const uint32_t *begins, size_t count)
{
    made_bytes file = file_of(code, size, begins, count);
    made_table table;
    assert_true(make_table_of_bytes(file.bytes, file.size_bytes, &table));
    free(file.bytes);
    return table;
}

/* "sp+16 fp-2": CFA, and where rbp is ("same", "lost"); "root", "none". */
static void expect_rule(const made_table *table, uint64_t addr, const char *expected)
{
    const pt_unwind_rule *r = pt_unwind_table_rule(&table->table, addr);
    char text[64], fp[24] = "same";
    if (r->fp_slot == PT_SLOT_AT_CFA) snprintf(fp, sizeof fp, "fp%d", r->fp_off);
    if (r->fp_slot == PT_SLOT_UNKNOWN) snprintf(fp, sizeof fp, "lost");
    if (r->pc_slot == PT_SLOT_UNDEFINED)
        snprintf(text, sizeof text, "root");
    else if (r->cfa_kind == PT_CFA_NONE)
        snprintf(text, sizeof text, "none");
    else
        snprintf(text, sizeof text, "%s%+d %s", r->cfa_kind == PT_CFA_SP ? "sp" : "rbp", r->cfa_off,
                 fp);
    if (strcmp(text, expected) != 0)
        fail_msg("at %llx: %s, not %s", (unsigned long long)addr, text, expected);
}

static void pushes_and_pops_move_the_cfa(void **state)
{
    static const char code[] = "\x55"             /* 0 push rbp */
                               "\x53"             /* 1 push rbx */
                               "\x48\x83\xec\x18" /* 2 sub rsp, 24 */
                               "\x31\xc0"         /* 6 xor eax, eax */
                               "\x48\x83\xc4\x18" /* 8 add rsp, 24 */
                               "\x5b"             /* c pop rbx */
                               "\x5d"             /* d pop rbp */
                               "\xc3"             /* e ret */
                               "\x90";
    made_table t = table_of(code, sizeof code - 1, NULL, 0);
    expect_rule(&t, TEXT, "sp+8 same");
    expect_rule(&t, TEXT + 1, "sp+16 fp-2");
    expect_rule(&t, TEXT + 2, "sp+24 fp-2");
    expect_rule(&t, TEXT + 6, "sp+48 fp-2");
    expect_rule(&t, TEXT + 0xd, "sp+16 fp-2");
    expect_rule(&t, TEXT + 0xe, "sp+8 same");
    expect_rule(&t, TEXT + 0xf, "none");
    free_table(&t);
}

static void a_frame_pointer_carries_over_a_stack_pointer_that_cannot_be_told(void **state)
{
    static const char code[] = "\x55"         /* 0 push rbp */
                               "\x48\x89\xe5" /* 1 mov rbp, rsp */
                               "\x48\x29\xc4" /* 4 sub rsp, rax */
                               "\x90"         /* 7 nop */
                               "\xc9"         /* 8 leave */
                               "\xc3";        /* 9 ret */
    made_table t = table_of(code, sizeof code - 1, NULL, 0);
    expect_rule(&t, TEXT + 4, "sp+16 fp-2");
    expect_rule(&t, TEXT + 7, "rbp+16 fp-2");
    expect_rule(&t, TEXT + 9, "sp+8 same");
    free_table(&t);
}

static void ways_that_disagree_leave_no_rule(void **state)
{
    static const char code[] = "\x85\xff" /* 0 test edi, edi */
                               "\x74\x01" /* 2 je 5 */
                               "\x50"     /* 4 push rax */
                               "\x90"     /* 5 nop */
                               "\xc3";    /* 6 ret */
    made_table t = table_of(code, sizeof code - 1, NULL, 0);
    expect_rule(&t, TEXT + 4, "sp+8 same");
    expect_rule(&t, TEXT + 5, "none");
    free_table(&t);
}

static void a_jump_table_is_followed(void **state)
{
    static const char code[] = "\x50"                         /* 0 push rax */
                               "\x48\x8d\x05\x0c\x00\x00\x00" /* 1 lea rax, [rip+12]: 14 */
                               "\x48\x63\x14\xb8"             /* 8 movsxd rdx, [rax+rdi*4] */
                               "\x48\x01\xd0"                 /* c add rax, rdx */
                               "\xff\xe0"                     /* f jmp rax */
                               "\x0f\x0b"                     /* 11 ud2 */
                               "\x90"                         /* 13 */
                               "\x08\x00\x00\x00"             /* 14 table: 1c */
                               "\x00\x00\x00\x40"             /* 18 out of the function */
                               "\x5a"                         /* 1c pop rdx */
                               "\xc3";                        /* 1d ret */
    made_table t = table_of(code, sizeof code - 1, NULL, 0);
    expect_rule(&t, TEXT + 0x1c, "sp+16 same");
    expect_rule(&t, TEXT + 0x1d, "sp+8 same");
    free_table(&t);
}

static void a_jump_table_behind_the_end_of_the_file_is_not_read(void **state)
{
    static const char code[] = "\x50"                         /* 0 push rax */
                               "\x48\x8d\x05\xf8\xff\x07\x00" /* 1 lea rax, [rip+7fff8]: 80000 */
                               "\x48\x63\x14\xb8"             /* 8 movsxd rdx, [rax+rdi*4] */
                               "\x48\x01\xd0"                 /* c add rax, rdx */
                               "\xff\xe0";                    /* f jmp rax */
    made_bytes file = file_of(code, sizeof code - 1, NULL, 0);
    made_table table;
    Elf64_Phdr segment;
    uint8_t *const at = (uint8_t *)file.bytes + ((const Elf64_Ehdr *)file.bytes)->e_phoff;
    memcpy(&segment, at, sizeof segment);
    segment.p_filesz = segment.p_memsz = 0x100000; /* more than there is */
    memcpy(at, &segment, sizeof segment);
    assert_true(make_table_of_bytes(file.bytes, file.size_bytes, &table));
    expect_rule(&table, TEXT + 0xf, "sp+16 same");
    free_table(&table);
    free(file.bytes);
}

/* Thirty thousand sections that are all of the same megabyte of nops, in a file without symbols: to
 * read it once for each would take minutes. */
static void sections_that_lie_over_each_other_are_read_once(void **state)
{
    enum { SECTIONS = 30000, CODE_BYTES = 1 << 20, CODE_OFF = 4096 };
    const size_t size = CODE_OFF + CODE_BYTES + SECTIONS * sizeof(Elf64_Shdr);
    uint8_t *const file = calloc(size, 1);
    const Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                             .e_type = ET_EXEC,
                             .e_machine = EM_X86_64,
                             .e_version = EV_CURRENT,
                             .e_entry = TEXT,
                             .e_phoff = sizeof head,
                             .e_shoff = CODE_OFF + CODE_BYTES,
                             .e_ehsize = sizeof head,
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = 1,
                             .e_shentsize = sizeof(Elf64_Shdr),
                             .e_shnum = SECTIONS};
    const Elf64_Phdr segment = {.p_type = PT_LOAD,
                                .p_flags = PF_R | PF_X,
                                .p_offset = CODE_OFF,
                                .p_vaddr = TEXT,
                                .p_filesz = CODE_BYTES,
                                .p_memsz = CODE_BYTES};
    const Elf64_Shdr section = {.sh_type = SHT_PROGBITS,
                                .sh_flags = SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE,
                                .sh_addr = TEXT,
                                .sh_offset = CODE_OFF,
                                .sh_size = CODE_BYTES};
    memcpy(file, &head, sizeof head);
    memcpy(file + sizeof head, &segment, sizeof segment);
    memset(file + CODE_OFF, 0x90, CODE_BYTES - 1);
    file[CODE_OFF + CODE_BYTES - 1] = 0xc3;
    for (size_t i = 1; i < SECTIONS; i++)
        memcpy(file + head.e_shoff + i * sizeof section, &section, sizeof section);
    made_table table;
    assert_true(make_table_of_bytes(file, size, &table));
    expect_rule(&table, TEXT, "root");
    free_table(&table);
    free(file);
}

static void what_follows_a_call_that_never_returns_is_not_reached(void **state)
{
    static const char code[] = "\x50"                 /* 0 push rax */
                               "\xe8\x02\x00\x00\x00" /* 1 call 8 */
                               "\x90"                 /* 6 nop */
                               "\xc3"                 /* 7 ret */
                               "\xf4";                /* 8 hlt: the other function */
    const uint32_t begin = 8;
    made_table t = table_of(code, sizeof code - 1, &begin, 1);
    expect_rule(&t, TEXT + 5, "sp+16 same");
    expect_rule(&t, TEXT + 6, "none");
    expect_rule(&t, TEXT + 8, "sp+8 same");
    free_table(&t);
}

static void zeroing_a_frame_pointer_that_was_not_saved_marks_the_outermost_frame(void **state)
{
    static const char code[] = "\x31\xed"             /* 0 xor ebp, ebp */
                               "\xe8\x01\x00\x00\x00" /* 2 call 8 */
                               "\xf4"                 /* 7 hlt */
                               "\x55"                 /* 8 push rbp: the other function */
                               "\x31\xed"             /* 9 xor ebp, ebp */
                               "\x5d"                 /* b pop rbp */
                               "\xc3";                /* c ret */
    const uint32_t begin = 8;
    made_table t = table_of(code, sizeof code - 1, &begin, 1);
    expect_rule(&t, TEXT + 2, "root");
    expect_rule(&t, TEXT + 6, "root");
    expect_rule(&t, TEXT + 0xb, "sp+16 fp-2");
    expect_rule(&t, TEXT + 0xc, "sp+8 same");
    free_table(&t);
}

/* The registers of an ucontext_t: 40 bytes, then r8 ... r15, rdi, rsi, rbp, rbx, rdx, rax, rcx,
 * rsp, rip (sys/ucontext.h). */
static void a_signal_trampoline_gives_what_was_interrupted(void **state)
{
    static const char code[] = "\xc3\x90"                     /* 0 ret; nop */
                               "\x48\xc7\xc0\x0f\x00\x00\x00" /* 2 mov rax, 15 */
                               "\x0f\x05";                    /* 9 syscall */
    const uint32_t begin = 2;
    made_table t = table_of(code, sizeof code - 1, &begin, 1);
    for (uint64_t addr = TEXT + 1; addr < TEXT + 11; addr++) {
        const pt_unwind_rule *r = pt_unwind_table_rule(&t.table, addr);
        assert_int_equal(r->cfa_kind, PT_CFA_DEREF);
        assert_int_equal(r->cfa_off, 160);
        assert_int_equal(r->pc_off * 8, 168);
        assert_int_equal(r->fp_off * 8, 120);
        assert_true(r->is_signal);
    }
    free_table(&t);
}

/* As make_fcontext of Boost.Context, whose symbol does not tell where its trampoline is. The
 * function of the fiber returns to the xor. */
static void a_fiber_begins_in_its_trampoline(void **state)
{
    static const char code[] = "\x48\x89\xf8"             /* 0 mov rax, rdi */
                               "\xc3"                     /* 3 ret */
                               "\x55"                     /* 4 push rbp */
                               "\xff\xe3"                 /* 5 jmp rbx */
                               "\x48\x31\xff"             /* 7 xor rdi, rdi */
                               "\xe8\x00\x00\x00\x00\xf4" /* a call; hlt */
                               "\x90\x90\x90\x90\x90\x90\x90";
    made_table t = table_of(code, sizeof code - 1, NULL, 0);
    expect_rule(&t, TEXT + 3, "sp+8 same");
    expect_rule(&t, TEXT + 4, "root");
    expect_rule(&t, TEXT + 6, "root");
    free_table(&t);
}

/* They keep frame pointers, and some end in ways that cannot be followed. */
static void builtins_of_v8_have_no_rules(void **state)
{
    enum { FUNCTION = 0x20, BUILTINS = 0x20, SIZE_AT = 0x60, BYTES = 0x80 };
    static const char push[] = "\x55\xc3"; /* push rbp; ret */
    /* As V8 11 has them, and as V8 10, in which the name of the code is a pointer's. */
    static const struct {
        const char *name;
        uint32_t at;
    } rows[][2] = {{{"v8_Default_embedded_blob_code_", BUILTINS}, {"other", SIZE_AT}},
                   {{"v8_Default_embedded_blob_code_data_", BUILTINS},
                    {"v8_Default_embedded_blob_code_", SIZE_AT + 8}}};
    for (size_t i = 0; i < 2; i++) {
        char code[BYTES];
        memset(code, 0x90, sizeof code);
        for (uint32_t at = 0; at < SIZE_AT; at += FUNCTION)
            memcpy(code + at, push, sizeof push - 1);
        memcpy(code + SIZE_AT, &(uint32_t){FUNCTION}, 4);
        const made_symbol symbols[] = {
            {"f", TEXT, 0, 1, STB_GLOBAL, STT_FUNC},
            {"Builtins_Abort", TEXT + BUILTINS, 0, 1, STB_LOCAL, STT_FUNC},
            {"g", TEXT + 2 * FUNCTION, 0, 1, STB_GLOBAL, STT_FUNC},
            {rows[i][0].name, TEXT + rows[i][0].at, 0, 1, STB_LOCAL, STT_OBJECT},
            {rows[i][1].name, TEXT + rows[i][1].at, 0, 1, STB_LOCAL, STT_OBJECT},
            {"v8_Default_embedded_blob_code_size_", TEXT + SIZE_AT, 0, 1, STB_LOCAL, STT_OBJECT},
        };
        made_bytes file = file_with(code, sizeof code, symbols, sizeof symbols / sizeof *symbols);
        made_table t;
        assert_true(make_table_of_bytes(file.bytes, file.size_bytes, &t));
        expect_rule(&t, TEXT + 1, "sp+16 fp-2");
        expect_rule(&t, TEXT + BUILTINS + 1, "none");
        expect_rule(&t, TEXT + 2 * FUNCTION + 1, "sp+16 fp-2");
        free_table(&t);
        free(file.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_the_length_that_the_manual_gives),
        cmocka_unit_test(the_short_way_to_an_instruction_agrees_with_the_long_way),
        cmocka_unit_test(pushes_and_pops_move_the_cfa),
        cmocka_unit_test(a_frame_pointer_carries_over_a_stack_pointer_that_cannot_be_told),
        cmocka_unit_test(ways_that_disagree_leave_no_rule),
        cmocka_unit_test(a_jump_table_is_followed),
        cmocka_unit_test(a_jump_table_behind_the_end_of_the_file_is_not_read),
        cmocka_unit_test(sections_that_lie_over_each_other_are_read_once),
        cmocka_unit_test(what_follows_a_call_that_never_returns_is_not_reached),
        cmocka_unit_test(zeroing_a_frame_pointer_that_was_not_saved_marks_the_outermost_frame),
        cmocka_unit_test(builtins_of_v8_have_no_rules),
        cmocka_unit_test(a_signal_trampoline_gives_what_was_interrupted),
        cmocka_unit_test(a_fiber_begins_in_its_trampoline),
    };
    return cmocka_run_group_tests_name("unwind_code", tests, NULL, NULL);
}
