/* Byte planes -> residuals -> integers k -> elements, a chunk at a time, straight into the caller's rows.
 *
 * Compiled once for every set of instructions; the file that includes it names the one function that it makes.
 * Everything is exact and the same in all of them: _numpy.py is the reference.
 */
#include "_native_vector.h"

#include "_native_inverse.h"
#include "_native_lattice_values.h"

/* ---- planes -> integers as they were stored ---- */

#ifdef MD_SSE2
#define GATHER_CASE(N, C)                                                                                              \
    case C:                                                                                                            \
        for (; i + 16 <= m; i += 16)                                                                                   \
            gather_sixteen(planes + at + i, apart, C, N / 8, (uint8_t *)(z + i));                                      \
        break;
#define GATHER_VECTORS_8
#define GATHER_VECTORS_16                                                                                              \
    switch (count) {                                                                                                   \
        GATHER_CASE(16, 1)                                                                                             \
        GATHER_CASE(16, 2)                                                                                             \
    }
#define GATHER_VECTORS_32                                                                                              \
    switch (count) {                                                                                                   \
        GATHER_CASE(32, 1)                                                                                             \
        GATHER_CASE(32, 2)                                                                                             \
        GATHER_CASE(32, 3)                                                                                             \
        GATHER_CASE(32, 4)                                                                                             \
    }
#define GATHER_VECTORS_64                                                                                              \
    switch (count) {                                                                                                   \
        GATHER_CASE(64, 1)                                                                                             \
        GATHER_CASE(64, 2)                                                                                             \
        GATHER_CASE(64, 3)                                                                                             \
        GATHER_CASE(64, 4)                                                                                             \
        GATHER_CASE(64, 5)                                                                                             \
        GATHER_CASE(64, 6)                                                                                             \
        GATHER_CASE(64, 7)                                                                                             \
        GATHER_CASE(64, 8)                                                                                             \
    }
#else
#define GATHER_VECTORS_8
#define GATHER_VECTORS_16
#define GATHER_VECTORS_32
#define GATHER_VECTORS_64
#endif

#define DEFINE_GATHER(N, K)                                                                                            \
    /* `m` integers from `at` on of planes that lie `apart` bytes apart */                                             \
    static void gather_##N(const uint8_t *planes, size_t apart, int count, size_t at, size_t m, K *RESTRICT z)         \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        GATHER_VECTORS_##N                                                                                             \
        for (; i < m; i++) {                                                                                           \
            uint64_t value = 0;                                                                                        \
            for (int b = 0; b < count; b++)                                                                            \
                value |= (uint64_t)planes[at + i + (size_t)b * apart] << (8 * b);                                      \
            z[i] = (K)value;                                                                                           \
        }                                                                                                              \
    }

DEFINE_GATHER(8, uint8_t)
DEFINE_GATHER(16, uint16_t)
DEFINE_GATHER(32, uint32_t)
DEFINE_GATHER(64, uint64_t)

/* ---- integers as they were stored -> k, in place ---- */

