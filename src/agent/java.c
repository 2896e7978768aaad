/* java.c: finds the facts of the Java virtual machine in the process: libjvm.so, which the program
 * `java` loads.
 *
 *   image with gHotSpotVMStructs -> its tables of fields (interp/java.h) -> facts for the handler
 *
 * The virtual machine fills in its tables while it starts, so they are read again until they are
 * complete.
 */
#include <elf.h>
#include <stdio.h>

#include "agent/languages.h"
#include "agent/tick/java.h"

static pt_java_vm vm;
static pt_tick_java_facts java;
static unsigned tries; /* in which the tables lacked fields */
static uint32_t heaps; /* parts of the code cache at the last reading */

/* A copy of the page that was read last. The kernel makes the copy, since the image may be unmapped
 * at any moment. */
static struct {
    uint64_t addr; /* 0: none */
    uint8_t bytes[PT_TICK_PAGE_BYTES];
} page PT_FAR;

/* A callback of interp/java.h. */
static bool read_copied(void *arg, uint64_t addr, void *to, size_t size)
{
    (void)arg;
    const uint64_t begin = addr / PT_TICK_PAGE_BYTES * PT_TICK_PAGE_BYTES;
    if (addr + size > begin + PT_TICK_PAGE_BYTES) return pt_maps_peek(addr, to, size);
    if (page.addr != begin) {
        page.addr = 0;
        if (begin == 0 || !pt_maps_peek(begin, page.bytes, sizeof page.bytes)) return false;
        page.addr = begin;
    }
    memcpy(to, page.bytes + (addr - begin), size);
    return true;
}

/* The program `java` is linked with the library that loads the virtual machine. */
extern const char loaded_java[] __asm__("JLI_Launch") __attribute__((weak));
static const char *const volatile loaded = loaded_java;

static const void *attach_java(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    enum { TRIES_MAX = 256 };
    uint64_t symbols[PT_JAVA_SYMBOLS];
    pt_java_state state = PT_JAVA_REFUSED;
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++)
        if (!pt_language_symbol(in->image, pt_java_symbols[i], &symbols[i])) symbols[i] = 0;
    vm.major = 0;
    page.addr = 0;
    if (PT_MACHINE_HOST->elf_machine == EM_X86_64)
        state = pt_java_vm_read(symbols, read_copied, NULL, &vm);
    /* While the machine starts, it makes the parts of its code cache one after the other. */
    if (state == PT_JAVA_READY && vm.heap_count != heaps) state = PT_JAVA_NOT_YET;
    heaps = vm.heap_count;
    java = (pt_tick_java_facts){.vm = &vm, .codes = in->codes};
    if (state == PT_JAVA_READY) return &java;
    tries += state == PT_JAVA_PARTIAL;
    if (state != PT_JAVA_REFUSED && tries < TRIES_MAX)
        why[0] = '\0';
    else
        snprintf(why, PT_LANGUAGE_WHY_BYTES, PT_JAVA_UNKNOWN, vm.major);
    return NULL;
}

const pt_language pt_language_java = {
    .file = "libjvm",
    .mark = "gHotSpotVMStructs",
    .loaded = &loaded,
    .missing = PT_JAVA_MISSING,
    .lie = PT_JAVA_LIES,
    .wrong_looks = PT_TICK_JAVA_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_java_cache),
    .attach = attach_java,
};
