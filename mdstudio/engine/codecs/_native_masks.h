/* Masks of one bit pattern: a bitmap with one bit an element, least significant first, set where masked. */
#ifndef MD_NATIVE_MASKS_H
#define MD_NATIVE_MASKS_H

#include "_native_common.h"

ALWAYS_INLINE int is_masked(const uint8_t *bitmap, size_t i)
{
    return bitmap[i >> 3] >> (i & 7) & 1;
}

#define DEFINE_MASKS(N, X)                                                                                            \
    static size_t mask_count_##N(const void *src, size_t n, uint64_t pattern)                                         \
    {                                                                                                                 \
        const X *x = (const X *)src;                                                                                  \
        X p = (X)pattern;                                                                                             \
        size_t count = 0;                                                                                             \
        for (size_t at = 0; at < n; at += 128) { /* few enough for a sum in the elements' own width: it vectorises */ \
            size_t m = smaller(128, n - at);                                                                          \
            X here = 0;                                                                                               \
            for (size_t i = 0; i < m; i++)                                                                            \
                here = (X)(here + (x[at + i] == p));                                                                  \
            count += here;                                                                                            \
        }                                                                                                             \
        return count;                                                                                                 \
    }                                                                                                                 \
    static size_t mask_make_##N(const void *src, size_t n, uint64_t pattern, uint8_t *bitmap)                         \
    {                                                                                                                 \
        const X *x = (const X *)src;                                                                                  \
        X p = (X)pattern;                                                                                             \
        memset(bitmap, 0, (n + 7) / 8);                                                                               \
        for (size_t i = 0; i < n; i++)                                                                                \
            bitmap[i >> 3] |= (uint8_t)((x[i] == p) << (i & 7));                                                      \
        return mask_count_##N(src, n, pattern);                                                                       \
    }                                                                                                                 \
    static void mask_fill_##N(const void *src, size_t n, const uint8_t *bitmap, void *out)                            \
    {                                                                                                                 \
        const X *x = (const X *)src;                                                                                  \
        X *to = (X *)out, last = 0;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                                                \
            if (!is_masked(bitmap, i)) {                                                                              \
                last = x[i];                                                                                          \
                break;                                                                                                \
            }                                                                                                         \
        for (size_t i = 0; i < n; i++)                                                                                \
            to[i] = last = is_masked(bitmap, i) ? last : x[i];                                                        \
    }                                                                                                                 \
    static size_t mask_compact_##N(const void *src, size_t n, const uint8_t *bitmap, void *out, size_t room)          \
    {                                                                                                                 \
        const X *x = (const X *)src;                                                                                  \
        X *to = (X *)out;                                                                                             \
        size_t valid = 0;                                                                                             \
        for (size_t i = 0; i < n && valid < room; i++) {                                                              \
            to[valid] = x[i];                                                                                         \
            valid += !is_masked(bitmap, i);                                                                           \
        }                                                                                                             \
        return valid;                                                                                                 \
    }                                                                                                                 \
    static void mask_put_##N(void *out, size_t n, const uint8_t *bitmap, uint64_t pattern)                            \
    {                                                                                                                 \
        X *to = (X *)out, p = (X)pattern;                                                                             \
        for (size_t at = 0; at < n; at += 8) {                                                                        \
            uint8_t byte = bitmap[at >> 3];                                                                           \
            if (!byte)                                                                                                \
                continue;                                                                                             \
            for (size_t i = at; i < n && i < at + 8; i++)                                                             \
                to[i] = byte >> (i - at) & 1 ? p : to[i];                                                             \
        }                                                                                                             \
    }                                                                                                                 \
    /* 0 where `valid` is not the number of unmasked elements */                                                      \
    static int mask_spread_##N(const void *compact, size_t valid, size_t n, const uint8_t *bitmap, uint64_t pattern,  \
                               void *out)                                                                             \
    {                                                                                                                 \
        const X *x = (const X *)compact;                                                                              \
        X *to = (X *)out, p = (X)pattern;                                                                             \
        size_t used = 0, i = 0;                                                                                        \
        for (; i + 8 <= n && used + 8 <= valid; i += 8) {                                                              \
            uint8_t byte = bitmap[i >> 3];                                                                             \
            if (!byte) {                                                                                               \
                memcpy(to + i, x + used, 8 * sizeof(X));                                                               \
                used += 8;                                                                                             \
            } else if (byte == 0xFF) {                                                                                 \
                for (int j = 0; j < 8; j++)                                                                            \
                    to[i + j] = p;                                                                                     \
            } else {                                                                                                   \
                for (int j = 0; j < 8; j++) {                                                                          \
                    int hole = byte >> j & 1;                                                                          \
                    to[i + j] = hole ? p : x[used];                                                                    \
                    used += !hole;                                                                                     \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            if (is_masked(bitmap, i)) {                                                                                \
                to[i] = p;                                                                                             \
            } else {                                                                                                   \
                if (used == valid)                                                                                     \
                    return 0;                                                                                          \
                to[i] = x[used++];                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        return used == valid;                                                                                         \
    }

DEFINE_MASKS(8, uint8_t)
DEFINE_MASKS(16, uint16_t)
DEFINE_MASKS(32, uint32_t)
DEFINE_MASKS(64, uint64_t)

/* Masked elements; -1 where a bit beyond `n` is set. */
static long long mask_check(const uint8_t *bitmap, size_t n)
{
    long long masked = 0;
    size_t bytes = (n + 7) / 8;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t b = bitmap[i];
        b = (uint8_t)(b - (b >> 1 & 0x55));
        b = (uint8_t)((b & 0x33) + (b >> 2 & 0x33));
        masked += (b + (b >> 4)) & 15;
    }
    return n & 7 && bitmap[bytes - 1] >> (n & 7) ? -1 : masked;
}

#endif