#ifdef MD_SSE2
#define LINE_VECTORS(N)                                                                                                \
    V before = set_##N(carry), rate = set_##N(slope);                                                                  \
    for (; i + sizeof(V) / (N / 8) <= m; i += sizeof(V) / (N / 8)) {                                                   \
        V x = unzig_##N(MMI(loadu)((const V *)(z + i)));                                                               \
        if (order == 2)                                                                                                \
            x = sum_##N(x, &rate);                                                                                     \
        if (order)                                                                                                     \
            x = sum_##N(x, &before);                                                                                   \
        if (over == 2) {                                                                                               \
            x = MM(add_epi##N)(x, MMI(loadu)((const V *)(rise + i)));                                                  \
            MMI(storeu)((V *)(rise + i), x);                                                                           \
        }                                                                                                              \
        if (over)                                                                                                      \
            x = MM(add_epi##N)(x, MMI(loadu)((const V *)(up + i)));                                                    \
        MMI(storeu)((V *)(z + i), x);                                                                                  \
    }                                                                                                                  \
    carry = last_##N(before);                                                                                          \
    slope = last_##N(rate);
#else
#define LINE_VECTORS(N)
#endif

#define DEFINE_LINE(N, K)                                                                                              \
    ALWAYS_INLINE K plain_unzig_##N(K z)                                                                               \
    {                                                                                                                  \
        return (K)((K)(z >> 1) ^ (K)(0 - (K)(z & 1)));                                                                 \
    }                                                                                                                  \
    /* Sums of `order` along the row from `carry` and `slope` on, and of order `over` with the row above. */           \
    ALWAYS_INLINE void sums_##N(K *z, const K *up, K *rise, size_t m, int order, int over, K *carry_, K *slope_)       \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        K carry = *carry_, slope = *slope_;                                                                            \
        LINE_VECTORS(N)                                                                                                \
        for (; i < m; i++) {                                                                                           \
            K x = plain_unzig_##N(z[i]);                                                                               \
            if (order == 2)                                                                                            \
                x = slope = (K)(slope + x);                                                                            \
            if (order)                                                                                                 \
                x = carry = (K)(carry + x);                                                                            \
            if (over == 2)                                                                                             \
                x = rise[i] = (K)(rise[i] + x);                                                                        \
            z[i] = over ? (K)(x + up[i]) : x;                                                                          \
        }                                                                                                              \
        *carry_ = carry;                                                                                               \
        *slope_ = slope;                                                                                               \
    }                                                                                                                  \
    ALWAYS_INLINE K average_##N(K left, K up, K z)                                                                     \
    {                                                                                                                  \
        return (K)(plain_unzig_##N(z) + (K)((left & up) + (K)((K)(left ^ up) >> 1)));                                  \
    }                                                                                                                  \
    static void average_line_##N(K *z, const K *up, size_t m, int first, K *carry)                                     \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        K a = *carry;                                                                                                  \
        if (first)                                                                                                     \
            z[i++] = a = (K)(up[0] + plain_unzig_##N(z[0]));                                                           \
        for (; i < m; i++) {                                                                                           \
            z[i] = a = average_##N(a, up[i], z[i]);                                                                    \
        }                                                                                                              \
        *carry = a;                                                                                                    \
    }                                                                                                                  \
    /* Two whole rows at once, the lower one two columns behind: each waits for its left neighbour, not for the other. */ \
    static void average_rows_##N(K *z, const K *up, size_t m)                                                          \
    {                                                                                                                  \
        K *low = z + m, a, b;                                                                                          \
        size_t i = 2;                                                                                                  \
        z[0] = (K)(up[0] + plain_unzig_##N(z[0]));                                                                     \
        z[1] = a = average_##N(z[0], up[1], z[1]);                                                                     \
        low[0] = b = (K)(z[0] + plain_unzig_##N(low[0]));                                                              \
        for (; i < m; i++) {                                                                                           \
            z[i] = a = average_##N(a, up[i], z[i]);                                                                    \
            low[i - 1] = b = average_##N(b, z[i - 1], low[i - 1]);                                                     \
        }                                                                                                              \
        low[m - 1] = average_##N(b, a, low[m - 1]);                                                                    \
    }                                                                                                                  \
    /* A row, or the part of a long one that begins with the `first` integer of it or follows another part. */         \
    static void line_##N(K *z, const K *up, K *rise, size_t m, int predictor, int first, K *carry, K *slope)           \
    {                                                                                                                  \
        int order = along[predictor], over = up ? across[predictor] : 0;                                               \
        if (!up && !order)                                                                                             \
            order = 1; /* the first row has none above it: along the row instead */                                    \
        if (up && predictor == AVG) {                                                                                  \
            average_line_##N(z, up, m, first, carry);                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        if (first) {                                                                                                   \
            *carry = *slope = 0;                                                                                       \
            if (order == 2) { /* the first one stays, and the second is a plain difference */                          \
                *carry = plain_unzig_##N(z[0]);                                                                        \
                z[0] = 0;                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        switch (order * 3 + over) {                                                                                    \
        case 1: sums_##N(z, up, rise, m, 0, 1, carry, slope); break;                                                   \
        case 2: sums_##N(z, up, rise, m, 0, 2, carry, slope); break;                                                   \
        case 3: sums_##N(z, up, rise, m, 1, 0, carry, slope); break;                                                   \
        case 4: sums_##N(z, up, rise, m, 1, 1, carry, slope); break;                                                   \
        case 5: sums_##N(z, up, rise, m, 1, 2, carry, slope); break;                                                   \
        case 6: sums_##N(z, up, rise, m, 2, 0, carry, slope); break;                                                   \
        case 7: sums_##N(z, up, rise, m, 2, 1, carry, slope); break;                                                   \
        default: sums_##N(z, up, rise, m, 2, 2, carry, slope); break;                                                  \
        }                                                                                                              \
    }

DEFINE_LINE(8, uint8_t)
DEFINE_LINE(16, uint16_t)
DEFINE_LINE(32, uint32_t)
DEFINE_LINE(64, uint64_t)

/* Running sums of the bytes of a plane, modulo 256: BYTE_DELTA. */
static uint8_t running_bytes(const uint8_t *RESTRICT from, size_t m, uint8_t carry, uint8_t *RESTRICT to)
{
    size_t i = 0;
#ifdef MD_SSE2
    V before = set_8(carry);
    for (; i + sizeof(V) <= m; i += sizeof(V))
        MMI(storeu)((V *)(to + i), sum_8(MMI(loadu)((const V *)(from + i)), &before));
    carry = last_8(before);
#endif
    for (; i < m; i++)
        to[i] = carry = (uint8_t)(carry + from[i]);
    return carry;
}

/* ---- k -> elements ---- */

typedef int (*Emit)(const Map *map, const void *k, size_t m, void *to); /* 0: there is no such element */


#define DEFINE_EMIT(N, X, M, K)                                                                                        \
    ALWAYS_INLINE X unkey_##N##_##M(X k, int kind)                                                                     \
    {                                                                                                                  \
        const X sign = (X)((X)1 << (N - 1));                                                                           \
        if (kind == UNSIGNED)                                                                                          \
            return k;                                                                                                  \
        if (kind == SIGNED)                                                                                            \
            return (X)(k ^ sign);                                                                                      \
        return (X)(k ^ (X)((X) ~(X)(0 - (X)(k >> (N - 1))) | sign));                                                   \
    }                                                                                                                  \
    ALWAYS_INLINE void keys_##N##_##M(const Map *map, const K *RESTRICT k, size_t m, X *RESTRICT to, int kind)         \
    {                                                                                                                  \
        int shift = map->shift;                                                                                        \
        X base = (X)((X)map->base >> shift), kept = (X)((X) ~(X)0 << shift);                                           \
        if (shift)                                                                                                     \
            for (size_t i = 0; i < m; i++)                                                                             \
                to[i] = (X)(unkey_##N##_##M((X)((X)((X)k[i] + base) << shift), kind) & kept);                          \
        else                                                                                                           \
            for (size_t i = 0; i < m; i++)                                                                             \
                to[i] = unkey_##N##_##M((X)((X)k[i] + base), kind);                                                    \
    }                                                                                                                  \
    static int emit_keys_##N##_##M(const Map *map, const void *k, size_t m, void *to)                                  \
    {                                                                                                                  \
        if (map->kind == UNSIGNED)                                                                                     \
            keys_##N##_##M(map, (const K *)k, m, (X *)to, UNSIGNED);                                                   \
        else if (map->kind == SIGNED)                                                                                  \
            keys_##N##_##M(map, (const K *)k, m, (X *)to, SIGNED);                                                     \
        else                                                                                                           \
            keys_##N##_##M(map, (const K *)k, m, (X *)to, FLOAT);                                                      \
        return 1;                                                                                                      \
    }

#define DEFINE_EMIT_TABLE(N, X, M, K)                                                                                  \
    static int emit_table_##N##_##M(const Map *map, const void *from, size_t m, void *to_)                             \
    {                                                                                                                  \
        const K *RESTRICT k = (const K *)from;                                                                         \
        const X *RESTRICT table = (const X *)map->table;                                                               \
        X *RESTRICT to = (X *)to_;                                                                                     \
        K most = 0;                                                                                                    \
        for (size_t i = 0; i < m; i++)                                                                                 \
            most = k[i] > most ? k[i] : most;                                                                          \
        if (most >= map->entries)                                                                                      \
            return 0;                                                                                                  \
        for (size_t i = 0; i < m; i++)                                                                                 \
            to[i] = table[k[i]];                                                                                       \
        return 1;                                                                                                      \
    }

#define DEFINE_EMIT_LATTICE(N, X, M, K)                                                                                \
    ALWAYS_INLINE void lattice_##N##_##M(const Map *map, const K *RESTRICT k, size_t m, X *RESTRICT to, int a)         \
    {                                                                                                                  \
        double s = map->scale, o = map->offset, d = map->factor, first = map->first;                                   \
        for (size_t i = 0; i < m; i++)                                                                                 \
            to[i] = bits_##N(lattice_##N(to_double_##M(k[i]) + first, a, s, o, d));                                    \
    }                                                                                                                  \
    static int emit_lattice_##N##_##M(const Map *map, const void *from, size_t m, void *to)                            \
    {                                                                                                                  \
        const K *k = (const K *)from;                                                                                  \
        if (M == 64) {                                                                                                 \
            uint64_t any = 0;                                                                                          \
            for (size_t i = 0; i < m; i++)                                                                             \
                any |= k[i];                                                                                           \
            if (any >> 53)                                                                                             \
                return 0;                                                                                              \
        }                                                                                                              \
        switch (map->arithmetic) {                                                                                     \
        case MULADD64: lattice_##N##_##M(map, k, m, (X *)to, MULADD64); break;                                         \
        case MULADD32: lattice_##N##_##M(map, k, m, (X *)to, MULADD32); break;                                         \
        case DIV64: lattice_##N##_##M(map, k, m, (X *)to, DIV64); break;                                               \
        default: lattice_##N##_##M(map, k, m, (X *)to, MULADDMUL64); break;                                            \
        }                                                                                                              \
        if (N == 32 && map->post)                                                                                      \
            post_shift((uint32_t *)to, m, map->post_shift);                                                            \
        return 1;                                                                                                      \
    }

static void post_shift(uint32_t *x, size_t m, float shift)
{
    for (size_t i = 0; i < m; i++)
        x[i] = bits_32((float)from_bits_32(x[i]) + shift);
}

DEFINE_EMIT(8, uint8_t, 8, uint8_t)
DEFINE_EMIT(16, uint16_t, 8, uint8_t)
DEFINE_EMIT(16, uint16_t, 16, uint16_t)
DEFINE_EMIT(32, uint32_t, 8, uint8_t)
DEFINE_EMIT(32, uint32_t, 16, uint16_t)
DEFINE_EMIT(32, uint32_t, 32, uint32_t)
DEFINE_EMIT(64, uint64_t, 8, uint8_t)
DEFINE_EMIT(64, uint64_t, 16, uint16_t)
DEFINE_EMIT(64, uint64_t, 32, uint32_t)
DEFINE_EMIT(64, uint64_t, 64, uint64_t)
DEFINE_EMIT_TABLE(8, uint8_t, 8, uint8_t)
DEFINE_EMIT_TABLE(8, uint8_t, 16, uint16_t)
DEFINE_EMIT_TABLE(16, uint16_t, 8, uint8_t)
DEFINE_EMIT_TABLE(16, uint16_t, 16, uint16_t)
DEFINE_EMIT_TABLE(32, uint32_t, 8, uint8_t)
DEFINE_EMIT_TABLE(32, uint32_t, 16, uint16_t)
DEFINE_EMIT_TABLE(64, uint64_t, 8, uint8_t)
DEFINE_EMIT_TABLE(64, uint64_t, 16, uint16_t)
DEFINE_EMIT_LATTICE(32, uint32_t, 8, uint8_t)
DEFINE_EMIT_LATTICE(32, uint32_t, 16, uint16_t)
DEFINE_EMIT_LATTICE(32, uint32_t, 32, uint32_t)
DEFINE_EMIT_LATTICE(64, uint64_t, 8, uint8_t)
DEFINE_EMIT_LATTICE(64, uint64_t, 16, uint16_t)
DEFINE_EMIT_LATTICE(64, uint64_t, 32, uint32_t)
DEFINE_EMIT_LATTICE(64, uint64_t, 64, uint64_t)

#define KEYS_AND(OTHER, N, M) (to == TO_KEYS ? emit_keys_##N##_##M : emit_##OTHER##_##N##_##M)
#define ALL_OF(N, M) (to == TO_LATTICE ? emit_lattice_##N##_##M : KEYS_AND(table, N, M))

static Emit emit_of(int to, int size, int width) /* of a pair that `map_ok` lets pass */
{
    switch (PAIR(size, width)) {
    case PAIR(1, 1): return KEYS_AND(table, 8, 8);
    case PAIR(1, 2): return emit_table_8_16;
    case PAIR(2, 1): return KEYS_AND(table, 16, 8);
    case PAIR(2, 2): return KEYS_AND(table, 16, 16);
    case PAIR(4, 1): return ALL_OF(32, 8);
    case PAIR(4, 2): return ALL_OF(32, 16);
    case PAIR(4, 4): return KEYS_AND(lattice, 32, 32);
    case PAIR(8, 1): return ALL_OF(64, 8);
    case PAIR(8, 2): return ALL_OF(64, 16);
    case PAIR(8, 4): return KEYS_AND(lattice, 64, 32);
    case PAIR(8, 8): return KEYS_AND(lattice, 64, 64);
    default: return NULL;
    }
}

/* ---- elements -> the caller's rows ---- */

/* How far a COMPACT target is filled. */
typedef struct {
    size_t at, column;
    uint8_t *row;
} Cursor;

/* The eight bits from number `at` on; bits beyond the bitmap's last byte are zero. */
ALWAYS_INLINE unsigned bits_at(const uint8_t *bitmap, size_t at, size_t total)
{
    size_t byte = at >> 3, bytes = (total + 7) >> 3;
    unsigned low = bitmap[byte], high = byte + 1 < bytes ? bitmap[byte + 1] : 0;
    return ((low | high << 8) >> (at & 7)) & 255;
}

/* Eight elements of a target: the next valid ones where `bits` has none, `p` elsewhere; how many were taken of the eight
 * that there are at least. Without a branch: masks of real data follow no pattern. */
#define DEFINE_SPREAD_EIGHT(N, X)                                                                                      \
    ALWAYS_INLINE size_t spread_eight_##N(const X *x, unsigned bits, X p, X *to)                                       \
    {                                                                                                                  \
        size_t used = 0;                                                                                               \
        for (int j = 0; j < 8; j++) {                                                                                  \
            X hole = (X)(0 - (X)(bits >> j & 1));                                                                      \
            to[j] = (X)((x[used] & (X)~hole) | (p & hole));                                                            \
            used += !(bits >> j & 1);                                                                                  \
        }                                                                                                              \
        return used;                                                                                                   \
    }

DEFINE_SPREAD_EIGHT(8, uint8_t)
#ifdef MD_AVX2
/* For every eight bits: a byte for each of the eight, how many before it are 0. */
#define RANK(b, j) ((uint64_t)!((b) >> (j)&1) * (0x0101010101010101u << 8 * ((j) + 1)))
#define RANKS(b) (RANK(b, 0) + RANK(b, 1) + RANK(b, 2) + RANK(b, 3) + RANK(b, 4) + RANK(b, 5) + RANK(b, 6))
#define RANKS_4(b) RANKS(b), RANKS((b) + 1), RANKS((b) + 2), RANKS((b) + 3)
#define RANKS_16(b) RANKS_4(b), RANKS_4((b) + 4), RANKS_4((b) + 8), RANKS_4((b) + 12)
#define RANKS_64(b) RANKS_16(b), RANKS_16((b) + 16), RANKS_16((b) + 32), RANKS_16((b) + 48)
static const uint64_t ranks[256] = {RANKS_64(0), RANKS_64(64), RANKS_64(128), RANKS_64(192)};

ALWAYS_INLINE size_t valid_of(unsigned bits)
{
    return (size_t)(ranks[bits] >> 56) + !(bits >> 7);
}

ALWAYS_INLINE size_t spread_eight_16(const uint16_t *x, unsigned bits, uint16_t p, uint16_t *to)
{
    __m128i rank = _mm_cvtsi64_si128((long long)ranks[bits]), bit = _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128);
    __m128i from = _mm_unpacklo_epi8(rank, rank);
    from = _mm_add_epi8(_mm_add_epi8(from, from), _mm_set1_epi16(0x0100));
    __m128i hole = _mm_cmpeq_epi16(_mm_and_si128(_mm_set1_epi16((short)bits), bit), bit);
    __m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)x), from);
    _mm_storeu_si128((__m128i *)to, _mm_blendv_epi8(v, _mm_set1_epi16((short)p), hole));
    return valid_of(bits);
}

ALWAYS_INLINE size_t spread_eight_32(const uint32_t *x, unsigned bits, uint32_t p, uint32_t *to)
{
    V from = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)ranks[bits]));
    V bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    V hole = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
    V v = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const V *)x), from);
    _mm256_storeu_si256((V *)to, _mm256_blendv_epi8(v, _mm256_set1_epi32((int)p), hole));
    return valid_of(bits);
}

