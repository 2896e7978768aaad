/* engine.c: see engine.h. */
#include "bpf/engine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/libbpf.h"
#include "bpf/pool.h"

enum { ARRAY = 2, MMAPABLE = 1 << 10, BUCKETS = 1 << 10 };

/* A process in the kernel's map. */
typedef struct known_process {
    uint32_t pid;
    uint32_t mappings, word_count; /* place in the pool; 0: none */
    struct known_process *next;    /* of the same bucket */
} known_process;

/* The programs. The kernel calls SAMPLE at events, EACH_THREAD when user space reads from it, and
 * those in between, which are for waits, at the tracepoints that their sections name. */
enum { SAMPLE, SWITCH, WAKING, FORK, EACH_THREAD, PROGRAMS };

static const struct {
    const char *name;
    const char *reader, *place; /* the program that also reads frames, and the map for it */
} programs[PROGRAMS] = {[SAMPLE] = {"pt_bpf_sample", "pt_bpf_sample_reader", "sample_reader"},
                        [SWITCH] = {"pt_bpf_switch", "pt_bpf_switch_reader", "switch_reader"},
                        [WAKING] = {"pt_bpf_waking", "pt_bpf_waking_reader", "waking_reader"},
                        [FORK] = {.name = "pt_bpf_fork"},
                        [EACH_THREAD] = {.name = "pt_bpf_thread"}};

static const char *const output_names[PT_BPF_OUTPUTS] = {
    [PT_BPF_OUTPUT] = "output", [PT_BPF_PLAIN] = "plain", [PT_BPF_COPIES] = "copies"};

struct pt_bpf_engine {
    const pt_libbpf *lib;
    struct bpf_object *object, *readers; /* readers NULL: no frames are read */
    bool has_tried_readers, loads_beside, has_thread;
    atomic_bool is_tried; /* the readers are loaded, or refused */
    pthread_t thread;     /* the thread that loads them */
    pt_error no_frames;   /* why no frames are read */
    int processes_fd, pool_fd, waiting_fd, counts_fd;
    int output_fd[PT_BPF_OUTPUTS];
    int program_fd[PROGRAMS], watch_fd[PROGRAMS]; /* watch: -1: not attached */
    bool has_waits;
    pt_bpf_wait_settings settings;
    pt_bpf_pool pool;
    known_process *of_pid[BUCKETS]; /* by pid modulo; the processes in the kernel's map */
};

/* ---- loading ---- */

extern const uint8_t pt_bpf_sample_object[], pt_bpf_sample_object_end[];

/* The size of the program's object; 0: there is none for this machine. */
static size_t object_bytes(void)
{
    return (size_t)(&pt_bpf_sample_object_end[0] - &pt_bpf_sample_object[0]);
}

/* Makes an array that user space writes through a mapping. The descriptor may be closed after
 * that. */
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

/* Does the kernel's lockdown forbid programs to read its memory? */
static bool is_locked_down(void)
{
    char text[128] = "";
    FILE *const file = fopen("/sys/kernel/security/lockdown", "re");
    if (file == NULL) return false;
    const bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read && strstr(text, "[confidentiality]") != NULL;
}

static pt_status refuse_load(int error, pt_error *reterr)
{
    struct stat btf;
    if (is_locked_down())
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "the kernel is locked down (lockdown=confidentiality), and denies BPF "
                            "programs to read its memory");
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

/* Does this process see the pids of the first namespace? The program in the kernel does; pids of
 * another namespace would not match. */
static bool is_first_pid_namespace(void)
{
    enum { FIRST = 0xeffffffc }; /* PROC_PID_INIT_INO */
    struct stat ours;
    return stat("/proc/self/ns/pid", &ours) == 0 && (uint32_t)ours.st_ino == (uint32_t)FIRST;
}

/* A recorded process whose mappings are not known. */
static const pt_bpf_process adopted_process = {.mm = PT_BPF_NO_MAPPINGS, .is_wanted = 1};

static int fd_of_map(const pt_bpf_engine *engine, const char *name)
{
    const struct bpf_map *const map = engine->lib->object_find_map_by_name(engine->object, name);
    return map != NULL ? engine->lib->map_fd(map) : -1;
}

/* Sets the number of a map's entries, before the map is loaded. */
static bool set_entries(const pt_bpf_engine *engine, const char *name, uint32_t count)
{
    struct bpf_map *const map = engine->lib->object_find_map_by_name(engine->object, name);
    return map != NULL && engine->lib->map_set_max_entries(map, count) == 0;
}

