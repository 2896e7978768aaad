#!/usr/bin/env python3
"""bpf_stack.py OBJECT: the most bytes of stack that each program of the object needs with the functions that it calls,
"NAME BYTES" a line. The verifier of Linux up to 6.12 allows 512, and counts each function as whole 32 bytes
(check_max_stack_depth in kernel/bpf/verifier.c)."""
import re
import subprocess
import sys

text = subprocess.run(['llvm-objdump-14', '-dr', '--no-show-raw-insn', sys.argv[1]], check=True, capture_output=True, text=True).stdout
depth, calls, programs = {}, {}, []
section = function = copy = None
for line in text.splitlines():
    if found := re.match(r'Disassembly of section (\S+):', line):
        section = found[1]
    elif (found := re.match(r'[0-9a-f]+ <(\w+)>:', line)) and not found[1].startswith('LBB'):
        function = found[1]
        depth[function], calls[function] = 0, set()
        if section != '.text':
            programs.append(function)
    elif found := re.search(r'R_BPF_64_32\s+(\S+)', line):
        calls[function].add(found[1])
    for found in re.findall(r'r10 - (0x[0-9a-f]+|\d+)', line):
        depth[function] = max(depth[function], int(found, 0))
    if (found := re.search(r'(r\d) \+= -(0x[0-9a-f]+|\d+)', line)) and found[1] == copy:
        depth[function] = max(depth[function], int(found[2], 0))
    copied = re.search(r'(r\d) = r10$', line)
    copy = copied[1] if copied else None


def whole(function):
    return (max(depth[function], 1) + 31) // 32 * 32 + max(map(whole, calls[function]), default=0)


for program in programs:
    print(program, whole(program))
