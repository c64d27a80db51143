/* The rounding path of quantised floats: which origins k0 give every point x = fl(fl((k + k0) * s) + o) for some o of
 * the element's type. See lattice_path.py; every operation rounds by itself, as in the lattice. */
#ifndef MD_NATIVE_ORIGINS_H
#define MD_NATIVE_ORIGINS_H

#include <math.h>

#include "_native_bind.h"

typedef struct {
    const double *u, *half, *k; /* points: value, how far it may lie off, integer from the first value */
    size_t points;
    int size;
    double scale;
} Path;

ALWAYS_INLINE double product_of(const Path *path, size_t i, double k0)
{
    double k = path->k[i] + k0;
    return path->size == 4 ? (double)((float)k * (float)path->scale) : k * path->scale;
}

ALWAYS_INLINE double floor_of(double x)
{
    if (!(x > -4503599627370496.0 && x < 4503599627370496.0))
        return x;
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

/* The unit in the last place of an offset; below 2^-100 that of 2^-100, so that its reciprocal is finite. */
ALWAYS_INLINE double unit_of(double offset, int size)
{
    uint64_t least = (uint64_t)(1023 - 100) << 52, bits = bits_64(offset) & 0x7FF0000000000000u;
    bits = bits > least ? bits : least;
    return from_bits_64(bits - ((uint64_t)(size == 4 ? 23 : 52) << 52));
}

/* Whether an origin passes all points, and its offsets; adds the points looked at to `tests`. */
ALWAYS_INLINE int passes(const Path *path, double k0, double *low, double *high, uint64_t *tests)
{
    double anchor = path->u[0] - product_of(path, 0, k0);
    if (path->size == 4)
        anchor = (double)(float)anchor;
    double unit = unit_of(anchor, path->size), per_unit = 1.0 / unit, least = -INFINITY, most = INFINITY;
    for (size_t i = 0; i < path->points; i++) {
        double a = path->u[i], b = -product_of(path, i, k0);
        double total = a + b, part = total - a;
        double offset = (total - anchor) + ((a - (total - part)) + (b - part));
        double first = -floor_of(-((offset - path->half[i]) * per_unit));
        double last = floor_of((offset + path->half[i]) * per_unit);
        least = first > least ? first : least;
        most = last < most ? last : most;
        ++*tests;
        if (!(least <= most))
            return 0;
    }
    *low = anchor + least * unit;
    *high = anchor + most * unit;
    return 1;
}

/* Pairs of smallest and largest offset of those of `count` origins from `first` that pass. */
static size_t lattice_origins(const Path *path, double first, size_t count, double *offsets, uint64_t *tests)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += (size_t)passes(path, first + (double)i, offsets + 2 * found, offsets + 2 * found + 1, tests);
    return found;
}

static PyObject *py_lattice_origins(PyObject *self, PyObject *args)
{
    Py_buffer u, half, k, offsets;
    double first;
    Py_ssize_t count;
    Path path;
    uint64_t tests = 0;
    size_t found = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*iddnw*", &u, &half, &k, &path.size, &path.scale, &first, &count, &offsets))
        return NULL;
    Py_ssize_t n = u.len / 8;
    if (!lattice_ok(path.size, MULADD64) || !holds(&u, n, 8, 0) || !holds(&half, n, 8, 0) || !holds(&k, n, 8, 0))
        goto done;
    if (n < 1) {
        refuse("there is no point");
        goto done;
    }
    if (!holds(&offsets, count, 16, 1))
        goto done;
    path.u = u.buf;
    path.half = half.buf;
    path.k = k.buf;
    path.points = (size_t)n;
    Py_BEGIN_ALLOW_THREADS
    found = lattice_origins(&path, first, (size_t)count, offsets.buf, &tests);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("nK", (Py_ssize_t)found, (unsigned long long)tests);
done:
    PyBuffer_Release(&u);
    PyBuffer_Release(&half);
    PyBuffer_Release(&k);
    PyBuffer_Release(&offsets);
    return result;
}

#endif
