/* why_causes.h: the table of causes: functions of libraries, runtimes and the kernel, with the kind
 * of work that each function shows.
 *
 *   own code -> std::vector::push_back -> _M_realloc_insert -> memmove
 *               cause "growing-arrays" outranks "copying-memory"
 *
 * A new cause is a row of the table in why_causes.c, and a test of it in tests/unit/test_why.c.
 * why_names.c compares the names. */
#pragma once

#include "model/profile.h"

typedef struct pt_why_cause {
    const char *id;           /* of JSON: "copying-memory" */
    const char *doing;        /* the words after "time is spent": "copying memory" */
    const char *doing_on_cpu; /* for a wait, the words after "CPU time is spent"; NULL = doing */
    const char *advice;       /* the first change to try: "pass large objects by reference" */
    unsigned rank;   /* if a stack shows several causes, the one with the highest rank is chosen; of
                      * equal ranks, the outermost */
    bool calls_back; /* the cause's functions call functions of the program, such as the comparison
                      * of a sort */
    bool in_kernel;  /* the cause's functions also show it in the kernel, whatever its rank */
    /* The cause is only work on memory: waits, reading of files and an interpreter's code below its
     * functions do not count as this cause. */
    bool is_of_memory;
    bool is_of_text;  /* the cause is only work on text: reading and writing of files do not count
                       * as this cause */
    bool is_of_files; /* the cause is a system call on files */
    /* Names, NULL-terminated. C functions are spelled without leading underscores and without the
     * suffixes of glibc's variants: "memmove" also matches __memmove_avx_unaligned_erms. A "*"
     * matches any text. "file:TEXT": the source file's path contains TEXT. "copy": the linkage name
     * is that of a constructor or assignment that copies (Itanium C++ ABI, 5.1). */
    const char *const *functions;
} pt_why_cause;

enum {
    PT_WHY_NO_CAUSE = 0,
    PT_WHY_INTERPRETER = 1, /* an interpreter's own loop: its time belongs to the function that it
                             * runs */
    PT_WHY_FIRST_CAUSE = 2,
};

/* The rank of the kernel's causes: in the kernel, causes of a higher rank count only if they have
 * in_kernel. */
enum { PT_WHY_RANK_SYSTEM = 2 };

/* The table of causes. Rows 0 and 1 are PT_WHY_NO_CAUSE and PT_WHY_INTERPRETER. */
extern const pt_why_cause pt_why_causes[];
extern const size_t pt_why_cause_count;

typedef enum pt_why_origin {
    PT_WHY_OF_LIBRARY,
    PT_WHY_OF_PROGRAM, /* by its source file: only names in a library's namespace and reserved
                        * names ("_start") count, since the program may have a function "x_add" of
                        * its own */
    PT_WHY_OF_KERNEL,  /* the kernel formats text and inflates for its own purposes */
    PT_WHY_ORIGINS,
} pt_why_origin;

/* The cause that a function shows: a row of pt_why_causes. system_name: the linkage name. file: the
 * source file, "" = unknown. */
uint8_t pt_why_cause_of(const char *name, const char *system_name, const char *file,
                        pt_why_origin origin);
