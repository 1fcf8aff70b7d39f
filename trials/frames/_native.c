/* PNG of pictures of few colours, such as games draw. png.py beside this file does without where there was no compiler.
 *
 * Between two steps of a game the processor forgets what it had in its caches, and then memory that is touched costs
 * more than what is done with it. So the tables here take 8 KiB, where zlib's take 150, and its codes are the fixed ones
 * of RFC 1951, section 3.2.6: a palette's numbers take about as many bytes as with those that zlib makes for each
 * picture. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#define MOST 256   /* colours of a palette */
#define FEW 16     /* of which the numbers take four bits */
#define SLOTS 1024 /* a power of two above */
#define RUN 8      /* pixels that are compared at once */

typedef struct {
  int count;
  uint32_t colors[MOST];
  uint16_t slots[SLOTS]; /* 0: free; else a number plus one */
} Palette;

static inline uint32_t color_of(const uint8_t *pixel) {
  return (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
}

/* The number of a colour, a new one if need be; -1 if there are more than `most`. */
static int number_of(Palette *palette, uint32_t color, int most) {
  uint32_t slot = color * 2654435761u >> 22;
  for (; palette->slots[slot]; slot = (slot + 1) % SLOTS)
    if (palette->colors[palette->slots[slot] - 1] == color) return palette->slots[slot] - 1;
  if (palette->count == most) return -1;
  palette->colors[palette->count] = color;
  palette->slots[slot] = (uint16_t)++palette->count;
  return palette->count - 1;
}

/* A number for each of `width` pixels goes `to`; 0 if there are too many colours. */
static int number_row(Palette *palette, const uint8_t *pixels, Py_ssize_t width, int most, uint8_t *to) {
  for (Py_ssize_t i = 0; i < width;) {
    const uint8_t *pixel = pixels + 3 * i;
    if (i && width - i >= RUN && memcmp(pixel, pixel - 3, 3 * RUN) == 0) {
      memset(to + i, to[i - 1], RUN);
      i += RUN;
      continue;
    }
    int number = number_of(palette, color_of(pixel), most);
    if (number < 0) return 0;
    to[i++] = (uint8_t)number;
  }
  return 1;
}

/* The bytes of a row: a zero, which is the filter that does nothing, and the numbers (PNG 3rd edition, section 7.2). */
static inline Py_ssize_t row_size(Py_ssize_t width, int most) { return 1 + (most == FEW ? (width + 1) / 2 : width); }

/* Numbers of four bits, the first one in the higher half of its byte. `numbers` has room for one more. */
static void pack_row(uint8_t *numbers, Py_ssize_t width, uint8_t *to) {
  numbers[width] = 0;
  for (Py_ssize_t i = 0; i < (width + 1) / 2; ++i) to[i] = (uint8_t)(numbers[2 * i] << 4 | numbers[2 * i + 1]);
}

/* All rows go `to`; 0 if there are more than `most` colours. Those like the one before are copied. */
static int number_rows(Palette *palette, const uint8_t *pixels, Py_ssize_t height, Py_ssize_t width, int most,
                       uint8_t *numbers, uint8_t *to) {
  Py_ssize_t size = row_size(width, most);
  memset(palette, 0, sizeof *palette);
  for (Py_ssize_t row = 0; row < height; ++row, pixels += 3 * width, to += size) {
    if (row && memcmp(pixels, pixels - 3 * width, (size_t)(3 * width)) == 0) {
      memcpy(to, to - size, (size_t)size);
      continue;
    }
    if (!number_row(palette, pixels, width, most, numbers)) return 0;
    to[0] = 0;
    if (most == FEW)
      pack_row(numbers, width, to + 1);
    else
      memcpy(to + 1, numbers, (size_t)width);
  }
  return 1;
}

/* What follows has few branches: a processor that comes from other work guesses each of them wrongly, which costs more
 * than a few operations that were not needed. */

/* Eight bytes as a number, the lowest first. */
static inline uint64_t little_endian(uint64_t bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(bytes);
#else
  return bytes;
#endif
}

static inline uint64_t eight_at(const uint8_t *data) {
  uint64_t bytes;
  memcpy(&bytes, data, 8);
  return little_endian(bytes);
}

/* The places of the lowest and the highest bit of a number that is not zero. */
#ifdef __GNUC__
static inline int lowest_of(uint64_t number) { return __builtin_ctzll(number); }
static inline int highest_of(uint32_t number) { return 31 - __builtin_clz(number); }
#else
static inline int lowest_of(uint64_t number) {
  int found = 0;
  for (; !(number & 1); number >>= 1) ++found;
  return found;
}
static inline int highest_of(uint32_t number) {
  int found = 0;
  while (number >>= 1) ++found;
  return found;
}
#endif

/* Bits, the lowest of a byte first. */
typedef struct {
  uint8_t *to;
  uint64_t bits;
  int count;
} Writer;

/* At most 32 bits. Eight bytes are written, of which the whole ones count. */
static inline void put(Writer *writer, uint32_t bits, int count) {
  writer->bits |= (uint64_t)bits << writer->count;
  writer->count += count;
  uint64_t bytes = little_endian(writer->bits);
  memcpy(writer->to, &bytes, 8);
  writer->to += writer->count >> 3;
  writer->bits >>= writer->count & ~7;
  writer->count &= 7;
}

/* Four bits in the other order. */
static inline uint32_t turn(uint32_t bits) { return (uint32_t)(0xf7b3d591e6a2c480u >> (bits & 15) * 4) & 15; }

/* Huffman's codes, of at most twelve bits, begin with their highest bit. */
static inline void put_code(Writer *writer, uint32_t code, int count) {
  put(writer, (turn(code) << 8 | turn(code >> 4) << 4 | turn(code >> 8)) >> (12 - count), count);
}

/* The fixed codes of RFC 1951, section 3.2.6. */
static inline void put_symbol(Writer *writer, int symbol) {
  int bits = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
  int first = symbol < 144 ? 48 : symbol < 256 ? 400 - 144 : symbol < 280 ? -256 : 192 - 280;
  put_code(writer, (uint32_t)(first + symbol), bits);
}

#define END_OF_BLOCK 256
#define LEAST 4 /* bytes of a match: it never takes more bits than they do */
#define BEYOND 8 /* that are read after the last one */
#define LONGEST 258
#define FARTHEST 32768
#define HEADS 1024 /* where four bytes were last seen, by 10 bits that stand for them */

/* The same `length` bytes as those that stand `distance` before. RFC 1951, section 3.2.5. */
static void put_match(Writer *writer, int length, int distance) {
  uint32_t more = (uint32_t)length - 3, far = (uint32_t)distance - 1;
  int extra = more < 8 || length == LONGEST ? 0 : highest_of(more) - 2;
  put_symbol(writer, length == LONGEST ? 285 : 257 + 4 * extra + (int)(more >> extra));
  put(writer, more & ((1u << extra) - 1), extra);
  extra = far < 4 ? 0 : highest_of(far) - 1;
  put_code(writer, 2 * (uint32_t)extra + (far >> extra), 5);
  put(writer, far & ((1u << extra) - 1), extra);
}

/* How many of at most `most` bytes are those that stand `distance` before. */
static inline int match(const uint8_t *here, Py_ssize_t distance, int most) {
  for (int length = 0; length < most; length += 8) {
    uint64_t differs = eight_at(here + length) ^ eight_at(here + length - distance);
    if (differs) {
      length += lowest_of(differs) / 8;
      return length < most ? length : most;
    }
  }
  return most;
}

/* Compresses at least one byte, after which come BEYOND others; `to` has room for nine eighths and 16 more. A byte is
 * looked for where the one before it stands, in the row above, and where its neighbours were last seen. */
static uint8_t *deflate(const uint8_t *from, Py_ssize_t size, Py_ssize_t row, uint8_t *to) {
  uint32_t heads[HEADS] = {0}; /* places plus one */
  Writer writer = {to, 0, 0};
  put(&writer, 3, 3); /* the last block, of fixed codes */
  for (Py_ssize_t i = 0; i < size;) {
    int most = size - i < LONGEST ? (int)(size - i) : LONGEST, length = 0;
    uint32_t *head = &heads[(uint32_t)eight_at(from + i) * 2654435761u >> 22];
    Py_ssize_t distance = 0, places[] = {1, row, i + 1 - *head};
    *head = (uint32_t)i + 1;
    for (int k = 0; k < 3 && length < most; ++k) {
      int found = places[k] <= i && places[k] <= FARTHEST ? match(from + i, places[k], most) : 0;
      distance = found > length ? places[k] : distance;
      length = found > length ? found : length;
    }
    if (length >= LEAST) {
      put_match(&writer, length, (int)distance);
      i += length;
    } else {
      put_symbol(&writer, from[i++]);
    }
  }
  put_symbol(&writer, END_OF_BLOCK);
  put(&writer, 0, 7); /* completes the last byte */
  return writer.to;
}

static inline void put_big_endian(uint8_t *to, uint32_t number) {
  for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(number >> (24 - 8 * i));
}

#define WORDS 16 /* of which sums, and sums of sums, fit in 16 bits */
#define EVERY_OTHER 0x00ff00ff00ff00ffu

static inline uint32_t lane(uint64_t lanes, int number) { return (uint32_t)(lanes >> 16 * number) & 0xffff; }

/* Eight lanes of 16 bits sum up every eighth byte each, and what their sum was before each of them. */
static void add_words(const uint8_t *data, uint32_t *low, uint32_t *high) {
  uint64_t even = 0, odd = 0, before_even = 0, before_odd = 0;
  for (int i = 0; i < WORDS; ++i) {
    uint64_t word = eight_at(data + 8 * i);
    before_even += even, before_odd += odd;
    even += word & EVERY_OTHER, odd += word >> 8 & EVERY_OTHER;
  }
  uint32_t sum = 0, weighted = 0;
  for (int k = 0; k < 4; ++k) {
    sum += lane(even, k) + lane(odd, k);
    weighted += 8 * (lane(before_even, k) + lane(before_odd, k));
    weighted += (uint32_t)(8 - 2 * k) * lane(even, k) + (uint32_t)(7 - 2 * k) * lane(odd, k);
  }
  *high += 8 * WORDS * *low + weighted;
  *low += sum;
}

/* RFC 1950, section 8. */
static uint32_t adler32_of(const uint8_t *data, Py_ssize_t size) {
  uint32_t low = 1, high = 0;
  for (; size >= 8 * WORDS; data += 8 * WORDS, size -= 8 * WORDS) {
    add_words(data, &low, &high);
    low %= 65521, high %= 65521;
  }
  for (Py_ssize_t i = 0; i < size; ++i) high += low += data[i];
  return high % 65521 << 16 | low % 65521;
}

/* PNG 3rd edition, annex D; by four bits, so that the table fills one line of a cache. */
static uint32_t crc32_of(const uint8_t *data, Py_ssize_t size) {
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                     0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xffffffff;
  for (Py_ssize_t i = 0; i < size; ++i) {
    crc ^= data[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

#define AROUND 12 /* bytes of a chunk besides its data: size and name before, checksum after */

/* Completes a chunk whose data stand at `chunk` + 8 already; returns its end. */
static uint8_t *close_chunk(uint8_t *chunk, const char *name, Py_ssize_t size) {
  put_big_endian(chunk, (uint32_t)size);
  memcpy(chunk + 4, name, 4);
  put_big_endian(chunk + 8 + size, crc32_of(chunk + 4, size + 4));
  return chunk + size + AROUND;
}

#define SIGNATURE "\x89PNG\r\n\x1a\n"

/* The most bytes of a PNG: signature, IHDR, PLTE, IDAT around zlib's two bytes, nine eighths and four, and IEND. */
static Py_ssize_t most_bytes(Py_ssize_t rows) {
  return 8 + (AROUND + 13) + (AROUND + 3 * MOST) + (AROUND + 2 + rows + rows / 8 + 16 + 4) + AROUND;
}

static uint8_t *put_png(uint8_t *to, const Palette *palette, Py_ssize_t height, Py_ssize_t width, int most,
                        const uint8_t *rows) {
  memcpy(to, SIGNATURE, 8);
  to += 8;
  put_big_endian(to + 8, (uint32_t)width);
  put_big_endian(to + 12, (uint32_t)height);
  memcpy(to + 16, most == FEW ? "\x04\x03\0\0\0" : "\x08\x03\0\0\0", 5); /* bits, and 3: numbers of a palette */
  to = close_chunk(to, "IHDR", 13);
  for (int i = 0; i < palette->count; ++i)
    for (int k = 0; k < 3; ++k) to[8 + 3 * i + k] = (uint8_t)(palette->colors[i] >> (16 - 8 * k));
  to = close_chunk(to, "PLTE", 3 * palette->count);
  Py_ssize_t row = row_size(width, most);
  memcpy(to + 8, "\x78\x01", 2); /* zlib, a window of 32 KiB, the fastest level: RFC 1950, section 2.2 */
  uint8_t *end = deflate(rows, height * row, row, to + 10);
  put_big_endian(end, adler32_of(rows, height * row));
  to = close_chunk(to, "IDAT", end + 4 - (to + 8));
  return close_chunk(to, "IEND", 0);
}

/* The PNG, or None if there are too many colours. `memory` has room for a row of numbers and one more, all rows of
 * eight bits and what is read beyond them, and the PNG. */
static PyObject *encoded(const uint8_t *pixels, Py_ssize_t height, Py_ssize_t width, uint8_t *memory) {
  Palette palette;
  uint8_t *numbers = memory, *rows = numbers + width + 1;
  uint8_t *to = rows + height * row_size(width, MOST) + BEYOND;
  int most = FEW;
  if (!number_rows(&palette, pixels, height, width, FEW, numbers, rows)) {
    most = MOST;
    if (!number_rows(&palette, pixels, height, width, MOST, numbers, rows)) Py_RETURN_NONE;
  }
  memset(rows + height * row_size(width, most), 0, BEYOND);
  const uint8_t *end = put_png(to, &palette, height, width, most, rows);
  return PyBytes_FromStringAndSize((const char *)to, end - to);
}

/* Whether it is a contiguous array of uint8 [height, width, 3]. */
static int is_picture(PyObject *object, Py_ssize_t height, Py_ssize_t width) {
  if (!PyArray_Check(object)) return 0;
  PyArrayObject *array = (PyArrayObject *)object;
  return PyArray_TYPE(array) == NPY_UINT8 && PyArray_NDIM(array) == 3 && PyArray_DIM(array, 0) == height &&
         PyArray_DIM(array, 1) == width && PyArray_DIM(array, 2) == 3 && PyArray_IS_C_CONTIGUOUS(array) &&
         PyArray_SIZE(array) > 0 && PyArray_SIZE(array) <= INT32_MAX;
}

/* Keeps the interpreter's lock: this takes less than a tenth of a millisecond, and getting it back may take more. */
static PyObject *encode_palette(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *picture, *lines, *pixels;
  if (!PyArg_UnpackTuple(args, "encode_palette", 3, 3, &picture, &lines, &pixels)) return NULL;
  Py_ssize_t height = PyLong_AsSsize_t(lines);
  if (height == -1 && PyErr_Occurred()) return NULL;
  Py_ssize_t width = PyLong_AsSsize_t(pixels);
  if (width == -1 && PyErr_Occurred()) return NULL;
  if (!is_picture(picture, height, width)) Py_RETURN_NONE;
  Py_ssize_t rows = height * row_size(width, MOST);
  uint8_t *memory = malloc((size_t)(width + 1 + rows + BEYOND + most_bytes(rows)));
  if (!memory) return PyErr_NoMemory();
  PyObject *result = encoded(PyArray_DATA((PyArrayObject *)picture), height, width, memory);
  free(memory);
  return result;
}

static int prepare(PyObject *module) {
  (void)module;
  import_array1(-1);
  return 0;
}

static PyMethodDef methods[] = {
    {"encode_palette", encode_palette, METH_VARARGS,
     "Return the PNG of a picture, given its height and width; None if it is another one, or has too many colours."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "What png.py leaves to C.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
