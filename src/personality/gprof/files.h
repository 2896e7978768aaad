/* files.h: files beside program and profile that gprof's options name. */
#pragma once

#include "personality/gprof/command.h"

/* Rows of a text file, whose names point into text. */
typedef struct pt_gprof_table_file {
    char *text;
    pt_gprof_external *external;
    pt_gprof_mapped *mapped;
    size_t count;
} pt_gprof_table_file;

/* --external-symbol-table: lines of "ADDRESS t|T NAME", as nm prints them; others are passed over.
 * False, having said why, when there is none. */
bool pt_gprof_read_symbols(const pt_gprof_settings *s, const char *path, pt_gprof_table_file *ret);
/* --file-ordering: lines of "FILE.o:... NAME", as nm -A prints them. */
bool pt_gprof_read_map(const pt_gprof_settings *s, const char *path, pt_gprof_table_file *ret);
void pt_gprof_table_file_done(pt_gprof_table_file *file);

/* --annotated-source: each file that was called, to out or, with -y, to NAME-ann here. */
void pt_gprof_annotate(pt_gprof_settings *s, const pt_gprof *g, pt_out *out);

/* --sum: gmon.sum here. */
bool pt_gprof_write_sum(const pt_gprof_settings *s, const pt_profile *const *profiles);
