/* bounds.c: bounds the inlined frames and names of all samples together. A file states a stack, a
 * location and a name once, but a report shows them for each use: a file of a kilobyte can describe
 * a hundred thousand inlined functions, or use a name of a megabyte ten thousand times. Real
 * profiles are far below these bounds. */
#include "model/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "model/builder_int.h"

/* The number of samples that refer to each of a table's rows. The caller frees the array. */
static uint64_t *count_samples(const pt_builder *b, const uint32_t *row_of_sample, size_t rows)
{
    uint64_t *const samples = pt_alloc(rows + 1, sizeof *samples);
    for (size_t i = 0; i < b->sample.count; i++)
        if (row_of_sample[i] < rows) samples[row_of_sample[i]]++;
    return samples;
}

/* The number of times that the samples' stacks hold each location. The caller frees the array. */
static uint64_t *count_uses(const pt_builder *b)
{
    const builder_stacks *const stacks = &b->stack;
    PT_FREE uint64_t *samples = count_samples(b, b->sample.stack, stacks->count);
    uint64_t *const uses = pt_alloc(b->location.count + 1, sizeof *uses);
    for (size_t s = 0; s < stacks->count; s++)
        for (uint64_t i = stacks->offset[s]; i < stacks->offset[s + 1]; i++)
            if (stacks->frame[i] < b->location.count) uses[stacks->frame[i]] += samples[s];
    return uses;
}

static uint64_t frames_of_samples(const pt_builder *b)
{
    uint64_t frames = 0;
    for (size_t i = 0; i < b->sample.count; i++) {
        const uint32_t s = b->sample.stack[i];
        if (s < b->stack.count) frames += b->stack.offset[s + 1] - b->stack.offset[s];
    }
    return frames;
}

/* The size of a name, or the number of lines of a location, and how often the samples use it. */
typedef struct {
    uint64_t size, uses;
} used;

/* The sum of size times uses, with each size limited to most. */
static uint64_t sum_with_most(const used *all, size_t count, uint64_t most)
{
    uint64_t sum = 0, product;
    for (size_t i = 0; i < count; i++) {
        const uint64_t size = all[i].size < most ? all[i].size : most;
        if (__builtin_mul_overflow(size, all[i].uses, &product) ||
            __builtin_add_overflow(sum, product, &sum))
            return UINT64_MAX;
    }
    return sum;
}

/* The largest limit of sizes, between least and most, with which the sum of size times uses is at
 * most sum_max; `least` if there is no such limit. */
static uint64_t size_that_fits(const used *all, size_t count, uint64_t least, uint64_t most,
                               uint64_t sum_max)
{
    if (sum_with_most(all, count, most) <= sum_max) return most;
    while (most - least > 1) {
        const uint64_t middle = least + (most - least) / 2;
        if (sum_with_most(all, count, middle) <= sum_max)
            least = middle;
        else
            most = middle;
    }
    return least;
}

/* ---- Inlined functions ---- */

/* Drops the unknown fields of lines: unknown fields refer to lines by row, and rows move when lines
 * are removed. */
static void drop_unknown_of_lines(pt_builder *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->unknown.count; i++) {
        if (b->unknown.message[i] == PT_IN_LINE) continue;
        b->unknown.message[kept] = b->unknown.message[i];
        b->unknown.row[kept] = b->unknown.row[i];
        b->unknown.bytes[kept++] = b->unknown.bytes[i];
    }
    b->unknown.count = kept;
}

static uint32_t lines_max(const pt_builder *b)
{
    uint32_t most = 0;
    for (size_t i = 0; i < b->location.count; i++)
        if (b->location.row[i].line_count > most) most = b->location.row[i].line_count;
    return most;
}

uint64_t pt_builder_bound_inlined(pt_builder *b, uint64_t frames_max)
{
    const size_t count = b->location.count;
    builder_location *const rows = b->location.row;
    const uint32_t most = lines_max(b);
    if (most < 2 || frames_of_samples(b) <= frames_max / most) return 0;
    PT_FREE uint64_t *uses = count_uses(b);
    PT_FREE used *lines = pt_alloc(count, sizeof *lines);
    for (size_t i = 0; i < count; i++)
        lines[i] = (used){rows[i].line_count, uses[i]};
    const uint64_t fit = size_that_fits(lines, count, 1, most, frames_max);
    if (fit == most) return 0;
    uint64_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].line_count <= fit) continue;
        left_out += rows[i].line_count - fit;
        rows[i].line_count = (uint32_t)fit;
    }
    drop_unknown_of_lines(b);
    return left_out;
}

