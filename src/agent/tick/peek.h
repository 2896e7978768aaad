/* peek.h: reads memory that may not be there, in the signal handler.
 *
 * Before the handler reads from a page, a system call that changes nothing tests whether the page
 * can be read. A thread keeps the results. A fresh reading uses only results of the present sample,
 * any other reading those of the last PT_TICK_TRUST samples. Another thread may unmap the page
 * between the test and the read. In a copying reading the kernel itself copies the memory: such a
 * reading has no gap, but costs a system call for each read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "machine/machine.h"

enum {
    PT_TICK_TRUST = 256,       /* samples */
    PT_TICK_PAGE_BYTES = 4096, /* the unit of a test: the smallest page of any machine */
};

/* A thread's results for pages that can be read; all zero is empty. */
typedef struct {
    uint32_t samples;
    struct {
        uint64_t page;
        uint32_t sample; /* in which the page was tested */
    } page[512][2];
} pt_tick_pages;

/* The last parts of memory that the kernel has copied. A struct of zeros has no parts. An aligned
 * part lies in one page, so it can be read if any byte of it can. */
typedef struct {
    struct {
        uint64_t addr; /* of bytes[0] in memory; 0: none */
        uint8_t bytes[256];
    } part[8];
} pt_tick_copies;

typedef struct {
    pt_tick_pages *pages;
    pt_tick_copies *copies; /* NULL if a copying reading keeps no copies */
    bool is_fresh;          /* pages must have been tested in this sample */
    bool is_trusted;        /* the pages are not tested: the caller has done that */
    bool is_copying;        /* the kernel copies */
} pt_tick_reading;

/* Makes all results out of date. */
static inline void pt_tick_forget_pages(pt_tick_pages *pages)
{
    pages->samples += 2 * PT_TICK_TRUST;
}

/* Makes all copies out of date. */
static inline void pt_tick_forget_copies(pt_tick_copies *copies)
{
    for (size_t i = 0; i < sizeof copies->part / sizeof copies->part[0]; i++)
        copies->part[i].addr = 0;
}

/* Lets the kernel copy memory. Returns false if the memory is not mapped. */
bool pt_tick_copy_memory(uint64_t addr, void *to, size_t size);

/* The same through the parts that were copied before. */
bool pt_tick_copy_by_parts(pt_tick_copies *copies, uint64_t addr, void *to, size_t size);

/* Can the page be read now? Tests it by a system call. */
bool pt_tick_ask_for_page(uint64_t page);
/* Is it certain that the page cannot be read? Also returns false if a filter (seccomp) refuses the
 * system call of the test. */
bool pt_tick_lacks_page(uint64_t page);

/* Can the page be read? Uses an earlier result if the reading may, else tests the page. */
bool pt_tick_page_is_readable(const pt_tick_reading *r, uint64_t page);

/* The address of the memory as a pointer, if the memory may be read directly; else NULL. */
static inline const void *pt_tick_readable_at(const pt_tick_reading *r, uint64_t addr, size_t size)
{
    if (r->is_trusted) return (const void *)(uintptr_t)addr;
    const uint64_t last = addr + size - 1;
    if (addr < PT_TICK_PAGE_BYTES || last < addr || last > PT_MACHINE_HOST->last_user_addr)
        return NULL;
    for (uint64_t page = addr / PT_TICK_PAGE_BYTES; page <= last / PT_TICK_PAGE_BYTES; page++)
        if (!pt_tick_page_is_readable(r, page)) return NULL;
    return (const void *)(uintptr_t)addr;
}

/* A callback of the readers in interp; arg: a pt_tick_reading. */
static inline bool pt_tick_read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    const pt_tick_reading *const r = arg;
    if (r->is_copying)
        return r->copies != NULL ? pt_tick_copy_by_parts(r->copies, addr, to, size)
                                 : pt_tick_copy_memory(addr, to, size);
    const void *const from = pt_tick_readable_at(r, addr, size);
    if (from != NULL) memcpy(to, from, size);
    return from != NULL;
}
