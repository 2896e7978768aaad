/* What objdump prints is understood as google/pprof understands it (internal/binutils/disasm.go).
 * The texts were printed by GNU objdump 2.40 and llvm-objdump 14. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/objdump.h"

static void parse(const char *text, pt_objdump_listing *ret_listing)
{
    pt_objdump_parse(text, strlen(text), ret_listing);
}

static void line_is(const pt_objdump_line *line, uint64_t addr, const char *text,
                    const char *function, const char *file, uint32_t number)
{
    assert_int_equal(line->addr, addr);
    assert_string_equal(line->text, text);
    assert_string_equal(line->function, function);
    assert_string_equal(line->file, file);
    assert_int_equal(line->line, number);
}

static void gnu_objdump_is_understood(void **state)
{
    pt_objdump_listing l;
    parse("\nprog:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
          "0000000000001129 <ns::sum(int)>:\n"
          "_ZN2ns3sumEi():\n"
          "/src/x.cc:3\n"
          "    1129:\tpush   %rbp\n"
          "/src/x.cc:4 (discriminator 2)\n"
          "    112a:\tmov    %rsp,%rbp\n"
          "    112d:\tcall   1030 <puts@plt>\n",
          &l);
    assert_int_equal(l.count, 3);
    line_is(&l.line[0], 0x1129, "push   %rbp", "_ZN2ns3sumEi", "/src/x.cc", 3);
    line_is(&l.line[1], 0x112a, "mov    %rsp,%rbp", "_ZN2ns3sumEi", "/src/x.cc", 4);
    line_is(&l.line[2], 0x112d, "call   1030 <puts@plt>", "_ZN2ns3sumEi", "/src/x.cc", 4);
    pt_objdump_listing_done(&l);
}

static void without_debug_information_the_label_is_the_function(void **state)
{
    pt_objdump_listing l;
    parse("0000000000001129 <main>:\n    1129:\tret\n", &l);
    assert_int_equal(l.count, 1);
    line_is(&l.line[0], 0x1129, "ret", "<main>", "", 0);
    pt_objdump_listing_done(&l);
}

static void llvm_objdump_is_understood(void **state)
{
    pt_objdump_listing l;
    parse("0000000000001129 <main>:\n; main():\n; /src/x.c:7\n    1129:      \tpushq\t%rbp\n", &l);
    assert_int_equal(l.count, 1);
    line_is(&l.line[0], 0x1129, "pushq\t%rbp", "main", "/src/x.c", 7);
    pt_objdump_listing_done(&l);
}

static void a_line_of_another_kind_ends_function_and_place(void **state)
{
    pt_objdump_listing l;
    parse("f():\nx.c:1\n 10:\tnop\n\t...\n 20:\tnop\n", &l);
    assert_int_equal(l.count, 2);
    line_is(&l.line[0], 0x10, "nop", "f", "x.c", 1);
    line_is(&l.line[1], 0x20, "nop", "", "", 0);
    pt_objdump_listing_done(&l);
}

static void numbers_that_do_not_fit_are_no_addresses_and_no_lines(void **state)
{
    pt_objdump_listing l;
    parse("x.c:4294967296\n11111111111111111:\tnop\n ffffffffffffffff:\tnop\n", &l);
    assert_int_equal(l.count, 1);
    assert_true(l.line[0].addr == UINT64_MAX);
    assert_int_equal(l.line[0].line, 0);
    pt_objdump_listing_done(&l);
}

static void empty_output_has_no_lines(void **state)
{
    pt_objdump_listing l;
    pt_objdump_parse(NULL, 0, &l);
    assert_int_equal(l.count, 0);
    pt_objdump_listing_done(&l);
}

/* ---- Finding and running ---- */

static char folder[] = "/tmp/pitot-objdump.XXXXXX";

static void script(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", text);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
}

static int make_folder(void **state)
{
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char path[128];
    static const char *const names[] = {"objdump", "llvm-objdump"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static void llvms_is_preferred_if_it_is_new_enough(void **state)
{
    pt_objdump_tool tool;
    script("objdump", "echo 'GNU objdump (GNU Binutils for Debian) 2.40'");
    script("llvm-objdump", "echo '  Debian LLVM version 14.0.6'");
    assert_true(pt_objdump_find(NULL, folder, &tool));
    assert_true(tool.is_llvm);
    free(tool.path);
    script("llvm-objdump", "echo '  LLVM version 7.0.1'");
    assert_true(pt_objdump_find(NULL, folder, &tool));
    assert_false(tool.is_llvm);
    free(tool.path);
}

static void the_configuration_names_folders(void **state)
{
    pt_objdump_tool tool;
    char config[128];
    script("objdump", "echo GNU objdump");
    script("llvm-objdump", "exit 1");
    snprintf(config, sizeof config, "nm:/nowhere,objdump:%s", folder);
    assert_true(pt_objdump_find(config, "/nowhere", &tool));
    free(tool.path);
    assert_true(pt_objdump_find(folder, "/nowhere", &tool));
    free(tool.path);
    assert_false(pt_objdump_find("nm:/nowhere", folder, &tool));
    assert_false(pt_objdump_find(NULL, "/nowhere", &tool));
}

static void a_failure_shows_the_command_line(void **state)
{
    pt_objdump_tool tool;
    pt_objdump_listing l;
    pt_error error;
    char wanted[256];
    script("objdump", "[ $1 = --version ] && echo GNU objdump && exit; exit 3");
    script("llvm-objdump", "exit 1");
    assert_true(pt_objdump_find(NULL, folder, &tool));
    assert_int_equal(pt_objdump_run(&tool, "-x", 0x10, 0x20, true, &l, &error), PT_ERR_SYSTEM);
    snprintf(wanted, sizeof wanted,
             "[%s/objdump --disassemble --demangle --no-show-raw-insn --line-numbers "
             "--start-address=0x10 --stop-address=0x20 -M intel ./-x]: exit status 3",
             folder);
    assert_string_equal(error.message, wanted);
    free(tool.path);
}

static void what_it_prints_is_parsed(void **state)
{
    pt_objdump_tool tool;
    pt_objdump_listing l;
    script("objdump", "[ $1 = --version ] && echo GNU objdump && exit; echo ' 10: nop'");
    script("llvm-objdump", "exit 1");
    assert_true(pt_objdump_find(NULL, folder, &tool));
    assert_int_equal(pt_objdump_run(&tool, "x", 0, 1, false, &l, NULL), PT_OK);
    assert_int_equal(l.count, 1);
    pt_objdump_listing_done(&l);
    free(tool.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gnu_objdump_is_understood),
        cmocka_unit_test(without_debug_information_the_label_is_the_function),
        cmocka_unit_test(llvm_objdump_is_understood),
        cmocka_unit_test(a_line_of_another_kind_ends_function_and_place),
        cmocka_unit_test(numbers_that_do_not_fit_are_no_addresses_and_no_lines),
        cmocka_unit_test(empty_output_has_no_lines),
        cmocka_unit_test(llvms_is_preferred_if_it_is_new_enough),
        cmocka_unit_test(the_configuration_names_folders),
        cmocka_unit_test(a_failure_shows_the_command_line),
        cmocka_unit_test(what_it_prints_is_parsed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
