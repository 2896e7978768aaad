/* pt_perl_tables.c: texts, addresses and stacks that are kept once, and profiles as values of
 * stacks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "personality/perl/perl.h"

/* ---- Texts ---- */

uint32_t pt_perl_word(pt_perl_words *words, const char *text, size_t length)
{
    const uint64_t hash = pt_hash_bytes(text, length);
    PT_INDEX_EACH (&words->index, hash, id) {
        const char *known = words->items[id];
        if (strncmp(known, text, length) == 0 && known[length] == '\0') return id;
    }
    return PT_INDEX_PUSH(&words->index, hash, *words, pt_strndup(text, length));
}

uint32_t pt_perl_wordz(pt_perl_words *words, const char *text)
{
    return pt_perl_word(words, text, strlen(text));
}

void pt_perl_words_done(pt_perl_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    pt_index_done(&words->index);
    *words = (pt_perl_words){0};
}

/* ---- Addresses and stacks ---- */

uint32_t pt_perl_address(pt_perl_stacks *stacks, uint64_t address)
{
    const uint64_t hash = pt_hash_mix(address, 3);
    const uint32_t known =
        PT_INDEX_FIND(&stacks->address_index, hash, id, stacks->address[id] == address);
    if (known != PT_NONE) return known;
    stacks->address = pt_grow(stacks->address, &stacks->address_cap, stacks->address_count + 1,
                              sizeof *stacks->address);
    stacks->address[stacks->address_count] = address;
    pt_index_add(&stacks->address_index, hash, (uint32_t)stacks->address_count);
    return (uint32_t)stacks->address_count++;
}

uint32_t pt_perl_stack(pt_perl_stacks *stacks, const uint32_t *frames, size_t depth)
{
    const size_t bytes = depth * sizeof *frames;
    const uint64_t hash = pt_hash_bytes(depth > 0 ? (const void *)frames : "", bytes);
    const uint32_t known =
        PT_INDEX_FIND(&stacks->index, hash, id,
                      pt_perl_depth(stacks, id) == depth &&
                          (depth == 0 || memcmp(pt_perl_frames(stacks, id), frames, bytes) == 0));
    if (known != PT_NONE) return known;
    stacks->offset =
        pt_grow(stacks->offset, &stacks->offset_cap, stacks->count + 2, sizeof *stacks->offset);
    stacks->frame = pt_grow(stacks->frame, &stacks->frame_cap, stacks->frame_count + depth + 1,
                            sizeof *stacks->frame);
    if (depth > 0) memcpy(stacks->frame + stacks->frame_count, frames, bytes);
    stacks->offset[stacks->count] = stacks->frame_count;
    stacks->frame_count += depth;
    stacks->offset[stacks->count + 1] = stacks->frame_count;
    pt_index_add(&stacks->index, hash, (uint32_t)stacks->count);
    return (uint32_t)stacks->count++;
}

static void stacks_done(pt_perl_stacks *stacks)
{
    free(stacks->address);
    free(stacks->offset);
    free(stacks->frame);
    pt_index_done(&stacks->address_index);
    pt_index_done(&stacks->index);
}

/* ---- Profiles ---- */

static uint32_t profile_row(const pt_perl_profile *profile, uint32_t stack)
{
    return stack < profile->row_count ? profile->row[stack] : PT_NONE;
}

void pt_perl_profile_add(pt_perl_profile *profile, uint32_t stack, double value)
{
    const uint32_t known = profile_row(profile, stack);
    if (known != PT_NONE) {
        profile->value[known] += value;
        return;
    }
    if (stack >= profile->row_count) {
        profile->row =
            pt_grow(profile->row, &profile->row_cap, (size_t)stack + 1, sizeof *profile->row);
        while (profile->row_count <= stack)
            profile->row[profile->row_count++] = PT_NONE;
    }
    profile->stack =
        pt_grow(profile->stack, &profile->stack_cap, profile->count + 1, sizeof *profile->stack);
    profile->value =
        pt_grow(profile->value, &profile->value_cap, profile->count + 1, sizeof *profile->value);
    profile->stack[profile->count] = stack;
    profile->value[profile->count] = value;
    profile->row[stack] = (uint32_t)profile->count++;
}

double pt_perl_profile_get(const pt_perl_profile *profile, uint32_t stack)
{
    const uint32_t row = profile_row(profile, stack);
    return row != PT_NONE ? profile->value[row] : 0;
}

double pt_perl_profile_total(const pt_perl_profile *profile)
{
    double total = 0;
    for (size_t i = 0; i < profile->count; i++)
        total += profile->value[i];
    return total;
}

void pt_perl_profile_done(pt_perl_profile *profile)
{
    free(profile->stack);
    free(profile->value);
    free(profile->row);
    *profile = (pt_perl_profile){0};
}

/* ---- The session ---- */

void pt_perl_session_done(pt_perl_session *session)
{
    pt_perl_words_done(&session->words);
    stacks_done(&session->stacks);
    pt_perl_profile_done(&session->profile);
    for (size_t i = 0; i < session->lib_count; i++)
        free(session->libs[i].path);
    for (size_t i = 0; i < session->leak_count; i++)
        free(session->leaks[i].addresses);
    free(session->libs);
    pt_perl_images_done(&session->images);
    free(session->leaks);
    free(session->program);
    free(session->names);
    free(session->name_first);
    free(session->brought);
    free(session->server);
    free(session->model_names);
    free(session->model_range);
    free(session->run_callers);
}

const char *pt_perl_hex(const pt_perl_session *session, uint64_t address, char *buf)
{
    snprintf(buf, 17, "%0*" PRIx64, (int)session->address_digits, address);
    return buf;
}
