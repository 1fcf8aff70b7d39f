/* Colours to numbers, for the palette of a PNG. png.py beside this file does without where there was no compiler. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 256   /* colours of a palette */
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

/* The number of a colour, a new one if need be; -1 if there are too many. */
static int number_of(Palette *palette, uint32_t color) {
  uint32_t slot = color * 2654435761u >> 22;
  for (; palette->slots[slot]; slot = (slot + 1) % SLOTS)
    if (palette->colors[palette->slots[slot] - 1] == color) return palette->slots[slot] - 1;
  if (palette->count == MOST) return -1;
  palette->colors[palette->count] = color;
  palette->slots[slot] = (uint16_t)++palette->count;
  return palette->count - 1;
}

/* A number for each of `width` pixels goes `to`; 0 if there are too many colours. */
static int number_row(Palette *palette, const uint8_t *pixels, Py_ssize_t width, uint8_t *to) {
  for (Py_ssize_t i = 0; i < width;) {
    const uint8_t *pixel = pixels + 3 * i;
    if (i && width - i >= RUN && memcmp(pixel, pixel - 3, 3 * RUN) == 0) {
      memset(to + i, to[i - 1], RUN);
      i += RUN;
      continue;
    }
    int number = number_of(palette, color_of(pixel));
    if (number < 0) return 0;
    to[i++] = (uint8_t)number;
  }
  return 1;
}

/* A number for each pixel goes `to`; 0 if there are too many colours. Rows like the one before are copied. */
static int number_rows(Palette *palette, const uint8_t *pixels, Py_ssize_t height, Py_ssize_t width, uint8_t *to) {
  for (Py_ssize_t row = 0; row < height; ++row, pixels += 3 * width, to += width) {
    if (row && memcmp(pixels, pixels - 3 * width, (size_t)(3 * width)) == 0)
      memcpy(to, to - width, (size_t)width);
    else if (!number_row(palette, pixels, width, to))
      return 0;
  }
  return 1;
}

/* Rows as PNG has them: a zero, which is the filter that does nothing, and numbers of 8 bits, or of 4, the first one
 * in the higher half of its byte (PNG 3rd edition, section 7.2). */
static void pack_rows(const uint8_t *numbers, Py_ssize_t height, Py_ssize_t width, int bits, uint8_t *to) {
  for (Py_ssize_t row = 0; row < height; ++row, numbers += width) {
    *to++ = 0;
    if (bits == 8) {
      memcpy(to, numbers, (size_t)width);
      to += width;
      continue;
    }
    for (Py_ssize_t i = 0; i < width / 2; ++i) to[i] = (uint8_t)(numbers[2 * i] << 4 | numbers[2 * i + 1]);
    to += width / 2;
    if (width % 2) *to++ = (uint8_t)(numbers[width - 1] << 4);
  }
}

static PyObject *palette_bytes(const Palette *palette) {
  PyObject *result = PyBytes_FromStringAndSize(NULL, 3 * palette->count);
  if (!result) return NULL;
  uint8_t *to = (uint8_t *)PyBytes_AsString(result);
  for (int i = 0; i < palette->count; ++i)
    for (int shift = 16; shift >= 0; shift -= 8) *to++ = (uint8_t)(palette->colors[i] >> shift);
  return result;
}

static int check_size(Py_ssize_t length, Py_ssize_t height, Py_ssize_t width) {
  if (height > 0 && width > 0 && length % height == 0 && length / height % 3 == 0 && length / height / 3 == width)
    return 1;
  PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd pixels of 3 bytes, got %zd bytes", height, width, length);
  return 0;
}

/* (bits, palette, rows), or None if there are too many colours. `numbers` has room for all pixels. */
static PyObject *numbered(const uint8_t *pixels, Py_ssize_t height, Py_ssize_t width, uint8_t *numbers) {
  Palette palette = {0};
  int is_flat;
  Py_BEGIN_ALLOW_THREADS
  is_flat = number_rows(&palette, pixels, height, width, numbers);
  Py_END_ALLOW_THREADS
  if (!is_flat) Py_RETURN_NONE;
  int bits = palette.count <= 16 ? 4 : 8;
  PyObject *colors = palette_bytes(&palette);
  PyObject *rows = PyBytes_FromStringAndSize(NULL, height * (1 + (bits == 8 ? width : (width + 1) / 2)));
  PyObject *result = NULL;
  if (colors && rows) {
    pack_rows(numbers, height, width, bits, (uint8_t *)PyBytes_AsString(rows));
    result = Py_BuildValue("(iOO)", bits, colors, rows);
  }
  Py_XDECREF(colors);
  Py_XDECREF(rows);
  return result;
}

static PyObject *number_colors(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer picture;
  Py_ssize_t height, width;
  if (!PyArg_ParseTuple(args, "y*nn", &picture, &height, &width)) return NULL;
  PyObject *result = NULL;
  if (check_size(picture.len, height, width)) {
    uint8_t *numbers = malloc((size_t)(height * width));
    if (numbers)
      result = numbered(picture.buf, height, width, numbers);
    else
      PyErr_NoMemory();
    free(numbers);
  }
  PyBuffer_Release(&picture);
  return result;
}

static PyMethodDef methods[] = {
    {"number_colors", number_colors, METH_VARARGS, "Return bits, palette and rows; None if it has too many colours."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "What png.py leaves to C.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
