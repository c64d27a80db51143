/* The inverse for processors with AVX2, picked at run time. Without FMA: a fused multiply-add would change values. */
#include "_native_inverse.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define MD_AVX2 1
#define MD_INVERSE md_inverse_avx2
#include "_native_inverse_body.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

int md_has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
}
#else
int md_has_avx2(void)
{
    return 0;
}

int md_inverse_avx2(const Coded *coded, const Map *map, const Target *target)
{
    return md_inverse_plain(coded, map, target);
}
#endif