/* Chooses the programs of the object that will be loaded. */
static bool choose_programs(const pt_bpf_engine *engine, const struct bpf_object *object,
                            bool is_readers, bool has_waits, bool has_wakers)
{
    const pt_libbpf *const lib = engine->lib;
    bool is_right = true;
    for (size_t i = 0; i < PROGRAMS; i++) {
        const bool is_used = i == SAMPLE || i == FORK || has_waits;
        struct bpf_program *program = lib->object_find_program_by_name(object, programs[i].name);
        is_right &=
            program != NULL && lib->program_set_autoload(program, is_used && !is_readers) == 0;
        if (programs[i].reader == NULL) continue;
        const bool reads = is_used && is_readers && (i != WAKING || has_wakers);
        program = lib->object_find_program_by_name(object, programs[i].reader);
        is_right &= program != NULL && lib->program_set_autoload(program, reads) == 0;
    }
    return is_right;
}

/* Keeps the maps for waits from being loaded. */
static bool leave_out_waits(const pt_bpf_engine *engine)
{
    static const char *const maps[] = {"waiting", "counts", "sent", "owed"};
    bool is_right = true;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        is_right &= set_entries(engine, maps[i], 1);
    return is_right;
}

static bool find_fds(pt_bpf_engine *engine, bool has_waits)
{
    const pt_libbpf *const lib = engine->lib;
    bool is_right = true;
    engine->processes_fd = fd_of_map(engine, "processes");
    engine->pool_fd = fd_of_map(engine, "pool");
    engine->waiting_fd = fd_of_map(engine, "waiting");
    engine->counts_fd = fd_of_map(engine, "counts");
    for (size_t i = 0; i < PT_BPF_OUTPUTS; i++)
        is_right &= (engine->output_fd[i] = fd_of_map(engine, output_names[i])) >= 0;
    for (size_t i = 0; i < PROGRAMS && is_right; i++) {
        if (i != SAMPLE && i != FORK && !has_waits) continue;
        const struct bpf_program *const program =
            lib->object_find_program_by_name(engine->object, programs[i].name);
        engine->program_fd[i] = program != NULL ? lib->program_fd(program) : -1;
        is_right &= engine->program_fd[i] >= 0;
    }
    return is_right && engine->processes_fd >= 0 && engine->pool_fd >= 0 &&
           engine->waiting_fd >= 0 && engine->counts_fd >= 0;
}

static pt_status store_settings(const pt_bpf_engine *engine, pt_error *reterr)
{
    const uint32_t zero = 0;
    const int fd = fd_of_map(engine, "wait_settings");
    if (engine->lib->map_update_elem(fd, &zero, &engine->settings, 0) == 0) return PT_OK;
    return pt_error_errno(reterr, errno, "the kernel refused the BPF program's settings");
}

static pt_status load_object(pt_bpf_engine *engine, uint32_t cpu_limit,
                             const pt_bpf_wait_settings *waits, pt_error *reterr)
{
    const pt_libbpf *const lib = engine->lib;
    errno = 0;
    engine->object = lib->object_open_mem(pt_bpf_sample_object, object_bytes(), NULL);
    if (engine->object == NULL) return refuse_load(errno, reterr);
    const bool is_read = set_entries(engine, "cpus", cpu_limit * (waits != NULL ? 2 : 1)) &&
                         choose_programs(engine, engine->object, false, waits != NULL, false) &&
                         (waits != NULL ? set_entries(engine, "processes", PT_BPF_ADOPTING_MAX)
                                        : leave_out_waits(engine));
    const int error = is_read ? lib->object_load(engine->object) : 0;
    if (error != 0) return refuse_load(-error, reterr);
    if (!is_read || !find_fds(engine, waits != NULL))
        return pt_error_set(reterr, PT_ERR_SYSTEM, "libbpf cannot read the BPF program");
    if (waits != NULL) engine->settings = *waits;
    engine->settings.cpu_limit = cpu_limit;
    engine->settings.adopted = adopted_process;
    engine->has_waits = waits != NULL;
    return store_settings(engine, reterr);
}

/* Opens the object again for the programs that read frames, with the existing maps. Returns NULL
 * with errno. */
static struct bpf_object *open_readers(const pt_bpf_engine *engine)
{
    const pt_libbpf *const lib = engine->lib;
    struct bpf_object *const object =
        lib->object_open_mem(pt_bpf_sample_object, object_bytes(), NULL);
    struct bpf_map *map = NULL;
    if (object == NULL) return NULL;
    while ((map = lib->object_next_map(object, map)) != NULL) {
        if (lib->map_reuse_fd(map, fd_of_map(engine, lib->map_name(map))) == 0) continue;
        lib->object_close(object);
        return NULL;
    }
    return object;
}

