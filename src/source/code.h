/* code.h: finds names of code without a file: the kernel's symbols, and the maps and dumps of
 * just-in-time compilers.
 *
 *   kernel   PERF/.build-id/xx/yyyy/kallsyms, which perf kept when it recorded; /proc/kallsyms and
 *            /proc/modules when the profile is of this boot
 *   process  its jitdump at the path in the profile, else /tmp/jit-PID.dump, jit-PID.dump in the
 *            current folder, PERF/jit/(any)/jit-PID.dump; /tmp/perf-PID.map, as seen from here or
 *            by the process
 *
 * A map or dump is accepted if it is a regular file and no link, if its owner is root, this user or
 * the user of the process, and if nobody else may write to it. Rejected ones are reported to diag.
 */
#pragma once

#include "object/code_names.h"
#include "source/images.h"

/* The running kernel's build id in hex; "" when it is unreadable. */
#define PT_KERNEL_ID_BYTES 129
void pt_source_kernel_id(const pt_source_options *options, char id[PT_KERNEL_ID_BYTES]);

/* Reads the kernel's symbols. build_id: of the profile's kernel, "": unknown. start_ns: start of
 * the profile (Unix time), 0: unknown; then the running kernel counts only with an equal build id.
 * Each boot randomises the kernel's addresses, so a profile of an earlier boot has no match.
 * PT_ERR_NOTFOUND or PT_ERR_UNSUPPORTED, with advice. */
pt_status pt_source_kernel_names(const pt_source_search *search, const char *build_id,
                                 int64_t start_ns, pt_code_names *ret_names, pt_error *reterr);

/* Finds the kernel's image with debug information, by build id: in the debug folders, /boot and
 * /lib/modules, debuginfod. False: none. The caller owns *ret_file. */
bool pt_source_find_vmlinux(const pt_source_search *search, const char *build_id,
                            pt_image_file *ret_file);

/* Reads the dump and the map of a process. user: the process's user, -1: unknown. dump_path: path
 * of the dump's mapping in the profile, or NULL. Each result is empty if the file is missing; false
 * if both are. */
bool pt_source_jit_names(const pt_source_search *search, int64_t pid, int64_t user,
                         const char *dump_path, pt_code_names *ret_dump, pt_code_names *ret_map);
