/* unwind_step PROGRAM [MOST [switches]]: runs a program instruction by instruction, at most MOST of
 * them, and at each one compares the walk of its stack with what was really called.
 *
 *   a call    the stack grew by one word, which holds an address just behind the last instruction
 *   a return  (or a longjmp, or an exception) the stack pointer passed the place of a return
 * address a signal  the kernel's frame; the interrupted pc lies behind it
 *
 * switches: the program has several stacks, as Go's do; a walk that ends where one begins is early.
 *
 * Prints how many walks were whole, ended early with a reason, and were wrong; one that is wrong is
 * a failure, and more than 2 % early or while libgcc installs an exception (start files have no
 * entries). The walks counted begin where the program's own code is
 * first reached.
 */
#include "unwind_maker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHADOW_MAX = 4096, STACK_MAX = 1 << 20, PCS_MAX = 1024, MODULES_MAX = 256 };

/* A return address, by where it lies; or a pc that a signal interrupted, as a walk writes it. */
typedef struct {
    uint64_t slot_addr, pc;
} called;

static called shadow[SHADOW_MAX];
static uint32_t depth;
static made_table tables[MODULES_MAX];
static pt_unwind_module modules[MODULES_MAX];
static pt_unwind_modules all = {modules, 0, 1, NULL};
static uint64_t stack_limit, own_start, own_limit, libgcc_start, libgcc_limit;
static uint8_t *stack_copy;
static pt_unwind_cache cache;
static bool switches;

static bool peek(pid_t pid, uint64_t addr, void *bytes, size_t size)
{
    const struct iovec to = {bytes, size}, from = {(void *)(uintptr_t)addr, size};
    return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)size;
}

/* The vDSO is in no file. */
static void read_vdso(pid_t pid, uint64_t start, uint64_t limit, made_table *ret_table)
{
    void *const bytes = malloc(limit - start);
    if (bytes != NULL && peek(pid, start, bytes, limit - start))
        make_table_of_bytes(bytes, limit - start, ret_table);
    free(bytes);
}

/* A mapping starts a file; the file's first bytes are its start. */
static void read_maps(pid_t pid, const char *program)
{
    char path[64], line[4096], name[4096], last[4096] = "";
    uint64_t base = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *const in = fopen(path, "r");
    uint32_t count = 0;
    while (in != NULL && fgets(line, sizeof line, in)) {
        uint64_t start, limit, off;
        char prot[8];
        name[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &limit, prot, &off, name) < 4)
            continue;
        if (strcmp(name, "[stack]") == 0) stack_limit = limit;
        if (strcmp(name, last) != 0) base = start;
        snprintf(last, sizeof last, "%s", name);
        if (prot[2] != 'x' || count == MODULES_MAX) continue;
        if (strcmp(name, program) == 0) own_start = start, own_limit = limit;
        if (strstr(name, "/libgcc_s.") != NULL) libgcc_start = start, libgcc_limit = limit;
        /* Known already? */
        uint32_t i = 0;
        while (i < all.count && modules[i].start != start)
            i++;
        if (i == all.count) {
            modules[i] = (pt_unwind_module){.start = start, .limit = limit, .bias = base};
            if (strcmp(name, "[vdso]") == 0) read_vdso(pid, start, limit, &tables[i]);
            if (tables[i].blob != NULL || (name[0] == '/' && make_table_of_file(name, &tables[i])))
                use_table(&tables[i], &modules[i]);
            /* Programs that are linked at fixed addresses. */
            if (modules[i].table != NULL && tables[i].table.base_addr >= base &&
                tables[i].table.base_addr < limit)
                modules[i].bias = 0;
            all.count++;
        }
        count++;
    }
    if (in != NULL) fclose(in);
    /* In order of addresses, as the walk needs them; tables stay where they are. */
    for (uint32_t i = 1; i < all.count; i++) {
        for (uint32_t j = i; j > 0 && modules[j].start < modules[j - 1].start; j--) {
            const pt_unwind_module other = modules[j];
            modules[j] = modules[j - 1];
            modules[j - 1] = other;
        }
    }
    all.generation++;
}

static void follow(pid_t pid, const struct user_regs_struct *before,
                   const struct user_regs_struct *now, bool is_signal)
{
    uint64_t word;
    while (depth > 0 && shadow[depth - 1].slot_addr < now->rsp)
        depth--;
    if (depth + 2 > SHADOW_MAX || now->rsp >= before->rsp || !peek(pid, now->rsp, &word, 8)) return;
    if (is_signal) {
        /* Popped when the stack pointer is back: only then it is above this. */
        shadow[depth++] = (called){before->rsp - 1, before->rip + 1};
        shadow[depth++] = (called){now->rsp, word};
    } else if (now->rsp == before->rsp - 8 && word > before->rip && word <= before->rip + 15 &&
               now->rip != word) {
        shadow[depth++] = (called){now->rsp, word};
    }
}

