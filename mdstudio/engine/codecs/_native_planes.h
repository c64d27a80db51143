/* Predictors, zigzag and byte planes, and the entropy that candidates are ranked by.
 *
 * Integers k -> residuals -> zigzag -> planes, a chunk at a time.
 */
#ifndef MD_NATIVE_PLANES_H
#define MD_NATIVE_PLANES_H

#include "_native_inverse.h"

/* ---- entropy: sum of c * log2(c) in 1/65536, from an integer table, so that every platform ranks alike ---- */

static uint32_t log2_table[1024];

static void make_log2_table(void)
{
    for (uint32_t i = 0; i < 1024; i++) {
        uint64_t x = (uint64_t)(1024 + i) << 21;
        uint32_t y = 0;
        for (int bit = 15; bit >= 0; bit--) {
            x = (x * x) >> 31;
            if (x >> 32) {
                x >>= 1;
                y |= 1u << bit;
            }
        }
        log2_table[i] = y;
    }
}

static uint64_t weight(uint64_t c)
{
    int e = 0;
    if (c < 2)
        return 0;
    while (c >> (e + 1))
        e++;
    uint64_t index = (e >= 10 ? c >> (e - 10) : c << (10 - e)) & 1023;
    return c * (((uint64_t)e << 16) + log2_table[index]);
}

static uint64_t plane_cost(const uint8_t *planes, int count, size_t length)
{
    uint64_t total = 0;
    for (int plane = 0; plane < count; plane++) {
        uint32_t h[4][256]; /* four, so that runs of one byte do not wait for one another */
        const uint8_t *p = planes + (size_t)plane * length;
        size_t i = 0;
        memset(h, 0, sizeof h);
        for (; i + 4 <= length; i += 4) {
            h[0][p[i]]++;
            h[1][p[i + 1]]++;
            h[2][p[i + 2]]++;
            h[3][p[i + 3]]++;
        }
        for (; i < length; i++)
            h[0][p[i]]++;
        uint64_t used = 0;
        for (int b = 0; b < 256; b++)
            used += weight((uint64_t)h[0][b] + h[1][b] + h[2][b] + h[3][b]);
        total += weight(length) - used;
    }
    return total;
}

/* ---- forward ---- */

#define DEFINE_FORWARD(N, K)                                                                                           \
    ALWAYS_INLINE K average_##N(K a, K b)                                                                              \
    {                                                                                                                  \
        return (K)((a & b) + (K)((a ^ b) >> 1));                                                                       \
    }                                                                                                                  \
    /* Differences of `order` along the row `k`, of `m` integers from column `at`: the first one stays, the second is a \
     * plain difference. */                                                                                            \
    static void along_##N(const K *k, size_t at, size_t m, int order, K *RESTRICT r)                                   \
    {                                                                                                                  \
        const K *here = k + at;                                                                                        \
        size_t i = 0;                                                                                                  \
        if (order == 0) {                                                                                              \
            memcpy(r, here, m * sizeof(K));                                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        if (at == 0)                                                                                                   \
            r[i++] = k[0];                                                                                             \
        if (order == 1) {                                                                                              \
            for (; i < m; i++)                                                                                         \
                r[i] = (K)(here[i] - here[(ptrdiff_t)i - 1]);                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (at == 0 && m > 1) {                                                                                        \
            r[1] = (K)(k[1] - k[0]);                                                                                   \
            i = 2;                                                                                                     \
        }                                                                                                              \
        for (; i < m; i++)                                                                                             \
            r[i] = (K)(here[i] - 2u * here[(ptrdiff_t)i - 1] + here[(ptrdiff_t)i - 2]);                                \
    }                                                                                                                  \
    static void average_residual_##N(const K *k, const K *up, size_t at, size_t m, K *RESTRICT r)                      \
    {                                                                                                                  \
        const K *here = k + at, *above = up + at;                                                                      \
        size_t i = 0;                                                                                                  \
        if (at == 0)                                                                                                   \
            r[i++] = (K)(k[0] - up[0]);                                                                                \
        for (; i < m; i++)                                                                                             \
            r[i] = (K)(here[i] - average_##N(here[(ptrdiff_t)i - 1], above[i]));                                       \
    }                                                                                                                  \
    /* Residuals of `m` integers from column `at` of the row number `row`, which begins at `k`. */                     \
    static void residual_##N(const K *k, size_t row, size_t columns, size_t at, size_t m, int predictor, K *RESTRICT r) \
    {                                                                                                                  \
        K above[CHUNK];                                                                                                \
        int order = along[predictor];                                                                                  \
        if (row == 0 && (predictor == AVG || order == 0))                                                              \
            order = 1; /* the first row has none above it: along the row instead */                                    \
        if (row && predictor == AVG) {                                                                                 \
            average_residual_##N(k, k - columns, at, m, r);                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        along_##N(k, at, m, order, r);                                                                                 \
        if (row == 0 || !across[predictor])                                                                            \
            return;                                                                                                    \
        along_##N(k - columns, at, m, order, above);                                                                   \
        if (row == 1 || across[predictor] == 1) {                                                                      \
            for (size_t i = 0; i < m; i++)                                                                             \
                r[i] = (K)(r[i] - above[i]);                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < m; i++)                                                                                 \
            r[i] = (K)(r[i] - 2u * above[i]);                                                                          \
        along_##N(k - 2 * columns, at, m, order, above);                                                               \
        for (size_t i = 0; i < m; i++)                                                                                 \
            r[i] = (K)(r[i] + above[i]);                                                                               \
    }                                                                                                                  \
    static uint64_t forward_##N(const void *src, size_t rows, size_t columns, int predictor, uint8_t *out)             \
    {                                                                                                                  \
        const K *k = (const K *)src;                                                                                   \
        size_t n = rows * columns;                                                                                     \
        K z[CHUNK], all = 0;                                                                                           \
        if (predictor == NONE || is_flat(predictor)) {                                                                 \
            columns = n;                                                                                               \
            rows = 1;                                                                                                  \
        }                                                                                                              \
        for (size_t row = 0; row < rows; row++) {                                                                      \
            const K *line = k + row * columns;                                                                         \
            for (size_t at = 0; at < columns; at += CHUNK) {                                                           \
                size_t m = smaller(CHUNK, columns - at);                                                               \
                if (predictor == NONE) {                                                                               \
                    memcpy(z, line + at, m * sizeof(K));                                                               \
                } else {                                                                                               \
                    residual_##N(line, row, columns, at, m, predictor, z);                                             \
                    for (size_t i = 0; i < m; i++)                                                                     \
                        z[i] = (K)((K)(z[i] << 1) ^ (K)(0 - (K)(z[i] >> (N - 1))));                                    \
                }                                                                                                      \
                for (size_t i = 0; i < m; i++)                                                                         \
                    all |= z[i];                                                                                       \
                uint8_t *RESTRICT to = out + row * columns + at;                                                       \
                for (int b = 0; b < N / 8; b++, to += n)                                                               \
                    for (size_t i = 0; i < m; i++)                                                                     \
                        to[i] = (uint8_t)(z[i] >> (8 * b));                                                            \
            }                                                                                                          \
        }                                                                                                              \
        return all;                                                                                                    \
    }

DEFINE_FORWARD(8, uint8_t)
DEFINE_FORWARD(16, uint16_t)
DEFINE_FORWARD(32, uint32_t)
DEFINE_FORWARD(64, uint64_t)

#endif
