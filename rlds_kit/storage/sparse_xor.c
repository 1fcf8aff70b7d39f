/* SPARSE_XOR: a bitmap of the bytes that differ from the previous row, and the differences. */

#include "filters.h"

#define GROUP 64
#define STRIDE 256

/* Whether STRIDE bytes of a row equal those of the previous row. */
static inline int is_equal(const uint8_t *row, const uint8_t *previous) {
  uint64_t any = 0;
  for (int i = 0; i < STRIDE; i += 8) {
    uint64_t here, before;
    memcpy(&here, row + i, 8);
    memcpy(&before, previous + i, 8);
    any |= here ^ before;
  }
  return any == 0;
}

/* Writes one byte of bitmap for `count` <= 8 bytes, and their differences to `values`. */
static inline uint8_t *encode_byte(const uint8_t *row, const uint8_t *previous, Py_ssize_t count, uint8_t *bits,
                                   uint8_t *values) {
  uint64_t here = 0, before = 0;
  uint8_t differences[8], mask = 0;
  memcpy(&here, row, (size_t)count);
  memcpy(&before, previous, (size_t)count);
  here ^= before;
  if (here) {
    memcpy(differences, &here, 8);
    for (int j = 0; j < 8; ++j) {
      *values = differences[j]; /* overwritten by the next one if it is zero */
      values += differences[j] != 0;
      mask |= (uint8_t)((differences[j] != 0) << j);
    }
  }
  *bits = mask;
  return values;
}

/* One byte more than the worst case, as one is written before it is known whether it counts. */
Py_ssize_t most_bytes_sparse(Py_ssize_t count, Py_ssize_t width) { return count * ((width + 7) / 8) + count * width + 1; }

/* Writes the bitmap of every row, each in whole bytes, and then the values; returns their end. `zeros` is the row
 * before the first one. `to` has `most_bytes_sparse` bytes. Every row is added to `hash`, unless that is NULL, while it
 * is in the cache. */
FOR_EACH_CPU
uint8_t *encode_sparse(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, const uint8_t *zeros, uint8_t *to,
                       Xxh3 *hash) {
  uint8_t *bits = to, *values = to + count * ((width + 7) / 8);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const uint8_t *row = rows + i * width, *previous = i ? row - width : zeros;
    Py_ssize_t at = 0;
    if (hash) xxh3_add(hash, row, (uint64_t)width);
    for (; at + STRIDE <= width; at += STRIDE, bits += STRIDE / 8) {
      if (is_equal(row + at, previous + at))
        memset(bits, 0, STRIDE / 8);
      else
        for (int j = 0; j < STRIDE; j += 8)
          values = encode_byte(row + at + j, previous + at + j, 8, bits + j / 8, values);
    }
    for (; at < width; at += 8)
      values = encode_byte(row + at, previous + at, width - at < 8 ? width - at : 8, bits++, values);
  }
  return values;
}

/* The rest of an encoded payload. */
typedef struct {
  const uint8_t *bits, *values, *end;
} Encoded;

/* Changes the previous row, which is in `row`, to the next one; returns 0 if there are too few values, or a bit is set
 * beyond the row. Bitmaps need no check here: `decode_sparse` has compared their size with that of the payload. */
static int decode_row(void *payload, Py_ssize_t width, uint8_t *row) {
  Encoded *from = payload;
  const uint8_t *bits = from->bits, *values = from->values;
  for (Py_ssize_t at = 0; at < width; at += 8) {
    if (width - at >= GROUP) { /* so eight bytes of the bitmap exist */
      uint64_t group;
      memcpy(&group, bits, 8);
      if (group == 0) {
        bits += 8;
        at += GROUP - 8;
        continue;
      }
    }
    unsigned mask = *bits++;
    for (Py_ssize_t j = 0; mask; ++j, mask >>= 1) {
      if (!(mask & 1)) continue;
      if (at + j >= width || values == from->end) return 0;
      row[at + j] ^= *values++;
    }
  }
  from->bits = bits, from->values = values;
  return 1;
}

static int open_sparse(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, Py_ssize_t width, Encoded *from) {
  Py_ssize_t line = (width + 7) / 8;
  if (size / line < total) return 0;
  *from = (Encoded){stored, stored + total * line, stored + size};
  return 1;
}

/* The inverse of `encode_sparse` for rows `[begin, begin + count)` of `total`; decodes in `row` if that is not NULL.
 * Returns 0 if the payload is not valid. */
int decode_sparse(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, Py_ssize_t begin, Py_ssize_t count,
                  Py_ssize_t width, uint8_t *rows, uint8_t *row) {
  Encoded from;
  if (!open_sparse(stored, size, total, width, &from)) return 0;
  if (!decode_rows(decode_row, &from, begin, count, width, rows, row)) return 0;
  return begin + count < total || from.values == from.end;
}

int pick_sparse(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, const Pick *picks, Py_ssize_t count,
                Py_ssize_t width, const Target *to) {
  Encoded from;
  return open_sparse(stored, size, total, width, &from) && pick_rows(decode_row, &from, picks, count, width, to);
}
