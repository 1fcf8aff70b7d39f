/* The filters of filters.h for Python. Buffers hold whole rows; `array_bytes` is how many bytes the array has that `rows`
 * are a part of. */

#include "filters.h"

/* Bytes below which releasing the interpreter lock and taking it back takes longer than what is done in between. */
#define RELEASE_GIL_SIZE (32 * 1024)
#define RELEASE_GIL_COPY (256 * 1024) /* of memory that is only copied or compared */

static int check_sizes(Py_ssize_t length, Py_ssize_t count, Py_ssize_t width) {
  /* Divides instead of multiplying: count * width may overflow. */
  if (count > 0 && width > 0 && length / count == width && length % count == 0) return 1;
  PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd bytes, got %zd bytes", count, width, length);
  return 0;
}

static int check_range(Py_ssize_t total, Py_ssize_t begin, Py_ssize_t count) {
  if (begin >= 0 && count > 0 && begin <= total && count <= total - begin) return 1;
  PyErr_Format(PyExc_ValueError, "expected some of %zd rows, got %zd from %zd on", total, count, begin);
  return 0;
}

/* Filters that encode each row relative to the previous row. */

typedef Py_ssize_t (*MostBytes)(Py_ssize_t, Py_ssize_t);
typedef uint8_t *(*Encode)(const uint8_t *, Py_ssize_t, Py_ssize_t, const uint8_t *, uint8_t *, Xxh3 *);
typedef int (*Decode)(const uint8_t *, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, uint8_t *, uint8_t *);

/* The hash in a buffer that `new_hash` has made; NULL if it is not one. */
static Xxh3 *hash_of(const Py_buffer *state) {
  Xxh3 *hash = state->buf;
  if (state->len == (Py_ssize_t)sizeof(Xxh3) && is_valid_hash(hash)) return hash;
  PyErr_Format(PyExc_ValueError, "expected a hash from new_hash(), got %zd bytes that are none", state->len);
  return NULL;
}

/* fn(rows, count, hash), where the hash is optional. */
static PyObject *encode_with(Encode encode, MostBytes most_bytes, PyObject *args) {
  Py_buffer rows, state = {0};
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "y*n|w*", &rows, &count, &state)) return NULL;
  PyObject *result = NULL;
  Xxh3 *hash = state.obj ? hash_of(&state) : NULL;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  if ((hash || !state.obj) && check_sizes(rows.len, count, width)) {
    /* Memory that is not written to costs nothing, and the result is copied out of it because it is small. */
    uint8_t *stored, *zeros, *end = NULL;
    Py_BEGIN_ALLOW_THREADS
    stored = malloc((size_t)most_bytes(count, width)), zeros = calloc((size_t)width, 1);
    if (stored && zeros) end = encode(rows.buf, count, width, zeros, stored, hash);
    free(zeros);
    Py_END_ALLOW_THREADS
    result = end ? PyBytes_FromStringAndSize(NULL, end - stored) : PyErr_NoMemory();
    char *copy = result ? PyBytes_AsString(result) : NULL;
    PyThreadState *others = copy && end - stored >= RELEASE_GIL_COPY ? PyEval_SaveThread() : NULL;
    if (copy) memcpy(copy, stored, (size_t)(end - stored));
    free(stored);
    if (others) PyEval_RestoreThread(others);
  }
  if (state.obj) PyBuffer_Release(&state);
  PyBuffer_Release(&rows);
  return result;
}

/* are_equal(rows, count): whether all rows are equal. Keeps the interpreter lock while the first row, if it is not very
 * large, is compared with the last one, from which it differs in nearly all blocks: taking the lock back from a thread
 * that runs may take longer than the comparison. */
static PyObject *are_equal(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "y*n", &rows, &count)) return NULL;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  int is_right = check_sizes(rows.len, count, width);
  const uint8_t *first = rows.buf;
  int may_be = is_right && (width >= RELEASE_GIL_COPY || !memcmp(first, first + (count - 1) * width, (size_t)width));
  int found = may_be && count == 1;
  if (may_be && count > 1) {
    Py_BEGIN_ALLOW_THREADS
    found = !memcmp(first, first + width, (size_t)(rows.len - width));
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&rows);
  return is_right ? PyBool_FromLong(found) : NULL;
}

/* Whether there are rows of all numbers; sets an error if not. */
static int are_rows(const int64_t *numbers, Py_ssize_t count, Py_ssize_t total) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (numbers[i] < 0 || numbers[i] >= total) {
      PyErr_Format(PyExc_ValueError, "expected numbers of %zd rows, got %lld", total, (long long)numbers[i]);
      return 0;
    }
  return 1;
}

