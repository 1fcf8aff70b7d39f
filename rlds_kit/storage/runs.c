/* XOR_RUNS: positions and lengths of the runs of bytes that differ from the previous row, and the differences. */

#include "filters.h"

#define STRIDE 64
#define MOST 65535 /* maximum of a gap and of a length */
#define AHEAD (1 << 10)     /* bytes: of narrow rows after the same place of the next row, of wide ones a quarter */
#define MOST_WIDE (1 << 18) /* bytes of a row: narrower ones stay in the cache until their turn */

static inline int differs(const uint8_t *row, const uint8_t *previous, Py_ssize_t at) { return row[at] != previous[at]; }

static inline uint64_t xor8(const uint8_t *one, const uint8_t *other) {
  uint64_t here, there;
  memcpy(&here, one, 8);
  memcpy(&there, other, 8);
  return here ^ there;
}

/* The first byte from `at` on that differs, or `width`. Requests what is `ahead`, which takes less time than waiting. */
static inline Py_ssize_t begin_of_run(const uint8_t *row, const uint8_t *previous, Py_ssize_t at, Py_ssize_t width,
                                      Py_ssize_t ahead) {
  for (; at + STRIDE <= width; at += STRIDE) {
    __builtin_prefetch(row + at + ahead, 0, 2);
    uint64_t any = 0;
    for (int i = 0; i < STRIDE; i += 8) any |= xor8(row + at + i, previous + at + i);
    if (any) break;
  }
  while (at + 8 <= width && xor8(row + at, previous + at) == 0) at += 8;
  while (at < width && !differs(row, previous, at)) ++at;
  return at;
}

/* The end of the run that contains `at`: two equal bytes follow, or one that ends the row. */
static inline Py_ssize_t end_of_run(const uint8_t *row, const uint8_t *previous, Py_ssize_t at, Py_ssize_t width) {
  for (;;) {
    if (at + 1 < width && differs(row, previous, at + 1))
      at += 2;
    else if (at < width && differs(row, previous, at))
      at += 1;
    else
      return at;
  }
}

static inline uint8_t *put(uint8_t *to, uint32_t number, int size) {
  for (int i = 0; i < size; ++i) *to++ = (uint8_t)(number >> 8 * i);
  return to;
}

/* Writes a run as pairs of a gap and a length. */
static inline uint8_t *put_pairs(uint8_t *to, Py_ssize_t gap, Py_ssize_t length) {
  for (; gap > MOST; gap -= MOST) to = put(put(to, MOST, 2), 0, 2);
  for (; length > MOST; length -= MOST, gap = 0) to = put(put(to, (uint32_t)gap, 2), MOST, 2);
  return put(put(to, (uint32_t)gap, 2), (uint32_t)length, 2);
}

/* Maximum bytes of counts and pairs: a run has at least one byte, and two equal bytes after it, so there are at most
 * width / 3 + 1 runs. A long gap or run needs one more pair for each MOST bytes. */
static Py_ssize_t most_of_places(Py_ssize_t count, Py_ssize_t width) {
  return count * (4 + 4 * (width / 3 + 1 + 2 * (width / MOST)));
}

Py_ssize_t most_bytes_runs(Py_ssize_t count, Py_ssize_t width) { return most_of_places(count, width) + count * width; }

/* Writes the number of pairs of every row, the pairs, and the bytes of all runs; returns their end. `zeros` is the row
 * before the first one. `to` has `most_bytes_runs` bytes: the bytes of runs are written behind the largest possible
 * pairs, and moved to the end of the actual ones at last. Every row is added to `hash`, unless that is NULL, while it is
 * in the cache. */
FOR_EACH_CPU
uint8_t *encode_runs(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, const uint8_t *zeros, uint8_t *to,
                     Xxh3 *hash) {
  uint8_t *counts = to, *pairs = to + 4 * count, *first = to + most_of_places(count, width), *values = first;
  const Py_ssize_t ahead = width <= MOST_WIDE ? width + AHEAD : 4 * AHEAD;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const uint8_t *row = rows + i * width, *previous = i ? row - width : zeros, *before = pairs;
    if (hash) xxh3_add(hash, row, (uint64_t)width);
    for (Py_ssize_t at = 0;;) {
      Py_ssize_t begin = begin_of_run(row, previous, at, width, ahead);
      if (begin == width) break;
      Py_ssize_t end = end_of_run(row, previous, begin, width);
      pairs = put_pairs(pairs, begin - at, end - begin);
      for (at = begin; at < end; ++at) *values++ = row[at] ^ previous[at];
    }
    counts = put(counts, (uint32_t)((pairs - before) / 4), 4);
  }
  memmove(pairs, first, (size_t)(values - first));
  return pairs + (values - first);
}

/* The rest of an encoded payload. */
typedef struct {
  const uint8_t *counts, *pairs, *values, *end;
} Encoded;

static inline uint32_t get(const uint8_t *from, int size) {
  uint32_t number = 0;
  for (int i = 0; i < size; ++i) number |= (uint32_t)from[i] << 8 * i;
  return number;
}

static inline void xor_bytes(uint8_t *to, const uint8_t *values, Py_ssize_t length) {
  for (; length >= 8; length -= 8, to += 8, values += 8) {
    uint64_t both = xor8(to, values);
    memcpy(to, &both, 8);
  }
  for (; length; --length) *to++ ^= *values++;
}

/* Changes the previous row, which is in `row`, to the next one; returns 0 if a run goes beyond the row or the payload.
 * `at` may exceed `width` after a gap: then `width - at` is negative, and every length is rejected. Pairs and counts
 * need no check here: `decode_runs` has compared their sum with the size. */
static int decode_row(void *payload, Py_ssize_t width, uint8_t *row) {
  Encoded *from = payload;
  Py_ssize_t at = 0;
  for (uint32_t left = get(from->counts, 4); left; --left, from->pairs += 4) {
    Py_ssize_t length = (Py_ssize_t)get(from->pairs + 2, 2);
    at += (Py_ssize_t)get(from->pairs, 2);
    if (length > width - at || length > from->end - from->values) return 0;
    xor_bytes(row + at, from->values, length);
    at += length, from->values += length;
  }
  from->counts += 4;
  return 1;
}

/* Validates the sizes of a payload. */
static int open_runs(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, Encoded *from) {
  if (size / 4 < total) return 0;
  uint64_t sum = 0; /* 32-bit numbers, each with four bytes of the payload: no overflow below 16 GiB */
  for (Py_ssize_t i = 0; i < total; ++i) sum += get(stored + 4 * i, 4);
  if (sum > (uint64_t)(size / 4 - total)) return 0;
  const uint8_t *pairs = stored + 4 * total;
  *from = (Encoded){stored, pairs, pairs + 4 * sum, stored + size};
  return 1;
}

/* The inverse of `encode_runs` for rows `[begin, begin + count)` of `total`; decodes in `row` if that is not NULL. Returns 0
 * if the payload is not valid. */
int decode_runs(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, Py_ssize_t begin, Py_ssize_t count,
                Py_ssize_t width, uint8_t *rows, uint8_t *row) {
  Encoded from;
  if (!open_runs(stored, size, total, &from)) return 0;
  if (!decode_rows(decode_row, &from, begin, count, width, rows, row)) return 0;
  return begin + count < total || from.values == from.end;
}

int pick_runs(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, const Pick *picks, Py_ssize_t count,
              Py_ssize_t width, const Target *to) {
  Encoded from;
  return open_runs(stored, size, total, &from) && pick_rows(decode_row, &from, picks, count, width, to);
}
