/* SHUFFLE, XOR_SHUFFLE and DELTA_SHUFFLE: values from their byte planes, and from differences to the row above. */

#include "filters.h"

/* Values of common sizes, so that the compiler knows the distance of the bytes that it writes. */
#define INTERLEAVE(SIZE)                                                              \
  for (Py_ssize_t i = 0; i < count; ++i)                                              \
    for (int k = 0; k < SIZE; ++k) to[i * SIZE + k] = planes[k * elements + first + i];

/* Writes `count` values, from the `first` on, of `elements` values. */
FOR_EACH_CPU
static void interleave(const uint8_t *restrict planes, Py_ssize_t elements, Py_ssize_t itemsize, Py_ssize_t first,
                       Py_ssize_t count, uint8_t *restrict to) {
  switch (itemsize) {
    case 1: memcpy(to, planes + first, (size_t)count); return;
    case 2: INTERLEAVE(2) return;
    case 4: INTERLEAVE(4) return;
    case 8: INTERLEAVE(8) return;
  }
  for (Py_ssize_t k = 0; k < itemsize; ++k)
    for (Py_ssize_t i = 0; i < count; ++i) to[i * itemsize + k] = planes[k * elements + first + i];
}

/* Rows of one number are added up without a look at memory; the numbers of longer ones side by side. */
#define UNDO(TYPE, OPERATOR)                                         \
  if (width == sizeof(TYPE)) {                                       \
    TYPE sum, here;                                                  \
    memcpy(&sum, previous, sizeof(TYPE));                            \
    for (Py_ssize_t i = 0; i < count; ++i) {                         \
      memcpy(&here, rows + i * sizeof(TYPE), sizeof(TYPE));          \
      sum = (TYPE)(sum OPERATOR here);                               \
      memcpy(rows + i * sizeof(TYPE), &sum, sizeof(TYPE));           \
    }                                                                \
    return;                                                          \
  }                                                                  \
  for (Py_ssize_t i = 0; i < count; previous = rows, rows += width, ++i) \
    for (Py_ssize_t at = 0; at < width; at += sizeof(TYPE)) {        \
      TYPE here, above;                                              \
      memcpy(&here, rows + at, sizeof(TYPE));                        \
      memcpy(&above, previous + at, sizeof(TYPE));                   \
      here = (TYPE)(here OPERATOR above);                            \
      memcpy(rows + at, &here, sizeof(TYPE));                        \
    }

/* Undoes the differences of rows to the row above. Numbers have the byte order of this machine: filters.py calls this for
 * ADDED only where that is the order of the format. */
FOR_EACH_CPU
static void undo_relation(uint8_t *rows, Py_ssize_t count, const uint8_t *previous, Py_ssize_t width, Py_ssize_t itemsize,
                          int relation) {
  if (relation == XORED) {
    if (width % 8 == 0) {
      UNDO(uint64_t, ^)
    } else if (width % 4 == 0) {
      UNDO(uint32_t, ^)
    } else {
      UNDO(uint8_t, ^)
    }
  } else if (itemsize == 8) {
    UNDO(uint64_t, +)
  } else if (itemsize == 4) {
    UNDO(uint32_t, +)
  } else if (itemsize == 2) {
    UNDO(uint16_t, +)
  } else {
    UNDO(uint8_t, +)
  }
}

#define STRETCH (16 << 10) /* bytes that stay in the fastest cache between the two passes */

