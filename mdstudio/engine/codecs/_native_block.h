/* A whole auto block: its header, and the payload back to elements. Refuses what block.py and inverse.py refuse, and
 * says no more than that: the caller then asks them, who tell what is wrong. */
#ifndef MD_NATIVE_BLOCK_H
#define MD_NATIVE_BLOCK_H

#include "_native_lattice_values.h"
#include "_native_masks.h"

enum { STORED, DEFLATE, ZSTD };
enum { RAW, BITS, INT, FORD, LATTICE, DICT, CONSTANT };
enum { RANK_TABLE = 4, ESCAPES = 8, NO_OFFSET = 32, POST_SHIFT = 0x80 };

static const size_t max_table = 65535, max_escapes = 64;
static const uint64_t max_base = ((uint64_t)1 << 53) - ((uint64_t)1 << 32); /* |base| of a lattice is below */

typedef struct {
    int backend, map, predictor, planes, type, size, kind, mask, width, shift;
    uint64_t rows, columns, count, valid, pattern, base, table, escapes;
    unsigned check;
    int arithmetic, post;
    double scale, offset, factor, first;
    float post_shift;
    size_t length; /* bytes of the header */
} Block;

/* Takes numbers off a block; `good` is 0 once it went beyond the end or met a number that no writer makes. */
typedef struct {
    const uint8_t *at, *end;
    int good;
} Reader;

static uint64_t take(Reader *r, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->good = 0;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)r->at[i] << (8 * i);
    r->at += bytes;
    return value;
}

static double take_double(Reader *r)
{
    return from_bits_64(take(r, 8));
}

/* LEB128 in its shortest form; numbers of more than 64 bits are refused, which no field takes. */
static uint64_t take_varint(Reader *r)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        uint64_t byte = take(r, 1);
        if (!r->good || (shift == 63 && byte > 1))
            break;
        value |= (byte & 127) << shift;
        if (byte < 128) {
            r->good &= byte != 0 || shift == 0;
            return value;
        }
    }
    r->good = 0;
    return 0;
}

static int is_finite(double x)
{
    return x - x == 0;
}

static int is_float32(double x)
{
    return x >= -3.5e38 && x <= 3.5e38 && (double)(float)x == x;
}

/* The map, predictor, mask and widths that there are (forms.py). */
static int form_ok(const Block *b)
{
    static const uint8_t sizes[10] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    int bare = b->map == RAW || b->map == BITS || b->map == CONSTANT, is_float = b->type >= 8;
    if (b->backend > ZSTD || b->type > 9 || b->map > CONSTANT || b->mask > COMPACT || b->predictor >= PREDICTORS)
        return 0;
    int size = sizes[b->type];
    if (bare ? b->predictor != NONE && !(b->map == BITS && b->predictor == BYTE_DELTA) : b->predictor == BYTE_DELTA)
        return 0;
    if ((bare && (b->mask || b->width != size)) || b->width > size || (b->map == DICT && b->width > 2))
        return 0;
    if (b->planes > b->width || ((b->map == RAW || b->map == CONSTANT) && b->planes))
        return 0;
    if (b->map == CONSTANT && b->backend != STORED)
        return 0;
    return !(b->map == INT && is_float) && !((b->map == FORD || b->map == LATTICE) && !is_float);
}

