/* Elements of a mesh to the numbers of the pixels that they hold; _numpy_raster.py documents it. */
#ifndef MD_NATIVE_RASTER_H
#define MD_NATIVE_RASTER_H

#include "_native_bind.h"

#define FARTHEST 1e150 /* no coordinate beyond: differences and products stay finite */
#define ROOM 1e-3        /* of a row: rounding never leaves a line out */

typedef struct {
    const double *x, *y;
    const int32_t *elements;
    size_t nodes, count, corners;
    double x0, y0, dy, a_row, a_column; /* rows and columns of pixels in a unit of y and x */
    size_t rows, columns;
} Mesh;

typedef struct {
    double x, y;
} Corner;

ALWAYS_INLINE double between(double value, double low, double high) /* of NaN: low */
{
    return !(value > low) ? low : value > high ? high : value;
}

/* The first of the whole numbers 0 ... most that is not below a number between them. */
ALWAYS_INLINE size_t whole_from(double value)
{
    size_t number = (size_t)value;
    return number + ((double)number < value);
}

/* The corners of an element, 0 where it is not drawn: fewer than three, or one without a place; -1 for no such node. */
static int corners_of(const Mesh *mesh, size_t element, Corner *corner)
{
    int count = 0, placed = 1;
    for (size_t k = 0; k < mesh->corners; k++) {
        int32_t node = mesh->elements[element * mesh->corners + k];
        if (node < 0)
            break;
        if ((size_t)node >= mesh->nodes)
            return -1;
        corner[count].x = mesh->x[node];
        corner[count].y = mesh->y[node];
        placed &= corner[count].x >= -FARTHEST && corner[count].x <= FARTHEST && corner[count].y >= -FARTHEST
                  && corner[count].y <= FARTHEST;
        count++;
    }
    return placed && count >= 3 ? count : 0;
}

/* Where the sides cross a line, ascending. A side crosses it where one end is on or below it and the other above; the
 * place is worked out from the lower end, so that two elements with one side find the same. */
static int crossings(const Corner *corner, int count, double y, double *x)
{
    int found = 0;
    for (int k = 0; k < count; k++) {
        Corner a = corner[k], b = corner[k + 1 < count ? k + 1 : 0];
        if ((a.y <= y) == (b.y <= y))
            continue;
        if (b.y < a.y) {
            Corner other = a;
            a = b;
            b = other;
        }
        double part = (y - a.y) / (b.y - a.y);
        double at = a.x + part * (b.x - a.x);
        int place = found++;
        for (; place > 0 && x[place - 1] > at; place--)
            x[place] = x[place - 1];
        x[place] = at;
    }
    return found;
}

static void draw_element(const Mesh *mesh, const Corner *corner, int count, int32_t number, double *x, int32_t *into)
{
    double west = corner[0].x, east = west, low = corner[0].y, high = low;
    for (int k = 1; k < count; k++) {
        west = corner[k].x < west ? corner[k].x : west;
        east = corner[k].x > east ? corner[k].x : east;
        low = corner[k].y < low ? corner[k].y : low;
        high = corner[k].y > high ? corner[k].y : high;
    }
    double first = (low - mesh->y0) * mesh->a_row, last = (high - mesh->y0) * mesh->a_row;
    if (first > last) {
        double other = first;
        first = last;
        last = other;
    }
    if (!(last >= -1.0) || !(first <= (double)mesh->rows) || !((east - mesh->x0) * mesh->a_column >= -1.0)
        || !((west - mesh->x0) * mesh->a_column <= (double)mesh->columns))
        return;
    size_t stop = whole_from(between(last + ROOM, 0.0, (double)mesh->rows));
    for (size_t row = whole_from(between(first - ROOM, 0.0, (double)mesh->rows)); row < stop; row++) {
        int found = crossings(corner, count, mesh->y0 + (double)row * mesh->dy, x);
        for (int k = 0; k + 1 < found; k += 2) {
            size_t from = whole_from(between((x[k] - mesh->x0) * mesh->a_column, 0.0, (double)mesh->columns));
            size_t to = whole_from(between((x[k + 1] - mesh->x0) * mesh->a_column, 0.0, (double)mesh->columns));
            for (size_t column = from; column < to; column++)
                into[row * mesh->columns + column] = number;
        }
    }
}

/* From the last element to the first: of several that hold a pixel the smallest number stays. 0, or -1 for a corner
 * that is no node, or -2 without memory. */
static int raster_elements(const Mesh *mesh, int32_t *into)
{
    Corner *corner = malloc((mesh->corners + 1) * sizeof *corner);
    double *x = malloc((mesh->corners + 1) * sizeof *x);
    int state = corner && x ? 0 : -2;
    for (size_t pixel = 0; pixel < mesh->rows * mesh->columns; pixel++)
        into[pixel] = -1;
    for (size_t element = mesh->count; state == 0 && element-- > 0;) {
        int count = corners_of(mesh, element, corner);
        if (count < 0)
            state = -1;
        else if (count)
            draw_element(mesh, corner, count, (int32_t)element, x, into);
    }
    free(corner);
    free(x);
    return state;
}

ALWAYS_INLINE int a_step(double value) /* finite and not 0 */
{
    return value - value == 0.0 && value != 0.0;
}

static PyObject *py_raster_elements(PyObject *self, PyObject *args)
{
    Py_buffer x, y, elements, into;
    Py_ssize_t corners, rows, columns;
    Mesh mesh;
    double dx, dy;
    int state = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*nddddnnw*", &x, &y, &elements, &corners, &mesh.x0, &mesh.y0, &dx, &dy,
                          &rows, &columns, &into))
        return NULL;
    if (corners < 3 || corners > 1 << 20 || rows < 1 || columns < 1 || columns > PY_SSIZE_T_MAX / 16 / rows) {
        refuse("a count is out of range");
        goto done;
    }
    if (mesh.x0 - mesh.x0 != 0.0 || mesh.y0 - mesh.y0 != 0.0 || !a_step(dx) || dx < 0.0 || !a_step(dy)
        || !a_step(1.0 / dx) || !a_step(1.0 / dy)) {
        refuse("the pixels have no place");
        goto done;
    }
    mesh.nodes = (size_t)(x.len / 8);
    mesh.corners = (size_t)corners;
    mesh.count = (size_t)(elements.len / 4 / corners);
    mesh.rows = (size_t)rows;
    mesh.dy = dy;
    mesh.a_row = 1.0 / dy;
    mesh.a_column = 1.0 / dx;
    mesh.columns = (size_t)columns;
    if (!holds(&x, (Py_ssize_t)mesh.nodes, 8, 0) || !holds(&y, (Py_ssize_t)mesh.nodes, 8, 0)
        || !holds(&elements, (Py_ssize_t)(mesh.count * mesh.corners), 4, 0) || !holds(&into, rows * columns, 4, 0))
        goto done;
    if (mesh.count > INT32_MAX) {
        refuse("a count is out of range");
        goto done;
    }
    mesh.x = x.buf;
    mesh.y = y.buf;
    mesh.elements = elements.buf;
    Py_BEGIN_ALLOW_THREADS
    state = raster_elements(&mesh, into.buf);
    Py_END_ALLOW_THREADS
    if (state == -2)
        PyErr_NoMemory();
    else if (state == 0 || refuse("an element has a corner that is no node"))
        result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&x);
    PyBuffer_Release(&y);
    PyBuffer_Release(&elements);
    PyBuffer_Release(&into);
    return result;
}

#endif
