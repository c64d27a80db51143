/* The Python functions that go back: planes to elements, and a whole block. */
#ifndef MD_NATIVE_BIND_BLOCK_H
#define MD_NATIVE_BIND_BLOCK_H

#include "_native_bind.h"
#include "_native_block.h"

static Inverse inverse_of_here = md_inverse_plain; /* the variant for this processor */

/* Raw bytes up to which a block is restored with the GIL held: giving it away and waiting for it again costs two threads
 * more than the few microseconds of the work. The decompressor, where most of the time goes, always releases it. */
enum { SHORT = 1 << 14 };

static PyObject *py_use_avx2(PyObject *self, PyObject *wanted)
{
    int use = PyObject_IsTrue(wanted);
    (void)self;
    if (use < 0)
        return NULL;
    use = use && md_has_avx2();
    inverse_of_here = use ? md_inverse_avx2 : md_inverse_plain;
    return PyBool_FromLong(use);
}

/* What the three unpackers share: their first arguments, and the run. */
typedef struct {
    Py_buffer planes, out;
    int count, width, predictor;
    Py_ssize_t rows, columns;
    Map map;
} Unpack;

static int unpack_ok(const Unpack *u)
{
    if (!shape_ok(u->rows, u->columns, u->predictor, u->width))
        return 0;
    if (!bits_of_size(u->map.size) || u->count < 0 || u->count > u->width)
        return refuse("the planes are out of range");
    if (!map_ok(&u->map, u->width))
        return refuse("the integers are wider than the elements");
    Py_ssize_t n = u->rows * u->columns;
    return holds(&u->planes, n * u->count, 1, 0) && holds(&u->out, n, u->map.size, 0);
}

static PyObject *run_unpack(const Unpack *u)
{
    int done = 0;
    size_t n = (size_t)u->rows * (size_t)u->columns;
    Coded coded = {u->planes.buf, u->count, u->width, u->predictor, 0, (size_t)u->rows, (size_t)u->columns};
    Target target = {u->out.buf, n, n, n * (size_t)u->map.size, NO_MASK, NULL, 0, NULL, 0};
    Py_BEGIN_ALLOW_THREADS
    done = inverse_of_here(&coded, &u->map, &target);
    Py_END_ALLOW_THREADS
    return done < 0 ? PyErr_NoMemory() : PyBool_FromLong(done);
}

#define UNPACK_ARGUMENTS &u.planes, &u.count, &u.width, &u.rows, &u.columns, &u.predictor, &u.out, &u.map.size

static PyObject *py_unpack_keys(PyObject *self, PyObject *args)
{
    Unpack u = {.map = {.to = TO_KEYS}};
    unsigned long long base;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iinniw*iiKi", UNPACK_ARGUMENTS, &u.map.kind, &base, &u.map.shift))
        return NULL;
    u.map.base = base;
    if (unpack_ok(&u) && type_ok(u.map.size, u.map.kind) && shift_ok(u.map.shift, u.map.size))
        result = run_unpack(&u);
    PyBuffer_Release(&u.planes);
    PyBuffer_Release(&u.out);
    return result;
}

static PyObject *py_unpack_table(PyObject *self, PyObject *args)
{
    Unpack u = {.map = {.to = TO_TABLE}};
    Py_buffer table;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iinniw*iy*", UNPACK_ARGUMENTS, &table))
        return NULL;
    if (unpack_ok(&u) && holds(&table, table.len / u.map.size, u.map.size, 0)) {
        u.map.table = table.buf;
        u.map.entries = (size_t)(table.len / u.map.size);
        result = run_unpack(&u);
    }
    PyBuffer_Release(&u.planes);
    PyBuffer_Release(&u.out);
    PyBuffer_Release(&table);
    return result;
}

static PyObject *py_unpack_lattice(PyObject *self, PyObject *args)
{
    Unpack u = {.map = {.to = TO_LATTICE}};
    long long base;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*iinniw*iidddL", UNPACK_ARGUMENTS, &u.map.arithmetic, &u.map.scale, &u.map.offset,
                          &u.map.factor, &base))
        return NULL;
    u.map.first = (double)base;
    if (unpack_ok(&u) && lattice_ok(u.map.size, u.map.arithmetic))
        result = run_unpack(&u);
    PyBuffer_Release(&u.planes);
    PyBuffer_Release(&u.out);
    return result;
}