/* Puts the loaded programs into their places: from now on the other programs continue as these. */
static bool place_readers(const pt_bpf_engine *engine, const struct bpf_object *object)
{
    const pt_libbpf *const lib = engine->lib;
    const uint32_t zero = 0;
    bool is_right = true;
    for (size_t i = 0; i < PROGRAMS; i++) {
        const struct bpf_program *const program =
            programs[i].reader != NULL
                ? lib->object_find_program_by_name(object, programs[i].reader)
                : NULL;
        const int fd = program != NULL ? lib->program_fd(program) : -1;
        if (fd < 0) continue;
        is_right &= lib->map_update_elem(fd_of_map(engine, programs[i].place), &zero, &fd, 0) == 0;
    }
    return is_right;
}

static void *load_readers(void *arg)
{
    pt_bpf_engine *const engine = arg;
    errno = 0;
    struct bpf_object *const object = open_readers(engine);
    int error = object == NULL ? errno : 0;
    if (object != NULL) {
        const bool is_chosen = choose_programs(engine, object, true, engine->has_waits,
                                               engine->settings.has_wakers != 0);
        error = is_chosen ? -engine->lib->object_load(object) : EINVAL;
        if (error == 0 && !place_readers(engine, object)) error = errno;
    }
    engine->readers = object;
    if (error != 0) refuse_load(error, &engine->no_frames);
    atomic_store(&engine->is_tried, true);
    return NULL;
}

void pt_bpf_engine_read_frames(pt_bpf_engine *engine)
{
    sigset_t all, before;
    if (engine->has_tried_readers) return;
    engine->has_tried_readers = true;
    if (engine->loads_beside) {
        sigfillset(&all); /* the caller's thread handles signals */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        engine->has_thread = pthread_create(&engine->thread, NULL, load_readers, engine) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!engine->has_thread) load_readers(engine);
}

void pt_bpf_engine_load_beside(pt_bpf_engine *engine)
{
    engine->loads_beside = true;
}

const char *pt_bpf_engine_why_no_frames(const pt_bpf_engine *engine)
{
    return atomic_load(&engine->is_tried) ? engine->no_frames.message : "";
}

pt_status pt_bpf_engine_new(uint32_t cpu_limit, const pt_bpf_wait_settings *waits,
                            pt_bpf_engine **ret_engine, pt_error *reterr)
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
    for (size_t i = 0; i < PROGRAMS; i++)
        engine->watch_fd[i] = -1;
    pt_bpf_pool_init(&engine->pool, make_chunk, engine);
    const pt_status status = load_object(engine, cpu_limit, waits, reterr);
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
    pt_bpf_engine_unwatch(engine);
    if (engine->has_thread) pthread_join(engine->thread, NULL);
    for (uint32_t i = 0; i < engine->pool.count; i++)
        munmap(engine->pool.chunks[i], PT_BPF_CHUNK_BYTES);
    pt_bpf_pool_done(&engine->pool);
    if (engine->readers != NULL) engine->lib->object_close(engine->readers);
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
    return engine->program_fd[SAMPLE];
}

bool pt_bpf_engine_output(pt_bpf_engine *engine, pt_bpf_output output, uint32_t cpu, int event_fd)
{
    return engine->lib->map_update_elem(engine->output_fd[output], &cpu, &event_fd, 0) == 0;
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

/* The link to the process in its bucket, or the link at which it is to be added. */
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

bool pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, uint32_t program,
                       const pt_unwind_modules *modules, const pt_bpf_interp *interp)
{
    pt_bpf_process value = {.is_wanted = modules != NULL, .program = program};
    uint32_t word_count = 0;
    known_process **const link = find_process(engine, pid);
    if (interp != NULL) pt_bpf_engine_read_frames(engine);
    const bool has_room = modules == NULL || pt_bpf_pool_put(&engine->pool, modules, now_ns(),
                                                             &value.mappings, &word_count);
    if (!has_room && *link == NULL) return false;
    if (!has_room) value.mappings = word_count = 0;
    if (has_room && interp != NULL) value.interp = *interp;
    if (has_room && modules != NULL) {
        value.mapping_count = modules->count;
        value.generation = modules->generation;
    }
    if (engine->lib->map_update_elem(engine->processes_fd, &pid, &value, 0) != 0) {
        free_mappings(engine, value.mappings, word_count);
        if (*link != NULL) pt_bpf_engine_forget(engine, pid);
        if (value.is_wanted) pt_bpf_engine_adopt(engine, pid);
        return false;
    }
    if (*link == NULL) *link = pt_alloc(1, sizeof **link);
    known_process *const process = *link;
    free_mappings(engine, process->mappings, process->word_count);
    *process = (known_process){pid, value.mappings, word_count, process->next};
    return has_room;
}

static void state_fact(const pt_bpf_engine *engine, pt_bpf_fact fact)
{
    const uint32_t key = fact, yes = 1;
    engine->lib->map_update_elem(fd_of_map(engine, "facts"), &key, &yes, 0);
}

