/* The sparse XOR filter of rlds_kit.storage.filters, which runs over every byte of every frame.
 * filters.py has the same two functions in NumPy; tests compare them. docs/format.md, "Filters".
 *
 * Decoding trusts nothing: the payload comes from files that anyone may have made. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The loops gain a third from wider registers where there are some; the choice is made when the library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_CPU
#endif

#define GROUP 64
#define STRIDE 256

/* Whether STRIDE bytes of a row equal those of the row before it. */
static inline int is_equal(const uint8_t *row, const uint8_t *previous) {
  uint64_t any = 0;
  for (int i = 0; i < STRIDE; i += 8) {
    uint64_t here, before;
    memcpy(&here, row + i, 8);
    memcpy(&before, previous + i, 8);
    any |= here ^ before;
  }
  return any == 0;
}

/* One byte of bitmap: which of `count` <= 8 bytes differ; their differences go to `values`. */
static inline uint8_t *encode_byte(const uint8_t *row, const uint8_t *previous, Py_ssize_t count, uint8_t *bits,
                                   uint8_t *values) {
  uint64_t here = 0, before = 0;
  uint8_t differences[8], mask = 0;
  memcpy(&here, row, (size_t)count);
  memcpy(&before, previous, (size_t)count);
  here ^= before;
  if (here) {
    memcpy(differences, &here, 8);
    for (int j = 0; j < 8; ++j) {
      *values = differences[j]; /* overwritten by the next one if it is zero */
      values += differences[j] != 0;
      mask |= (uint8_t)((differences[j] != 0) << j);
    }
  }
  *bits = mask;
  return values;
}

/* The bitmap of every row, each in whole bytes, goes to `bits`; returns the end of the values. `zeros` stands before
 * the first row. */
FOR_EACH_CPU
static uint8_t *encode(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, const uint8_t *zeros, uint8_t *bits,
                       uint8_t *values) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    const uint8_t *row = rows + i * width, *previous = i ? row - width : zeros;
    Py_ssize_t at = 0;
    for (; at + STRIDE <= width; at += STRIDE, bits += STRIDE / 8) {
      if (is_equal(row + at, previous + at))
        memset(bits, 0, STRIDE / 8);
      else
        for (int j = 0; j < STRIDE; j += 8)
          values = encode_byte(row + at + j, previous + at + j, 8, bits + j / 8, values);
    }
    for (; at < width; at += 8)
      values = encode_byte(row + at, previous + at, width - at < 8 ? width - at : 8, bits++, values);
  }
  return values;
}

/* Undoes `encode`; returns the end of the values that were used, NULL if there are too few or a bit has no byte. */
static const uint8_t *decode(const uint8_t *bits, const uint8_t *values, const uint8_t *end, Py_ssize_t count,
                             Py_ssize_t width, uint8_t *rows) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    uint8_t *row = rows + i * width;
    if (i)
      memcpy(row, row - width, (size_t)width);
    else
      memset(row, 0, (size_t)width);
    for (Py_ssize_t at = 0; at < width; at += 8) {
      if (width - at >= GROUP) {
        uint64_t group;
        memcpy(&group, bits, 8);
        if (group == 0) {
          bits += 8;
          at += GROUP - 8;
          continue;
        }
      }
      unsigned mask = *bits++;
      for (Py_ssize_t j = 0; mask; ++j, mask >>= 1) {
        if (!(mask & 1)) continue;
        if (at + j >= width || values == end) return NULL;
        row[at + j] ^= *values++;
      }
    }
  }
  return values;
}

static int check_sizes(Py_ssize_t length, Py_ssize_t count, Py_ssize_t width) {
  if (count > 0 && width > 0 && length / count == width && length % count == 0) return 1;
  PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd bytes, got %zd bytes", count, width, length);
  return 0;
}

static PyObject *sparse_xor(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "y*n", &rows, &count)) return NULL;
  PyObject *result = NULL;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  if (check_sizes(rows.len, count, width)) {
    Py_ssize_t bitmap = count * ((width + 7) / 8);
    /* One byte more than the worst case, for encode_byte writes before it knows. Memory that is not written to costs
     * nothing, and the result is copied out of it because it is small. */
    uint8_t *bits = malloc((size_t)(bitmap + rows.len + 1)), *zeros = calloc((size_t)width, 1), *end = bits;
    if (bits && zeros) {
      Py_BEGIN_ALLOW_THREADS
      end = encode(rows.buf, count, width, zeros, bits, bits + bitmap);
      Py_END_ALLOW_THREADS
      result = PyBytes_FromStringAndSize((const char *)bits, end - bits);
    } else {
      PyErr_NoMemory();
    }
    free(zeros);
    free(bits);
  }
  PyBuffer_Release(&rows);
  return result;
}

static PyObject *unsparse_xor(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer stored, rows;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "y*w*n", &stored, &rows, &count)) return NULL;
  int is_right = 0;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  if (check_sizes(rows.len, count, width)) {
    Py_ssize_t bitmap = count * ((width + 7) / 8);
    const uint8_t *bits = stored.buf, *end = bits + stored.len;
    if (stored.len >= bitmap) {
      Py_BEGIN_ALLOW_THREADS
      is_right = decode(bits, bits + bitmap, end, count, width, rows.buf) == end;
      Py_END_ALLOW_THREADS
    }
    if (!is_right) PyErr_SetString(PyExc_ValueError, "the bitmap and the values do not fit together");
  }
  PyBuffer_Release(&stored);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"sparse_xor", sparse_xor, METH_VARARGS, "Return bitmap and values of `rows` (a buffer) in `count` rows."},
    {"unsparse_xor", unsparse_xor, METH_VARARGS, "Write the `count` rows of `stored` into the buffer `rows`."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "C twin of rlds_kit.storage.filters.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
