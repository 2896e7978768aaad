/* bpf_frames.h: the walks of src/bpf, compiled for user space; an interpreter's memory that a test
 * makes. */
#pragma once

#include <string.h>

#include "base_check.h"
#include "bpf_memory.h"

/* The memory of an interpreter. */
enum { MEMORY_ADDR = 0x10000, MEMORY_BYTES = 0x4000 };
static uint8_t interp_memory[MEMORY_BYTES];

static bool read_memory(void *to, uint32_t bytes, uint64_t addr)
{
    if (addr < MEMORY_ADDR || bytes > MEMORY_BYTES || addr - MEMORY_ADDR > MEMORY_BYTES - bytes)
        return false;
    memcpy(to, interp_memory + (addr - MEMORY_ADDR), bytes);
    return true;
}

static bool read_for_user_space(void *arg, uint64_t addr, void *to, size_t size)
{
    (void)arg;
    return read_memory(to, (uint32_t)size, addr);
}

static uint32_t read_text(void *to, uint32_t room, uint64_t addr)
{
    uint32_t held = 0;
    while (held < room && read_memory((uint8_t *)to + held, 1, addr + held))
        if (((uint8_t *)to)[held++] == 0) return held;
    if (held < room) return 0;
    ((uint8_t *)to)[room - 1] = 0;
    return held;
}

#include "bpf_walk.h"

#include "bpf/perl.bpf.h"
#include "bpf/php.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ruby.bpf.h"
#include "bpf/v8.bpf.h"

int pt_bpf_find_ruby_variable(uint32_t number, uint64_t class, uint32_t by, uint64_t wanted)
{
    (void)number;
    return find_variable_for_ruby(cpu, class, by, wanted);
}

int pt_bpf_climb_php(uint32_t number)
{
    (void)number;
    return climb_php_delegate(&cpu->php);
}

static void check_copy(const uint64_t *copy, const pt_bpf_origin *from, uint64_t addr,
                       uint64_t room)
{
    const uint32_t bytes = from->bytes;
    assert_int_equal(from->addr, addr);
    if (bytes == 0) return;
    assert_true(bytes <= room && addr >= MEMORY_ADDR && addr + bytes <= MEMORY_ADDR + MEMORY_BYTES);
    assert_memory_equal(copy, interp_memory + (addr - MEMORY_ADDR), bytes);
}
