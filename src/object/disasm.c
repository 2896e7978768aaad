/* disasm.c: see disasm.h; calls capstone. */
#include "object/disasm.h"
#include "base/grow.h"

#include <elf.h>
#include <stdio.h>

#ifdef PT_HAVE_CAPSTONE

#include <capstone/capstone.h>

typedef struct {
    cs_arch arch;
    cs_mode mode;
    uint16_t machine;
    uint8_t step; /* bytes to skip after an undecodable instruction */
} known_machine;

static const known_machine machines[] = {
    {CS_ARCH_X86, CS_MODE_64, EM_X86_64, 1},
    {CS_ARCH_X86, CS_MODE_32, EM_386, 1},
    {CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, EM_AARCH64, 4},
    {CS_ARCH_ARM, CS_MODE_ARM, EM_ARM, 4},
    {CS_ARCH_PPC, CS_MODE_64, EM_PPC64, 4},
    {CS_ARCH_PPC, CS_MODE_32, EM_PPC, 4},
    {CS_ARCH_SYSZ, CS_MODE_LITTLE_ENDIAN, EM_S390, 2},
    {CS_ARCH_MIPS, CS_MODE_LITTLE_ENDIAN, EM_MIPS, 4},
    {CS_ARCH_SPARC, CS_MODE_V9, EM_SPARCV9, 4},
};

static const known_machine *machine_of(const pt_elf *elf)
{
    for (size_t i = 0; i < PT_COUNT(machines); i++)
        if (machines[i].machine == elf->machine)
            return cs_support((int)machines[i].arch) ? &machines[i] : NULL;
    return NULL;
}

static unsigned mode_of(const known_machine *m, const pt_elf *elf)
{
    unsigned mode = (unsigned)m->mode;
    if (m->arch == CS_ARCH_MIPS) mode |= (unsigned)(elf->is_64 ? CS_MODE_MIPS64 : CS_MODE_MIPS32);
    if (elf->is_big_endian && m->arch != CS_ARCH_SYSZ && m->arch != CS_ARCH_SPARC)
        mode |= (unsigned)CS_MODE_BIG_ENDIAN;
    return mode;
}

bool pt_disasm_knows(const pt_elf *elf)
{
    return machine_of(elf) != NULL;
}

static bool is_in_group(const cs_insn *insn, uint8_t group)
{
    return PT_ANY(i, insn->detail->groups_count, insn->detail->groups[i] == group);
}

/* The fixed target of a jump or call: its last operand, if immediate. */
static bool immediate_target(cs_arch arch, const cs_insn *insn, uint64_t *ret_target)
{
    const cs_detail *d = insn->detail;
    if (arch == CS_ARCH_X86) {
        const cs_x86 *x = &d->x86;
        if (x->op_count == 0 || x->operands[x->op_count - 1].type != X86_OP_IMM) return false;
        *ret_target = (uint64_t)x->operands[x->op_count - 1].imm;
        return true;
    }
    if (arch == CS_ARCH_ARM64) {
        const cs_arm64 *x = &d->arm64;
        if (x->op_count == 0 || x->operands[x->op_count - 1].type != ARM64_OP_IMM) return false;
        *ret_target = (uint64_t)x->operands[x->op_count - 1].imm;
        return true;
    }
    if (arch == CS_ARCH_ARM) {
        const cs_arm *x = &d->arm;
        if (x->op_count == 0 || x->operands[x->op_count - 1].type != ARM_OP_IMM) return false;
        *ret_target = (uint32_t)x->operands[x->op_count - 1].imm;
        return true;
    }
    return false;
}

/* The address of an operand relative to the instruction pointer. */
static bool relative_reference(cs_arch arch, const cs_insn *insn, uint64_t *ret_target)
{
    if (arch != CS_ARCH_X86) return false;
    const cs_x86 *x = &insn->detail->x86;
    for (uint8_t i = 0; i < x->op_count; i++) {
        if (x->operands[i].type != X86_OP_MEM || x->operands[i].mem.base != X86_REG_RIP) continue;
        *ret_target = insn->address + insn->size + (uint64_t)x->operands[i].mem.disp;
        return true;
    }
    return false;
}

