/* counted.c: CPU time that the clocks of processes count but that can be in no sample, since the
 * library is in a process only from the end of its loading to its exit. The CPU time before and
 * after has rows of its own in the profile. So the values add up to the CPU time of the command,
 * and no function of the program gets time of the loader or the kernel. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "recording/recording.h"

void pt_counted_add_image(pt_counted *counted, const pt_journal_brief *image, uint64_t earlier_ns)
{
    const uint64_t own_ns =
        image->own_ns - (image->cpu_own_ns < image->own_ns ? image->cpu_own_ns : image->own_ns);
    pt_counted_start start = {
        .ns = image->cpu_before_ns > earlier_ns ? image->cpu_before_ns - earlier_ns : 0};
    memcpy(start.comm, image->comm, sizeof start.comm - 1);
    pt_recorded_add(&counted->sampled_ns,
                    image->cpu_used_ns > own_ns ? image->cpu_used_ns - own_ns : 0);
    PT_PUSH(*counted, start);
}

void pt_counted_done(pt_counted *counted)
{
    free(counted->items);
    *counted = (pt_counted){0};
}

PT_ORDER(by_comm, pt_counted_start, PT_TEXT_UP(comm));

static void add_row(pt_builder *b, const char *name, const char *comm, double ns)
{
    const uint32_t frame = pt_builder_named_location(b, name, PT_LOCATION_USER).v;
    const pt_label label = {.key = pt_builder_text(b, "comm").v,
                            .kind = PT_LABEL_STRING,
                            .str = pt_builder_text(b, comm).v};
    const int64_t values[2] = {0, (int64_t)ns};
    if (values[1] <= 0) return;
    pt_builder_add(b, pt_builder_stack(b, &frame, 1, PT_STACK_END_ROOT),
                   comm[0] != '\0' ? pt_builder_labels(b, &label, 1) : PT_NO_LABELS, values);
}

uint64_t pt_counted_put(pt_counted *counted, uint64_t used_ns, pt_builder *b)
{
    enum { WORTH_A_ROW = 50 }; /* rows are made for more than a fiftieth of used_ns */
    const uint64_t all_ns = used_ns > counted->sampled_ns ? used_ns - counted->sampled_ns : 0;
    uint64_t starts_ns = 0;
    if (all_ns <= used_ns / WORTH_A_ROW) return 0;
    if (counted->count > 1)
        qsort(counted->items, counted->count, sizeof counted->items[0], by_comm);
    for (size_t i = 0; i < counted->count; i++)
        pt_recorded_add(&starts_ns, counted->items[i].ns);
    /* used_ns and the times of the starts come from clocks that are read at different times, so the
     * sum of the starts is reduced to all_ns at most. */
    const double part = starts_ns > all_ns ? (double)all_ns / (double)starts_ns : 1;
    for (size_t i = 0; i < counted->count;) {
        const size_t first = i;
        double ns = 0;
        for (; i < counted->count && by_comm(&counted->items[i], &counted->items[first]) == 0; i++)
            ns += (double)counted->items[i].ns;
        add_row(b, "[not sampled: fork, exec, loader]", counted->items[first].comm, ns * part);
    }
    if (starts_ns < all_ns)
        add_row(b, "[not sampled: exit, or without the library]", "", (double)(all_ns - starts_ns));
    return all_ns;
}
