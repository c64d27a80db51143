/* Running sums, the slow half of every inverse predictor: in registers where there is SSE2, else plainly. */
#ifndef MD_NATIVE_SCAN_H
#define MD_NATIVE_SCAN_H

#include "_native_common.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define MD_SSE2 1

/* The last element in every place. */
ALWAYS_INLINE __m128i last_64(__m128i x)
{
    return _mm_unpackhi_epi64(x, x);
}

ALWAYS_INLINE __m128i last_32(__m128i x)
{
    return _mm_shuffle_epi32(x, 0xFF);
}

ALWAYS_INLINE __m128i last_16(__m128i x)
{
    return last_64(_mm_shufflehi_epi16(x, 0xFF));
}

ALWAYS_INLINE __m128i last_8(__m128i x)
{
    return last_16(_mm_unpackhi_epi8(x, x));
}
#endif

/* r[i] = carry + r[0] + ... + r[i], modulo 2^N; returns the last. */
#define DEFINE_SCAN(N, K, ADD, SET)                                                                                    \
    static K scan_##N(K *r, size_t m, K carry)                                                                         \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        SCAN_VECTORS(N, K, ADD, SET)                                                                                   \
        for (; i < m; i++)                                                                                             \
            r[i] = carry = (K)(carry + r[i]);                                                                          \
        return carry;                                                                                                  \
    }

#ifdef MD_SSE2
#define SCAN_VECTORS(N, K, ADD, SET)                                                                                   \
    __m128i before = SET(carry);                                                                                       \
    for (; i + 128 / N <= m; i += 128 / N) {                                                                           \
        __m128i x = _mm_loadu_si128((const __m128i *)(r + i));                                                         \
        x = ADD(x, _mm_slli_si128(x, N / 8));                                                                          \
        if (N <= 32)                                                                                                   \
            x = ADD(x, _mm_slli_si128(x, N / 4 & 15));                                                                 \
        if (N <= 16)                                                                                                   \
            x = ADD(x, _mm_slli_si128(x, N / 2 & 15));                                                                 \
        if (N <= 8)                                                                                                    \
            x = ADD(x, _mm_slli_si128(x, N & 15));                                                                     \
        x = ADD(x, before);                                                                                            \
        before = last_##N(x);                                                                                          \
        _mm_storeu_si128((__m128i *)(r + i), x);                                                                       \
    }                                                                                                                  \
    if (i)                                                                                                             \
        carry = r[i - 1];

ALWAYS_INLINE __m128i set_8(uint8_t x)
{
    return _mm_set1_epi8((char)x);
}

ALWAYS_INLINE __m128i set_16(uint16_t x)
{
    return _mm_set1_epi16((short)x);
}

ALWAYS_INLINE __m128i set_32(uint32_t x)
{
    return _mm_set1_epi32((int)x);
}

ALWAYS_INLINE __m128i set_64(uint64_t x)
{
    return _mm_set1_epi64x((long long)x);
}
#else
#define SCAN_VECTORS(N, K, ADD, SET)
#endif

DEFINE_SCAN(8, uint8_t, _mm_add_epi8, set_8)
DEFINE_SCAN(16, uint16_t, _mm_add_epi16, set_16)
DEFINE_SCAN(32, uint32_t, _mm_add_epi32, set_32)
DEFINE_SCAN(64, uint64_t, _mm_add_epi64, set_64)

#endif