static int lattice_of(Block *b, Reader *r)
{
    unsigned first = (unsigned)take(r, 1), flags = (unsigned)take(r, 1);
    b->arithmetic = (int)(first & 127);
    b->post = (first & POST_SHIFT) != 0;
    if (flags & ~(unsigned)(RANK_TABLE | ESCAPES | NO_OFFSET) || b->arithmetic < MULADD64 || b->arithmetic > MULADDMUL64)
        return 0;
    b->scale = take_double(r);
    b->offset = flags & NO_OFFSET ? 0.0 : take_double(r);
    b->factor = b->arithmetic == MULADDMUL64 ? take_double(r) : 1.0;
    if (b->post) {
        uint32_t bits = (uint32_t)take(r, 4);
        memcpy(&b->post_shift, &bits, 4);
    }
    if (!r->good || !is_finite(b->scale) || !is_finite(b->offset) || !is_finite(b->factor) || b->scale == 0
        || b->factor == 0 || (b->post && (b->size != 4 || !is_finite(b->post_shift))))
        return 0;
    if (b->arithmetic == MULADD32 && (b->size != 4 || !is_float32(b->scale) || !is_float32(b->offset)))
        return 0;
    uint64_t folded = take_varint(r), distance = (folded >> 1) + (folded & 1);
    if (distance >= max_base)
        return 0;
    b->first = folded & 1 ? -(double)distance : (double)distance;
    uint64_t coded = b->mask == COMPACT ? b->valid : b->count;
    if (flags & RANK_TABLE) {
        b->table = take_varint(r);
        if (b->table < 1 || b->table > coded || b->table > max_table || b->width > 2)
            return 0;
    }
    if (flags & ESCAPES) {
        b->escapes = take_varint(r);
        if (b->escapes < 1 || b->escapes > coded || b->escapes > max_escapes)
            return 0;
    }
    return 1;
}

/* Whether the block has the header of `count` elements of the type in rows of `columns`; 0 for anything else. */
static int parse_block(const uint8_t *data, size_t length, int type, uint64_t count, uint64_t columns, Block *b)
{
    memset(b, 0, sizeof *b);
    if (length < 4 || data[0] >> 4 != 1 || data[3] >> 4)
        return 0;
    b->backend = data[0] & 15;
    b->predictor = data[1] >> 4;
    b->map = data[1] & 15;
    b->planes = data[2] >> 4;
    b->type = data[2] & 15;
    b->mask = data[3] & 3;
    b->width = 1 << (data[3] >> 2 & 3);
    if (b->type != type || !form_ok(b))
        return 0;
    b->size = type < 8 ? 1 << (type >> 1) : type == 8 ? 4 : 8;
    b->kind = type >= 8 ? FLOAT : type & 1 ? UNSIGNED : SIGNED;
    Reader r = {data + 4, data + length, 1};
    b->rows = take_varint(&r);
    b->columns = take_varint(&r);
    if (b->rows >> 32 || b->columns != columns || b->rows * b->columns != count)
        return 0;
    b->count = b->valid = count;
    if (b->backend == DEFLATE)
        b->check = (unsigned)take(&r, 2);
    if (b->mask) {
        b->pattern = take(&r, (size_t)b->size);
        b->valid = take_varint(&r);
        if (b->valid < 1 || b->valid >= count)
            return 0;
    }
    if (b->map == INT || b->map == FORD || b->map == CONSTANT)
        b->base = take(&r, (size_t)b->size);
    if (b->map == FORD) {
        b->shift = (int)take(&r, 1);
        if (b->shift >= 8 * b->size)
            return 0;
    } else if (b->map == DICT) {
        b->table = take_varint(&r);
        if (b->table < 1 || b->table > max_table || b->table > (b->mask == COMPACT ? b->valid : count))
            return 0;
    } else if (b->map == LATTICE && !lattice_of(b, &r)) {
        return 0;
    }
    b->length = (size_t)(r.at - data);
    return r.good;
}

/* Bytes that the backend decodes to. */
static size_t payload_of(const Block *b)
{
    if (b->map == CONSTANT)
        return 0;
    if (b->map == RAW)
        return (size_t)b->count * (size_t)b->size;
    return (size_t)b->planes * (size_t)(b->mask == COMPACT ? b->valid : b->count)
           + (b->mask ? (size_t)(b->count + 7) / 8 : 0) + (size_t)b->table * (b->map == DICT ? (size_t)b->size : 4)
           + (size_t)b->escapes * (4 + (size_t)b->size);
}

/* Whether a zstd frame (RFC 8878) says that it holds `size` bytes: its decoder allocates by what the frame says. */
static int frame_holds(const uint8_t *frame, size_t length, size_t size)
{
    static const uint8_t dictionary[4] = {0, 1, 2, 4}, field[4] = {0, 2, 4, 8};
    Reader r = {frame, frame + length, 1};
    if (take(&r, 4) != 0xFD2FB528u)
        return 0;
    unsigned descriptor = (unsigned)take(&r, 1), single = descriptor >> 5 & 1;
    take(&r, (single ? 0 : 1) + (size_t)dictionary[descriptor & 3]);
    size_t bytes = descriptor >> 6 ? field[descriptor >> 6] : single;
    uint64_t claimed = take(&r, bytes) + (bytes == 2 ? 256 : 0);
    return r.good && bytes && claimed == size;
}