typedef struct {
    uint64_t whole, early, installing, wrong;
} counted;

/* To install an exception libgcc puts the landing pad where a return address was, and then moves
 * the stack pointer beyond frames that never return: for that long the stack holds what will be,
 * not what was called. */
static bool is_installing(pid_t pid, uint64_t pc)
{
    uint64_t word;
    if (pc - libgcc_start < libgcc_limit - libgcc_start) return true;
    for (uint32_t i = depth; i-- > 0;) {
        if (shadow[i].slot_addr % 8 == 0 && peek(pid, shadow[i].slot_addr, &word, 8) &&
            word != shadow[i].pc)
            return true;
    }
    return false;
}

static void compare(pid_t pid, const struct user_regs_struct *r, counted *sum)
{
    const uint64_t low = r->rsp - 128;
    size_t bytes = stack_limit - low;
    if (r->rsp >= stack_limit || bytes > STACK_MAX) return;
    if (!peek(pid, low, stack_copy, bytes)) return;
    const uint64_t regs[PT_MACHINE_REGS_MAX] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                                r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                                r->r12, r->r13, r->r14, r->r15, r->rip};
    pt_unwind_state from = {.pc = r->rip, .sp = r->rsp, .fp = r->rbp, .regs = regs};
    const pt_unwind_limits limits = {low, stack_limit, stack_copy};
    uint64_t pcs[PCS_MAX];
    pt_unwind_end end;
    const uint32_t n = pt_unwind(&from, &all, &limits, &cache, pcs, PCS_MAX, &end);
    uint32_t same = 1;
    while (same < n && same <= depth && pcs[same] == shadow[depth - same].pc)
        same++;
    if (same == n && n == depth + 1 && end == PT_UNWIND_END_ROOT) {
        sum->whole++;
        return;
    }
    if (is_installing(pid, r->rip)) {
        sum->installing++;
        return;
    }
    const bool is_wrong = same < n || (end == PT_UNWIND_END_ROOT && !switches);
    if (is_wrong ? sum->wrong++ < 10 : sum->early++ < 10) {
        fprintf(stderr, "# %s at %llx: %u frames, end %d; called %u, the same %u:",
                is_wrong ? "wrong" : "early", r->rip, n, (int)end, depth + 1, same);
        for (uint32_t i = 0; i < n && i < same + 2; i++)
            fprintf(stderr, " %lx", pcs[i]);
        fprintf(stderr, " | called %lx\n", same <= depth ? shadow[depth - same].pc : 0);
    }
}

static bool step(pid_t pid, int signo, int *ret_signo)
{
    int status;
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(intptr_t)signo) != 0) return false;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return false;
    *ret_signo = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
    switches = argc > 3 && strcmp(argv[3], "switches") == 0;
    char *const program = realpath(argv[1], NULL);
    stack_copy = malloc(STACK_MAX);
    if (program == NULL || stack_copy == NULL) return 2;
    const pid_t pid = fork();
    if (pid == 0) {
        char *const bind = getenv("LD_BIND_NOW") != NULL ? (char[]){"LD_BIND_NOW=1"} : NULL;
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execle(program, program, (char *)NULL, (char *[]){bind, NULL});
        _exit(127);
    }
    int status, signo = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return 2;
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(intptr_t)PTRACE_O_EXITKILL);
    struct user_regs_struct before, now;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &before) != 0) return 2;
    read_maps(pid, program);
    counted sum = {0};
    bool reached = false;
    for (uint64_t i = 0; i < most; i++) {
        const int pass = signo;
        if (!step(pid, pass, &signo) || ptrace(PTRACE_GETREGS, pid, NULL, &now) != 0) break;
        if (signo != 0 && now.rip == before.rip) continue; /* about to be delivered */
        follow(pid, &before, &now, pass != 0);
        before = now;
        if (pt_unwind_module_at(&all, now.rip) == NULL) read_maps(pid, program);
        reached |= now.rip - own_start < own_limit - own_start;
        if (reached) compare(pid, &now, &sum);
    }
    kill(pid, SIGKILL);
    printf("%s: %lu whole, %lu early, %lu installing, %lu wrong\n", argv[1], sum.whole, sum.early,
           sum.installing, sum.wrong);
    free(program);
    free(stack_copy);
    return sum.wrong != 0 || sum.whole == 0 || (!switches && sum.early * 50 > sum.whole) ||
           sum.installing * 50 > sum.whole;
}
