/* Shared by the parts of _native.c: types, the chunk that stays in the first-level cache, compiler differences. */
#ifndef MD_NATIVE_COMMON_H
#define MD_NATIVE_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Arithmetic is part of the stored format: a fused multiply-add would change values (format.md). */
#if defined(_MSC_VER)
#pragma fp_contract(off)
#define ALWAYS_INLINE static __forceinline
#define RESTRICT __restrict
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define RESTRICT __restrict__
#else /* GCC knows no pragma for it: -ffp-contract=off is in pyproject.toml, and the self-test has a vector */
#pragma GCC optimize("fp-contract=off")
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define RESTRICT __restrict__
#endif

enum { CHUNK = 1024 };
/* Predictors; BYTE_DELTA works on planes and never comes here. */
enum { NONE, D1, LOR, AVG, BYTE_DELTA, D2, LOR21, UP, UP2, LOR12, LOR22, PREDICTORS };
enum { UNSIGNED, SIGNED, FLOAT };

ALWAYS_INLINE int bits_of_size(int size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* The instance of a function that DEFINE_... made for each width. */
#define BY_SIZE(size, f) ((size) == 1 ? f##_8 : (size) == 2 ? f##_16 : (size) == 4 ? f##_32 : f##_64)

ALWAYS_INLINE int is_flat(int predictor) /* runs on from row to row */
{
    return predictor == D1 || predictor == D2;
}

ALWAYS_INLINE size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

ALWAYS_INLINE int trailing_zeros(uint64_t x) /* of x != 0 */
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(x);
#else
    int n = 0;
    while (!(x & 1)) {
        x >>= 1;
        n++;
    }
    return n;
#endif
}

#endif
