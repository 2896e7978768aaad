/* set_rings.c: the pairs of rings of a recording's cpus. See set_rings.h. */
#include "capture/set_rings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"

enum {
    SIDE_BYTES = 512 << 10,
    /* Larger: the first samples of a new thread go to the side ring until the thread's events have
     * their whole period. */
    SIDE_BYTES_THREADS = 2 << 20,
    SIDE_BYTES_MIN = 32 << 10,
    SAMPLES_BYTES_MIN = 64 << 10,
    SAMPLES_BYTES_FIRST = 256 << 10,
    SAMPLES_BYTES_MAX = 32 << 20,
    SAMPLES_BYTES_MANY = 4 << 20,
    FEW_CPUS = 4,
    RICH_CPUS = 16,
    SPOOL_BYTES_FIRST = 16 << 20,
    SPOOL_BYTES_FEW = 256 << 20,
    SPOOL_BYTES_RICH = 64 << 20,
    SPOOL_BYTES_MANY = 16 << 20,
    SPOOL_SIDE_BYTES = 4 << 20,
    ROOMY_HZ = 2000,       /* up to this rate the first copies of stacks are larger, */
    ROOMY_BYTES = 2 << 20, /* if the rings have at least this size */
};

/* Parses "0-3,6", the online cpus. */
static size_t online_cpus(int **ret_cpus)
{
    PT_VECTOR(int) cpu = {0};
    pt_blob blob = PT_BLOB_INIT;
    int first = 0, last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    PT_FREE char *text = NULL;
    if (pt_file_read("/sys/devices/system/cpu/online", 0, 1 << 16, &blob, NULL) == PT_OK)
        text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    const char *at = text != NULL ? text : "";
    do {
        int used = 0;
        if (sscanf(at, "%d%n", &first, &used) == 1) last = first;
        at += used;
        if (*at == '-' && sscanf(at, "-%d%n", &last, &used) == 1) at += used;
        for (int i = first; i <= last; i++) {
            PT_PUSH(cpu, i);
        }
    } while (*at++ == ',');
    *ret_cpus = cpu.items;
    return cpu.count;
}

/* The size in bytes of a ring of samples. It has room for about a quarter of a second of samples,
 * each with twice the first copy of the stack; at rates up to ROOMY_HZ for half of that. The ring
 * is smaller with many cpus, and where the kernel lets this process lock less memory. The kernel
 * clears all pages of a ring before the recording begins. Samples of counted events and of switches
 * may come in bursts, so their rings have the maximum size. */
static size_t samples_bytes(const pt_event_set *set)
{
    const uint64_t hz = set->plan.hz > 0 ? set->plan.hz : 1000;
    const uint64_t parts = hz <= ROOMY_HZ ? 8 : 4; /* of a second */
    const uint64_t timed = hz / parts * (2 * PT_STACK_BYTES_FIRST + 512);
    const bool may_flood = set->off_cpu || set->plan.walks_waits ||
                           (!set->plan.source->is_clock && set->plan.period != 0);
    const uint64_t want = may_flood ? SAMPLES_BYTES_MAX : timed;
    const uint64_t most = set->pair_count <= RICH_CPUS ? SAMPLES_BYTES_MAX : SAMPLES_BYTES_MANY;
    size_t bytes = SAMPLES_BYTES_FIRST;
    while (bytes + bytes / 2 < want && bytes < most)
        bytes *= 2;
    return bytes;
}

/* Opens the events that own a pair of rings. With events per thread these events belong to the
 * recorder's own thread, so that they outlive the targets. */
static pt_status open_pair(pt_event_set *set, pt_ring_pair *pair, pt_error *reterr)
{
    const bool each = set->plan.is_each_thread;
    const pid_t tid = each ? 0 : -1;
    pair->samples_fd = pt_event_open_dummy(&set->plan, tid, pair->cpu, false, 0);
    if (pair->samples_fd >= 0)
        pair->side_fd =
            pt_event_open_dummy(&set->plan, tid, pair->cpu, !each, each ? 1 : SIDE_BYTES / 8);
    if (pair->samples_fd >= 0 && pair->side_fd >= 0) return PT_OK;
    return pt_error_errno(reterr, errno, "the kernel refuses perf events");
}

static pt_status map_pairs(pt_event_set *set, size_t samples, size_t side, pt_error *reterr)
{
    pt_status status = PT_OK;
    for (uint32_t i = 0; i < set->pair_count && status == PT_OK; i++) {
        pt_ring_pair *const pair = &set->pairs[i];
        status = pt_ring_open(pair->side_fd, side, &pair->kernel_side, reterr);
        if (status == PT_OK)
            status = pt_ring_open(pair->samples_fd, samples, &pair->kernel_samples, reterr);
    }
    for (uint32_t i = 0; i < set->pair_count && status != PT_OK; i++) {
        pt_ring_close(&set->pairs[i].kernel_samples);
        pt_ring_close(&set->pairs[i].kernel_side);
    }
    return status;
}

/* Maps all rings with one size: the largest for which all can be locked. */
static pt_status open_pairs(pt_event_set *set, pt_error *reterr)
{
    pt_status status = PT_OK;
    for (uint32_t i = 0; i < set->pair_count && status == PT_OK; i++)
        status = open_pair(set, &set->pairs[i], reterr);
    if (status != PT_OK) return status;
    size_t samples = samples_bytes(set);
    size_t side = set->plan.is_each_thread ? SIDE_BYTES_THREADS : SIDE_BYTES;
    status = map_pairs(set, samples, side, reterr);
    while (status == PT_ERR_NOMEM && (samples > SAMPLES_BYTES_MIN || side > SIDE_BYTES_MIN)) {
        if (samples > SAMPLES_BYTES_MIN) samples /= 2;
        if (side > samples / 2 && side > SIDE_BYTES_MIN) side /= 2;
        status = map_pairs(set, samples, side, reterr);
    }
    /* Larger first copies, so that fewer stacks are cut before the copies grow. If the kernel walks
     * stacks (may_walk), it copies only those of new processes, and most of these end before their
     * copies could grow: so their first copies have the largest size. */
    if (set->plan.source->is_clock && set->plan.hz <= ROOMY_HZ && samples >= ROOMY_BYTES)
        set->plan.stack_bytes = set->plan.may_walk ? PT_STACK_BYTES_MAX : PT_STACK_BYTES_ROOMY;
    return status;
}

