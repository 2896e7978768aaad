/* interp_language.h: the recorder's functions for each language whose frames the kernel's walker
 * reads. A language is a row here, and a file (interp_python.c, ...).
 *
 *   mapped file       --read_file--> facts about the interpreter, for the walker
 *   a function's copy --read_code--> its name, its file, its lines */
#pragma once

#include "capture/procs.h"

/* The number of characters of sources that may still be searched for lines, over all processes; it
 * grows with time. */
typedef struct {
    uint32_t characters;
    int64_t refilled_ns; /* 0: never */
} pt_code_budget;

/* A process's memory, of which the kernel may have copied parts. */
typedef struct {
    pt_proc *proc;
    pt_code_budget *budget;
    const pt_bpf_code *copy; /* NULL: none */
    bool has_asked;          /* the process was read, because the copy lacked a part */
} pt_code_reading;

/* An implementation of pt_interp_read; arg: a pt_code_reading. */
bool pt_code_read_memory(void *arg, uint64_t addr, void *to, size_t size);
/* The same without the copy; arg: a pt_proc. */
bool pt_code_read_process(void *arg, uint64_t addr, void *to, size_t size);

enum { PT_CODE_NAME_BYTES = 1024, PT_CODE_FILE_BYTES = 4096, PT_CODE_LINES_BYTES = 64 << 10 };

/* The content of a function. Texts are not terminated. */
typedef struct {
    char name[PT_CODE_NAME_BYTES], file[PT_CODE_FILE_BYTES];
    size_t name_bytes, file_bytes;
    int32_t first_line;
    bool is_own_native; /* reports show only its native frame (V8's own functions) */
    /* Of CPython: the line table, owned, at most PT_CODE_LINES_BYTES. NULL: frames have the first
     * line. */
    uint8_t *lines;
    uint32_t lines_bytes;
    uint8_t form; /* of the lines: PT_PYTHON_LINES_X */
} pt_code_content;

typedef struct {
    uint8_t language; /* PT_JOURNAL_LANGUAGE_X */
    bool needs_glibc; /* the walker finds the thread's state by glibc's thread-specific keys */
    bool begins_early, has_guards, has_fibers; /* as in pt_interp_evaluator */
    bool is_one_chain; /* a process has one chain of frames; it belongs to the thread whose native
                          stack, or whose registers, have the evaluator */
    bool is_hurried;   /* the lines of functions are in the process's memory only */
    const char *lie, *missing; /* REASON and MISSING of the line for the user if the first frames do
                                * not fit the layout (pt_named_refuse) */
    bool (*is_file)(const char *path);
    /* Sets facts and evaluator, or refused and reason, if the file has the interpreter. */
    void (*read_file)(const pt_elf *elf, const char *path, pt_interp_image *image);
    /* Adds the bias to addresses of the facts other than `state`. NULL: there are none. */
    void (*move)(pt_bpf_interp *facts, uint64_t bias);
    /* Reads a function whose address and check are known. Returns false if another function is
     * there now, or it is unreadable. */
    bool (*read_code)(pt_code_reading *r, uint64_t addr, uint32_t check, pt_code_content *ret);
} pt_interp_language;

extern const pt_interp_language pt_interp_python, pt_interp_php, pt_interp_perl, pt_interp_ruby,
    pt_interp_v8;

/* By PT_BPF_PYTHON, ...; the first is NULL. */
extern const pt_interp_language *const pt_interp_languages[PT_BPF_LANGUAGES];
