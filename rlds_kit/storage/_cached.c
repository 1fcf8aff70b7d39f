/* Takes rows of many cached columns with one call: loader/shared_cache.py describes the cache. Entries may be overwritten by
 * other processes at any time, so every page is copied, and its checksum compared with the copy. */

#include "columns.h"

#define PAGE (16 << 10)

enum { IDENTITY = 0, SHUFFLE = 2, SPARSE_XOR = 6, XOR_RUNS = 9 };

/* A column in the cache, and which of the picks are of it. */
typedef struct {
  int64_t key, begin, size, filter, total, first_pick, picks;
} Column;

typedef struct {
  const uint8_t *ring;
  const int64_t *head;
  int64_t limit;
} Cache;

static int64_t pages_of(int64_t size) { return (size + PAGE - 1) / PAGE; }

/* What a page belongs to. */
static uint64_t owner(const Column *column, int64_t page) {
  return (uint64_t)column->key * 0x9E3779B97F4A7C15U + (uint64_t)column->begin * 0xC2B2AE3D27D4EB4FU +
         (uint64_t)column->filter * 0x165667B19E3779F9U + (uint64_t)page;
}

static int is_there(const Cache *cache, int64_t begin) {
  __sync_synchronize(); /* the head is read after the bytes */
  return *(const volatile int64_t *)cache->head - begin <= cache->limit;
}

/* Copies bytes `[from, to)` of an entry, with whole pages, to their place in `copy`. */
static int copy_pages(const Cache *cache, const Column *column, int64_t from, int64_t to, uint8_t *copy) {
  int64_t at = column->begin % cache->limit, checks = 8 * pages_of(column->size);
  if (at + checks + column->size > cache->limit) return 0;
  for (int64_t page = from / PAGE; page < pages_of(to); ++page) {
    int64_t first = page * PAGE, size = column->size - first < PAGE ? column->size - first : PAGE;
    uint64_t expected;
    memcpy(&expected, cache->ring + at + 8 * page, 8);
    memcpy(copy + first, cache->ring + at + checks + first, (size_t)size);
    if ((xxh3(copy + first, (uint64_t)size) ^ owner(column, page)) != expected) return 0;
  }
  return is_there(cache, column->begin);
}

/* Takes the rows of one column; returns 0 if it is not there any more, or not valid. */
static int take(const Cache *cache, const Column *column, const Pick *picks, int64_t width, int64_t itemsize, uint8_t *copy,
                const Target *to) {
  if (column->filter == IDENTITY) { /* only the pages with these rows */
    if (column->size != column->total * width) return 0;
    for (int64_t i = 0, copied = -1; i < column->picks; ++i) {
      int64_t first = picks[i].row * width, from = copied < first ? first : copied;
      if (from < first + width && !copy_pages(cache, column, from, first + width, copy)) return 0;
      copied = pages_of(first + width) * PAGE;
      write_row(to->rows + picks[i].to * width, copy + first, width, to->is_past_cache);
    }
    return 1;
  }
  if (!copy_pages(cache, column, 0, column->size, copy)) return 0;
  if (column->filter == XOR_RUNS)
    return pick_runs(copy, column->size, column->total, picks, column->picks, width, to);
  if (column->filter == SPARSE_XOR)
    return pick_sparse(copy, column->size, column->total, picks, column->picks, width, to);
  if (column->filter != SHUFFLE || column->size != column->total * width || width % itemsize) return 0;
  for (int64_t i = 0; i < column->picks; ++i)
    decode_shuffled(copy, column->size / itemsize, itemsize, picks[i].row, 1, width, ALONE, to->rows + picks[i].to * width,
                    to->row);
  return 1;
}

static int are_right(const Column *columns, Py_ssize_t count, const Pick *picks, int64_t all, int64_t rows) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Column *one = columns + i;
    if (one->begin < 0 || one->size <= 0 || one->total <= 0 || one->first_pick < 0 || one->picks <= 0) return 0;
    if (one->first_pick > all || one->picks > all - one->first_pick) return 0;
    for (int64_t k = one->first_pick, row = 0; k < one->first_pick + one->picks; row = picks[k++].row)
      if (picks[k].row < row || picks[k].row >= one->total || picks[k].to < 0 || picks[k].to >= rows) return 0;
  }
  return 1;
}

/* take(ring, head, columns, picks, out, width, itemsize): writes rows of cached columns into `out`; returns a byte for each
 * column, 1 if it was still there. Picks of a column are sorted by row. */
static PyObject *take_all(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer ring, head, columns, picks, out;
  Py_ssize_t width, itemsize;
  if (!PyArg_ParseTuple(args, "y*y*y*y*w*nn", &ring, &head, &columns, &picks, &out, &width, &itemsize)) return NULL;
  PyObject *result = NULL;
  Py_ssize_t count = columns.len / (Py_ssize_t)sizeof(Column);
  const Column *all = columns.buf;
  int64_t largest = 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (all[i].size > largest) largest = all[i].size;
  if (head.len != 8 || width <= 0 || itemsize <= 0 || ring.len <= 0 || largest > ring.len ||
      !are_right(all, count, picks.buf, picks.len / (Py_ssize_t)sizeof(Pick), out.len / width)) {
    PyErr_SetString(PyExc_ValueError, "expected rows of the columns, in ascending order, and rows of the array");
  } else if ((result = PyBytes_FromStringAndSize(NULL, count))) {
    uint8_t *copy = malloc((size_t)(largest + width + 1)), *sound = (uint8_t *)PyBytes_AsString(result);
    const Cache cache = {ring.buf, head.buf, ring.len};
    if (copy) {
      Py_BEGIN_ALLOW_THREADS
      const Target to = {out.buf, copy + largest, are_rows_better_past_cache(out.buf, out.len, width)};
      for (Py_ssize_t i = 0; i < count; ++i)
        sound[i] = (uint8_t)take(&cache, all + i, (const Pick *)picks.buf + all[i].first_pick, width, itemsize, copy, &to);
      Py_END_ALLOW_THREADS
    } else {
      Py_CLEAR(result);
      PyErr_NoMemory();
    }
    free(copy);
  }
  PyBuffer_Release(&ring);
  PyBuffer_Release(&head);
  PyBuffer_Release(&columns);
  PyBuffer_Release(&picks);
  PyBuffer_Release(&out);
  return result;
}

static PyMethodDef methods[] = {
    {"take", take_all, METH_VARARGS, "Write rows of cached columns into an array; return which columns were there."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_cached", "Takes rows of cached columns.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__cached(void) { return PyModuleDef_Init(&module); }
