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

/* Byte planes a (low) and b, interleaved: integers twice as wide of the first or the last half. */
ALWAYS_INLINE void interleave(__m128i a, __m128i b, int size, __m128i *low, __m128i *high)
{
    *low = size == 1 ? _mm_unpacklo_epi8(a, b) : size == 2 ? _mm_unpacklo_epi16(a, b) : _mm_unpacklo_epi32(a, b);
    *high = size == 1 ? _mm_unpackhi_epi8(a, b) : size == 2 ? _mm_unpackhi_epi16(a, b) : _mm_unpackhi_epi32(a, b);
}

/* Sixteen integers of `width` bytes from `count` planes, `apart` bytes from one to the next; the planes above are zero. */
ALWAYS_INLINE void gather_sixteen(const uint8_t *p, size_t apart, int count, int width, uint8_t *z)
{
    __m128i v[8], w[8];
    for (int b = 0; b < width; b++)
        v[b] = b < count ? _mm_loadu_si128((const __m128i *)(p + (size_t)b * apart)) : _mm_setzero_si128();
    /* Pairs of planes become words, pairs of words double words, and so on: v[b] holds part b of `parts` planes. */
    for (int size = 1; size < width; size *= 2) {
        int planes = width / size;
        for (int b = 0; b < planes; b += 2)
            for (int part = 0; part < size; part++)
                interleave(v[b * size + part], v[(b + 1) * size + part], size, &w[b * size + 2 * part],
                           &w[b * size + 2 * part + 1]);
        for (int b = 0; b < width; b++)
            v[b] = w[b];
    }
    for (int b = 0; b < width; b++)
        _mm_storeu_si128((__m128i *)(z + 16 * b), v[b]);
}
#endif

#endif
