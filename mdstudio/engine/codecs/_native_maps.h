/* Maps from elements to integers: keys (INT, FORD) and the table of a dictionary. */
#ifndef MD_NATIVE_MAPS_H
#define MD_NATIVE_MAPS_H

#include "_native_planes.h"

/* ---- keys ---- */

#define DEFINE_KEYS(N, X)                                                                                             \
    ALWAYS_INLINE X key_##N(X x, int kind)                                                                            \
    {                                                                                                                 \
        const X sign = (X)((X)1 << (N - 1));                                                                          \
        if (kind == UNSIGNED)                                                                                         \
            return x;                                                                                                 \
        if (kind == SIGNED)                                                                                           \
            return (X)(x ^ sign);                                                                                     \
        return (X)(x ^ (X)((X)(0 - (X)(x >> (N - 1))) | sign));                                                       \
    }                                                                                                                 \
    ALWAYS_INLINE void range_kind_##N(const X *x, size_t n, int kind, X *low, X *high, X *any)                        \
    {                                                                                                                 \
        X a = key_##N(x[0], kind), b = a, c = 0;                                                                      \
        for (size_t i = 0; i < n; i++) {                                                                              \
            X k = key_##N(x[i], kind);                                                                                \
            c |= x[i];                                                                                                \
            a = k < a ? k : a;                                                                                        \
            b = k > b ? k : b;                                                                                        \
        }                                                                                                             \
        *low = a;                                                                                                     \
        *high = b;                                                                                                    \
        *any = c;                                                                                                     \
    }                                                                                                                 \
    static void range_##N(const void *src, size_t n, int kind, uint64_t *low, uint64_t *high, uint64_t *any)          \
    {                                                                                                                 \
        X a, b, c;                                                                                                    \
        if (kind == UNSIGNED)                                                                                         \
            range_kind_##N((const X *)src, n, UNSIGNED, &a, &b, &c);                                                  \
        else if (kind == SIGNED)                                                                                      \
            range_kind_##N((const X *)src, n, SIGNED, &a, &b, &c);                                                    \
        else                                                                                                          \
            range_kind_##N((const X *)src, n, FLOAT, &a, &b, &c);                                                     \
        *low = a;                                                                                                     \
        *high = b;                                                                                                    \
        *any = c;                                                                                                     \
    }

DEFINE_KEYS(8, uint8_t)
DEFINE_KEYS(16, uint16_t)
DEFINE_KEYS(32, uint32_t)
DEFINE_KEYS(64, uint64_t)

static void key_range(const void *src, size_t n, int size, int kind, uint64_t *low, uint64_t *high, uint64_t *any)
{
    BY_SIZE(size, range)(src, n, kind, low, high, any);
}

ALWAYS_INLINE uint64_t key_at(const void *src, size_t i, int size, int kind)
{
    switch (size) {
    case 1: return key_8(((const uint8_t *)src)[i], kind);
    case 2: return key_16(((const uint16_t *)src)[i], kind);
    case 4: return key_32(((const uint32_t *)src)[i], kind);
    default: return key_64(((const uint64_t *)src)[i], kind);
    }
}

