/* files.h: the input files of replay and sweep, in one order on every machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The target; every fuzz_NAME.c defines it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Calls each(path, bytes, size) for the files named and all files below the folders named, sorted
 * by path. A name that does not exist is passed over: a target may have no goldens yet. bytes is a
 * heap block of exactly size bytes, so that the address sanitizer sees a read past its end; each
 * may change it, but not keep it. Ends the program with a message if a file cannot be read.
 * Returns how many there were. */
size_t for_each_file(int count, char **names,
                     void (*each)(const char *path, uint8_t *bytes, size_t size));

/* The last part of a path. */
const char *base_name(const char *path);
