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

/* The same for many rows in memory that was used before, or for rows that are not the first ones. Many do not fit into
 * the cache, so ordinary stores would fetch every cache line only to overwrite it: here rows are decoded in `row`, and
 * written past the cache. The first `begin` rows are only decoded: that costs what changed, not a copy of each row. */
static int decode_in_row(DecodeRow decode, void *from, Py_ssize_t begin, Py_ssize_t count, Py_ssize_t width, uint8_t *rows,
                         uint8_t *row, int is_past_cache) {
  memset(row, 0, (size_t)width);
  for (Py_ssize_t i = 0; i < begin; ++i)
    if (!decode(from, width, row)) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!decode(from, width, row)) return 0;
    write_row(rows + i * width, row, width, is_past_cache);
  }
  return 1;
}

/* Decodes rows `[begin, begin + count)` with `decode`, past the cache in `row` if that is not NULL; returns 0 if the
 * payload is not valid, or there is no memory. */
int decode_rows(DecodeRow decode, void *from, Py_ssize_t begin, Py_ssize_t count, Py_ssize_t width, uint8_t *rows,
                uint8_t *row) {
  if (row) return decode_in_row(decode, from, begin, count, width, rows, row, 1);
  if (!begin) return decode_in_place(decode, from, count, width, rows);
  if (!(row = malloc((size_t)width))) return 0;
  int is_right = decode_in_row(decode, from, begin, count, width, rows, row, 0);
  free(row);
  return is_right;
}

/* Copies some rows, in ascending order, to anywhere. */
int pick_rows(DecodeRow decode, void *from, const Pick *picks, Py_ssize_t count, Py_ssize_t width, const Target *to) {
  memset(to->row, 0, (size_t)width);
  int64_t at = -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    for (; at < picks[i].row; ++at)
      if (!decode(from, width, to->row)) return 0;
    write_row(to->rows + picks[i].to * width, to->row, width, to->is_past_cache);
  }
  return 1;
}
