/* lazy_capstone.c: loads capstone on first use. Linking it would slow down each start of the
 * program, since the loader must relocate capstone's tables (0.8 ms, as much as all else at the
 * start). So this file defines the capstone functions that pitot calls, under their own names; the
 * first call loads the library. Without the library, cs_support returns false and cs_open fails. */
#include <capstone/capstone.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lazy.h"

static struct {
    unsigned (*version)(int *, int *);
    bool (*support)(int);
    cs_err (*open)(cs_arch, cs_mode, csh *);
    cs_err (*close)(csh *);
    cs_err (*option)(csh, cs_opt_type, size_t);
    cs_insn *(*malloc)(csh);
    void (*free)(cs_insn *, size_t);
    bool (*disasm_iter)(csh, const uint8_t **, size_t *, uint64_t *, cs_insn *);
} api;

static const pt_lazy_function functions[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
        "cs_" #name, offsetof(__typeof__(api), name), NULL                                         \
    }
    ROW(version), ROW(support), ROW(open), ROW(close),
    ROW(option),  ROW(malloc),  ROW(free), ROW(disasm_iter),
#undef ROW
};

/* Capstone checks few of its allocations. So it gets pitot's functions, which end the program with
 * a message if there is no memory. */
static void *take_memory(size_t size)
{
    return pt_alloc(size, 1);
}

static void *take_array(size_t count, size_t size)
{
    return pt_alloc(count, size);
}

static void *grow_memory(void *memory, size_t size)
{
    return pt_realloc(memory, size, 1);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;

#define TEXT_OF(number) #number
#define SONAME(major)   "libcapstone.so." TEXT_OF(major)

/* The library must have the same major version as the headers, since structs and enums are those of
 * the headers. */
static void load_capstone(void)
{
    static const char *const sonames[] = {SONAME(CS_API_MAJOR), NULL};
    const size_t count = sizeof functions / sizeof functions[0];
    const cs_opt_mem memory = {take_memory, take_array, grow_memory, free, vsnprintf};
    is_loaded = pt_lazy_load(sonames, functions, count, &api) == PT_LAZY_LOADED;
    if (is_loaded) api.option(0, CS_OPT_MEM, (size_t)(uintptr_t)&memory);
}

static bool is_there(void)
{
    pthread_once(&once, load_capstone);
    return is_loaded;
}

unsigned cs_version(int *major, int *minor)
{
    if (is_there()) return api.version(major, minor);
    if (major != NULL) *major = 0;
    if (minor != NULL) *minor = 0;
    return 0;
}

bool cs_support(int query)
{
    return is_there() && api.support(query);
}

cs_err cs_open(cs_arch arch, cs_mode mode, csh *handle)
{
    return is_there() ? api.open(arch, mode, handle) : CS_ERR_ARCH;
}

cs_err cs_close(csh *handle)
{
    return is_there() ? api.close(handle) : CS_ERR_HANDLE;
}

cs_err cs_option(csh handle, cs_opt_type type, size_t value)
{
    return is_there() ? api.option(handle, type, value) : CS_ERR_HANDLE;
}

cs_insn *cs_malloc(csh handle)
{
    return is_there() ? api.malloc(handle) : NULL;
}

void cs_free(cs_insn *insn, size_t count)
{
    if (is_there()) api.free(insn, count);
}

bool cs_disasm_iter(csh handle, const uint8_t **code, size_t *size, uint64_t *address,
                    cs_insn *insn)
{
    return is_there() && api.disasm_iter(handle, code, size, address, insn);
}
