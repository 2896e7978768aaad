/* tables.c: addresses, the names of addresses, and profiles as values of stacks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "personality/perl/perl.h"

uint32_t pt_perl_address(pt_perl_session *session, uint64_t pc)
{
    const uint64_t hash = pt_hash_mix(pc, 3);
    const uint32_t known =
        PT_INDEX_FIND(&session->address_index, hash, id, session->addresses.items[id] == pc);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&session->address_index, hash, session->addresses, pc);
}

void pt_perl_give_names(pt_perl_session *session, uint32_t address, const pt_perl_name *names,
                        size_t count)
{
    PT_GROW(session->name_ranges, (size_t)address + 1);
    for (; session->name_ranges.count <= address; session->name_ranges.count++)
        session->name_ranges.items[session->name_ranges.count] = (struct pt_perl_name_range){0};
    PT_GROW(session->names, session->names.count + count);
    memcpy(session->names.items + session->names.count, names, count * sizeof *names);
    session->name_ranges.items[address] =
        (struct pt_perl_name_range){(uint32_t)session->names.count, (uint32_t)count};
    session->names.count += count;
}

/* ---- Profiles ---- */

static uint32_t profile_row(const pt_perl_profile *profile, uint32_t stack)
{
    return stack < profile->row_count ? profile->row[stack] : PT_NONE;
}

void pt_perl_profile_add(pt_perl_profile *profile, uint32_t stack, double value)
{
    if (stack == PT_NONE) return; /* the tables are full; the builder's status has the error */
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
    PT_FREE_ALL(profile->stack, profile->value, profile->row);
    *profile = (pt_perl_profile){0};
}

/* ---- The session ---- */

void pt_perl_session_done(pt_perl_session *session)
{
    pt_builder_free(session->tables);
    free(session->addresses.items);
    pt_index_done(&session->address_index);
    pt_perl_profile_done(&session->profile);
    for (size_t i = 0; i < session->lib_count; i++)
        free(session->libs[i].path);
    for (size_t i = 0; i < session->leak_count; i++)
        free(session->leaks[i].addresses);
    free(session->libs);
    pt_perl_images_done(&session->images);
    PT_FREE_ALL(session->leaks, session->program, session->names.items, session->name_ranges.items,
                session->given_names, session->server, session->run_callers);
}

const char *pt_perl_hex(const pt_perl_session *session, uint64_t address, char *buf)
{
    snprintf(buf, 17, "%0*" PRIx64, (int)session->address_digits, address);
    return buf;
}