/* The caller's rows: one of them, or several that lie a stride apart; 0 for anything else. */
static int rows_of(const Py_buffer *into, Target *t)
{
    Py_ssize_t size = into->itemsize, rows = into->ndim == 2 ? into->shape[0] : 1;
    if (into->ndim < 1 || into->ndim > 2 || !bits_of_size((int)size) || into->readonly)
        return 0;
    Py_ssize_t columns = into->shape[into->ndim - 1], stride = into->ndim == 2 ? into->strides[0] : columns * size;
    if (rows < 1 || columns < 1 || (columns > 1 && into->strides[into->ndim - 1] != size))
        return 0;
    if (rows == 1)
        stride = columns * size;
    if (stride < columns * size || stride % size || (uintptr_t)into->buf % (size_t)size)
        return 0;
    t->out = into->buf;
    t->total = (size_t)rows * (size_t)columns;
    t->columns = (size_t)columns;
    t->stride = (size_t)stride;
    return 1;
}

/* The payload of a body as an object that has a buffer; NULL without an exception where the body is refused. */
static PyObject *payload_object(const Block *b, const uint8_t *body, size_t length, PyObject *const *decoders)
{
    size_t size = payload_of(b);
    PyObject *view, *payload = NULL;
    if (b->backend == ZSTD ? !frame_holds(body, length, size) : (length & 0xFFFF) != b->check)
        return NULL;
    view = PyMemoryView_FromMemory((char *)body, (Py_ssize_t)length, PyBUF_READ);
    if (!view)
        return NULL;
    if (b->backend == ZSTD) { /* decompress(data, max_output_size, read_across_frames, allow_extra_data) */
        PyObject *zero = PyLong_FromLong(0), *arguments[4] = {view, zero, Py_False, Py_False};
        payload = PyObject_Vectorcall(decoders[0], arguments, 4, NULL);
        Py_XDECREF(zero);
    } else {
        PyObject *expected = PyLong_FromSize_t(size), *arguments[2] = {view, expected};
        payload = expected ? PyObject_Vectorcall(decoders[1], arguments, 2, NULL) : NULL;
        Py_XDECREF(expected);
    }
    Py_DECREF(view);
    if (!payload && PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError))
        PyErr_Clear(); /* the reference tells what is wrong */
    return payload;
}

static PyObject *py_decode_block(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer data, into, held;
    Block b;
    Target target = {0};
    PyObject *payload = NULL, *result = NULL;
    int done = 0;
    (void)self;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "decode_block takes 5 arguments");
        return NULL;
    }
    long type = PyLong_AsLong(args[2]);
    if (type == -1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE))
        return NULL;
    if (PyObject_GetBuffer(args[1], &into, PyBUF_STRIDES)) {
        PyErr_Clear(); /* the reference tells */
        PyBuffer_Release(&data);
        return Py_NewRef(Py_False);
    }
    held.obj = NULL;
    if (type < 0 || type > 9 || !rows_of(&into, &target)
        || !parse_block(data.buf, (size_t)data.len, (int)type, target.total, target.columns, &b) || b.size != into.itemsize)
        goto end;
    const uint8_t *body = (const uint8_t *)data.buf + b.length, *bytes = body;
    size_t length = (size_t)data.len - b.length;
    if (b.backend != STORED) {
        payload = payload_object(&b, body, length, args + 3);
        if (!payload || PyObject_GetBuffer(payload, &held, PyBUF_SIMPLE))
            goto end;
        bytes = held.buf;
        length = (size_t)held.len;
    }
    if (length == payload_of(&b)) {
        PyThreadState *released = target.total * (size_t)b.size > SHORT ? PyEval_SaveThread() : NULL;
        done = restore_block(inverse_of_here, &b, bytes, &target);
        if (released)
            PyEval_RestoreThread(released);
        if (done < 0)
            PyErr_NoMemory();
    }
end:
    if (!PyErr_Occurred())
        result = PyBool_FromLong(done);
    if (held.obj)
        PyBuffer_Release(&held);
    Py_XDECREF(payload);
    PyBuffer_Release(&into);
    PyBuffer_Release(&data);
    return result;
}

#endif