/* take_rows(rows, numbers, out, width): copies the rows of some numbers, int64, into `out`, in this order. */
static PyObject *take_rows(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows, numbers, out;
  Py_ssize_t width, count;
  if (!PyArg_ParseTuple(args, "y*y*w*n", &rows, &numbers, &out, &width)) return NULL;
  const int64_t *picks = numbers.buf;
  count = numbers.len / (Py_ssize_t)sizeof *picks;
  int is_right = !count || (check_sizes(out.len, count, width) && are_rows(picks, count, rows.len / width));
  if (is_right && count) {
    Py_BEGIN_ALLOW_THREADS
    int is_past_cache = are_rows_better_past_cache(out.buf, out.len, width);
    for (Py_ssize_t i = 0; i < count; ++i)
      write_row((uint8_t *)out.buf + i * width, (uint8_t *)rows.buf + picks[i] * width, width, is_past_cache);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&out);
  PyBuffer_Release(&numbers);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static PyObject *new_hash(PyObject *self, PyObject *args) {
  (void)self, (void)args;
  static const Xxh3 empty;
  return PyByteArray_FromStringAndSize((const char *)&empty, sizeof empty);
}

/* add(hash, data): only one thread at a time may use a hash, as the interpreter lock is released. */
static PyObject *add(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer state, data;
  if (!PyArg_ParseTuple(args, "w*y*", &state, &data)) return NULL;
  Xxh3 *hash = hash_of(&state);
  if (hash) {
    Py_BEGIN_ALLOW_THREADS
    xxh3_add(hash, data.buf, (uint64_t)data.len);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&data);
  PyBuffer_Release(&state);
  if (!hash) return NULL;
  Py_RETURN_NONE;
}

/* digest(hash) */
static PyObject *digest(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer state;
  uint8_t found[16];
  if (!PyArg_ParseTuple(args, "y*", &state)) return NULL;
  const Xxh3 *hash = hash_of(&state);
  if (hash) xxh3_end(hash, found);
  PyBuffer_Release(&state);
  return hash ? PyBytes_FromStringAndSize((const char *)found, sizeof found) : NULL;
}

static PyObject *decode_with(Decode decode, const char *wrong, PyObject *args) {
  Py_buffer stored, rows;
  Py_ssize_t count, total, begin, array_bytes;
  if (!PyArg_ParseTuple(args, "y*w*nnnn", &stored, &rows, &count, &total, &begin, &array_bytes)) return NULL;
  int is_right = 0;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  if (check_sizes(rows.len, count, width) && check_range(total, begin, count)) {
    Py_BEGIN_ALLOW_THREADS
    uint8_t *row = is_past_cache_better(rows.buf, rows.len, width, array_bytes) ? malloc((size_t)width) : NULL;
    is_right = decode(stored.buf, stored.len, total, begin, count, width, rows.buf, row);
    free(row);
    Py_END_ALLOW_THREADS
    if (!is_right) PyErr_SetString(PyExc_ValueError, wrong);
  }
  PyBuffer_Release(&stored);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static PyObject *sparse_xor(PyObject *self, PyObject *args) {
  (void)self;
  return encode_with(encode_sparse, most_bytes_sparse, args);
}

static PyObject *unsparse_xor(PyObject *self, PyObject *args) {
  (void)self;
  return decode_with(decode_sparse, "the bitmap and the values do not fit together", args);
}

static PyObject *runs(PyObject *self, PyObject *args) {
  (void)self;
  return encode_with(encode_runs, most_bytes_runs, args);
}

static PyObject *unruns(PyObject *self, PyObject *args) {
  (void)self;
  return decode_with(decode_runs, "runs and their bytes do not fit together", args);
}

/* The inverse of SHUFFLE, XOR_SHUFFLE or DELTA_SHUFFLE, as `relation` is ALONE, XORED or ADDED. */
static PyObject *unshuffle(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer stored, rows;
  Py_ssize_t count, total, begin, itemsize;
  int relation;
  if (!PyArg_ParseTuple(args, "y*w*nnnni", &stored, &rows, &count, &total, &begin, &itemsize, &relation)) return NULL;
  int is_right = 0;
  uint8_t *scratch = NULL;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  if (check_sizes(rows.len, count, width) && check_range(total, begin, count)) {
    int is_number = itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8;
    if (itemsize <= 0 || width % itemsize || (relation == ADDED && !is_number) || stored.len % total ||
        stored.len / total != width) {
      PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd bytes in planes of %zd, got %zd bytes", total, width, itemsize,
                   stored.len);
    } else if (!(scratch = malloc((size_t)width * 2))) {
      PyErr_NoMemory();
    } else {
      is_right = 1;
      Py_BEGIN_ALLOW_THREADS
      decode_shuffled(stored.buf, stored.len / itemsize, itemsize, begin, count, width, relation, rows.buf, scratch);
      Py_END_ALLOW_THREADS
    }
  }
  free(scratch);
  PyBuffer_Release(&stored);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

/* SHUFFLE, XOR_SHUFFLE or DELTA_SHUFFLE, as `relation` is ALONE, XORED or ADDED. */
static PyObject *shuffle(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows;
  Py_ssize_t count, itemsize;
  int relation;
  if (!PyArg_ParseTuple(args, "y*nni", &rows, &count, &itemsize, &relation)) return NULL;
  PyObject *result = NULL;
  uint8_t *scratch = NULL;
  Py_ssize_t width = count > 0 ? rows.len / count : 0;
  if (check_sizes(rows.len, count, width)) {
    int is_number = itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8;
    if (itemsize <= 0 || width % itemsize || (relation == ADDED && !is_number)) {
      PyErr_Format(PyExc_ValueError, "expected rows of elements of %zd bytes, got %zd bytes", itemsize, width);
    } else if (!(scratch = malloc((size_t)scratch_of_shuffle(width)))) {
      PyErr_NoMemory();
    } else if ((result = PyBytes_FromStringAndSize(NULL, rows.len))) {
      uint8_t *planes = (uint8_t *)PyBytes_AsString(result);
      if (rows.len < RELEASE_GIL_SIZE) {
        encode_shuffled(rows.buf, count, width, itemsize, relation, planes, scratch);
      } else {
        Py_BEGIN_ALLOW_THREADS
        encode_shuffled(rows.buf, count, width, itemsize, relation, planes, scratch);
        Py_END_ALLOW_THREADS
      }
    }
  }
  free(scratch);
  PyBuffer_Release(&rows);
  return result;
}

/* Validates the layout of images, and allocates scratch memory, which the caller frees. */
static int open_images(Image *image, Py_ssize_t length, Py_ssize_t count) {
  Py_ssize_t lines = image->lines, width = image->width, pixel = image->pixel;
  image->scratch = NULL;
  if (count <= 0 || lines <= 0 || width <= 0 || pixel <= 0 || width % pixel || length % count ||
      length / count % lines || length / count / lines != width) {
    PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd lines of %zd bytes, %zd each pixel, got %zd bytes", count,
                 lines, width, pixel, length);
    return 0;
  }
  image->scratch = calloc((size_t)width, 3); /* two lines of scratch, then a line of zeros; calloc checks the product */
  image->zeros = image->scratch + 2 * width;
  if (!image->scratch) PyErr_NoMemory();
  return image->scratch != NULL;
}

static PyObject *predict(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer rows;
  Py_ssize_t count;
  Image image;
  if (!PyArg_ParseTuple(args, "y*nnnn", &rows, &count, &image.lines, &image.width, &image.pixel)) return NULL;
  PyObject *result = NULL;
  if (open_images(&image, rows.len, count)) {
    result = PyBytes_FromStringAndSize(NULL, count * image.lines + rows.len);
    if (result) {
      uint8_t *modes = (uint8_t *)PyBytes_AsString(result);
      Py_BEGIN_ALLOW_THREADS
      encode_images(&image, rows.buf, count, modes, modes + count * image.lines);
      Py_END_ALLOW_THREADS
    }
  }
  free(image.scratch);
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
  if (open_images(&image, rows.len, count) && check_sizes(left.len, count, rows.len / count)) {
    if (modes.len != count * image.lines) {
      PyErr_Format(PyExc_ValueError, "expected a mode for each of %zd lines, got %zd", count * image.lines, modes.len);
    } else {
      const Sink to = {rows.buf, NULL, 0, 0};
      is_right = 1;
      Py_BEGIN_ALLOW_THREADS
      for (Py_ssize_t i = 0; i < count && is_right; ++i)
        is_right = decode_image(&image, (uint8_t *)modes.buf + i * image.lines,
                                (uint8_t *)left.buf + i * image.lines * image.width, i, &to);
      Py_END_ALLOW_THREADS
      if (!is_right) PyErr_SetString(PyExc_ValueError, "a line is predicted in a way that does not exist");
    }
  }
  free(image.scratch);
  PyBuffer_Release(&modes);
  PyBuffer_Release(&left);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static PyObject *split(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer left;
  int noise;
  if (!PyArg_ParseTuple(args, "y*i", &left, &noise)) return NULL;
  PyObject *result = NULL;
  uint8_t *numbers = malloc((size_t)most_bytes_split(left.len));
  if (noise < 0 || noise > MOST_NOISE) {
    PyErr_Format(PyExc_ValueError, "expected 0 to %d bits of noise, got %d", MOST_NOISE, noise);
  } else if (!numbers) {
    PyErr_NoMemory();
  } else {
    const uint8_t *begin, *end;
    Py_BEGIN_ALLOW_THREADS
    begin = begin_split(left.buf, left.len, &noise, numbers, &end);
    Py_END_ALLOW_THREADS
    result = PyBytes_FromStringAndSize(NULL, end - begin + size_of_fields(left.len, noise));
    if (result) {
      uint8_t *stored = (uint8_t *)PyBytes_AsString(result);
      Py_BEGIN_ALLOW_THREADS
      memcpy(stored, begin, (size_t)(end - begin));
      fill_fields(numbers, left.len, noise, stored + (end - begin));
      Py_END_ALLOW_THREADS
    }
  }
  free(numbers);
  PyBuffer_Release(&left);
  return result;
}

/* Image by image, so that joined residuals are still in the cache when they are decoded. */
static int join_images(const Image *image, const uint8_t *modes, Numbers *from, Py_ssize_t end, uint8_t *left,
                       const Sink *to) {
  for (Py_ssize_t i = 0; i < end; ++i) {
    read_numbers(from, image->lines * image->width, left);
    if (!decode_image(image, modes + i * image->lines, left, i, to)) return 0;
  }
  return 1;
}

static PyObject *unpredict_split(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer stored, rows;
  Py_ssize_t total, first, count, array_bytes;
  Image image;
  if (!PyArg_ParseTuple(args, "y*nw*nnnnnn", &stored, &total, &rows, &first, &count, &image.lines, &image.width,
                        &image.pixel, &array_bytes))
    return NULL;
  int is_right = 0;
  uint8_t *left = NULL;
  if (open_images(&image, rows.len, count)) {
    Py_ssize_t size = rows.len / count;
    /* The last condition prevents an overflow of total * size below. */
    if (first < 0 || count > total || first > total - count || total > PY_SSIZE_T_MAX / 2 / size) {
      PyErr_Format(PyExc_ValueError, "expected %zd rows from row %zd on, got %zd rows", count, first, total);
    } else if (!(left = malloc((size_t)(3 * size)))) { /* residuals of one image, then a ring of two images */
      PyErr_NoMemory();
    } else {
      Numbers from;
      Py_ssize_t modes = total * image.lines;
      Py_BEGIN_ALLOW_THREADS
      int is_past_cache = is_past_cache_better(rows.buf, rows.len, size, array_bytes);
      const Sink to = {rows.buf, first || is_past_cache ? left + size : NULL, first, is_past_cache};
      is_right = stored.len >= modes &&
                 open_numbers(&from, (uint8_t *)stored.buf + modes, stored.len - modes, total * size) &&
                 join_images(&image, stored.buf, &from, first + count, left, &to);
      Py_END_ALLOW_THREADS
      if (!is_right) PyErr_SetString(PyExc_ValueError, "modes of lines, fields and exceptions do not fit together");
    }
  }
  free(left);
  free(image.scratch);
  PyBuffer_Release(&stored);
  PyBuffer_Release(&rows);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"sparse_xor", sparse_xor, METH_VARARGS, "Return bitmap and values of `rows` (a buffer) in `count` rows, which are added to a hash, if one is given."},
    {"unsparse_xor", unsparse_xor, METH_VARARGS, "Write `count` of the `total` rows of `stored`, from `begin` on, into the buffer `rows`."},
    {"runs", runs, METH_VARARGS, "Return counts, places and bytes of runs of `rows` in `count` rows, which are added to a hash, if one is given."},
    {"are_equal", are_equal, METH_VARARGS, "Return whether all rows of `rows` (a buffer) in `count` rows are equal."},
    {"take_rows", take_rows, METH_VARARGS, "Copy the rows of some numbers into `out`; a row has `width` bytes."},
    {"new_hash", new_hash, METH_NOARGS, "Return a buffer that holds the XXH3-128 of no data."},
    {"add", add, METH_VARARGS, "Add data to a hash."},
    {"digest", digest, METH_VARARGS, "Return a hash as 16 bytes, big-endian."},
    {"unruns", unruns, METH_VARARGS, "Write `count` of the `total` rows of `stored`, from `begin` on, into the buffer `rows`."},
    {"shuffle", shuffle, METH_VARARGS, "Return the byte planes of `rows` in `count` rows of elements of `itemsize` bytes."},
    {"unshuffle", unshuffle, METH_VARARGS, "Write `count` of the `total` rows of byte planes into the buffer `rows`."},
    {"predict", predict, METH_VARARGS, "Return modes and residuals of `rows` in `count` images."},
    {"unpredict", unpredict, METH_VARARGS, "Write the `count` rows of modes and residuals into the buffer `rows`."},
    {"split", split, METH_VARARGS, "Return what residuals, at least `noise` bits of which are noise, are made of."},
    {"unpredict_split", unpredict_split, METH_VARARGS, "Write `count` of the rows of `stored`, from `first` on, into `rows`."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "C twins of filters.py, noise_split.py, predict.py and runs.py.", 0, methods, slots, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
