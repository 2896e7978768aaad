/* engine.c: see engine.h. */
#include "bpf/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/libbpf.h"
#include "bpf/pool.h"

enum { ARRAY = 2, MMAPABLE = 1 << 10 };

/* A process in the kernel's map. */
typedef struct known_process {
    uint32_t pid;
    uint32_t mappings, word_count; /* place in the pool; 0: none */
    struct known_process *next;    /* of the same bucket */
} known_process;

enum { BUCKETS = 1 << 10 };

struct pt_bpf_engine {
    const pt_libbpf *lib;
    struct bpf_object *object;
    int program_fd, processes_fd, output_fd, pool_fd;
    pt_bpf_pool pool;
    known_process *of_pid[BUCKETS]; /* by pid modulo; those that the program knows */
};

/* ---- loading ---- */

extern const uint8_t pt_bpf_sample_object[], pt_bpf_sample_object_end[];

/* The size of the program; 0: none for this machine. */
static size_t object_bytes(void)
{
    return (size_t)(&pt_bpf_sample_object_end[0] - &pt_bpf_sample_object[0]);
}

/* Makes an array that user space writes through a mapping; the descriptor may be closed then. */
static void *make_chunk(void *arg, uint32_t number)
{
    const pt_bpf_engine *const engine = arg;
    const struct bpf_map_create_opts opts = {.size_bytes = sizeof opts, .map_flags = MMAPABLE};
    const int fd = engine->lib->map_create(ARRAY, "pitot_pool", 4, PT_BPF_CHUNK_BYTES, 1, &opts);
    if (fd < 0) return NULL;
    void *chunk = mmap(NULL, PT_BPF_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (chunk != MAP_FAILED &&
        engine->lib->map_update_elem(engine->pool_fd, &number, &fd, 0) != 0) {
        munmap(chunk, PT_BPF_CHUNK_BYTES);
        chunk = MAP_FAILED;
    }
    close(fd);
    return chunk != MAP_FAILED ? chunk : NULL;
}

static pt_status refuse_load(int error, pt_error *reterr)
{
    struct stat btf;
    if ((error == EPERM || error == EACCES) && geteuid() == 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "the kernel denies BPF programs here (possible causes: lockdown, a "
                            "container, a filter of system calls)");
    if (error == EPERM || error == EACCES)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "the kernel denies you BPF programs: run with sudo, or give pitot "
                            "CAP_BPF and CAP_PERFMON");
    if (stat("/sys/kernel/btf/vmlinux", &btf) != 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "the kernel has no BTF (/sys/kernel/btf/vmlinux), which the BPF "
                            "program needs");
    return pt_error_errno(reterr, error, "the kernel refused the BPF program");
}

/* The program has pids of the first namespace; user space has those of its own. */
static bool is_first_pid_namespace(void)
{
    enum { FIRST = 0xeffffffc }; /* PROC_PID_INIT_INO */
    struct stat ours;
    return stat("/proc/self/ns/pid", &ours) == 0 && (uint32_t)ours.st_ino == (uint32_t)FIRST;
}

static pt_status load_object(pt_bpf_engine *engine, uint32_t cpu_limit, pt_error *reterr)
{
    const pt_libbpf *const lib = engine->lib;
    errno = 0;
    engine->object = lib->object_open_mem(pt_bpf_sample_object, object_bytes(), NULL);
    if (engine->object == NULL) return refuse_load(errno, reterr);
    const struct bpf_map *const pool = lib->object_find_map_by_name(engine->object, "pool");
    const struct bpf_map *const output = lib->object_find_map_by_name(engine->object, "output");
    const struct bpf_map *const known = lib->object_find_map_by_name(engine->object, "processes");
    struct bpf_map *const cpus = lib->object_find_map_by_name(engine->object, "cpus");
    const struct bpf_program *const program =
        lib->object_find_program_by_name(engine->object, "pt_bpf_sample");
    if (pool == NULL || output == NULL || known == NULL || cpus == NULL || program == NULL ||
        lib->map_set_max_entries(cpus, cpu_limit) != 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM, "libbpf cannot read the BPF program");
    const int error = lib->object_load(engine->object);
    if (error != 0) return refuse_load(-error, reterr);
    engine->program_fd = lib->program_fd(program);
    engine->processes_fd = lib->map_fd(known);
    engine->output_fd = lib->map_fd(output);
    engine->pool_fd = lib->map_fd(pool);
    return PT_OK;
}