ALWAYS_INLINE size_t spread_four_64(const uint64_t *x, unsigned bits, uint64_t p, uint64_t *to)
{
    V from = _mm256_cvtepu8_epi64(_mm_cvtsi64_si128((long long)(ranks[bits] & 0xFFFFFFFF)));
    V bit = _mm256_setr_epi64x(1, 2, 4, 8);
    V hole = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x((long long)bits), bit), bit);
    from = _mm256_slli_epi64(from, 1);
    from = _mm256_or_si256(from, _mm256_slli_epi64(_mm256_or_si256(from, _mm256_set1_epi64x(1)), 32));
    V v = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const V *)x), from);
    _mm256_storeu_si256((V *)to, _mm256_blendv_epi8(v, _mm256_set1_epi64x((long long)p), hole));
    return (size_t)(ranks[bits] >> 32 & 255);
}

ALWAYS_INLINE size_t spread_eight_64(const uint64_t *x, unsigned bits, uint64_t p, uint64_t *to)
{
    size_t used = spread_four_64(x, bits & 15, p, to);
    return used + spread_four_64(x + used, bits >> 4, p, to + 4);
}
#else
DEFINE_SPREAD_EIGHT(16, uint16_t)
DEFINE_SPREAD_EIGHT(32, uint32_t)
DEFINE_SPREAD_EIGHT(64, uint64_t)
#endif

