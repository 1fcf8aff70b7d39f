/* Columns of many blocks with one call, to be read: _columns.c, or to be written: pieces.c. */

#ifndef RLDS_KIT_STORAGE_COLUMNS_H
#define RLDS_KIT_STORAGE_COLUMNS_H

#include "filters.h"

/* Consecutive rows of a column, at a byte of its memory. */
typedef struct {
  int64_t begin, count;
} Piece;

/* Which pieces need byte planes: those of more than `least` bytes and at most `most`; with a negative relation none. */
typedef struct {
  Py_ssize_t itemsize, least, most;
  int relation;
} Wish;

int are_pieces_inside(const Piece *pieces, Py_ssize_t count, Py_ssize_t width, Py_ssize_t size);
Py_ssize_t most_bytes_planes(const Piece *pieces, Py_ssize_t count, Py_ssize_t width, const Wish *wish);
Py_ssize_t describe_pieces(const uint8_t *data, const Piece *pieces, Py_ssize_t count, Py_ssize_t width, const Wish *wish,
                           uint8_t *repeated, uint8_t *hashes, int64_t *bounds, uint8_t *planes, uint8_t *scratch);

#endif
