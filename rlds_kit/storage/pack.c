/* Pieces of columns, for Python: arguments and results of pieces.c, the C twin of piece_functions.py. */

#define PY_SSIZE_T_CLEAN
#include "pack.h"

#define SPAN (Py_ssize_t)sizeof(Span)

/* spans_of(rows, (lanes, rows_of_lane), width, is_acted, present): see piece_functions.spans_in_python. */
PyObject *spans_of(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows, flags = {0};
  PyObject *present, *spans = NULL, *gaps = NULL, *result = NULL;
  Lanes lanes = {0};
  if (!PyArg_ParseTuple(args, "y*(nn)npO", &rows, &lanes.lanes, &lanes.rows, &lanes.width, &lanes.is_acted, &present)) return NULL;
  const Py_ssize_t count = rows.len / (Py_ssize_t)sizeof(LaneRows);
  if (present != Py_None && PyObject_GetBuffer(present, &flags, PyBUF_SIMPLE) < 0) goto done;
  lanes.present = flags.buf;
  if (lanes.lanes < 0 || lanes.rows < 0 || lanes.width <= 0 || rows.len % (Py_ssize_t)sizeof(LaneRows) ||
      !are_rows_inside(rows.buf, count, &lanes) || (flags.obj && flags.len != lanes.lanes * lanes.rows)) {
    PyErr_Format(PyExc_ValueError, "expected rows in %zd lanes of %zd rows", lanes.lanes, lanes.rows);
    goto done;
  }
  spans = PyBytes_FromStringAndSize(NULL, count * SPAN), gaps = PyBytes_FromStringAndSize(NULL, count);
  if (spans && gaps) {
    memset(PyBytes_AsString(gaps), 0, (size_t)count);
    find_spans(rows.buf, count, &lanes, (Span *)PyBytes_AsString(spans), (uint8_t *)PyBytes_AsString(gaps));
    result = Py_BuildValue("OO", spans, gaps);
  }
done:
  Py_XDECREF(spans);
  Py_XDECREF(gaps);
  PyBuffer_Release(&rows);
  PyBuffer_Release(&flags);
  return result;
}

/* Buffers of a column, and of spans of its rows. */
typedef struct {
  Py_buffer data, spans;
  Py_ssize_t count, width;
} Column;

/* Whether all spans are rows of the column; sets an error if not. */
static int are_valid(Column *column) {
  column->count = column->spans.len / SPAN;
  if (column->width > 0 && !(column->spans.len % SPAN) &&
      are_spans_inside(column->spans.buf, column->count, column->width, column->data.len))
    return 1;
  PyErr_Format(PyExc_ValueError, "expected pieces of %zd bytes a row in %zd bytes", column->width, column->data.len);
  return 0;
}

static void close_spans(Column *column) {
  PyBuffer_Release(&column->data);
  PyBuffer_Release(&column->spans);
}

static int can_separate(Py_ssize_t width, const Wish *wish) {
  const Py_ssize_t size = wish->itemsize;
  const int is_number = size == 1 || size == 2 || size == 4 || size == 8;
  return size > 0 && !(width % size) && (wish->relation != ADDED || is_number);
}

/* What is found of the pieces of a column. */
typedef struct {
  Column column;
  Wish wish;
  PyObject *repeated, *hashes, *bounds, *planes;
  uint8_t *flags, *sums, *to, *scratch; /* the bytes of these, but for bounds, and memory for `shuffle.c` */
  int64_t *ends;                       /* of bounds */
  Py_ssize_t used;                     /* bytes of the planes */
} Description;

/* Makes room for what will be found, given a tuple of arguments; 0 after an error. */
static int open_description(PyObject *args, Description *found) {
  Column *column = &found->column;
  Wish *wish = &found->wish;
  if (!PyTuple_Check(args)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple for each column");
    return 0;
  }
  if (!PyArg_ParseTuple(args, "y*y*nninn", &column->data, &column->spans, &column->width, &wish->itemsize, &wish->relation,
                        &wish->least, &wish->most))
    return 0;
  if (!are_valid(column)) return 0;
  if (!can_separate(column->width, wish)) {
    PyErr_Format(PyExc_ValueError, "expected pieces of %zd bytes a row, and elements of %zd", column->width, wish->itemsize);
    return 0;
  }
  const Py_ssize_t count = column->count;
  found->repeated = PyBytes_FromStringAndSize(NULL, count), found->hashes = PyBytes_FromStringAndSize(NULL, 16 * count);
  found->bounds = PyBytes_FromStringAndSize(NULL, 2 * count * (Py_ssize_t)sizeof(int64_t));
  found->planes = PyByteArray_FromStringAndSize(NULL, most_bytes_planes(column->spans.buf, count, wish));
  if (!found->repeated || !found->hashes || !found->bounds || !found->planes) return 0;
  if (!(found->scratch = malloc((size_t)scratch_of_shuffle(column->width)))) PyErr_NoMemory();
  return found->scratch != NULL;
}

static void close_description(Description *found) {
  free(found->scratch);
  Py_XDECREF(found->repeated);
  Py_XDECREF(found->hashes);
  Py_XDECREF(found->bounds);
  Py_XDECREF(found->planes);
  close_spans(&found->column);
}

