/* The lattice of quantised floats: x = T(arithmetic(k)), every operation rounded by itself (format.md). */
#ifndef MD_NATIVE_LATTICE_VALUES_H
#define MD_NATIVE_LATTICE_VALUES_H

#include "_native_inverse.h"

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

#endif
