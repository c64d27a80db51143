/* The Python functions of the masks. */
#ifndef MD_NATIVE_BIND_MASKS_H
#define MD_NATIVE_BIND_MASKS_H

#include "_native_bind.h"

static PyObject *py_mask_count(PyObject *self, PyObject *args)
{
    Py_buffer src;
    int size;
    unsigned long long pattern;
    size_t count = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iK", &src, &size, &pattern))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    if (type_ok(size, UNSIGNED) && holds(&src, n, size, 0)) {
        Py_BEGIN_ALLOW_THREADS
        count = BY_SIZE(size, mask_count)(src.buf, (size_t)n, pattern);
        Py_END_ALLOW_THREADS
        result = PyLong_FromSize_t(count);
    }
    PyBuffer_Release(&src);
    return result;
}

static PyObject *py_mask_make(PyObject *self, PyObject *args)
{
    Py_buffer src, bitmap;
    int size;
    unsigned long long pattern;
    size_t count = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iKw*", &src, &size, &pattern, &bitmap))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    if (type_ok(size, UNSIGNED) && holds(&src, n, size, 0) && holds(&bitmap, (n + 7) / 8, 1, 0)) {
        Py_BEGIN_ALLOW_THREADS
        count = BY_SIZE(size, mask_make)(src.buf, (size_t)n, pattern, bitmap.buf);
        Py_END_ALLOW_THREADS
        result = PyLong_FromSize_t(count);
    }
    PyBuffer_Release(&src);
    PyBuffer_Release(&bitmap);
    return result;
}

static PyObject *py_mask_check(PyObject *self, PyObject *args)
{
    Py_buffer bitmap;
    Py_ssize_t n;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*n", &bitmap, &n))
        return NULL;
    if (n < 1 || n > PY_SSIZE_T_MAX / 16 || bitmap.len != (n + 7) / 8)
        refuse("the bitmap is not as long as its count says");
    else
        result = PyLong_FromLongLong(mask_check(bitmap.buf, (size_t)n));
    PyBuffer_Release(&bitmap);
    return result;
}

static PyObject *take_valid(PyObject *args, int compact)
{
    Py_buffer src, bitmap, out;
    int size;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "y*iy*w*", &src, &size, &bitmap, &out))
        return NULL;
    Py_ssize_t n = elements(&src, size), room = elements(&out, size);
    if (type_ok(size, UNSIGNED) && holds(&src, n, size, 0) && holds(&bitmap, (n + 7) / 8, 1, 0)
        && holds(&out, compact ? room : n, size, 0)) {
        Py_BEGIN_ALLOW_THREADS
        if (compact)
            BY_SIZE(size, mask_compact)(src.buf, (size_t)n, bitmap.buf, out.buf, (size_t)room);
        else
            BY_SIZE(size, mask_fill)(src.buf, (size_t)n, bitmap.buf, out.buf);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&src);
    PyBuffer_Release(&bitmap);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *py_mask_fill(PyObject *self, PyObject *args)
{
    (void)self;
    return take_valid(args, 0);
}

static PyObject *py_mask_compact(PyObject *self, PyObject *args)
{
    (void)self;
    return take_valid(args, 1);
}

static PyObject *py_mask_put(PyObject *self, PyObject *args)
{
    Py_buffer out, bitmap;
    int size;
    unsigned long long pattern;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "w*iy*K", &out, &size, &bitmap, &pattern))
        return NULL;
    Py_ssize_t n = elements(&out, size);
    if (type_ok(size, UNSIGNED) && holds(&out, n, size, 0) && holds(&bitmap, (n + 7) / 8, 1, 0)) {
        Py_BEGIN_ALLOW_THREADS
        BY_SIZE(size, mask_put)(out.buf, (size_t)n, bitmap.buf, pattern);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
    PyBuffer_Release(&bitmap);
    return result;
}

static PyObject *py_mask_spread(PyObject *self, PyObject *args)
{
    Py_buffer compact, bitmap, out;
    int size, fits = 0;
    unsigned long long pattern;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iy*Kw*", &compact, &size, &bitmap, &pattern, &out))
        return NULL;
    Py_ssize_t n = elements(&out, size), valid = elements(&compact, size);
    if (type_ok(size, UNSIGNED) && holds(&out, n, size, 0) && holds(&bitmap, (n + 7) / 8, 1, 0)
        && holds(&compact, valid, size, 0)) {
        Py_BEGIN_ALLOW_THREADS
        fits = BY_SIZE(size, mask_spread)(compact.buf, (size_t)valid, (size_t)n, bitmap.buf, pattern, out.buf);
        Py_END_ALLOW_THREADS
        if (fits || refuse("the bitmap does not have as many valid elements"))
            result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&compact);
    PyBuffer_Release(&bitmap);
    PyBuffer_Release(&out);
    return result;
}

#endif
