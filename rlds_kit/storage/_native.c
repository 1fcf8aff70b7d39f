/* The filters SPARSE_XOR and PREDICT, which run over every byte of every frame. filters.py and predict.py beside this
 * file have the same functions in NumPy; tests compare them. docs/format.md, "Filters".
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

/* Writing past the cache needs rows that begin at a multiple of WIDTH bytes. */
#if defined(__x86_64__) && defined(__linux__)
#include <emmintrin.h>
#include <sys/mman.h>
#include <unistd.h>
#define WIDTH 16
#define LARGE (2 << 20) /* about what a core has of its own */

static void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i += WIDTH)
    _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
  _mm_sfence(); /* other threads see it from here on */
}

/* Whether that is likely to be faster. Not in memory that nobody touched yet: the system clears it, which brings it into
 * the cache. The last page stands for all: rows are written from the first to the last. */
static int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width) {
  if (size < LARGE || ((uintptr_t)rows | (uintptr_t)width) % WIDTH) return 0;
  uintptr_t last = (uintptr_t)rows + (uintptr_t)size - 1, page = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char is_there = 0;
  return mincore((void *)(last - last % page), 1, &is_there) == 0 && is_there & 1;
}
#else
static void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count) { memcpy(to, from, (size_t)count); }

static int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width) {
  (void)rows, (void)size, (void)width;
  return 0;
}
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

/* What is left to read of an encoded payload. */
typedef struct {
  const uint8_t *bits, *values, *end;
} Encoded;

/* Makes the row before, which is in `row`, the next one; returns 0 if there are too few values or a bit has no byte. */
static int decode_row(Encoded *from, Py_ssize_t width, uint8_t *row) {
  const uint8_t *bits = from->bits, *values = from->values;
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
      if (at + j >= width || values == from->end) return 0;
      row[at + j] ^= *values++;
    }
  }
  from->bits = bits, from->values = values;
  return 1;
}

/* Undoes `encode`, each row upon a copy of the row before; returns 0 if there are too few values, or too many. */
static int decode(Encoded from, Py_ssize_t count, Py_ssize_t width, uint8_t *rows) {
  memset(rows, 0, (size_t)width);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i) memcpy(rows + i * width, rows + (i - 1) * width, (size_t)width);
    if (!decode_row(&from, width, rows + i * width)) return 0;
  }
  return from.values == from.end;
}

/* `decode` for many rows in memory that was used before. A cache does not hold them, so a core would fetch every line of
 * it only to overwrite it: here rows are put together in `row`, and written past the cache. */
static int decode_past_cache(Encoded from, Py_ssize_t count, Py_ssize_t width, uint8_t *rows, uint8_t *row) {
  memset(row, 0, (size_t)width);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!decode_row(&from, width, row)) return 0;
    write_past_cache(rows + i * width, row, width);
  }
  return from.values == from.end;
}

/* PREDICT: the lines of images less what is expected of them. */

typedef struct {
  Py_ssize_t lines, width, pixel; /* of a row; bytes of a line and of a pixel */
  const uint8_t *zeros;           /* a line: what stands above the first line and before the first row */
} Image;

#define SHIFTS 9
#define ABOVE (3 * SHIFTS) /* the last way of predicting */

/* By how many lines and pixels the row before is shifted. */
static const signed char shifts[SHIFTS][2] = {
    {0, 0}, {0, -1}, {0, 1}, {-1, 0}, {1, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1},
};

/* A line whose pixels are those `dx` further on, written `to` if need be; beyond its ends the last one is repeated. */
static const uint8_t *shift(const Image *image, const uint8_t *line, int dx, uint8_t *to) {
  size_t pixel = (size_t)image->pixel, rest = (size_t)image->width - pixel;
  if (dx == 0) return line;
  memcpy(dx < 0 ? to + pixel : to, dx < 0 ? line : line + pixel, rest);
  memcpy(dx < 0 ? to : to + rest, dx < 0 ? line : line + rest, pixel);
  return to;
}

FOR_EACH_CPU
static void mean(const uint8_t *a, const uint8_t *b, Py_ssize_t count, uint8_t *to) {
  for (Py_ssize_t i = 0; i < count; ++i) to[i] = (uint8_t)((a[i] + b[i] + 1) >> 1);
}