/* Decodes rows `[begin, begin + count)` of planes with `elements` values each; `scratch` has two rows. */
void decode_shuffled(const uint8_t *planes, Py_ssize_t elements, Py_ssize_t itemsize, Py_ssize_t begin, Py_ssize_t count,
                     Py_ssize_t width, int relation, uint8_t *rows, uint8_t *scratch) {
  Py_ssize_t values = width / itemsize, most = width < STRETCH ? STRETCH / width : 1;
  if (relation == ALONE) {
    interleave(planes, elements, itemsize, begin * values, count * values, rows);
    return;
  }
  uint8_t *row = scratch, *previous = scratch + width;
  memset(previous, 0, (size_t)width);
  for (Py_ssize_t i = 0; i < begin; ++i) { /* rows that are not requested; later ones are relative to them */
    interleave(planes, elements, itemsize, i * values, values, row);
    undo_relation(row, 1, previous, width, itemsize, relation);
    uint8_t *other = row;
    row = previous, previous = other;
  }
  for (Py_ssize_t at = 0; at < count; at += most) {
    Py_ssize_t part = count - at < most ? count - at : most;
    interleave(planes, elements, itemsize, (begin + at) * values, part * values, rows);
    undo_relation(rows, part, previous, width, itemsize, relation);
    previous = rows + (part - 1) * width;
    rows += part * width;
  }
}

/* Rows `[begin, end)` relative to the row above, as bytes: without a row above, as they are. */
#define RELATE(TYPE, OPERATOR)                                          \
  for (Py_ssize_t at = begin; at < end; at += (Py_ssize_t)sizeof(TYPE)) { \
    TYPE here, above;                                                   \
    memcpy(&here, rows + at, sizeof(TYPE));                             \
    memcpy(&above, rows + at - width, sizeof(TYPE));                    \
    here = (TYPE)(here OPERATOR above);                                 \
    memcpy(to + at - begin, &here, sizeof(TYPE));                       \
  }

FOR_EACH_CPU
static void relate(const uint8_t *restrict rows, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t width, Py_ssize_t itemsize,
                   int relation, uint8_t *restrict to) {
  if (begin == 0) {
    memcpy(to, rows, (size_t)width);
    to += width, begin = width;
  }
  if (relation == XORED) {
    RELATE(uint8_t, ^)
  } else if (itemsize == 8) {
    RELATE(uint64_t, -)
  } else if (itemsize == 4) {
    RELATE(uint32_t, -)
  } else if (itemsize == 2) {
    RELATE(uint16_t, -)
  } else {
    RELATE(uint8_t, -)
  }
}

#define SEPARATE(SIZE)                                                                \
  for (int k = 0; k < SIZE; ++k)                                                      \
    for (Py_ssize_t i = 0; i < count; ++i) planes[k * elements + first + i] = from[i * SIZE + k];

/* The inverse of `interleave`. */
FOR_EACH_CPU
static void separate(const uint8_t *restrict from, Py_ssize_t elements, Py_ssize_t itemsize, Py_ssize_t first,
                     Py_ssize_t count, uint8_t *restrict planes) {
  switch (itemsize) {
    case 1: memcpy(planes + first, from, (size_t)count); return;
    case 2: SEPARATE(2) return;
    case 4: SEPARATE(4) return;
    case 8: SEPARATE(8) return;
  }
  for (Py_ssize_t k = 0; k < itemsize; ++k)
    for (Py_ssize_t i = 0; i < count; ++i) planes[k * elements + first + i] = from[i * itemsize + k];
}

Py_ssize_t scratch_of_shuffle(Py_ssize_t width) { return width < STRETCH ? STRETCH / width * width : width; }

/* Encodes all rows; `scratch` has `scratch_of_shuffle` bytes. */
void encode_shuffled(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, Py_ssize_t itemsize, int relation,
                     uint8_t *planes, uint8_t *scratch) {
  Py_ssize_t size = count * width, elements = size / itemsize, stretch = scratch_of_shuffle(width);
  for (Py_ssize_t begin = 0; begin < size; begin += stretch) {
    Py_ssize_t end = size - begin < stretch ? size : begin + stretch;
    const uint8_t *from = rows + begin;
    if (relation != ALONE) {
      relate(rows, begin, end, width, itemsize, relation, scratch);
      from = scratch;
    }
    separate(from, elements, itemsize, begin / itemsize, (end - begin) / itemsize, planes);
  }
}
