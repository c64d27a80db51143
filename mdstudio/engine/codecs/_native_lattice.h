/* The lattice of quantised floats: x = T(arithmetic(k)), every operation rounded by itself (format.md). */
#ifndef MD_NATIVE_LATTICE_H
#define MD_NATIVE_LATTICE_H

#include "_native_maps.h"

enum { MULADD64 = 1, MULADD32, DIV64, MULADDMUL64 };

static const double exact = 2251799813685248.0;           /* 2^51 */
static const double round_to_even = 6755399441055744.0;   /* 1.5 * 2^52: adding and taking it away rounds */
static const uint64_t max_k = (uint64_t)1 << 53;

ALWAYS_INLINE double lattice_64(double k, int arithmetic, double s, double o, double d)
{
    double product = arithmetic == DIV64 ? k / s : k * s;
    double sum = product + o;
    return arithmetic == MULADDMUL64 ? sum * d : sum;
}

ALWAYS_INLINE float lattice_32(double k, int arithmetic, double s, double o, double d)
{
    if (arithmetic == MULADD32) {
        float product = (float)k * (float)s;
        return product + (float)o;
    }
    return (float)lattice_64(k, arithmetic, s, o, d);
}

ALWAYS_INLINE uint32_t bits_32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

ALWAYS_INLINE uint64_t bits_64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

ALWAYS_INLINE double from_bits_32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

ALWAYS_INLINE double from_bits_64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

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

/* k as float64: small ones by way of int32, which vectorises; all exact. */
ALWAYS_INLINE double to_double_8(uint8_t k)
{
    return (double)(int32_t)k;
}

ALWAYS_INLINE double to_double_16(uint16_t k)
{
    return (double)(int32_t)k;
}

ALWAYS_INLINE double to_double_32(uint32_t k)
{
    int32_t centred;
    uint32_t flipped = k ^ 0x80000000u;
    memcpy(&centred, &flipped, 4);
    return (double)centred + 2147483648.0;
}

ALWAYS_INLINE double to_double_64(uint64_t k) /* k < 2^53 */
{
    return (double)(int64_t)k;
}

#define DEFINE_LATTICE_EMIT(N, X, M, K)                                                                               \
    ALWAYS_INLINE int emit_lattice_kind_##N##_##M(const Sink *sink, const K *RESTRICT k, size_t at, size_t m, int a)  \
    {                                                                                                                 \
        X *RESTRICT to = (X *)sink->out + at;                                                                         \
        double s = sink->scale, o = sink->offset, d = sink->factor, first = sink->first;                              \
        if (M == 64)                                                                                                  \
            for (size_t i = 0; i < m; i++)                                                                            \
                if ((uint64_t)k[i] >= max_k)                                                                          \
                    return 0;                                                                                         \
        for (size_t i = 0; i < m; i++)                                                                                \
            to[i] = bits_##N(lattice_##N(to_double_##M(k[i]) + first, a, s, o, d));                                   \
        return 1;                                                                                                     \
    }                                                                                                                 \
    static int emit_lattice_##N##_##M(const Sink *sink, const void *k, size_t at, size_t m)                           \
    {                                                                                                                 \
        switch (sink->arithmetic) {                                                                                   \
        case MULADD64: return emit_lattice_kind_##N##_##M(sink, k, at, m, MULADD64);                                  \
        case MULADD32: return emit_lattice_kind_##N##_##M(sink, k, at, m, MULADD32);                                  \
        case DIV64: return emit_lattice_kind_##N##_##M(sink, k, at, m, DIV64);                                        \
        default: return emit_lattice_kind_##N##_##M(sink, k, at, m, MULADDMUL64);                                     \
        }                                                                                                             \
    }

DEFINE_LATTICE_EMIT(32, uint32_t, 8, uint8_t)
DEFINE_LATTICE_EMIT(32, uint32_t, 16, uint16_t)
DEFINE_LATTICE_EMIT(32, uint32_t, 32, uint32_t)
DEFINE_LATTICE_EMIT(64, uint64_t, 8, uint8_t)
DEFINE_LATTICE_EMIT(64, uint64_t, 16, uint16_t)
DEFINE_LATTICE_EMIT(64, uint64_t, 32, uint32_t)
DEFINE_LATTICE_EMIT(64, uint64_t, 64, uint64_t)

static Emit lattice_emit_of(int size, int width)
{
    switch (PAIR(size, width)) {
    case PAIR(4, 1): return emit_lattice_32_8;
    case PAIR(4, 2): return emit_lattice_32_16;
    case PAIR(4, 4): return emit_lattice_32_32;
    case PAIR(8, 1): return emit_lattice_64_8;
    case PAIR(8, 2): return emit_lattice_64_16;
    case PAIR(8, 4): return emit_lattice_64_32;
    case PAIR(8, 8): return emit_lattice_64_64;
    default: return NULL;
    }
}

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
