/* files.h: the files, besides program and profiles, that gprof's options name. */
#pragma once

#include "personality/gprof/command.h"

/* Rows of a text file, whose names point into text. */
typedef struct pt_gprof_table_file {
    char *text;
    pt_gprof_external *external;
    pt_gprof_mapped *mapped;
    size_t count;
} pt_gprof_table_file;

/* Reads the file of --external-symbol-table: lines "ADDRESS t|T NAME", as nm prints them. Other
 * lines are ignored. Returns false, after a message, if there is no such line. */
bool pt_gprof_read_symbols(const pt_gprof_settings *s, const char *path, pt_gprof_table_file *ret);
/* Reads the file of --file-ordering: lines "FILE.o:... NAME", as nm -A prints them. */
bool pt_gprof_read_map(const pt_gprof_settings *s, const char *path, pt_gprof_table_file *ret);
void pt_gprof_table_file_done(pt_gprof_table_file *file);

/* --annotated-source: writes each source file with called functions to out or, with -y, to NAME-ann
 * in the current folder. */
void pt_gprof_annotate(pt_gprof_settings *s, const pt_gprof *g, pt_out *out);

/* --sum: writes gmon.sum in the current folder. */
bool pt_gprof_write_sum(const pt_gprof_settings *s, const pt_profile *const *profiles);