FOR_EACH_CPU
static void subtract(const uint8_t *a, const uint8_t *b, Py_ssize_t count, uint8_t *to) {
  for (Py_ssize_t i = 0; i < count; ++i) to[i] = (uint8_t)(a[i] - b[i]);
}

FOR_EACH_CPU
static void add(const uint8_t *a, const uint8_t *b, Py_ssize_t count, uint8_t *to) {
  for (Py_ssize_t i = 0; i < count; ++i) to[i] = (uint8_t)(a[i] + b[i]);
}

/* The sum of absolute differences. */
FOR_EACH_CPU
static uint64_t distance(const uint8_t *a, const uint8_t *b, Py_ssize_t count) {
  uint64_t total = 0;
  while (count > 0) { /* in parts whose sums 32 bits hold, so that wide registers hold many of them */
    Py_ssize_t part = count < 1 << 16 ? count : 1 << 16;
    uint32_t sum = 0;
    for (Py_ssize_t i = 0; i < part; ++i) sum += (uint32_t)abs(a[i] - b[i]);
    total += sum, a += part, b += part, count -= part;
  }
  return total;
}

/* What a mode expects of line `y` of `row`, from the line above and from the row before, NULL if there is none. It is
 * found somewhere in these, or written to `scratch`, two lines. */
static const uint8_t *predict_line(const Image *image, const uint8_t *row, const uint8_t *before, Py_ssize_t y,
                                   int mode, uint8_t *scratch) {
  Py_ssize_t width = image->width, last = image->lines - 1;
  const uint8_t *above = y ? row + (y - 1) * width : image->zeros;
  if (mode == ABOVE) return above;
  const signed char *by = shifts[mode % SHIFTS];
  Py_ssize_t at = y + by[0] < 0 ? 0 : y + by[0] > last ? last : y + by[0];
  const uint8_t *same = shift(image, before ? before + at * width : image->zeros, by[1], scratch);
  if (mode < SHIFTS) return same;
  if (mode >= 2 * SHIFTS) {
    uint8_t *spare = scratch + width;
    mean(above, shift(image, before ? before + (at < last ? at + 1 : last) * width : image->zeros, by[1], spare), width,
         spare);
    above = spare;
  }
  mean(above, same, width, scratch);
  return scratch;
}

/* The mode that comes closest to a line: the best shift, then what is best done with it. */
static int best_mode(const Image *image, const uint8_t *row, const uint8_t *before, Py_ssize_t y, uint8_t *scratch) {
  const uint8_t *line = row + y * image->width;
  uint64_t least = UINT64_MAX;
  int best = 0;
  for (int mode = 0; mode < (before ? SHIFTS : 1) && least; ++mode) { /* without a row before they are all the same */
    uint64_t here = distance(line, predict_line(image, row, before, y, mode, scratch), image->width);
    if (here < least) least = here, best = mode;
  }
  const int others[3] = {best + SHIFTS, best + 2 * SHIFTS, ABOVE};
  for (int i = 0; i < 3 && least; ++i) {
    uint64_t here = distance(line, predict_line(image, row, before, y, others[i], scratch), image->width);
    if (here < least) least = here, best = others[i];
  }
  return best;
}

/* Writes the mode of every line to `modes` and what is left of the lines to `left`. */
static void encode_images(const Image *image, const uint8_t *rows, Py_ssize_t count, uint8_t *modes, uint8_t *left,
                          uint8_t *scratch) {
  Py_ssize_t size = image->lines * image->width;
  for (Py_ssize_t i = 0; i < count; ++i, rows += size) {
    const uint8_t *before = i ? rows - size : NULL;
    for (Py_ssize_t y = 0; y < image->lines; ++y, left += image->width) {
      int mode = best_mode(image, rows, before, y, scratch);
      *modes++ = (uint8_t)mode;
      subtract(rows + y * image->width, predict_line(image, rows, before, y, mode, scratch), image->width, left);
    }
  }
}

/* What `encode_images` made of rows. */
typedef struct {
  const uint8_t *modes, *left;
} Images;

/* Makes the next row, from the row before; returns 0 if a mode does not exist. */
static int decode_image(const Image *image, Images *from, const uint8_t *before, uint8_t *row, uint8_t *scratch) {
  for (Py_ssize_t y = 0; y < image->lines; ++y, from->left += image->width) {
    int mode = *from->modes++;
    if (mode > ABOVE) return 0;
    add(from->left, predict_line(image, row, before, y, mode, scratch), image->width, row + y * image->width);
  }
  return 1;
}

