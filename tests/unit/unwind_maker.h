/* unwind_maker.h: the unwind tables of files and of this process, for tests of the unwinder. */
#pragma once

#include "unwind/unwind.h"

/* The thread sanitizer keeps a signal back while another's handler runs, and then calls the handler
 * with registers of frames that are gone. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIGNALS_COME_LATE 1
#endif
#endif

typedef struct {
    void *blob;
    size_t blob_bytes, eh_frame_bytes;
    pt_unwind_table table;
    void *base_blob; /* NULL: the table of the base register is not needed */
    pt_unwind_table base;
} made_table;

/* Compiles the frames of a file, with the table of the base register if it is needed; false if it
 * cannot be read or has none. */
bool make_table_of_bytes(const void *bytes, uint64_t size_bytes, made_table *ret_table);
bool make_table_of_file(const char *path, made_table *ret_table);
/* The same of the file's call frame information only, whatever other code there is. */
bool make_table_of_frames(const char *path, made_table *ret_table);
/* Compiles frames that are at hand. */
bool make_table(const pt_unwind_frames *frames, made_table *ret_table);
void free_table(made_table *table);
/* The module's tables are these. */
void use_table(const made_table *table, pt_unwind_module *module);

enum { MADE_MODULES_MAX = 64 };

/* Every image of this process that has rules, sorted; the vDSO too. */
typedef struct {
    made_table tables[MADE_MODULES_MAX];
    pt_unwind_module modules[MADE_MODULES_MAX];
    pt_unwind_modules all;
} made_process;

void make_process(made_process *ret_process);
void free_process(made_process *process);

/* The registers of a signal's context. regs: PT_MACHINE_REGS_MAX words that *ret_state then points
 * to.
 */
void state_of_context(const void *context, uint64_t *regs, pt_unwind_state *ret_state);
/* The calling thread's stack. */
pt_unwind_limits limits_of_thread(void);