static void send_instruction(cs_arch arch, const cs_insn *insn, pt_instruction_sink *sink,
                             void *context)
{
    pt_instruction i = {.addr = insn->address,
                        .size_bytes = insn->size,
                        .mnemonic = insn->mnemonic,
                        .operands = insn->op_str};
    if (is_in_group(insn, CS_GRP_JUMP) || is_in_group(insn, CS_GRP_CALL) ||
        is_in_group(insn, CS_GRP_BRANCH_RELATIVE))
        i.has_target = immediate_target(arch, insn, &i.target);
    if (!i.has_target) i.has_reference = relative_reference(arch, insn, &i.target);
    sink(context, &i);
}

static void send_bytes(const uint8_t *code, uint64_t addr, uint32_t size, pt_instruction_sink *sink,
                       void *context)
{
    char text[64] = "";
    size_t at = 0;
    for (uint32_t k = 0; k < size; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s0x%02x", k > 0 ? ", " : "", code[k]);
    sink(context, &(pt_instruction){
                      .addr = addr, .size_bytes = size, .mnemonic = ".byte", .operands = text});
}

/* The bytes from start on, up to end or the segment's end. */
static const uint8_t *code_at(const pt_elf *elf, uint64_t start, uint64_t end, size_t *ret_size)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++) {
        if (s.type != PT_LOAD || start < s.addr || start - s.addr >= s.file_bytes) continue;
        const uint64_t into = start - s.addr;
        if (s.off > elf->size_bytes || into >= elf->size_bytes - s.off) continue;
        uint64_t size = end - start;
        if (size > s.file_bytes - into) size = s.file_bytes - into;
        if (size > elf->size_bytes - s.off - into) size = elf->size_bytes - s.off - into;
        *ret_size = (size_t)size;
        return elf->bytes + s.off + into;
    }
    return NULL;
}

pt_status pt_disasm(const pt_elf *elf, uint64_t start, uint64_t end, pt_syntax syntax,
                    pt_instruction_sink *sink, void *context, pt_error *reterr)
{
    const known_machine *m = machine_of(elf);
    csh handle;
    size_t left = 0;
    if (m == NULL)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "machine %u cannot be disassembled",
                            (unsigned)elf->machine);
    const uint8_t *code = end > start ? code_at(elf, start, end, &left) : NULL;
    if (code == NULL)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no code at 0x%llx",
                            (unsigned long long)start);
    if (cs_version(NULL, NULL) == 0)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "capstone is not installed");
    if (cs_open(m->arch, (cs_mode)mode_of(m, elf), &handle) != CS_ERR_OK)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "machine %u cannot be disassembled",
                            (unsigned)elf->machine);
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    if (m->arch == CS_ARCH_X86)
        cs_option(handle, CS_OPT_SYNTAX,
                  syntax == PT_SYNTAX_INTEL ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
    cs_insn *insn = cs_malloc(handle);
    if (insn == NULL) {
        cs_close(&handle);
        return pt_error_set(reterr, PT_ERR_NOMEM, "there is no memory left to disassemble");
    }
    uint64_t addr = start;
    while (left > 0) {
        if (cs_disasm_iter(handle, &code, &left, &addr, insn)) {
            send_instruction(m->arch, insn, sink, context);
            continue;
        }
        const uint32_t step = left < m->step ? (uint32_t)left : m->step;
        send_bytes(code, addr, step, sink, context);
        code += step;
        addr += step;
        left -= step;
    }
    cs_free(insn, 1);
    cs_close(&handle);
    return PT_OK;
}

const char *pt_disasm_version(void)
{
    static char text[32];
    int major, minor;
    cs_version(&major, &minor);
    snprintf(text, sizeof text, "capstone %d.%d", major, minor);
    return text;
}

#else

bool pt_disasm_knows(const pt_elf *elf)
{
    (void)elf;
    return false;
}

pt_status pt_disasm(const pt_elf *elf, uint64_t start, uint64_t end, pt_syntax syntax,
                    pt_instruction_sink *sink, void *context, pt_error *reterr)
{
    (void)elf;
    (void)start;
    (void)end;
    (void)syntax;
    (void)sink;
    (void)context;
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "pitot was built without capstone");
}

const char *pt_disasm_version(void)
{
    return NULL;
}

#endif
