/* mutate_protobuf.h: changes to protobuf messages that leave them messages.
 *
 * A byte changed at random mostly ends a message: a tag loses its value, a length reaches past the
 * end. This takes the bytes apart by protobuf's wire format (protobuf.dev, "Encoding"), changes,
 * drops, doubles, moves or adds a field at any depth, and puts them together with lengths that fit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's own mutation of data[0, size), of which at most max_size bytes come; returns how
 * many. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Changes the message data[0, size) in place, of which at most max_size bytes come; returns how
 * many. The same seed makes the same change. What is no message whole is changed up to the first
 * field that does not fit, and its rest stays. */
size_t mutate_protobuf(uint8_t *data, size_t size, size_t max_size, uint32_t seed);
