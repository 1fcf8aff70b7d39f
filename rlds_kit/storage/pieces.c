/* Pieces of a column, each of the rows of another block: what there is to know of all of them before they are written.
 * lane_pieces.py beside this file has the same function in Python. */

#include "columns.h"

enum { AS_THEY_ARE = 3 }; /* a relation beside those of shuffle.c */

/* Whether all rows are equal: whether each is equal to the next one. */
static int is_repeated(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width) {
  return !memcmp(rows, rows + width, (size_t)((count - 1) * width));
}

/* Whether a piece is worth its byte planes. */
static int has_planes(const Piece *piece, Py_ssize_t width, const Wish *wish) {
  Py_ssize_t size = (Py_ssize_t)piece->count * width;
  return wish->relation >= 0 && size > wish->least && size <= wish->most;
}

int are_pieces_inside(const Piece *pieces, Py_ssize_t count, Py_ssize_t width, Py_ssize_t size) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (pieces[i].begin < 0 || pieces[i].count <= 0 || pieces[i].begin > size || pieces[i].count > (size - pieces[i].begin) / width)
      return 0;
  return 1;
}

Py_ssize_t most_bytes_planes(const Piece *pieces, Py_ssize_t count, Py_ssize_t width, const Wish *wish) {
  Py_ssize_t bytes = 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (has_planes(pieces + i, width, wish)) bytes += (Py_ssize_t)pieces[i].count * width;
  return bytes;
}

/* Fills for each piece whether its rows are equal, 16 bytes of hash, and begin and size of its byte planes, which are 0
 * if it has none. `scratch` has `scratch_of_shuffle` bytes. Returns the bytes of all planes. */
Py_ssize_t describe_pieces(const uint8_t *data, const Piece *pieces, Py_ssize_t count, Py_ssize_t width, const Wish *wish,
                           uint8_t *repeated, uint8_t *hashes, int64_t *bounds, uint8_t *planes, uint8_t *scratch) {
  Py_ssize_t bytes = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const uint8_t *rows = data + pieces[i].begin;
    Py_ssize_t size = (Py_ssize_t)pieces[i].count * width;
    repeated[i] = (uint8_t)is_repeated(rows, pieces[i].count, width);
    xxh3_128(rows, (uint64_t)size, hashes + 16 * i);
    bounds[2 * i] = bytes, bounds[2 * i + 1] = 0;
    if (repeated[i] || !has_planes(pieces + i, width, wish)) continue;
    if (wish->relation == AS_THEY_ARE)
      memcpy(planes + bytes, rows, (size_t)size);
    else
      encode_shuffled(rows, pieces[i].count, width, wish->itemsize, wish->relation, planes + bytes, scratch);
    bounds[2 * i + 1] = size;
    bytes += size;
  }
  return bytes;
}
