/* Decodes rows that are encoded relative to the previous row. */

#include "filters.h"

/* Copies the previous row, and applies the changes of the next one. */
static int decode_in_place(DecodeRow decode, void *from, Py_ssize_t count, Py_ssize_t width, uint8_t *rows) {
  memset(rows, 0, (size_t)width);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i) memcpy(rows + i * width, rows + (i - 1) * width, (size_t)width);
    if (!decode(from, width, rows + i * width)) return 0;
  }
  return 1;
}

/* The same for many rows in memory that was used before. They do not fit into the cache, so ordinary stores would
 * fetch every cache line only to overwrite it: here rows are decoded in `row`, and written past the cache. */
static int decode_past_cache(DecodeRow decode, void *from, Py_ssize_t count, Py_ssize_t width, uint8_t *rows,
                             uint8_t *row) {
  memset(row, 0, (size_t)width);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!decode(from, width, row)) return 0;
    write_past_cache(rows + i * width, row, width);
  }
  return 1;
}

/* Decodes rows with `decode`, in `row` if that is not NULL; returns 0 if the payload is not valid. */
int decode_rows(DecodeRow decode, void *from, Py_ssize_t count, Py_ssize_t width, uint8_t *rows, uint8_t *row) {
  return row ? decode_past_cache(decode, from, count, width, rows, row) : decode_in_place(decode, from, count, width, rows);
}
