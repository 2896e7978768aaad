/* code.h: finds what names code that lies in no file of its own: the kernel's symbols, and the maps
 * and dumps of just-in-time compilers.
 *
 *   kernel   PERF/.build-id/xx/yyyy/kallsyms, which perf kept when it recorded; /proc/kallsyms and
 *            /proc/modules when the profile is of this boot
 *   process  its jitdump, where the profile says it was mapped, else /tmp/jit-PID.dump,
 *            jit-PID.dump here, PERF/jit/(any)/jit-PID.dump; /tmp/perf-PID.map, as seen from here
 * or by the process
 *
 * A map or dump is believed when it is a regular file, no link, belongs to root, to the user or to
 * the user whose process it is of, and nobody else may write to it. A fact tells which are not.
 */
#ifndef PT_SOURCE_CODE_H
#define PT_SOURCE_CODE_H

#include "object/code_names.h"
#include "source/images.h"

/* The running kernel's build id in hex; "" when it is not to be had. */
#define PT_KERNEL_ID_BYTES 129
void pt_source_kernel_id(const pt_source_options *options, char id[PT_KERNEL_ID_BYTES]);

/* build_id: of the profile's kernel, "" = unknown. start_ns: when the profile began (Unix time), 0
 * = unknown: then only a kernel whose id is known to be the same is this one. Where the kernel lies
 * is drawn by lot at each boot, so a profile of an earlier one finds nothing. PT_ERR_NOTFOUND or
 * PT_ERR_UNSUPPORTED with what to do about it. */
pt_status pt_source_kernel_names(const pt_source_search *search, const char *build_id,
                                 int64_t start_ns, pt_code_names *ret_names, pt_error *reterr);

/* The kernel's image with debug information, by build id: in the debug folders, /boot and
 * /lib/modules, debuginfod. False when there is none. */
bool pt_source_find_vmlinux(const pt_source_search *search, const char *build_id,
                            pt_image_file *ret_file);

/* user: whose process it was, -1 = unknown. dump_path: where the profile has the dump mapped, or
 * NULL. Each of the two is empty when it is not there; false when both are. */
bool pt_source_jit_names(const pt_source_search *search, int64_t pid, int64_t user,
                         const char *dump_path, pt_code_names *ret_dump, pt_code_names *ret_map);

#endif