/* Can the kernel's map have processes that were adopted? */
static bool has_adopted(const pt_bpf_engine *engine)
{
    return engine->has_waits || engine->watch_fd[FORK] >= 0;
}

void pt_bpf_engine_adopt(pt_bpf_engine *engine, uint32_t pid)
{
    enum { NO_EXIST = 1 };
    if (has_adopted(engine) &&
        engine->lib->map_update_elem(engine->processes_fd, &pid, &adopted_process, NO_EXIST) != 0 &&
        errno != EEXIST)
        state_fact(engine, PT_BPF_MISSED);
}

/* Attaches a program to its tracepoint. Returns false with errno. */
static bool attach_program(pt_bpf_engine *engine, size_t i)
{
    if (engine->watch_fd[i] < 0)
        engine->watch_fd[i] = engine->lib->raw_tracepoint_open(NULL, engine->program_fd[i]);
    return engine->watch_fd[i] >= 0;
}

bool pt_bpf_engine_follow(pt_bpf_engine *engine)
{
    return attach_program(engine, FORK);
}

void pt_bpf_engine_drop_unknown(const pt_bpf_engine *engine)
{
    state_fact(engine, PT_BPF_ALL_KNOWN);
}

void pt_bpf_engine_forget(pt_bpf_engine *engine, uint32_t pid)
{
    known_process **const link = find_process(engine, pid), *const process = *link;
    if (process != NULL || has_adopted(engine))
        engine->lib->map_delete_elem(engine->processes_fd, &pid);
    if (process == NULL) return;
    free_mappings(engine, process->mappings, process->word_count);
    *link = process->next;
    free(process);
}

void pt_bpf_engine_forget_table(pt_bpf_engine *engine, const pt_unwind_table *table)
{
    pt_bpf_pool_forget(&engine->pool, table, now_ns());
}

/* ---- waits ---- */

pt_status pt_bpf_engine_watch(pt_bpf_engine *engine, pt_error *reterr)
{
    for (size_t i = SWITCH; i < EACH_THREAD; i++) {
        if (attach_program(engine, i)) continue;
        const int error = errno;
        pt_bpf_engine_unwatch(engine);
        return pt_error_errno(reterr, error,
                              "the kernel refuses BPF programs at switches of threads");
    }
    engine->settings.begin_ns = now_ns();
    return store_settings(engine, reterr);
}

void pt_bpf_engine_unwatch(pt_bpf_engine *engine)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (engine->watch_fd[i] >= 0) close(engine->watch_fd[i]);
        engine->watch_fd[i] = -1;
    }
}

void pt_bpf_engine_each(const pt_bpf_engine *engine, pt_bpf_sums which, pt_bpf_each each, void *arg)
{
    enum { BATCH = 4096 };
    const int fd = which == PT_BPF_COUNTS    ? engine->counts_fd
                   : which == PT_BPF_WAITING ? engine->waiting_fd
                                             : fd_of_map(engine, "owed");
    const size_t key_bytes = which == PT_BPF_COUNTS ? sizeof(uint64_t) : sizeof(uint32_t);
    const size_t bytes = which == PT_BPF_WAITING ? sizeof(pt_bpf_wait) : sizeof(pt_bpf_count);
    PT_FREE uint8_t *keys = pt_alloc(BATCH, key_bytes);
    PT_FREE uint8_t *values = pt_alloc(BATCH, bytes);
    uint32_t batch, count = BATCH;
    for (bool is_first = true, is_last = false; !is_last; is_first = false, count = BATCH) {
        is_last = engine->lib->map_lookup_batch(fd, is_first ? NULL : &batch, &batch, keys, values,
                                                &count, NULL) != 0;
        if (is_last && errno != ENOENT) return;
        for (uint32_t i = 0; i < count; i++)
            each(arg, keys + i * key_bytes, values + i * bytes);
    }
}

pt_bpf_wait_settings pt_bpf_engine_told(const pt_bpf_engine *engine)
{
    const uint32_t zero = 0;
    pt_bpf_wait_settings settings = {.lost = 0};
    engine->lib->map_lookup_elem(fd_of_map(engine, "wait_settings"), &zero, &settings);
    return settings;
}

void pt_bpf_engine_resting(const pt_bpf_engine *engine,
                           void (*each)(void *arg, const pt_bpf_resting *resting), void *arg)
{
    enum { TRACE_ITER = 28 };
    const int link = engine->lib->link_create(engine->program_fd[EACH_THREAD], 0, TRACE_ITER, NULL);
    const int fd = link >= 0 ? engine->lib->iter_create(link) : -1;
    FILE *const file = fd >= 0 ? fdopen(fd, "r") : NULL;
    pt_bpf_resting resting;
    while (file != NULL && fread(&resting, sizeof resting, 1, file) == 1)
        each(arg, &resting);
    if (file != NULL)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    if (link >= 0) close(link);
}
