/* Floats -> the integers of a lattice that gives them back. */
#ifndef MD_NATIVE_LATTICE_H
#define MD_NATIVE_LATTICE_H

#include "_native_lattice_values.h"


static const double exact = 2251799813685248.0;           /* 2^51 */
static const double round_to_even = 6755399441055744.0;   /* 1.5 * 2^52: adding and taking it away rounds */

ALWAYS_INLINE double guess_k(double x, int arithmetic, double s, double o, double d)
{
    double k = arithmetic == DIV64 ? (x - o) * s : arithmetic == MULADDMUL64 ? (x / d - o) / s : (x - o) / s;
    k = (k + round_to_even) - round_to_even;
    k += 0.0; /* -0 -> +0 */
    return (k < 0 ? -k : k) < exact ? k : 0.0;
}

typedef struct {
    int64_t low, high;
    long escapes; /* -1: the lattice does not give these elements */
} LatticeResult;

#define DEFINE_LATTICE(N, X)                                                                                          \
    ALWAYS_INLINE LatticeResult lattice_map_kind_##N(const X *x, size_t n, int arithmetic, double s, double o,        \
                                                     double d, int64_t *out, uint32_t *escapes, size_t limit)         \
    {                                                                                                                 \
        LatticeResult none = {0, 0, -1}, result = {INT64_MAX, INT64_MIN, 0};                                          \
        double k[256];                                                                                                \
        uint8_t same[256];                                                                                            \
        size_t missed = 0, first = n;                                                                                 \
        int64_t last = 0;                                                                                             \
        for (size_t at = 0; at < n; at += 256) {                                                                      \
            size_t m = smaller(256, n - at);                                                                          \
            for (size_t i = 0; i < m; i++)                                                                            \
                k[i] = guess_k(from_bits_##N(x[at + i]), arithmetic, s, o, d);                                        \
            for (size_t i = 0; i < m; i++)                                                                            \
                same[i] = bits_##N(lattice_##N(k[i], arithmetic, s, o, d)) == x[at + i];                              \
            for (size_t i = 0; i < m; i++) {                                                                          \
                double found = k[i];                                                                                  \
                if (!same[i]) {                                                                                       \
                    if (bits_##N(lattice_##N(found + 1.0, arithmetic, s, o, d)) == x[at + i])                         \
                        found += 1.0;                                                                                 \
                    else if (bits_##N(lattice_##N(found - 1.0, arithmetic, s, o, d)) == x[at + i])                    \
                        found -= 1.0;                                                                                 \
                    else {                                                                                            \
                        if (missed == limit)                                                                          \
                            return none;                                                                              \
                        escapes[missed++] = (uint32_t)(at + i);                                                       \
                        out[at + i] = last;                                                                           \
                        continue;                                                                                     \
                    }                                                                                                 \
                }                                                                                                     \
                out[at + i] = last = (int64_t)found;                                                                  \
                if (first == n)                                                                                       \
                    first = at + i;                                                                                   \
                result.low = last < result.low ? last : result.low;                                                   \
                result.high = last > result.high ? last : result.high;                                                \
            }                                                                                                         \
        }                                                                                                             \
        if (first == n)                                                                                               \
            return none;                                                                                              \
        for (size_t i = 0; i < first; i++)                                                                            \
            out[i] = out[first];                                                                                      \
        result.escapes = (long)missed;                                                                                \
        return result;                                                                                                \
    }                                                                                                                 \
    static LatticeResult lattice_map_##N(const void *x, size_t n, int arithmetic, double s, double o, double d,       \
                                         int64_t *out, uint32_t *escapes, size_t limit)                               \
    {                                                                                                                 \
        switch (arithmetic) {                                                                                         \
        case MULADD64: return lattice_map_kind_##N(x, n, MULADD64, s, o, d, out, escapes, limit);                     \
        case MULADD32: return lattice_map_kind_##N(x, n, MULADD32, s, o, d, out, escapes, limit);                     \
        case DIV64: return lattice_map_kind_##N(x, n, DIV64, s, o, d, out, escapes, limit);                           \
        default: return lattice_map_kind_##N(x, n, MULADDMUL64, s, o, d, out, escapes, limit);                        \
        }                                                                                                             \
    }

DEFINE_LATTICE(32, uint32_t)
DEFINE_LATTICE(64, uint64_t)

/* The largest e for which every float is a multiple of 2^e; 32768 for NaN, infinity or only zeros. */
static int binary_step(const void *src, size_t n, int size)
{
    int mantissa_bits = size == 4 ? 23 : 52, top = size == 4 ? 255 : 2047, least = 32768;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = size == 4 ? ((const uint32_t *)src)[i] : ((const uint64_t *)src)[i];
        int exponent = (int)(bits >> mantissa_bits) & top;
        uint64_t mantissa = bits & (((uint64_t)1 << mantissa_bits) - 1);
        if (exponent == top)
            return 32768;
        if (exponent)
            mantissa |= (uint64_t)1 << mantissa_bits;
        else
            exponent = 1;
        if (!mantissa)
            continue;
        exponent += trailing_zeros(mantissa) - mantissa_bits - (top >> 1);
        least = exponent < least ? exponent : least;
    }
    return least;
}

#endif