/* Elements of N bits <-> integers of M <= N bits. */
#define DEFINE_KEY_PAIR(N, X, M, K)                                                                                    \
    static void map_##N##_##M(const void *src, size_t n, int kind, uint64_t base, int shift, void *to)                 \
    {                                                                                                                  \
        const X *RESTRICT x = (const X *)src;                                                                          \
        K *RESTRICT k = (K *)to;                                                                                       \
        X first = (X)((X)base >> shift);                                                                               \
        if (kind == UNSIGNED)                                                                                          \
            for (size_t i = 0; i < n; i++)                                                                             \
                k[i] = (K)(X)((X)(x[i] >> shift) - first);                                                             \
        else if (kind == SIGNED)                                                                                       \
            for (size_t i = 0; i < n; i++)                                                                             \
                k[i] = (K)(X)((X)(key_##N(x[i], SIGNED) >> shift) - first);                                            \
        else                                                                                                           \
            for (size_t i = 0; i < n; i++)                                                                             \
                k[i] = (K)(X)((X)(key_##N(x[i], FLOAT) >> shift) - first);                                             \
    }

DEFINE_KEY_PAIR(8, uint8_t, 8, uint8_t)
DEFINE_KEY_PAIR(16, uint16_t, 8, uint8_t)
DEFINE_KEY_PAIR(16, uint16_t, 16, uint16_t)
DEFINE_KEY_PAIR(32, uint32_t, 8, uint8_t)
DEFINE_KEY_PAIR(32, uint32_t, 16, uint16_t)
DEFINE_KEY_PAIR(32, uint32_t, 32, uint32_t)
DEFINE_KEY_PAIR(64, uint64_t, 8, uint8_t)
DEFINE_KEY_PAIR(64, uint64_t, 16, uint16_t)
DEFINE_KEY_PAIR(64, uint64_t, 32, uint32_t)
DEFINE_KEY_PAIR(64, uint64_t, 64, uint64_t)

typedef void (*KeyMap)(const void *x, size_t n, int kind, uint64_t base, int shift, void *k);

static KeyMap key_map_of(int size, int width) /* NULL where the integers are wider than the elements */
{
    switch (PAIR(size, width)) {
    case PAIR(1, 1): return map_8_8;
    case PAIR(2, 1): return map_16_8;
    case PAIR(2, 2): return map_16_16;
    case PAIR(4, 1): return map_32_8;
    case PAIR(4, 2): return map_32_16;
    case PAIR(4, 4): return map_32_32;
    case PAIR(8, 1): return map_64_8;
    case PAIR(8, 2): return map_64_16;
    case PAIR(8, 4): return map_64_32;
    case PAIR(8, 8): return map_64_64;
    default: return NULL;
    }
}

/* Sort keys (at most 65536) and their first-come numbers, a byte at a time; `spare` as large as both. */
static void sort_keys(uint64_t *keys, uint16_t *order, size_t n, uint64_t *spare_keys, uint16_t *spare_order)
{
    for (int shift = 0; shift < 64; shift += 8) {
        size_t start[257] = {0};
        for (size_t i = 0; i < n; i++)
            start[((keys[i] >> shift) & 255) + 1]++;
        if (start[((keys[0] >> shift) & 255) + 1] == n)
            continue;
        for (int b = 0; b < 256; b++)
            start[b + 1] += start[b];
        for (size_t i = 0; i < n; i++) {
            size_t to = start[(keys[i] >> shift) & 255]++;
            spare_keys[to] = keys[i];
            spare_order[to] = order[i];
        }
        memcpy(keys, spare_keys, n * sizeof *keys);
        memcpy(order, spare_order, n * sizeof *order);
    }
}

/* Distinct keys, at most `limit` <= 65535; 0 where there are more, -1 without memory. */
static long table_map(const void *src, size_t n, int size, int kind, size_t limit, uint64_t *keys, uint16_t *ranks)
{
    int log_slots = 8;
    while (((size_t)1 << log_slots) < 2 * limit + 2)
        log_slots++;
    size_t slots = (size_t)1 << log_slots, found = 0;
    uint32_t *slot = calloc(slots, sizeof *slot); /* number + 1 of the key that hashes there */
    uint64_t *spare = malloc((limit + 1) * sizeof *spare);
    uint16_t *order = malloc(3 * (limit + 1) * sizeof *order);
    long result = -1;
    if (!slot || !spare || !order)
        goto done;
    result = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = key_at(src, i, size, kind);
        size_t h = (size_t)((key * 0x9E3779B97F4A7C15u) >> (64 - log_slots));
        while (slot[h] && keys[slot[h] - 1] != key)
            h = (h + 1) & (slots - 1);
        if (!slot[h]) {
            if (found == limit)
                goto done;
            keys[found] = key;
            slot[h] = (uint32_t)++found;
        }
        ranks[i] = (uint16_t)(slot[h] - 1);
    }
    uint16_t *rank_of = order + 2 * (limit + 1);
    for (size_t j = 0; j < found; j++)
        order[j] = (uint16_t)j;
    sort_keys(keys, order, found, spare, order + limit + 1);
    for (size_t j = 0; j < found; j++)
        rank_of[order[j]] = (uint16_t)j;
    for (size_t i = 0; i < n; i++)
        ranks[i] = rank_of[ranks[i]];
    result = (long)found;
done:
    free(slot);
    free(spare);
    free(order);
    return result;
}

#endif