/* The size of the spool's ring for a cpu: four seconds of samples with twice the first copy of the
 * stack, less with many cpus; the maximum where each switch is a sample. */
static size_t spool_bytes(const pt_event_set *set)
{
    const uint64_t hz = set->plan.hz > 0 ? set->plan.hz : 1000;
    const uint64_t want = 4 * hz * 2 * PT_STACK_BYTES_FIRST;
    const uint64_t most = set->pair_count <= FEW_CPUS    ? SPOOL_BYTES_FEW
                          : set->pair_count <= RICH_CPUS ? SPOOL_BYTES_RICH
                                                         : SPOOL_BYTES_MANY;
    size_t bytes = SPOOL_BYTES_FIRST;
    while ((bytes < want || set->off_cpu || set->plan.walks_waits) && bytes < most)
        bytes *= 2;
    return bytes;
}

static pt_status open_spool(pt_event_set *set, pt_error *reterr)
{
    pt_status status = PT_OK;
    pt_spool_ring *const rings = pt_alloc(2 * (size_t)set->pair_count, sizeof *rings);
    for (uint32_t i = 0; i < set->pair_count && status == PT_OK; i++) {
        pt_ring_pair *const pair = &set->pairs[i];
        status = pt_spool_ring_open(SPOOL_SIDE_BYTES, &pair->side, reterr);
        if (status == PT_OK) status = pt_spool_ring_open(spool_bytes(set), &pair->samples, reterr);
        rings[2 * i] = (pt_spool_ring){.fd = pair->side_fd,
                                       .from = &pair->kernel_side,
                                       .to = &pair->side,
                                       .has_forks = true,
                                       .first = set->first};
        rings[2 * i + 1] = (pt_spool_ring){
            .fd = pair->samples_fd, .from = &pair->kernel_samples, .to = &pair->samples};
    }
    if (status == PT_OK)
        set->spool = pt_spool_new(&set->layout, rings, 2 * (size_t)set->pair_count);
    free(rings);
    return status;
}

void pt_set_rings_make(pt_event_set *set)
{
    int *cpus;
    const size_t count = online_cpus(&cpus);
    set->pairs = pt_alloc(count, sizeof *set->pairs);
    set->pair_count = (uint32_t)count;
    set->cpu_limit = (uint32_t)cpus[count - 1] + 1;
    set->pair_of_cpu = pt_alloc(set->cpu_limit, sizeof *set->pair_of_cpu);
    memset(set->pair_of_cpu, 0xff, set->cpu_limit * sizeof *set->pair_of_cpu);
    for (uint32_t i = 0; i < count; i++) {
        set->pairs[i] = (pt_ring_pair){.cpu = cpus[i], .samples_fd = -1, .side_fd = -1};
        for (size_t k = 0; k < PT_BPF_OUTPUTS; k++)
            set->pairs[i].output_fds[k] = -1;
        set->pair_of_cpu[cpus[i]] = i;
    }
    free(cpus);
}

pt_status pt_set_rings_open(pt_event_set *set, pt_error *reterr)
{
    const pt_status status = open_pairs(set, reterr);
    return status == PT_OK ? open_spool(set, reterr) : status;
}

/* Opens the walker's output events of a cpu, which share the ring of samples. */
static bool open_outputs(pt_event_set *set, pt_ring_pair *pair)
{
    for (uint32_t k = 0; k < (set->plan.walks_waits ? PT_BPF_OUTPUTS : 1); k++) {
        int *const fd = &pair->output_fds[k];
        *fd = pt_event_open_output(&set->plan, (pt_bpf_output)k, pair->cpu);
        if (*fd < 0 || ioctl(*fd, PERF_EVENT_IOC_SET_OUTPUT, pair->samples_fd) != 0 ||
            !pt_bpf_engine_output(set->plan.walker, (pt_bpf_output)k, (uint32_t)pair->cpu, *fd))
            return false;
    }
    return true;
}

bool pt_set_rings_open_outputs(pt_event_set *set)
{
    bool is_open = true;
    for (uint32_t i = 0; i < set->pair_count && is_open; i++)
        is_open = open_outputs(set, &set->pairs[i]);
    return is_open;
}

void pt_set_rings_close_outputs(pt_event_set *set)
{
    for (uint32_t i = 0; i < set->pair_count; i++)
        for (size_t k = 0; k < PT_BPF_OUTPUTS; k++)
            pt_event_close(&set->pairs[i].output_fds[k]);
}

void pt_set_rings_close(pt_event_set *set)
{
    pt_set_rings_close_outputs(set);
    for (uint32_t i = 0; i < set->pair_count; i++) {
        pt_ring_close(&set->pairs[i].samples);
        pt_ring_close(&set->pairs[i].side);
        pt_ring_close(&set->pairs[i].kernel_samples);
        pt_ring_close(&set->pairs[i].kernel_side);
        pt_event_close(&set->pairs[i].samples_fd);
        pt_event_close(&set->pairs[i].side_fd);
    }
    free(set->pairs);
    free(set->pair_of_cpu);
}
