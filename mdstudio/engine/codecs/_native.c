/* The transforms of the auto codecs in C: the same functions and the same bytes as _numpy.py, which documents them.
 *
 * Buffer protocol only, limited API: one module serves Python 3.12 and later. Every function checks the sizes of its
 * buffers against its counts, so that no argument reads or writes outside of them, and releases the GIL while it works.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030C0000
#include <Python.h>

#include "_native_bind.h"
#include "_native_bind_block.h"
#include "_native_bind_masks.h"
#include "_native_origins.h"
#include "_native_raster.h"

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the stored format is little-endian and so is this extension: leave it out, the NumPy twin says so too"
#endif

static PyObject *py_key_range(PyObject *self, PyObject *args)
{
    Py_buffer src;
    int size, kind;
    uint64_t low = 0, high = 0, any = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*ii", &src, &size, &kind))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    if (!type_ok(size, kind) || !holds(&src, n, size, 0) || (n < 1 && !refuse("there is no element")))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    key_range(src.buf, (size_t)n, size, kind, &low, &high, &any);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("KKK", (unsigned long long)low, (unsigned long long)high, (unsigned long long)any);
done:
    PyBuffer_Release(&src);
    return result;
}

static PyObject *py_key_map(PyObject *self, PyObject *args)
{
    Py_buffer src, out;
    int size, kind, shift, width;
    unsigned long long base;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iiKiiw*", &src, &size, &kind, &base, &shift, &width, &out))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    KeyMap map = type_ok(size, kind) ? key_map_of(size, width) : NULL;
    if (!map) {
        if (!PyErr_Occurred())
            refuse("the integers are wider than the elements");
        goto done;
    }
    if (!shift_ok(shift, size) || !holds(&src, n, size, 0) || !holds(&out, n, width, 0))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    map(src.buf, (size_t)n, kind, base, shift, out.buf);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&src);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *py_table_map(PyObject *self, PyObject *args)
{
    Py_buffer src, keys, ranks;
    int size, kind;
    Py_ssize_t limit;
    long found = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iinw*w*", &src, &size, &kind, &limit, &keys, &ranks))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    if (!type_ok(size, kind) || !holds(&src, n, size, 0) || !holds(&ranks, n, 2, 0))
        goto done;
    if (n < 1 || limit < 1 || limit > 65535) {
        refuse("the limit of the table is out of range");
        goto done;
    }
    if (!holds(&keys, limit, 8, 1))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    found = table_map(src.buf, (size_t)n, size, kind, (size_t)limit, keys.buf, ranks.buf);
    Py_END_ALLOW_THREADS
    result = found < 0 ? PyErr_NoMemory() : PyLong_FromLong(found);
done:
    PyBuffer_Release(&src);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&ranks);
    return result;
}

static PyObject *py_binary_step(PyObject *self, PyObject *args)
{
    Py_buffer src;
    int size, step = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*i", &src, &size))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    if (!lattice_ok(size, MULADD64) || !holds(&src, n, size, 0))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    step = binary_step(src.buf, (size_t)n, size);
    Py_END_ALLOW_THREADS
    result = PyLong_FromLong(step);
done:
    PyBuffer_Release(&src);
    return result;
}

static PyObject *py_lattice_map(PyObject *self, PyObject *args)
{
    Py_buffer src, out, escapes;
    int size, arithmetic;
    double s, o, d;
    Py_ssize_t limit;
    LatticeResult found = {0, 0, -1};
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iidddw*w*n", &src, &size, &arithmetic, &s, &o, &d, &out, &escapes, &limit))
        return NULL;
    Py_ssize_t n = elements(&src, size);
    if (!lattice_ok(size, arithmetic) || !holds(&src, n, size, 0) || !holds(&out, n, 8, 0)
        || !holds(&escapes, limit, 4, 1))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    if (size == 4)
        found = lattice_map_32(src.buf, (size_t)n, arithmetic, s, o, d, out.buf, escapes.buf, (size_t)limit);
    else
        found = lattice_map_64(src.buf, (size_t)n, arithmetic, s, o, d, out.buf, escapes.buf, (size_t)limit);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LLl", (long long)found.low, (long long)found.high, found.escapes);
done:
    PyBuffer_Release(&src);
    PyBuffer_Release(&out);
    PyBuffer_Release(&escapes);
    return result;
}

static PyObject *py_lattice_values(PyObject *self, PyObject *args)
{
    Py_buffer k, out;
    int size, arithmetic;
    double s, o, d;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*w*iiddd", &k, &out, &size, &arithmetic, &s, &o, &d))
        return NULL;
    Py_ssize_t n = k.len / 8;
    if (!lattice_ok(size, arithmetic) || !holds(&k, n, 8, 0) || !holds(&out, n, size, 0))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        double value = (double)((const int64_t *)k.buf)[i];
        if (size == 4)
            ((uint32_t *)out.buf)[i] = bits_32(lattice_32(value, arithmetic, s, o, d));
        else
            ((uint64_t *)out.buf)[i] = bits_64(lattice_64(value, arithmetic, s, o, d));
    }
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&k);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *py_plane_cost(PyObject *self, PyObject *args)
{
    Py_buffer planes;
    int count;
    Py_ssize_t length;
    uint64_t cost = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*in", &planes, &count, &length))
        return NULL;
    if (count < 0 || count > 8 || length < 0 || length > PY_SSIZE_T_MAX / 16) {
        refuse("the planes are out of range");
    } else if (holds(&planes, length * count, 1, 1)) {
        Py_BEGIN_ALLOW_THREADS
        cost = plane_cost(planes.buf, count, (size_t)length);
        Py_END_ALLOW_THREADS
        result = PyLong_FromUnsignedLongLong(cost);
    }
    PyBuffer_Release(&planes);
    return result;
}

static PyObject *py_forward(PyObject *self, PyObject *args)
{
    Py_buffer k, out;
    int width, predictor, ranked, planes = 0;
    Py_ssize_t rows, columns;
    uint64_t all = 0, cost = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*inniw*p", &k, &width, &rows, &columns, &predictor, &out, &ranked))
        return NULL;
    if (!shape_ok(rows, columns, predictor, width) || !holds(&k, rows * columns, width, 0)
        || !holds(&out, rows * columns * width, 1, 1))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    all = BY_SIZE(width, forward)(k.buf, (size_t)rows, (size_t)columns, predictor, out.buf);
    for (; planes < 8 && all >> (8 * planes); planes++) {
    }
    if (ranked)
        cost = plane_cost(out.buf, planes, (size_t)(rows * columns));
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("iK", planes, (unsigned long long)cost);
done:
    PyBuffer_Release(&k);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *byte_planes(PyObject *args, int undo)
{
    Py_buffer planes;
    int count;
    Py_ssize_t length;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "w*in", &planes, &count, &length))
        return NULL;
    if (count < 0 || count > 8 || length < 0 || length > PY_SSIZE_T_MAX / 16) {
        refuse("the planes are out of range");
    } else if (holds(&planes, length * count, 1, 1)) {
        Py_BEGIN_ALLOW_THREADS
        for (int plane = 0; plane < count; plane++) {
            uint8_t *p = (uint8_t *)planes.buf + (size_t)plane * (size_t)length, last = 0;
            for (Py_ssize_t i = 0; i < length; i++) {
                uint8_t here = p[i];
                p[i] = undo ? (uint8_t)(here + last) : (uint8_t)(here - last);
                last = undo ? p[i] : here;
            }
        }
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&planes);
    return result;
}

static PyObject *py_byte_delta(PyObject *self, PyObject *args)
{
    (void)self;
    return byte_planes(args, 0);
}

static PyObject *py_byte_sum(PyObject *self, PyObject *args)
{
    (void)self;
    return byte_planes(args, 1);
}

static PyMethodDef methods[] = {
    {"key_range", py_key_range, METH_VARARGS, NULL},
    {"key_map", py_key_map, METH_VARARGS, NULL},
    {"table_map", py_table_map, METH_VARARGS, NULL},
    {"binary_step", py_binary_step, METH_VARARGS, NULL},
    {"lattice_map", py_lattice_map, METH_VARARGS, NULL},
    {"lattice_values", py_lattice_values, METH_VARARGS, NULL},
    {"lattice_origins", py_lattice_origins, METH_VARARGS, NULL},
    {"plane_cost", py_plane_cost, METH_VARARGS, NULL},
    {"forward", py_forward, METH_VARARGS, NULL},
    {"byte_delta", py_byte_delta, METH_VARARGS, NULL},
    {"byte_sum", py_byte_sum, METH_VARARGS, NULL},
    {"unpack_keys", py_unpack_keys, METH_VARARGS, NULL},
    {"unpack_table", py_unpack_table, METH_VARARGS, NULL},
    {"unpack_lattice", py_unpack_lattice, METH_VARARGS, NULL},
    {"decode_block", (PyCFunction)(void (*)(void))py_decode_block, METH_FASTCALL, NULL},
    {"use_avx2", py_use_avx2, METH_O, NULL},
    {"mask_count", py_mask_count, METH_VARARGS, NULL},
    {"mask_make", py_mask_make, METH_VARARGS, NULL},
    {"mask_check", py_mask_check, METH_VARARGS, NULL},
    {"mask_fill", py_mask_fill, METH_VARARGS, NULL},
    {"mask_compact", py_mask_compact, METH_VARARGS, NULL},
    {"mask_put", py_mask_put, METH_VARARGS, NULL},
    {"mask_spread", py_mask_spread, METH_VARARGS, NULL},
    {"raster_elements", py_raster_elements, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    make_log2_table(); /* the same values every time */
    inverse_of_here = md_has_avx2() ? md_inverse_avx2 : md_inverse_plain;
    return PyModule_AddStringConstant(module, "NAME", "native");
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The transforms of the auto codecs; see _numpy.py.", 0, methods, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
