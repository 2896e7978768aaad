/* sums.c: see sums.h. */
#include "model/sums.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/saturate.h"

struct pt_event_sums {
    atomic_bool is_known; /* has_negative and magnitude are computed */
    bool has_negative;
    int64_t magnitude;
    _Atomic(int64_t *) of_stack; /* NULL if not computed yet */
};

/* Held while sums are computed. */
static pthread_mutex_t computing = PTHREAD_MUTEX_INITIALIZER;

/* The place for the sums of an event, computed or not. The first caller allocates the places of all
 * events. */
static pt_event_sums *sums_of(const pt_profile *p, uint32_t event)
{
    pt_event_sums *sums = atomic_load(&p->sums);
    if (sums == NULL) {
        pthread_mutex_lock(&computing);
        sums = atomic_load(&p->sums);
        if (sums == NULL) {
            sums = pt_alloc(p->event->t.count, sizeof *sums);
            atomic_store(&((pt_profile *)p)->sums, sums);
        }
        pthread_mutex_unlock(&computing);
    }
    return &sums[event];
}

static void sum_magnitudes(pt_event_sums *sums, const int64_t *value, uint32_t count)
{
    uint64_t sum = 0;
    int64_t least = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum = pt_saturating_count(sum, pt_magnitude(value[i]));
        if (value[i] < least) least = value[i];
    }
    sums->magnitude = pt_saturating_signed(sum);
    sums->has_negative = least < 0;
}

static const pt_event_sums *magnitudes_of(const pt_profile *p, uint32_t event)
{
    pt_event_sums *const sums = sums_of(p, event);
    if (!atomic_load(&sums->is_known)) {
        pthread_mutex_lock(&computing);
        if (!atomic_load(&sums->is_known))
            sum_magnitudes(sums, p->sample->value[event], p->sample->t.count);
        atomic_store(&sums->is_known, true);
        pthread_mutex_unlock(&computing);
    }
    return sums;
}

int64_t pt_profile_magnitude(const pt_profile *profile, uint32_t event)
{
    return magnitudes_of(profile, event)->magnitude;
}

bool pt_profile_has_negative(const pt_profile *profile, uint32_t event)
{
    return magnitudes_of(profile, event)->has_negative;
}

static int64_t *sum_stacks(const pt_profile *p, uint32_t event)
{
    const pt_samples *const samples = p->sample;
    const int64_t *const value = samples->value[event];
    int64_t *const of_stack = pt_alloc_table(p->stack->t.count, sizeof *of_stack);
    for (uint32_t i = 0; i < samples->t.count; i++)
        pt_saturating_into(&of_stack[samples->stack[i]], value[i]);
    return of_stack;
}

const int64_t *pt_profile_stack_values(const pt_profile *profile, uint32_t event)
{
    pt_event_sums *const sums = sums_of(profile, event);
    if (atomic_load(&sums->of_stack) == NULL) {
        pthread_mutex_lock(&computing);
        if (atomic_load(&sums->of_stack) == NULL)
            atomic_store(&sums->of_stack, sum_stacks(profile, event));
        pthread_mutex_unlock(&computing);
    }
    return atomic_load(&sums->of_stack);
}

void pt_sums_free(pt_event_sums *sums, uint32_t events)
{
    for (uint32_t e = 0; sums != NULL && e < events; e++)
        free(atomic_load(&sums[e].of_stack));
    free(sums);
}