/* Describes columns, without the GIL: once for all of them, because afterwards this thread may have to wait for it. */
static void fill_descriptions(Description *found, Py_ssize_t count) {
  for (Description *each = found; each < found + count; ++each) {
    each->flags = (uint8_t *)PyBytes_AsString(each->repeated), each->sums = (uint8_t *)PyBytes_AsString(each->hashes);
    each->ends = (int64_t *)PyBytes_AsString(each->bounds), each->to = (uint8_t *)PyByteArray_AsString(each->planes);
  }
  Py_BEGIN_ALLOW_THREADS
  for (Description *each = found; each < found + count; ++each)
    each->used = describe_spans(each->column.data.buf, each->column.spans.buf, each->column.count, each->column.width, &each->wish,
                                each->flags, each->sums, each->ends, each->to, each->scratch);
  Py_END_ALLOW_THREADS
}

/* Begins and sizes of byte planes, without those of pieces that have none. */
static PyObject *planes_of(const int64_t *bounds, Py_ssize_t count) {
  const size_t size = 2 * sizeof(int64_t);
  Py_ssize_t used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) used += bounds[2 * i + 1] > 0;
  PyObject *found = PyBytes_FromStringAndSize(NULL, used * (Py_ssize_t)size);
  char *to = found ? PyBytes_AsString(found) : NULL;
  for (Py_ssize_t i = 0; found && i < count; ++i) {
    if (bounds[2 * i + 1] <= 0) continue;
    memcpy(to, bounds + 2 * i, size);
    to += size;
  }
  return found;
}

/* describe(columns): see piece_functions.describe_in_python. */
PyObject *describe(PyObject *self, PyObject *columns) {
  (void)self;
  const Py_ssize_t count = PyTuple_Check(columns) ? PyTuple_Size(columns) : -1;
  if (count < 0) return PyErr_Format(PyExc_TypeError, "expected a tuple of columns");
  Description *found = calloc((size_t)count + 1, sizeof *found);
  if (!found) return PyErr_NoMemory();
  Py_ssize_t opened = 0;
  while (opened < count && open_description(PyTuple_GetItem(columns, opened), found + opened)) ++opened;
  PyObject *result = opened == count ? PyList_New(count) : NULL;
  if (result) fill_descriptions(found, count);
  for (Py_ssize_t i = 0; result && i < count; ++i) {
    const Description *each = found + i;
    PyObject *segments = PyByteArray_Resize(each->planes, each->used) < 0 ? NULL : planes_of(each->ends, each->column.count);
    PyObject *one = segments ? PyTuple_Pack(5, each->repeated, each->hashes, each->bounds, each->planes, segments) : NULL;
    if (one) PyList_SetItem(result, i, one);
    else Py_CLEAR(result);
    Py_XDECREF(segments);
  }
  for (Py_ssize_t i = 0; i <= opened && i < count; ++i) close_description(found + i);
  free(found);
  return result;
}

/* How many pieces have planes; -1: `bounds` has more or fewer than `count` pieces. */
static Py_ssize_t count_planes(const Py_buffer *bounds, Py_ssize_t count) {
  if (bounds->len != 2 * count * (Py_ssize_t)sizeof(int64_t)) return -1;
  Py_ssize_t found = 0;
  for (Py_ssize_t i = 0; i < count; ++i) found += ((const int64_t *)bounds->buf)[2 * i + 1] != 0;
  return found;
}

/* stored(data, spans, gaps, repeated, bounds, sizes, how): see piece_functions.stored_in_python. */
PyObject *stored(PyObject *self, PyObject *args) {
  (void)self;
  Column column;
  Py_buffer gaps, repeated, bounds, sizes, only;
  long long filter, worthwhile, most_plain;
  PyObject *table = NULL, *is_encoded = NULL, *result = NULL;
  if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*(nLLLz*)", &column.data, &column.spans, &gaps, &repeated, &bounds, &sizes, &column.width,
                        &filter, &worthwhile, &most_plain, &only))
    return NULL;
  const Storing how = {filter, worthwhile, most_plain, only.buf, only.len, only.buf != NULL};
  if (!are_valid(&column)) goto done;
  const Py_ssize_t count = column.count, planes = count_planes(&bounds, count);
  if (gaps.len != count || repeated.len != count || sizes.len != planes * (Py_ssize_t)sizeof(int64_t) || only.len > column.width) {
    PyErr_Format(PyExc_ValueError, "expected flags of %zd pieces, and the sizes of frames", count);
    goto done;
  }
  table = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(StoredPiece)), is_encoded = PyBytes_FromStringAndSize(NULL, count);
  if (table && is_encoded) {
    uint8_t *flags = (uint8_t *)PyBytes_AsString(is_encoded);
    for (Py_ssize_t i = 0; i < count; ++i) flags[i] = !((const uint8_t *)gaps.buf)[i];
    fill_stored(column.data.buf, column.spans.buf, count, column.width, &how, repeated.buf, bounds.buf, sizes.buf,
                (StoredPiece *)PyBytes_AsString(table), flags);
    result = PyTuple_Pack(2, table, is_encoded);
  }
done:
  Py_XDECREF(table);
  Py_XDECREF(is_encoded);
  close_spans(&column);
  PyBuffer_Release(&gaps);
  PyBuffer_Release(&repeated);
  PyBuffer_Release(&bounds);
  PyBuffer_Release(&sizes);
  PyBuffer_Release(&only);
  return result;
}