#define DEFINE_TARGET(N, X)                                                                                            \
    /* `pattern` to every masked one of `m` elements, which have the numbers from `at` on */                           \
    static void fill_##N(const Target *t, size_t at, size_t m, X *to)                                                  \
    {                                                                                                                  \
        X p = (X)t->pattern;                                                                                           \
        for (size_t i = 0; i < m; i += 8) {                                                                            \
            unsigned bits = bits_at(t->bitmap, at + i, t->total);                                                      \
            if (!bits)                                                                                                 \
                continue;                                                                                              \
            if (i + 8 <= m)                                                                                            \
                for (size_t j = 0; j < 8; j++)                                                                         \
                    to[i + j] = bits >> j & 1 ? p : to[i + j];                                                         \
            else                                                                                                       \
                for (size_t j = i; j < m; j++)                                                                         \
                    to[j] = bits >> (j - i) & 1 ? p : to[j];                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    /* The next `m` elements to where nothing is masked, and `pattern` to where something is. */                       \
    static void spread_##N(const Target *t, const X *x, size_t m, Cursor *c)                                           \
    {                                                                                                                  \
        X p = (X)t->pattern;                                                                                           \
        size_t used = 0;                                                                                               \
        while (c->at < t->total) {                                                                                     \
            size_t n = smaller(t->columns - c->column, t->total - c->at), i = 0;                                       \
            X *to = (X *)c->row + c->column;                                                                           \
            for (; i + 8 <= n && used + 8 <= m; i += 8) {                                                              \
                unsigned bits = bits_at(t->bitmap, c->at + i, t->total);                                               \
                if (!bits) {                                                                                           \
                    memcpy(to + i, x + used, 8 * sizeof(X));                                                           \
                    used += 8;                                                                                         \
                } else if (bits == 255) {                                                                              \
                    for (int j = 0; j < 8; j++)                                                                        \
                        to[i + j] = p;                                                                                 \
                } else {                                                                                               \
                    used += spread_eight_##N(x + used, bits, p, to + i);                                               \
                }                                                                                                      \
            }                                                                                                          \
            for (; i < n; i++) {                                                                                       \
                size_t at = c->at + i;                                                                                 \
                if (t->bitmap[at >> 3] >> (at & 7) & 1) {                                                              \
                    to[i] = p;                                                                                         \
                } else {                                                                                               \
                    if (used == m)                                                                                     \
                        break;                                                                                         \
                    to[i] = x[used++];                                                                                 \
                }                                                                                                      \
            }                                                                                                          \
            c->at += i;                                                                                                \
            c->column += i;                                                                                            \
            if (c->column == t->columns) {                                                                             \
                c->column = 0;                                                                                         \
                c->row += t->stride;                                                                                   \
            } else if (used == m && i < n) {                                                                           \
                break;                                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* The escapes among the `m` coded elements from `at` on. */                                                       \
    static void escapes_##N(const Target *t, size_t at, size_t m, X *to)                                               \
    {                                                                                                                  \
        for (size_t e = 0; e < t->escape_count; e++) {                                                                 \
            uint32_t index;                                                                                            \
            memcpy(&index, t->escapes + 4 * e, 4);                                                                     \
            if (index >= at && index - at < m)                                                                         \
                memcpy(to + (index - at), t->escapes + 4 * t->escape_count + sizeof(X) * e, sizeof(X));                \
        }                                                                                                              \
    }                                                                                                                  \
    static int deliver_##N(const Target *t, const Map *map, Emit emit, const uint8_t *k, int width, size_t at,         \
                           size_t m, Cursor *cursor)                                                                   \
    {                                                                                                                  \
        if (t->mask == COMPACT) {                                                                                      \
            X x[CHUNK];                                                                                                \
            if (!emit(map, k, m, x))                                                                                   \
                return 0;                                                                                              \
            escapes_##N(t, at, m, x);                                                                                  \
            spread_##N(t, x, m, cursor);                                                                               \
            return 1;                                                                                                  \
        }                                                                                                              \
        while (m) {                                                                                                    \
            size_t row = at / t->columns, column = at - row * t->columns, part = smaller(m, t->columns - column);      \
            X *to = (X *)(t->out + row * t->stride) + column;                                                          \
            if (!emit(map, k, part, to))                                                                               \
                return 0;                                                                                              \
            escapes_##N(t, at, part, to);                                                                              \
            if (t->mask == FILL)                                                                                       \
                fill_##N(t, at, part, to);                                                                             \
            at += part;                                                                                                \
            m -= part;                                                                                                 \
            k += part * (size_t)width;                                                                                 \
        }                                                                                                              \
        return 1;                                                                                                      \
    }

DEFINE_TARGET(8, uint8_t)
DEFINE_TARGET(16, uint16_t)
DEFINE_TARGET(32, uint32_t)
DEFINE_TARGET(64, uint64_t)

static int deliver(const Target *t, const Map *map, Emit emit, const void *k, int width, size_t at, size_t m, Cursor *c)
{
    return BY_SIZE(map->size, deliver)(t, map, emit, (const uint8_t *)k, width, at, m, c);
}

/* ---- all of it ---- */

#define DEFINE_INVERSE(N, K)                                                                                           \
    static int inverse_##N(const Coded *coded, const Map *map, const Target *target)                                   \
    {                                                                                                                  \
        K z[CHUNK], few[2 * 256], *above = NULL, *rise = NULL, carry = 0, slope = 0;                                   \
        uint8_t sums[8][CHUNK], last[8] = {0};                                                                         \
        int predictor = coded->predictor, good = 1;                                                                    \
        size_t n = coded->rows * coded->columns, columns = coded->columns, rows = coded->rows;                         \
        Emit emit = emit_of(map->to, map->size, N / 8);                                                                \
        Cursor cursor = {0, 0, target->out};                                                                           \
        if (predictor == NONE || is_flat(predictor) || rows == 1) {                                                    \
            columns = n;                                                                                               \
            rows = 1;                                                                                                  \
        } else {                                                                                                       \
            above = columns <= 256 ? few : malloc(2 * columns * sizeof(K));                                            \
            if (!above)                                                                                                \
                return -1;                                                                                             \
            rise = above + columns;                                                                                    \
            memset(rise, 0, columns * sizeof(K));                                                                      \
        }                                                                                                              \
        size_t part = smaller(columns, CHUNK), lines = rows == 1 ? 1 : CHUNK / part;                                   \
        for (size_t row = 0; row < rows && good; row += lines) { /* several short rows at once, or parts of a long */  \
            size_t taken = smaller(lines, rows - row);                                                                 \
            for (size_t at = 0; at < columns && good; at += part) {                                                    \
                size_t m = smaller(part, columns - at), start = row * columns + at;                                    \
                if (coded->running) {                                                                                  \
                    for (int p = 0; p < coded->count; p++)                                                             \
                        last[p] = running_bytes(coded->planes + (size_t)p * n + start, m, last[p], sums[p]);           \
                    gather_##N(sums[0], CHUNK, coded->count, 0, m, z);                                                 \
                } else {                                                                                               \
                    gather_##N(coded->planes, n, coded->count, start, taken * m, z);                                   \
                }                                                                                                      \
                for (size_t i = 0; i < taken && predictor != NONE; i++) {                                              \
                    K *here = z + i * m;                                                                               \
                    const K *up = i ? here - m : row ? above + at : NULL;                                              \
                    if (predictor == AVG && up && m == columns && m > 1 && i + 1 < taken) {                            \
                        average_rows_##N(here, up, m);                                                                 \
                        i++;                                                                                           \
                        continue;                                                                                      \
                    }                                                                                                  \
                    line_##N(here, up, rise ? rise + at : NULL, m, predictor, at == 0, &carry, &slope);                \
                }                                                                                                      \
                if (above)                                                                                             \
                    memcpy(above + at, z + (taken - 1) * m, m * sizeof(K));                                            \
                good = deliver(target, map, emit, z, N / 8, start, taken * m, &cursor);                                \
            }                                                                                                          \
        }                                                                                                              \
        if (above != few)                                                                                              \
            free(above);                                                                                               \
        return good;                                                                                                   \
    }

DEFINE_INVERSE(8, uint8_t)
DEFINE_INVERSE(16, uint16_t)
DEFINE_INVERSE(32, uint32_t)
DEFINE_INVERSE(64, uint64_t)

int MD_INVERSE(const Coded *coded, const Map *map, const Target *target)
{
    return BY_SIZE(coded->width, inverse)(coded, map, target);
}
