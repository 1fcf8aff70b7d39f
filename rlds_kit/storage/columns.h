/* Columns of many blocks with one call, to be read: _columns.c, or to be written: pieces.c. */

#ifndef RLDS_KIT_STORAGE_COLUMNS_H
#define RLDS_KIT_STORAGE_COLUMNS_H

#include "filters.h"

/* The rows of a block: those of a lane from place `begin` on and before `stop`, from row `first` of an episode on. */
typedef struct {
  int64_t lane, begin, stop, first;
} LaneRows;

/* The rows `[first, stop)` of an episode that a block has of a column, and the bytes `[begin, end)` of their values. */
typedef struct {
  int64_t first, stop, begin, end;
} Span;

/* A column of lanes: `rows` of each, one lane after the other. */
typedef struct {
  Py_ssize_t lanes, rows, width; /* width: bytes of a row */
  const uint8_t *present;        /* `[rows, lanes]`, which have a value; NULL: all */
  int is_acted;                  /* whether values came with the row after the one that they belong to */
} Lanes;

/* What is stored of a column in one block: a row of the table of lane_pieces.py. */
typedef struct {
  int64_t first_row, count, filter, codec, decoded, in_frames, begin, size;
} StoredPiece;

/* How pieces are stored: with `filter` in frames that save at least `worthwhile` bytes. Others are stored as they are, up to
 * `most_plain` bytes, unless their rows are equal: then as one row, which must be `only` if that has bytes. */
typedef struct {
  int64_t filter, worthwhile, most_plain;
  const uint8_t *only;
  Py_ssize_t only_size;
  int may_repeat;
} Storing;

/* Which pieces need byte planes: those of more than `least` bytes and at most `most`; with a negative relation none. */
typedef struct {
  Py_ssize_t itemsize, least, most;
  int relation;
} Wish;

int are_rows_inside(const LaneRows *rows, Py_ssize_t count, const Lanes *lanes);
void find_spans(const LaneRows *rows, Py_ssize_t count, const Lanes *lanes, Span *spans, uint8_t *gaps);
int are_spans_inside(const Span *spans, Py_ssize_t count, Py_ssize_t width, Py_ssize_t size);
Py_ssize_t most_bytes_planes(const Span *spans, Py_ssize_t count, const Wish *wish);
Py_ssize_t describe_spans(const uint8_t *data, const Span *spans, Py_ssize_t count, Py_ssize_t width, const Wish *wish,
                          uint8_t *repeated, uint8_t *hashes, int64_t *bounds, uint8_t *planes, uint8_t *scratch);
void fill_stored(const uint8_t *data, const Span *spans, Py_ssize_t count, Py_ssize_t width, const Storing *how,
                 const uint8_t *repeated, const int64_t *bounds, const int64_t *sizes, StoredPiece *table, uint8_t *is_encoded);

#endif
