/* Pieces of a column, each of the rows of another block: where they are, what there is to know of them before they are
 * written, and how they are stored. piece_functions.py beside this file has the same functions in Python. */

#include "columns.h"

enum { AS_THEY_ARE = 3 }; /* a relation beside those of shuffle.c */
enum { IDENTITY = 0, REPEAT = 5 }; /* filters */
enum { STORED = 0, ZSTD = 1 };     /* codecs */

/* Whether all rows are equal: whether each is equal to the next one. */
static int is_repeated(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width) {
  return !memcmp(rows, rows + width, (size_t)((count - 1) * width));
}

int are_rows_inside(const LaneRows *rows, Py_ssize_t count, const Lanes *lanes) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (rows[i].lane < 0 || rows[i].lane >= lanes->lanes || rows[i].begin < 0 || rows[i].begin > rows[i].stop ||
        rows[i].stop > lanes->rows || rows[i].first < 0)
      return 0;
  return 1;
}

/* Fills the span of each block, zeros where it has no rows, or rows with gaps among them, which `gaps` tells. */
void find_spans(const LaneRows *rows, Py_ssize_t count, const Lanes *lanes, Span *spans, uint8_t *gaps) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    const int64_t lane = rows[i].lane, stop = rows[i].stop;
    const int is_later = lanes->is_acted && !rows[i].first; /* the first row of an episode has no action before it */
    const int64_t first = lanes->is_acted && rows[i].first ? rows[i].first - 1 : rows[i].first, begin = rows[i].begin + is_later;
    int64_t at = begin, end = stop;
    if (lanes->present) {
      const uint8_t *flags = lanes->present + lane;
      while (at < stop && !flags[at * lanes->lanes]) ++at;
      for (end = at; end < stop && flags[end * lanes->lanes];) ++end;
      int64_t after = end;
      while (after < stop && !flags[after * lanes->lanes]) ++after;
      gaps[i] = after < stop;
    }
    const int64_t offset = (lane * lanes->rows + at) * lanes->width;
    spans[i] = at >= end || gaps[i] ? (Span){0, 0, 0, 0}
                                    : (Span){first + at - begin, first + end - begin, offset, offset + (end - at) * lanes->width};
  }
}

/* Whether a piece is worth its byte planes. */
static int has_planes(const Span *span, const Wish *wish) {
  const Py_ssize_t size = (Py_ssize_t)(span->end - span->begin);
  return wish->relation >= 0 && size > wish->least && size <= wish->most;
}

int are_spans_inside(const Span *spans, Py_ssize_t count, Py_ssize_t width, Py_ssize_t size) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (spans[i].begin < 0 || spans[i].begin > spans[i].end || spans[i].end > size || spans[i].first < 0 ||
        spans[i].first > spans[i].stop || (spans[i].end - spans[i].begin) % width ||
        (spans[i].end - spans[i].begin) / width != spans[i].stop - spans[i].first)
      return 0;
  return 1;
}

Py_ssize_t most_bytes_planes(const Span *spans, Py_ssize_t count, const Wish *wish) {
  Py_ssize_t bytes = 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (has_planes(spans + i, wish)) bytes += (Py_ssize_t)(spans[i].end - spans[i].begin);
  return bytes;
}

/* Fills for each piece whether its rows are equal, 16 bytes of hash, and begin and size of its byte planes, which are 0
 * if it has none. `scratch` has `scratch_of_shuffle` bytes. Returns the bytes of all planes. */
Py_ssize_t describe_spans(const uint8_t *data, const Span *spans, Py_ssize_t count, Py_ssize_t width, const Wish *wish,
                          uint8_t *repeated, uint8_t *hashes, int64_t *bounds, uint8_t *planes, uint8_t *scratch) {
  Py_ssize_t bytes = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const uint8_t *rows = data + spans[i].begin;
    const Py_ssize_t size = (Py_ssize_t)(spans[i].end - spans[i].begin), number = size / width;
    bounds[2 * i] = bytes, bounds[2 * i + 1] = 0;
    repeated[i] = (uint8_t)(!size || is_repeated(rows, number, width));
    xxh3_128(rows, (uint64_t)size, hashes + 16 * i);
    if (repeated[i] || !has_planes(spans + i, wish)) continue;
    if (wish->relation == AS_THEY_ARE)
      memcpy(planes + bytes, rows, (size_t)size);
    else
      encode_shuffled(rows, number, width, wish->itemsize, wish->relation, planes + bytes, scratch);
    bounds[2 * i + 1] = size;
    bytes += size;
  }
  return bytes;
}

/* Fills how each piece is stored, and sets `is_encoded` to 0 where it must be encoded in another way. `sizes` are those of the
 * frames, one for each piece that has planes. */
void fill_stored(const uint8_t *data, const Span *spans, Py_ssize_t count, Py_ssize_t width, const Storing *how,
                 const uint8_t *repeated, const int64_t *bounds, const int64_t *sizes, StoredPiece *table, uint8_t *is_encoded) {
  int64_t frame_begin = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const int64_t begin = spans[i].begin, size = spans[i].end - begin, frame = bounds[2 * i + 1] ? *sizes++ : 0;
    const int is_only = how->may_repeat && (!how->only_size || !memcmp(data + begin, how->only, (size_t)how->only_size));
    const int is_framed = frame > 0 && frame + how->worthwhile <= size;
    const int64_t decoded = repeated[i] ? width : size;
    if (size && !(repeated[i] ? is_only : frame > 0 || size <= how->most_plain)) is_encoded[i] = 0;
    if (size && is_encoded[i])
      table[i] = (StoredPiece){spans[i].first, spans[i].stop - spans[i].first, repeated[i] ? REPEAT : is_framed ? how->filter : IDENTITY,
                          is_framed ? ZSTD : STORED, decoded, is_framed, is_framed ? frame_begin : begin,
                          is_framed ? frame : decoded};
    else
      table[i] = (StoredPiece){0};
    frame_begin += frame;
  }
}