pt_status pt_bpf_engine_new(uint32_t cpu_limit, pt_bpf_engine **ret_engine, pt_error *reterr)
{
    const char *why;
    const pt_libbpf *const lib = pt_libbpf_loaded(&why);
    if (object_bytes() == 0)
        return pt_error_set(reterr, PT_ERR_SYSTEM, "there is no BPF program for this machine yet");
    if (lib == NULL) return pt_error_set(reterr, PT_ERR_SYSTEM, "%s", why);
    if (!is_first_pid_namespace())
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "a BPF program sees the host's process ids, which differ from this "
                            "container's");
    pt_bpf_engine *const engine = pt_alloc(1, sizeof *engine);
    engine->lib = lib;
    pt_bpf_pool_init(&engine->pool, make_chunk, engine);
    const pt_status status = load_object(engine, cpu_limit, reterr);
    if (status != PT_OK) {
        pt_bpf_engine_free(engine);
        return status;
    }
    *ret_engine = engine;
    return PT_OK;
}

void pt_bpf_engine_free(pt_bpf_engine *engine)
{
    if (engine == NULL) return;
    for (uint32_t i = 0; i < engine->pool.count; i++)
        munmap(engine->pool.chunks[i], PT_BPF_CHUNK_BYTES);
    pt_bpf_pool_done(&engine->pool);
    if (engine->object != NULL) engine->lib->object_close(engine->object);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (known_process *p = engine->of_pid[i], *next; p != NULL; p = next) {
            next = p->next;
            free(p);
        }
    }
    free(engine);
}

int pt_bpf_engine_program(const pt_bpf_engine *engine)
{
    return engine->program_fd;
}

bool pt_bpf_engine_output(pt_bpf_engine *engine, uint32_t cpu, int event_fd)
{
    return engine->lib->map_update_elem(engine->output_fd, &cpu, &event_fd, 0) == 0;
}

uint32_t pt_bpf_engine_left_out(const pt_bpf_engine *engine)
{
    return engine->pool.left_out;
}

/* ---- processes ---- */

static uint64_t now_ns(void)
{
    return (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
}

/* The link to the process, or the one where it would be. */
static known_process **find_process(pt_bpf_engine *engine, uint32_t pid)
{
    known_process **link = &engine->of_pid[pid % BUCKETS];
    while (*link != NULL && (*link)->pid != pid)
        link = &(*link)->next;
    return link;
}

static void free_mappings(pt_bpf_engine *engine, uint32_t mappings, uint32_t word_count)
{
    if (word_count > 0) pt_bpf_pool_give_back(&engine->pool, mappings, word_count, now_ns());
}

bool pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, const pt_unwind_modules *modules,
                       const pt_bpf_interp *interp)
{
    pt_bpf_process value = {.is_wanted = modules != NULL};
    uint32_t word_count = 0;
    if (interp != NULL) value.interp = *interp;
    if (modules != NULL) {
        if (!pt_bpf_pool_put(&engine->pool, modules, now_ns(), &value.mappings, &word_count))
            return false;
        value.mapping_count = modules->count;
        value.generation = modules->generation;
    }
    if (engine->lib->map_update_elem(engine->processes_fd, &pid, &value, 0) != 0) {
        free_mappings(engine, value.mappings, word_count);
        return false;
    }
    known_process **const link = find_process(engine, pid);
    if (*link == NULL) *link = pt_alloc(1, sizeof **link);
    known_process *const process = *link;
    free_mappings(engine, process->mappings, process->word_count);
    *process = (known_process){pid, value.mappings, word_count, process->next};
    return true;
}

void pt_bpf_engine_forget(pt_bpf_engine *engine, uint32_t pid)
{
    known_process **const link = find_process(engine, pid), *const process = *link;
    if (process == NULL) return;
    engine->lib->map_delete_elem(engine->processes_fd, &pid);
    free_mappings(engine, process->mappings, process->word_count);
    *link = process->next;
    free(process);
}
