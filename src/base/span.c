/* span.c: see span.h. */
#include "base/span.h"

bool pt_span_number(pt_span *s, bool may_sign, int64_t *ret_value)
{
    size_t i = 0;
    const bool negative = may_sign && s->size > 0 && *s->at == '-';
    i += negative;
    const size_t first = i;
    int64_t value = 0;
    for (; i < s->size && pt_is_digit(s->at[i]); i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, s->at[i] - '0', &value))
            return false;
    }
    if (i == first) return false;
    pt_span_drop(s, i);
    *ret_value = negative ? -value : value;
    return true;
}

bool pt_span_hex(pt_span *s, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    for (int digit; i < s->size && (digit = pt_hex_digit(s->at[i])) >= 0; i++) {
        if (value >> 60 != 0) return false;
        value = value << 4 | (uint64_t)digit;
    }
    if (i == 0) return false;
    pt_span_drop(s, i);
    *ret_value = value;
    return true;
}

bool pt_span_pair(pt_span s, pt_span *ret_key, pt_span *ret_value)
{
    const char *const sign = s.size > 0 ? memchr(s.at, '=', s.size) : NULL;
    if (sign == NULL) return false;
    *ret_key = pt_span_trim(pt_span_upto(s, sign));
    *ret_value = pt_span_trim(pt_span_from(s, sign + 1));
    return true;
}
