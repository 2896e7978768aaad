/* objdump.h: disassembly by the machine's objdump (GNU's or LLVM's), for pprof's reports, which
 * print its text, and for machines without capstone.
 *
 *   /bin/x:     file format elf64-x86-64           ->  reset
 *   0000000000001139 <main>:                       ->  function "<main>", till a better word
 *   main():                                        ->  function "main"
 *   /src/x.c:12 (discriminator 3)                  ->  file, line
 *       1139:  push   %rbp                         ->  an instruction with all of these
 *
 * The program is run with an argument vector, never through a shell, with nothing on its standard
 * input and what it says on standard error thrown away; how much it may answer is limited.
 */
#ifndef PT_SOURCE_OBJDUMP_H
#define PT_SOURCE_OBJDUMP_H

#include "base/error.h"

typedef struct pt_objdump_tool {
    char *path;
    bool is_llvm;
} pt_objdump_tool;

/* Finds an objdump as google/pprof does: config (PPROF_TOOLS, "" or NULL when not set) is a comma
 * list of folders and "objdump:FOLDER", an empty item stands for search_path (PATH);
 * "llvm-objdump" is preferred to "objdump", and each candidate must say with --version that it is
 * one (LLVM's: 8 or newer). False when there is none; else the caller frees ret_tool->path. */
bool pt_objdump_find(const char *config, const char *search_path, pt_objdump_tool *ret_tool);

typedef struct pt_objdump_line {
    uint64_t addr;
    const char *text;            /* of the instruction */
    const char *function, *file; /* "" = unknown */
    uint32_t line;               /* 0 = unknown */
} pt_objdump_line;

typedef struct pt_objdump_listing {
    pt_objdump_line *line;
    size_t count;
    struct pt_objdump_texts *texts; /* what the lines point to */
} pt_objdump_listing;

/* Parses what objdump printed; any bytes are fine. *ret_listing is the caller's. */
void pt_objdump_parse(const char *output, size_t size, pt_objdump_listing *ret_listing);
void pt_objdump_listing_done(pt_objdump_listing *listing);

/* Disassembles [start, end) of an ELF file, with lines and demangled names. PT_ERR_SYSTEM with the
 * command line, as pprof says it, when it fails. */
pt_status pt_objdump_run(const pt_objdump_tool *tool, const char *file, uint64_t start,
                         uint64_t end, bool intel_syntax, pt_objdump_listing *ret_listing,
                         pt_error *reterr);

#endif