/* ---- payload -> elements ---- */

#define DEFINE_FILL(N, X)                                                                                              \
    static void fill_rows_##N(const Target *t, uint64_t value)                                                         \
    {                                                                                                                  \
        for (size_t at = 0, row = 0; at < t->total; at += t->columns, row++) {                                         \
            X *to = (X *)(t->out + row * t->stride);                                                                   \
            for (size_t i = 0; i < t->columns; i++)                                                                    \
                to[i] = (X)value;                                                                                      \
        }                                                                                                              \
    }

DEFINE_FILL(8, uint8_t)
DEFINE_FILL(16, uint16_t)
DEFINE_FILL(32, uint32_t)
DEFINE_FILL(64, uint64_t)

/* `table` of the entries that the ranks stand for: keys of a dictionary, or the floats of a lattice. */
static int unpack_entries(Inverse inverse, const Block *b, const uint8_t *planes, uint8_t *table, Map *map)
{
    size_t size = b->map == DICT ? (size_t)b->size : 4, n = (size_t)b->table;
    Coded coded = {planes, (int)size, (int)size, D1, 0, 1, n};
    Map entries = *map;
    Target target = {table, n, n, n * (size_t)b->size, NO_MASK, NULL, 0, NULL, 0};
    entries.to = b->map == DICT ? TO_KEYS : TO_LATTICE;
    if (inverse(&coded, &entries, &target) < 1)
        return 0;
    map->to = TO_TABLE;
    map->table = table;
    map->entries = n;
    return 1;
}

/* 1 done, 0 refused, -1 no memory; the payload is as long as `payload_of` says. */
static int restore_block(Inverse inverse, const Block *b, const uint8_t *payload, Target *t)
{
    size_t n = (size_t)b->count, m = (size_t)(b->mask == COMPACT ? b->valid : b->count);
    if (b->map == CONSTANT) {
        BY_SIZE(b->size, fill_rows)(t, b->base);
        return 1;
    }
    if (b->map == RAW) {
        size_t row_bytes = t->columns * (size_t)b->size;
        for (size_t at = 0, row = 0; at < t->total; at += t->columns, row++)
            memcpy(t->out + row * t->stride, payload + row * row_bytes, row_bytes);
        return 1;
    }
    if (b->mask) {
        if (mask_check(payload, n) != (long long)(b->count - b->valid))
            return 0;
        t->bitmap = payload;
        t->mask = b->mask;
        t->pattern = b->pattern;
        payload += (n + 7) / 8;
    }
    Map map = {b->map == LATTICE ? TO_LATTICE : TO_KEYS, b->size, b->map == BITS ? UNSIGNED : b->kind, b->base, b->shift,
               NULL, 0, b->arithmetic, b->scale, b->offset, b->factor, b->first, b->post, b->post_shift};
    uint8_t *table = NULL;
    int done = 1;
    if (b->table) {
        table = malloc((size_t)b->table * (size_t)b->size);
        done = !table ? -1 : unpack_entries(inverse, b, payload, table, &map);
        payload += (size_t)b->table * (b->map == DICT ? (size_t)b->size : 4);
    }
    if (b->escapes) {
        t->escapes = payload + (size_t)b->planes * m;
        t->escape_count = (size_t)b->escapes;
        for (size_t e = 0; e < t->escape_count; e++) {
            Reader r = {t->escapes + 4 * e, t->escapes + 4 * e + 4, 1};
            if (take(&r, 4) >= m)
                done = 0;
        }
    }
    if (done > 0) {
        int compact = b->mask == COMPACT, running = b->predictor == BYTE_DELTA;
        Coded coded = {payload, b->planes, b->width, running ? NONE : b->predictor, running,
                       compact ? 1 : (size_t)b->rows, compact ? m : (size_t)b->columns};
        done = inverse(&coded, &map, t);
    }
    free(table);
    return done;
}

#endif
