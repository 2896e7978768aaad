/* wait_kind.h: the kind of a wait, by the system call of the thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns "lock", "sleep", ...; NULL if the thread waited only for a CPU. call, mode: as in
 * pt_bpf_stack. is_io: the kernel counts the wait as a wait for a disk. */
const char *pt_wait_kind(int32_t call, uint16_t mode, bool is_io);
