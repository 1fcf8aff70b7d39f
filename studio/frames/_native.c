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

/* Bits, the lowest of a byte first. */
typedef struct {
  uint8_t *to;
  uint64_t bits;
  int count;
} Writer;

static inline void put(Writer *writer, uint32_t bits, int count) {
  writer->bits |= (uint64_t)bits << writer->count;
  for (writer->count += count; writer->count >= 8; writer->count -= 8, writer->bits >>= 8)
    *writer->to++ = (uint8_t)writer->bits;
}

/* Huffman's codes begin with their highest bit. */
static inline void put_code(Writer *writer, uint32_t code, int count) {
  uint32_t turned = 0;
  for (int i = 0; i < count; ++i) turned |= (code >> i & 1) << (count - 1 - i);
  put(writer, turned, count);
}

static inline void put_symbol(Writer *writer, int symbol) {
  if (symbol < 144)
    put_code(writer, (uint32_t)(48 + symbol), 8);
  else if (symbol < 256)
    put_code(writer, (uint32_t)(400 + symbol - 144), 9);
  else if (symbol < 280)
    put_code(writer, (uint32_t)(symbol - 256), 7);
  else
    put_code(writer, (uint32_t)(192 + symbol - 280), 8);
}

#define END_OF_BLOCK 256
#define LEAST 4 /* bytes of a match: it never takes more bits than they do */
#define LONGEST 258
#define FARTHEST 32768
#define HEADS 1024 /* where four bytes were last seen, by 10 bits that stand for them */

static inline int log2_of(uint32_t number) {
  int found = 0;
  while (number >>= 1) ++found;
  return found;
}

/* The same `length` bytes as those that stand `distance` before. RFC 1951, section 3.2.5. */
static void put_match(Writer *writer, int length, int distance) {
  uint32_t more = (uint32_t)length - 3, far = (uint32_t)distance - 1;
  if (length == LONGEST)
    put_symbol(writer, 285);
  else if (more < 8)
    put_symbol(writer, 257 + (int)more);
  else {
    int extra = log2_of(more) - 2;
    put_symbol(writer, 261 + 4 * extra + (int)(more >> extra & 3));
    put(writer, more & ((1u << extra) - 1), extra);
  }
  if (far < 4) {
    put_code(writer, far, 5);
  } else {
    int extra = log2_of(far) - 1;
    put_code(writer, (uint32_t)(2 + 2 * extra) + (far >> extra & 1), 5);
    put(writer, far & ((1u << extra) - 1), extra);
  }
}

/* How many of at most `most` bytes are those that stand `distance` before. */
static inline int match(const uint8_t *here, Py_ssize_t distance, int most) {
  const uint8_t *before = here - distance;
  int length = 0;
  while (most - length >= 8 && memcmp(here + length, before + length, 8) == 0) length += 8;
  while (length < most && here[length] == before[length]) ++length;
  return length;
}

/* Compresses at least one byte; `to` has room for nine eighths and 8 more. A byte is looked for where the one before
 * it stands, in the row above, and where its neighbours were last seen. */
static uint8_t *deflate(const uint8_t *from, Py_ssize_t size, Py_ssize_t row, uint8_t *to) {
  uint32_t heads[HEADS] = {0}; /* places plus one */
  Writer writer = {to, 0, 0};
  put(&writer, 3, 3); /* the last block, of fixed codes */
  for (Py_ssize_t i = 0; i < size;) {
    int most = size - i < LONGEST ? (int)(size - i) : LONGEST, length = 0;
    Py_ssize_t distance = 0;
    if (most >= LEAST) {
      uint32_t four;
      memcpy(&four, from + i, 4);
      uint32_t *head = &heads[four * 2654435761u >> 22];
      Py_ssize_t places[] = {i >= 1 ? 1 : 0, i >= row && row <= FARTHEST ? row : 0, *head ? i + 1 - *head : 0};
      *head = (uint32_t)i + 1;
      for (int k = 0; k < 3 && length < most; ++k) {
        int found = places[k] && places[k] <= FARTHEST ? match(from + i, places[k], most) : 0;
        if (found > length) length = found, distance = places[k];
      }
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

#define ADLER_BYTES 4096 /* so many sums fit in 32 bits */

/* RFC 1950, section 8. */
static uint32_t adler32_of(const uint8_t *data, Py_ssize_t size) {
  uint32_t low = 1, high = 0;
  while (size > 0) {
    uint32_t count = size < ADLER_BYTES ? (uint32_t)size : ADLER_BYTES, sum = 0, weighted = 0;
    for (uint32_t i = 0; i < count; ++i) sum += data[i], weighted += (count - i) * data[i];
    high = (high + count * low + weighted) % 65521;
    low = (low + sum) % 65521;
    data += count, size -= count;
  }
  return high << 16 | low;
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
  return 8 + (AROUND + 13) + (AROUND + 3 * MOST) + (AROUND + 2 + rows + rows / 8 + 8 + 4) + AROUND;
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

static int check_size(Py_ssize_t length, Py_ssize_t height, Py_ssize_t width) {
  if (height > 0 && width > 0 && length % height == 0 && length / height % 3 == 0 && length / height / 3 == width &&
      length <= INT32_MAX)
    return 1;
  PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd pixels of 3 bytes, got %zd bytes", height, width, length);
  return 0;
}

/* The PNG, or None if there are too many colours. `memory` has room for a row of numbers and one more, all rows of
 * eight bits, and the PNG. */
static PyObject *encoded(const uint8_t *pixels, Py_ssize_t height, Py_ssize_t width, uint8_t *memory) {
  Palette palette;
  uint8_t *numbers = memory, *rows = numbers + width + 1, *to = rows + height * row_size(width, MOST);
  int most = FEW;
  if (!number_rows(&palette, pixels, height, width, FEW, numbers, rows)) {
    most = MOST;
    if (!number_rows(&palette, pixels, height, width, MOST, numbers, rows)) Py_RETURN_NONE;
  }
  const uint8_t *end = put_png(to, &palette, height, width, most, rows);
  return PyBytes_FromStringAndSize((const char *)to, end - to);
}

/* Keeps the interpreter's lock: this takes a tenth of a millisecond, and getting it back may take more. */
static PyObject *encode_palette(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer picture;
  Py_ssize_t height, width;
  if (!PyArg_ParseTuple(args, "y*nn", &picture, &height, &width)) return NULL;
  PyObject *result = NULL;
  if (check_size(picture.len, height, width)) {
    Py_ssize_t rows = height * row_size(width, MOST);
    uint8_t *memory = malloc((size_t)(width + 1 + rows + most_bytes(rows)));
    if (memory)
      result = encoded(picture.buf, height, width, memory);
    else
      PyErr_NoMemory();
    free(memory);
  }
  PyBuffer_Release(&picture);
  return result;
}

static PyMethodDef methods[] = {
    {"encode_palette", encode_palette, METH_VARARGS, "Return the PNG of a picture; None if it has too many colours."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "What png.py leaves to C.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
