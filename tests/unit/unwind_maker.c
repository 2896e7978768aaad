#include "unwind_maker.h"

#include "elf/image.h"
#include "unwind/copied.h"
#include "unwind/heap.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

static bool make_base_table(const pt_unwind_frames *frames, made_table *table)
{
    size_t bytes;
    table->eh_frame_bytes = frames->size_bytes;
    return !pt_unwind_needs_base(&table->table) ||
           pt_unwind_compile_base(frames, &pt_unwind_heap, &table->base_blob, &bytes, &table->base);
}

bool make_table(const pt_unwind_frames *frames, made_table *ret_table)
{
    *ret_table = (made_table){0};
    return pt_unwind_compile(frames, NULL, 0, &pt_unwind_heap, &ret_table->blob,
                             &ret_table->blob_bytes) == PT_UNWIND_OK &&
           pt_unwind_table_open(ret_table->blob, ret_table->blob_bytes, &ret_table->table) ==
               PT_UNWIND_OK &&
           make_base_table(frames, ret_table);
}

bool make_table_of_bytes(const void *bytes, uint64_t size_bytes, made_table *ret_table)
{
    pt_elf elf;
    pt_unwind_frames frames = {0};
    *ret_table = (made_table){0};
    const bool done = pt_elf_open(bytes, size_bytes, &elf) == PT_ELF_OK &&
                      pt_unwind_compile_elf(&elf, NULL, 0, &pt_unwind_heap, &ret_table->blob,
                                            &ret_table->blob_bytes) == PT_UNWIND_OK &&
                      pt_unwind_table_open(ret_table->blob, ret_table->blob_bytes,
                                           &ret_table->table) == PT_UNWIND_OK;
    return done && (!pt_unwind_frames_of_elf(&elf, &frames) || make_base_table(&frames, ret_table));
}

typedef bool make_of_bytes(const void *bytes, uint64_t size_bytes, made_table *ret_table);

static bool make_of_file(const char *path, make_of_bytes *make, made_table *ret_table)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return false;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &st) == 0) bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) return false;
    const bool done = make(bytes, (uint64_t)st.st_size, ret_table);
    munmap(bytes, (size_t)st.st_size);
    return done;
}

bool make_table_of_file(const char *path, made_table *ret_table)
{
    return make_of_file(path, make_table_of_bytes, ret_table);
}

static bool make_of_frames(const void *bytes, uint64_t size_bytes, made_table *ret_table)
{
    pt_elf elf;
    pt_unwind_frames frames;
    return pt_elf_open(bytes, size_bytes, &elf) == PT_ELF_OK &&
           pt_unwind_frames_of_elf(&elf, &frames) && make_table(&frames, ret_table);
}

bool make_table_of_frames(const char *path, made_table *ret_table)
{
    return make_of_file(path, make_of_frames, ret_table);
}

void free_table(made_table *table)
{
    free(table->blob);
    free(table->base_blob);
    table->blob = table->base_blob = NULL;
}

void use_table(const made_table *table, pt_unwind_module *module)
{
    module->table = &table->table;
    module->base_table = table->base_blob != NULL ? &table->base : NULL;
}

/* The tables of an image in memory, as a profiler in the process reads them. */
static int add_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    made_process *const p = arg;
    const ElfW(Phdr) *hdr = NULL, *text = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const s = &info->dlpi_phdr[i];
        if (s->p_type == PT_GNU_EH_FRAME) hdr = s;
        if (s->p_type == PT_LOAD && (s->p_flags & PF_X)) text = s;
    }
    if (hdr == NULL || text == NULL || p->all.count == MADE_MODULES_MAX) return 0;
    uint64_t addr;
    if (!pt_unwind_eh_frame_addr((const uint8_t *)(info->dlpi_addr + hdr->p_vaddr), hdr->p_memsz,
                                 hdr->p_vaddr, &addr))
        return 0;
    pt_unwind_frames frames = {
        .machine = OUR_MACHINE, .bytes = (const uint8_t *)(info->dlpi_addr + addr), .addr = addr};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const s = &info->dlpi_phdr[i];
        if (s->p_type == PT_LOAD && addr - s->p_vaddr < s->p_filesz)
            frames.size_bytes = s->p_filesz - (addr - s->p_vaddr);
    }
    const uint32_t i = p->all.count;
    if (!make_table(&frames, &p->tables[i])) return 0;
    p->modules[i] = (pt_unwind_module){.start = info->dlpi_addr + text->p_vaddr,
                                       .limit = info->dlpi_addr + text->p_vaddr + text->p_memsz,
                                       .bias = info->dlpi_addr};
    use_table(&p->tables[i], &p->modules[i]);
    p->all.count++;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const pt_unwind_module *const x = a, *const y = b;
    return (x->start > y->start) - (x->start < y->start);
}

void make_process(made_process *ret_process)
{
    memset(ret_process, 0, sizeof *ret_process);
    ret_process->all.modules = ret_process->modules;
    ret_process->all.generation = 1;
    dl_iterate_phdr(add_image, ret_process);
    qsort(ret_process->modules, ret_process->all.count, sizeof *ret_process->modules, by_start);
}

void free_process(made_process *process)
{
    for (uint32_t i = 0; i < MADE_MODULES_MAX; i++)
        free_table(&process->tables[i]);
}

void state_of_context(const void *context, uint64_t *regs, pt_unwind_state *ret_state)
{
    const ucontext_t *const host = context;
    memset(regs, 0, PT_MACHINE_REGS_MAX * sizeof *regs);
#if defined(__x86_64__)
    /* In the order of DWARF: System V ABI, AMD64, figure 3.36. */
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        regs[i] = (uint64_t)host->uc_mcontext.gregs[order[i]];
#elif defined(__aarch64__)
    /* DWARF for the Arm 64-bit Architecture, 4.1. */
    for (size_t i = 0; i < PT_MACHINE_HOST->sp; i++)
        regs[i] = host->uc_mcontext.regs[i];
    regs[PT_MACHINE_HOST->sp] = host->uc_mcontext.sp;
    regs[PT_MACHINE_HOST->pc] = host->uc_mcontext.pc;
#endif
    *ret_state = (pt_unwind_state){.pc = regs[PT_MACHINE_HOST->pc],
                                   .sp = regs[PT_MACHINE_HOST->sp],
                                   .fp = regs[PT_MACHINE_HOST->fp],
                                   .regs = regs};
}

pt_unwind_limits limits_of_thread(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    return (pt_unwind_limits){.low = (uint64_t)(uintptr_t)low,
                              .limit = (uint64_t)(uintptr_t)low + size};
}
