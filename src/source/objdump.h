/* objdump.h: disassembles with the machine's objdump (GNU or LLVM), for pprof's reports, which
 * print its text, and for machines without capstone.
 *
 *   /bin/x:     file format elf64-x86-64           ->  reset
 *   0000000000001139 <main>:                       ->  function "<main>", until a name line follows
 *   main():                                        ->  function "main"
 *   /src/x.c:12 (discriminator 3)                  ->  file, line
 *       1139:  push   %rbp                         ->  an instruction with all of these
 *
 * The program runs with an argument vector, never through a shell, with empty standard input; its
 * standard error is discarded and its output is limited.
 */
#pragma once

#include "base/error.h"

typedef struct pt_objdump_tool {
    char *path;
    bool is_llvm;
} pt_objdump_tool;

/* Finds an objdump as google/pprof does. config (PPROF_TOOLS; "" or NULL: not set): a comma list of
 * folders and "objdump:FOLDER"; an empty item means search_path (PATH). Prefers "llvm-objdump" to
 * "objdump"; each candidate must identify itself with --version (LLVM's: 8 or newer). False: none;
 * else the caller frees ret_tool->path. */
bool pt_objdump_find(const char *config, const char *search_path, pt_objdump_tool *ret_tool);

typedef struct pt_objdump_line {
    uint64_t addr;
    const char *text;            /* of the instruction */
    const char *function, *file; /* "": unknown */
    uint32_t line;               /* 0: unknown */
} pt_objdump_line;

typedef struct pt_objdump_listing {
    pt_objdump_line *line;
    size_t count;
    struct pt_objdump_texts *texts; /* owns the texts of the lines */
} pt_objdump_listing;

/* Parses objdump's output, which may be any bytes. The caller owns *ret_listing. */
void pt_objdump_parse(const char *output, size_t size, pt_objdump_listing *ret_listing);
void pt_objdump_listing_done(pt_objdump_listing *listing);

/* Disassembles [start, end) of an ELF file, with lines and demangled names. PT_ERR_SYSTEM on
 * failure, with the command line as pprof prints it. */
pt_status pt_objdump_run(const pt_objdump_tool *tool, const char *file, uint64_t start,
                         uint64_t end, bool intel_syntax, pt_objdump_listing *ret_listing,
                         pt_error *reterr);
