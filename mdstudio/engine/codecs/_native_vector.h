/* The registers of the inverse: 256 bits with AVX2, 128 with SSE2, none elsewhere. Differs by the file that includes it. */
#ifndef MD_NATIVE_VECTOR_H
#define MD_NATIVE_VECTOR_H

#include "_native_common.h"

#if defined(__SSE2__) || defined(_M_X64)
#define MD_SSE2 1
#include <emmintrin.h>

#ifdef MD_AVX2
typedef __m256i V;
#define MM(f) _mm256_##f
#define MMI(f) _mm256_##f##_si256
#define LAST_8(x) _mm256_shuffle_epi8(x, _mm256_set1_epi8(15))
#define LAST_16(x) _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0F0E))
#define LAST_32(x) _mm256_shuffle_epi32(x, 0xFF)
#define LAST_64(x) _mm256_shuffle_epi32(x, 0xEE)
/* The sums of the lower half go on into the upper one. */
#define JOIN(N, x) MM(add_epi##N)(x, _mm256_permute2x128_si256(LAST_##N(x), x, 0x08))
#define LAST(N, x) LAST_##N(_mm256_permute2x128_si256(x, x, 0x11))
#else
typedef __m128i V;
#define MM(f) _mm_##f
#define MMI(f) _mm_##f##_si128
#define LAST_64(x) _mm_unpackhi_epi64(x, x)
#define LAST_32(x) _mm_shuffle_epi32(x, 0xFF)
#define LAST_16(x) LAST_64(_mm_shufflehi_epi16(x, 0xFF))
#define LAST_8(x) LAST_16(_mm_unpackhi_epi8(x, x))
#define JOIN(N, x) (x)
#define LAST(N, x) LAST_##N(x)
#endif

/* sum: running sums of x from `before` on, which becomes the last of them; unzig: undo the zigzag. */
#define DEFINE_VECTOR(N, SET1, C)                                                                                      \
    ALWAYS_INLINE V set_##N(uint##N##_t x)                                                                             \
    {                                                                                                                  \
        return MM(SET1)((C)x);                                                                                         \
    }                                                                                                                  \
    ALWAYS_INLINE uint##N##_t last_##N(V x)                                                                            \
    {                                                                                                                  \
        uint##N##_t all[sizeof(V) / (N / 8)];                                                                          \
        MMI(storeu)((V *)all, x);                                                                                      \
        return all[sizeof(V) / (N / 8) - 1];                                                                           \
    }                                                                                                                  \
    ALWAYS_INLINE V sum_##N(V x, V *before)                                                                            \
    {                                                                                                                  \
        x = MM(add_epi##N)(x, MMI(slli)(x, N / 8));                                                                    \
        if (N <= 32)                                                                                                   \
            x = MM(add_epi##N)(x, MMI(slli)(x, N / 4 & 15));                                                           \
        if (N <= 16)                                                                                                   \
            x = MM(add_epi##N)(x, MMI(slli)(x, N / 2 & 15));                                                           \
        if (N <= 8)                                                                                                    \
            x = MM(add_epi##N)(x, MMI(slli)(x, N & 15));                                                               \
        x = JOIN(N, x);                                                                                                \
        V last = LAST(N, x);                                                                                           \
        x = MM(add_epi##N)(x, *before);                                                                                \
        *before = MM(add_epi##N)(*before, last);                                                                       \
        return x;                                                                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE V unzig_##N(V z)                                                                                     \
    {                                                                                                                  \
        V half = N == 8 ? MMI(and)(MM(srli_epi16)(z, 1), MM(set1_epi8)(0x7F)) : HALF_##N(z);                           \
        return MMI(xor)(half, MM(sub_epi##N)(MMI(setzero)(), MMI(and)(z, set_##N(1))));                                \
    }

#define HALF_8(z) z
#define HALF_16(z) MM(srli_epi16)(z, 1)
#define HALF_32(z) MM(srli_epi32)(z, 1)
#define HALF_64(z) MM(srli_epi64)(z, 1)

DEFINE_VECTOR(8, set1_epi8, char)
DEFINE_VECTOR(16, set1_epi16, short)
DEFINE_VECTOR(32, set1_epi32, int)
DEFINE_VECTOR(64, set1_epi64x, long long)

/* Sixteen bytes of plane `b`; the planes above `count` are zero. */
ALWAYS_INLINE __m128i plane_of(const uint8_t *p, size_t apart, int count, int b)
{
    return b < count ? _mm_loadu_si128((const __m128i *)(p + (size_t)b * apart)) : _mm_setzero_si128();
}

ALWAYS_INLINE void put_sixteen(uint8_t *z, int i, __m128i x)
{
    _mm_storeu_si128((__m128i *)(z + 16 * i), x);
}

/* Sixteen integers of `width` bytes from planes that lie `apart` bytes apart. Pairs of bytes become words, pairs of words
 * double words, and so on; written out, since what is left to the compiler as a loop ends up in memory. */
ALWAYS_INLINE void words_of(const uint8_t *p, size_t apart, int count, int b, __m128i *low, __m128i *high)
{
    __m128i first = plane_of(p, apart, count, b), second = plane_of(p, apart, count, b + 1);
    *low = _mm_unpacklo_epi8(first, second);
    *high = _mm_unpackhi_epi8(first, second);
}

ALWAYS_INLINE void double_words_of(const uint8_t *p, size_t apart, int count, int b, __m128i *x)
{
    __m128i low, high, upper_low, upper_high;
    words_of(p, apart, count, b, &low, &high);
    words_of(p, apart, count, b + 2, &upper_low, &upper_high);
    x[0] = _mm_unpacklo_epi16(low, upper_low);
    x[1] = _mm_unpackhi_epi16(low, upper_low);
    x[2] = _mm_unpacklo_epi16(high, upper_high);
    x[3] = _mm_unpackhi_epi16(high, upper_high);
}

ALWAYS_INLINE void gather_sixteen(const uint8_t *p, size_t apart, int count, int width, uint8_t *z)
{
    __m128i x[4], upper[4];
    if (width == 2) {
        words_of(p, apart, count, 0, &x[0], &x[1]);
        put_sixteen(z, 0, x[0]);
        put_sixteen(z, 1, x[1]);
        return;
    }
    double_words_of(p, apart, count, 0, x);
    if (width == 4) {
        put_sixteen(z, 0, x[0]);
        put_sixteen(z, 1, x[1]);
        put_sixteen(z, 2, x[2]);
        put_sixteen(z, 3, x[3]);
        return;
    }
    double_words_of(p, apart, count, 4, upper);
    put_sixteen(z, 0, _mm_unpacklo_epi32(x[0], upper[0]));
    put_sixteen(z, 1, _mm_unpackhi_epi32(x[0], upper[0]));
    put_sixteen(z, 2, _mm_unpacklo_epi32(x[1], upper[1]));
    put_sixteen(z, 3, _mm_unpackhi_epi32(x[1], upper[1]));
    put_sixteen(z, 4, _mm_unpacklo_epi32(x[2], upper[2]));
    put_sixteen(z, 5, _mm_unpackhi_epi32(x[2], upper[2]));
    put_sixteen(z, 6, _mm_unpacklo_epi32(x[3], upper[3]));
    put_sixteen(z, 7, _mm_unpackhi_epi32(x[3], upper[3]));
}
#endif

#endif
