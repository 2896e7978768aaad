/* peek.c: see peek.h. */
#include "agent/tick/peek.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SETS = sizeof((pt_tick_pages *)0)->page / sizeof((pt_tick_pages *)0)->page[0] };

/* Tests a page by rt_sigprocmask with an unknown action. The kernel first copies the new mask,
 * which fails with EFAULT if the page cannot be read; then it refuses the action with EINVAL.
 * Nothing is changed. */
static int error_of_page(uint64_t page)
{
    enum { NO_SUCH_ACTION = 99 };
    const long done = syscall(SYS_rt_sigprocmask, NO_SUCH_ACTION, page * PT_TICK_PAGE_BYTES, NULL,
                              sizeof(uint64_t));
    return done == -1 ? errno : 0;
}

bool pt_tick_ask_for_page(uint64_t page)
{
    return error_of_page(page) == EINVAL;
}

bool pt_tick_lacks_page(uint64_t page)
{
    return error_of_page(page) == EFAULT;
}

bool pt_tick_copy_memory(uint64_t addr, void *to, size_t size)
{
    const struct iovec here = {to, size};
    const struct iovec there = {(void *)(uintptr_t)addr,
                                size}; /* NOLINT(performance-no-int-to-ptr) */
    /* The last argument has 64 bits: if it were an int, the upper half of the register would be
     * undefined. */
    return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1UL, &there, 1UL, 0UL) ==
           (long)size;
}

bool pt_tick_copy_by_parts(pt_tick_copies *copies, uint64_t addr, void *to, size_t size)
{
    enum {
        PARTS = sizeof copies->part / sizeof copies->part[0],
        PART_BYTES = sizeof copies->part[0].bytes
    };
    uint8_t *const bytes = to;
    if (addr > UINT64_MAX - size) return false;
    for (size_t done = 0; done < size;) {
        const uint64_t in_part = (addr + done) % PART_BYTES, start = addr + done - in_part;
        const size_t slot = (size_t)(start / PART_BYTES) % PARTS;
        const size_t there = PART_BYTES - (size_t)in_part, left = size - done;
        const size_t count = left < there ? left : there;
        if (copies->part[slot].addr != start || start == 0) {
            copies->part[slot].addr = 0;
            if (!pt_tick_copy_memory(start, copies->part[slot].bytes, PART_BYTES)) return false;
            copies->part[slot].addr = start;
        }
        memcpy(bytes + done, copies->part[slot].bytes + in_part, count);
        done += count;
    }
    return true;
}

/* A page has two slots. A new page takes the slot whose page was checked longer ago. */
bool pt_tick_page_is_readable(const pt_tick_reading *r, uint64_t page)
{
    pt_tick_pages *const pages = r->pages;
    const size_t set = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SETS;
    const uint32_t age[2] = {pages->samples - pages->page[set][0].sample,
                             pages->samples - pages->page[set][1].sample};
    const uint32_t most = r->is_fresh ? 0 : PT_TICK_TRUST - 1;
    for (int i = 0; i < 2; i++)
        if (pages->page[set][i].page == page && age[i] <= most) return true;
    const int i = pages->page[set][0].page == page   ? 0
                  : pages->page[set][1].page == page ? 1
                                                     : age[1] > age[0];
    if (!pt_tick_ask_for_page(page)) return false;
    pages->page[set][i].page = page;
    pages->page[set][i].sample = pages->samples;
    return true;
}