/* ---- Names ---- */

#define NAME_BYTES_MIN 64 /* shorter names are not cut */

static uint64_t bytes_of(const builder_strings *s, size_t row)
{
    return s->offset[row + 1] - s->offset[row] - 1;
}

static uint64_t longest_of(const builder_strings *s)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < s->count; i++)
        if (bytes_of(s, i) > longest) longest = bytes_of(s, i);
    return longest;
}

static void use_name(used *names, size_t count, uint32_t row, uint64_t times)
{
    if (row < count) names[row].uses += times;
}

/* Every string, with the number of its uses by the samples' frames and labels. The caller frees the
 * array.
 */
static used *use_names(const pt_builder *b)
{
    const size_t count = b->string.count;
    used *const names = pt_alloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i].size = bytes_of(&b->string, i);
    PT_FREE uint64_t *uses = count_uses(b);
    for (size_t i = 0; i < b->location.count; i++) {
        const builder_location *const l = &b->location.row[i];
        if (l->row.mapping < b->mapping.count)
            use_name(names, count, b->mapping.items[l->row.mapping].file, uses[i]);
        for (uint32_t k = 0; k < l->line_count; k++) {
            const uint32_t row = b->location.line[l->line_first + k].function;
            if (row >= b->function.count) continue;
            const pt_function *const function = &b->function.row[row];
            use_name(names, count, function->name, uses[i]);
            use_name(names, count, function->system_name, uses[i]);
            use_name(names, count, function->file, uses[i]);
        }
    }
    for (size_t i = 0; b->sample.comm != NULL && i < b->sample.count; i++)
        use_name(names, count, b->sample.comm[i], 1);
    PT_FREE uint64_t *samples = count_samples(b, b->sample.labels, b->labels.count);
    for (size_t set = 0; set < b->labels.count; set++) {
        for (uint64_t i = b->labels.offset[set]; i < b->labels.offset[set + 1]; i++) {
            use_name(names, count, b->labels.row[i].key, samples[set]);
            use_name(names, count, b->labels.row[i].str, samples[set]);
            use_name(names, count, b->labels.row[i].unit, samples[set]);
        }
    }
    return names;
}

/* Upper bound of the number of names that the samples use: for each frame three for each of its
 * lines and one for the mapping; for each sample three for each label and one for the command. */
static double name_uses_max(const pt_builder *b)
{
    uint64_t labels = 0;
    for (size_t set = 0; set < b->labels.count; set++)
        if (b->labels.offset[set + 1] - b->labels.offset[set] > labels)
            labels = b->labels.offset[set + 1] - b->labels.offset[set];
    return (double)frames_of_samples(b) * (3.0 * lines_max(b) + 1) +
           (double)b->sample.count * (3.0 * (double)labels + 1);
}

/* Cuts a name to at most `most` bytes and returns its new length. The name then ends with a hash of
 * the whole name, which distinguishes names with the same beginning. */
static size_t cut_name(char *name, size_t size, size_t most)
{
    char end[24];
    const int end_bytes = snprintf(end, sizeof end, "...%016" PRIx64, pt_hash_bytes(name, size));
    size_t kept = most - (size_t)end_bytes;
    while (kept > 0 && ((uint8_t)name[kept] & 0xc0) == 0x80)
        kept--; /* do not split a UTF-8 character */
    memcpy(name + kept, end, (size_t)end_bytes + 1);
    return kept + (size_t)end_bytes;
}

uint64_t pt_builder_bound_names(pt_builder *b, uint64_t bytes_max)
{
    builder_strings *const s = &b->string;
    const uint64_t longest = longest_of(s);
    if (longest <= NAME_BYTES_MIN || (double)longest * name_uses_max(b) <= (double)bytes_max)
        return 0;
    PT_FREE used *names = use_names(b);
    const uint64_t fit = size_that_fits(names, s->count, NAME_BYTES_MIN, longest, bytes_max);
    if (fit == longest) return 0;
    uint64_t cut = 0, end = 0;
    for (size_t i = 0; i < s->count; i++) {
        char *const name = s->bytes + end;
        size_t size = bytes_of(s, i);
        memmove(name, s->bytes + s->offset[i], size + 1);
        s->offset[i] = end;
        if (size > fit && names[i].uses > 0) {
            size = cut_name(name, size, fit);
            cut++;
        }
        end += size + 1;
    }
    s->offset[s->count] = end;
    s->byte_count = end;
    return cut;
}
