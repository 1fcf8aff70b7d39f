/* PREDICT: lines of images minus their prediction. */

#include "filters.h"

#define SHIFTS 9
#define ABOVE (3 * SHIFTS) /* the last way of predicting */

/* The shifts of the previous row, in lines and pixels. */
static const signed char shifts[SHIFTS][2] = {
    {0, 0}, {0, -1}, {0, 1}, {-1, 0}, {1, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1},
};

/* The line shifted by `dx` pixels, written to `to` unless `dx` is 0; beyond its ends the last pixel is repeated. `dx`
 * is -1, 0 or 1, and a line has at least one pixel, so `rest` is not negative. */
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
  while (count > 0) { /* in parts whose sums fit into 32 bits (65536 * 255 < 2^32), for more sums in each vector */
    Py_ssize_t part = count < 1 << 16 ? count : 1 << 16;
    uint32_t sum = 0;
    for (Py_ssize_t i = 0; i < part; ++i) sum += (uint32_t)abs(a[i] - b[i]);
    total += sum, a += part, b += part, count -= part;
  }
  return total;
}

/* The prediction of line `y` of `row` by a mode, from the line above and from the previous row, which is NULL if there
 * is none. The result points into these, or into scratch memory. */
static const uint8_t *predict_line(const Image *image, const uint8_t *row, const uint8_t *before, Py_ssize_t y,
                                   int mode) {
  uint8_t *scratch = image->scratch;
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

/* The mode with the smallest distance to a line: first the best shift, then the best kind of mode with this shift. */
static int best_mode(const Image *image, const uint8_t *row, const uint8_t *before, Py_ssize_t y) {
  const uint8_t *line = row + y * image->width;
  uint64_t least = UINT64_MAX;
  int best = 0;
  for (int mode = 0; mode < (before ? SHIFTS : 1) && least; ++mode) { /* without a previous row all are equal */
    uint64_t here = distance(line, predict_line(image, row, before, y, mode), image->width);
    if (here < least) least = here, best = mode;
  }
  const int others[3] = {best + SHIFTS, best + 2 * SHIFTS, ABOVE};
  for (int i = 0; i < 3 && least; ++i) {
    uint64_t here = distance(line, predict_line(image, row, before, y, others[i]), image->width);
    if (here < least) least = here, best = others[i];
  }
  return best;
}

/* Writes the mode of every line to `modes` and the residuals to `left`. */
void encode_images(const Image *image, const uint8_t *rows, Py_ssize_t count, uint8_t *modes, uint8_t *left) {
  Py_ssize_t size = image->lines * image->width;
  for (Py_ssize_t i = 0; i < count; ++i, rows += size) {
    const uint8_t *before = i ? rows - size : NULL;
    for (Py_ssize_t y = 0; y < image->lines; ++y, left += image->width) {
      int mode = best_mode(image, rows, before, y);
      *modes++ = (uint8_t)mode;
      subtract(rows + y * image->width, predict_line(image, rows, before, y, mode), image->width, left);
    }
  }
}

/* Decodes row `row` from its modes and residuals, after the previous rows; returns 0 if a mode does not exist. `left`
 * may be the memory of the row itself: a prediction only reads lines that are already decoded, and `add` works byte by
 * byte. */
int decode_image(const Image *image, const uint8_t *modes, const uint8_t *left, Py_ssize_t row, const Sink *to) {
  Py_ssize_t size = image->lines * image->width;
  uint8_t *here = to->ring ? to->ring + row % 2 * size : to->rows + row * size;
  const uint8_t *before = row == 0 ? NULL : to->ring ? to->ring + (row + 1) % 2 * size : here - size;
  for (Py_ssize_t y = 0; y < image->lines; ++y, left += image->width) {
    if (modes[y] > ABOVE) return 0;
    add(left, predict_line(image, here, before, y, modes[y]), image->width, here + y * image->width);
  }
  if (to->ring && row >= to->first) write_row(to->rows + (row - to->first) * size, here, size, to->is_past_cache);
  return 1;
}
