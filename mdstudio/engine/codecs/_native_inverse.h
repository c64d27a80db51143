/* Byte planes back to elements: what the variants of _native_inverse_body.h are given. */
#ifndef MD_NATIVE_INVERSE_H
#define MD_NATIVE_INVERSE_H

#include "_native_common.h"

enum { TO_KEYS, TO_TABLE, TO_LATTICE };
enum { MULADD64 = 1, MULADD32, DIV64, MULADDMUL64 };
enum { NO_MASK, FILL, COMPACT };

#define PAIR(size, width) ((size) * 16 + (width))

/* The coded integers: `count` planes of rows * columns bytes; `running`: each plane holds differences (BYTE_DELTA). */
typedef struct {
    const uint8_t *planes;
    int count, width, predictor, running;
    size_t rows, columns;
} Coded;

/* From an integer k to an element. */
typedef struct {
    int to, size, kind;
    uint64_t base; /* keys */
    int shift;
    const void *table; /* tables */
    size_t entries;
    int arithmetic; /* lattices */
    double scale, offset, factor, first;
    int post; /* whether fl32(x + post_shift) follows */
    float post_shift;
} Map;

/* Where the elements go: `total` of them in rows of `columns`, `stride` bytes apart; with what masks and escapes do. */
typedef struct {
    uint8_t *out;
    size_t total, columns, stride;
    int mask;
    const uint8_t *bitmap;
    uint64_t pattern;
    const uint8_t *escapes; /* indices (u32), then elements */
    size_t escape_count;
} Target;

/* 1 done, 0 an integer that the map does not have, -1 no memory. The mask holds as many elements as are coded. */
typedef int (*Inverse)(const Coded *coded, const Map *map, const Target *target);

int md_inverse_plain(const Coded *coded, const Map *map, const Target *target);
int md_inverse_avx2(const Coded *coded, const Map *map, const Target *target);
int md_has_avx2(void); /* whether it is built in, and the processor has it */

/* Orders of the differences along a row and across the rows, by predictor; AVG is apart. */
static const int along[PREDICTORS] = {0, 1, 1, 0, 0, 2, 2, 0, 0, 1, 2};
static const int across[PREDICTORS] = {0, 0, 1, 0, 0, 0, 1, 1, 2, 2, 2};

ALWAYS_INLINE int map_ok(const Map *map, int width) /* whether there are integers of that width for it */
{
    return map->to == TO_TABLE ? width <= 2 : width <= map->size && (map->to != TO_LATTICE || map->size >= 4);
}

#endif
