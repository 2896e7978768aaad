/* amount.c: units and their steps, in two tables. */
#include "render/amount.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    double size; /* in the family's smallest unit */
    const char *name;
} step;

static const step time_steps[] = {{3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"},
                                  {1e3, "µs"},   {1, "ns"},     {0, NULL}};
static const step byte_steps[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"},
                                  {0x1p10, "KiB"}, {1, "B"},        {0, NULL}};

static const struct {
    const char *name;
    double size;
    const step *steps;
} units[] = {
    {"nanoseconds", 1, time_steps},    {"ns", 1, time_steps},
    {"microseconds", 1e3, time_steps}, {"us", 1e3, time_steps},
    {"milliseconds", 1e6, time_steps}, {"ms", 1e6, time_steps},
    {"seconds", 1e9, time_steps},      {"s", 1e9, time_steps},
    {"bytes", 1, byte_steps},
};

static int put_scaled(char *buf, size_t size, double value, const step *s)
{
    while (s[1].name != NULL && fabs(value) < s->size)
        s++;
    const double scaled = value / s->size;
    const int digits = fabs(scaled) >= 100 || scaled == trunc(scaled) ? 0
                       : fabs(scaled) >= 10                           ? 1
                                                                      : 2;
    return snprintf(buf, size, "%.*f %s", digits, scaled, s->name);
}

int pt_amount_text(char *buf, size_t size, int64_t value, const char *unit)
{
    if (value == 0) return snprintf(buf, size, "0");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return put_scaled(buf, size, (double)value * units[i].size, units[i].steps);
    const char *name = strcmp(unit, "count") == 0 ? "" : unit;
    return snprintf(buf, size, "%lld%s%s", (long long)value, name[0] == '\0' ? "" : " ", name);
}
