/* What every binding checks before it touches a buffer. Each check sets ValueError and returns 0 where it fails. */
#ifndef MD_NATIVE_BIND_H
#define MD_NATIVE_BIND_H

#include "_native_lattice.h"
#include "_native_maps.h"
#include "_native_masks.h"

static int refuse(const char *message)
{
    PyErr_SetString(PyExc_ValueError, message);
    return 0;
}

/* A buffer of exactly `count` elements of `size` bytes, or of at least so many where `more` is true. */
static int holds(const Py_buffer *buffer, Py_ssize_t count, Py_ssize_t size, int more)
{
    if (count < 0 || count > PY_SSIZE_T_MAX / 16)
        return refuse("a count is out of range");
    if ((uintptr_t)buffer->buf % (size_t)size)
        return refuse("a buffer is not aligned to its elements");
    if (more ? buffer->len < count * size : buffer->len != count * size)
        return refuse("a buffer is not as long as its count says");
    return 1;
}

static int shape_ok(Py_ssize_t rows, Py_ssize_t columns, int predictor, int width)
{
    if (rows < 1 || columns < 1 || columns > PY_SSIZE_T_MAX / 16 / rows)
        return refuse("the shape is out of range");
    if (predictor < NONE || predictor >= PREDICTORS || predictor == BYTE_DELTA)
        return refuse("the predictor is unknown");
    return bits_of_size(width) || refuse("the width of the integers is unknown");
}

static int type_ok(int size, int kind)
{
    return (bits_of_size(size) && kind >= UNSIGNED && kind <= FLOAT) || refuse("the element type is unknown");
}

static int shift_ok(int shift, int size)
{
    return (shift >= 0 && shift < 8 * size) || refuse("the shift is out of range");
}

static int lattice_ok(int size, int arithmetic)
{
    return ((size == 4 || size == 8) && arithmetic >= MULADD64 && arithmetic <= MULADDMUL64
            && !(size == 8 && arithmetic == MULADD32))
           || refuse("the lattice arithmetic is unknown");
}

static Py_ssize_t elements(const Py_buffer *buffer, int size)
{
    return bits_of_size(size) ? buffer->len / size : 0;
}

#endif