/* Undoes `encode_images`; returns 0 if a mode does not exist. */
static int decode_images(const Image *image, Images from, Py_ssize_t count, uint8_t *rows, uint8_t *scratch) {
  Py_ssize_t size = image->lines * image->width;
  for (Py_ssize_t i = 0; i < count; ++i, rows += size)
    if (!decode_image(image, &from, i ? rows - size : NULL, rows, scratch)) return 0;
  return 1;
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
    if (stored.len >= bitmap) {
      const uint8_t *bits = stored.buf;
      const Encoded from = {bits, bits + bitmap, bits + stored.len};
      Py_BEGIN_ALLOW_THREADS
      uint8_t *row = is_past_cache_better(rows.buf, rows.len, width) ? malloc((size_t)width) : NULL;
      is_right = row ? decode_past_cache(from, count, width, rows.buf, row) : decode(from, count, width, rows.buf);
      free(row);
      Py_END_ALLOW_THREADS
    }
    if (!is_right) PyErr_SetString(PyExc_ValueError, "the bitmap and the values do not fit together");
  }
  PyBuffer_Release(&stored);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static int check_image(Py_ssize_t length, Py_ssize_t count, const Image *image) {
  Py_ssize_t lines = image->lines, width = image->width, pixel = image->pixel;
  if (count > 0 && lines > 0 && width > 0 && pixel > 0 && width % pixel == 0 && length % count == 0 &&
      length / count % lines == 0 && length / count / lines == width)
    return 1;
  PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd lines of %zd bytes, %zd each pixel, got %zd bytes", count,
               lines, width, pixel, length);
  return 0;
}

static PyObject *predict(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows;
  Py_ssize_t count;
  Image image;
  if (!PyArg_ParseTuple(args, "y*nnnn", &rows, &count, &image.lines, &image.width, &image.pixel)) return NULL;
  PyObject *result = NULL;
  if (check_image(rows.len, count, &image)) {
    uint8_t *scratch = calloc((size_t)image.width, 3);
    if (scratch) result = PyBytes_FromStringAndSize(NULL, count * image.lines + rows.len);
    else PyErr_NoMemory();
    if (result) {
      uint8_t *modes = (uint8_t *)PyBytes_AsString(result);
      image.zeros = scratch + 2 * image.width;
      Py_BEGIN_ALLOW_THREADS
      encode_images(&image, rows.buf, count, modes, modes + count * image.lines, scratch);
      Py_END_ALLOW_THREADS
    }
    free(scratch);
  }
  PyBuffer_Release(&rows);
  return result;
}

static PyObject *unpredict(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer modes, left, rows;
  Py_ssize_t count;
  Image image;
  if (!PyArg_ParseTuple(args, "y*y*w*nnnn", &modes, &left, &rows, &count, &image.lines, &image.width, &image.pixel))
    return NULL;
  int is_right = 0;
  if (check_image(rows.len, count, &image) && check_sizes(left.len, count, rows.len / count)) {
    uint8_t *scratch = calloc((size_t)image.width, 3);
    if (!scratch) {
      PyErr_NoMemory();
    } else if (modes.len != count * image.lines) {
      PyErr_Format(PyExc_ValueError, "expected a mode for each of %zd lines, got %zd", count * image.lines, modes.len);
    } else {
      image.zeros = scratch + 2 * image.width;
      const Images from = {modes.buf, left.buf};
      Py_BEGIN_ALLOW_THREADS
      is_right = decode_images(&image, from, count, rows.buf, scratch);
      Py_END_ALLOW_THREADS
      if (!is_right) PyErr_SetString(PyExc_ValueError, "a line is predicted in a way that does not exist");
    }
    free(scratch);
  }
  PyBuffer_Release(&modes);
  PyBuffer_Release(&left);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"sparse_xor", sparse_xor, METH_VARARGS, "Return bitmap and values of `rows` (a buffer) in `count` rows."},
    {"unsparse_xor", unsparse_xor, METH_VARARGS, "Write the `count` rows of `stored` into the buffer `rows`."},
    {"predict", predict, METH_VARARGS, "Return modes and residuals of `rows` in `count` images."},
    {"unpredict", unpredict, METH_VARARGS, "Write the `count` rows of modes and residuals into the buffer `rows`."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "C twins of filters.py and predict.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
