/* Splits numbers near zero into bits of noise and other bits: the second half of PREDICT_SPLIT.
 *
 * The numbers are divided into eight stretches. Byte j of a field of width 1 has a bit of number j of each stretch; a
 * field of width 2 has two bytes for each j, the first for stretches 0, 2, 4 and 6. Loops process eight bytes at a
 * time as one 64-bit number, because vector instructions cannot shift single bytes. */

#include "filters.h"

#define FEW 8        /* at most one in this many numbers is an exception */
#define LONG_GAP 255 /* a gap of this many numbers without an exception after it */
#define EACH 0x0101010101010101u /* times a byte: that byte in each of eight places */

/* Eight bytes at any address. Compilers vectorize loops over these, but not loops that load them with memcpy. Safe for
 * any memory: the type may be unaligned and may alias others. */
#if defined(_MSC_VER)
typedef __unaligned uint64_t Word;
#define RESTRICT __restrict
#else
typedef uint64_t __attribute__((aligned(1), may_alias)) Word;
#define RESTRICT restrict
#endif

static Py_ssize_t length_of(Py_ssize_t total) { return total / 8 + (total % 8 != 0); }

/* 0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ..., for eight bytes at once. The masks keep bits from crossing into the
 * next byte; (sign << 8) - sign is 0xff in each byte with a sign bit, so the XOR inverts the negative numbers only. */
static inline uint64_t to_zigzag(uint64_t left) {
  uint64_t sign = left >> 7 & EACH;
  return (left & 0x7f * EACH) << 1 ^ ((sign << 8) - sign);
}

static inline uint64_t from_zigzag(uint64_t zigzag) {
  uint64_t sign = zigzag & EACH;
  return (zigzag >> 1 & 0x7f * EACH) ^ ((sign << 8) - sign);
}

/* The positions of the bits of a stretch: words of each field, and the number of bits by which they are shifted. */
typedef struct {
  const Word *high, *four, *two, *one;
  int by_two, by_four, by_one;
} Stretch;

/* The positions from number `j` of a stretch on. */
static Stretch find_stretch(const Numbers *from, int stretch, Py_ssize_t j) {
  const uint8_t *low = from->low + j;
  Py_ssize_t length = from->length, odd = stretch % 2 * length;
  int noise = from->noise;
  const Stretch found = {
      .high = (const Word *)(from->high + j + odd),
      .four = noise & 4 ? (const Word *)(low + stretch % 4 * length) : NULL,
      .two = noise & 2 ? (const Word *)(low + (noise & 4) * length + odd) : NULL,
      .one = noise & 1 ? (const Word *)(low + (noise & 6) * length) : NULL,
      .by_two = stretch / 2 * 2,
      .by_four = stretch / 4 * 4,
      .by_one = stretch,
  };
  return found;
}

/* Joins the bits of words. `noise` is a constant in each inlined copy, so its branches disappear. */
static inline void join_noise(Stretch from, int noise, Py_ssize_t count, Word *RESTRICT to) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    uint64_t word = (from.high[i] >> from.by_two & 3 * EACH) << noise;
    if (noise & 4) word |= from.four[i] >> from.by_four & 15 * EACH;
    if (noise & 2) word |= (from.two[i] >> from.by_two & 3 * EACH) << (noise & 4);
    if (noise & 1) word |= (from.one[i] >> from.by_one & EACH) << (noise & 6);
    to[i] = from_zigzag(word);
  }
}

FOR_EACH_CPU
static void join_words(Stretch from, int noise, Py_ssize_t count, Word *to) {
  switch (noise) {
    case 0: join_noise(from, 0, count, to); break;
    case 1: join_noise(from, 1, count, to); break;
    case 2: join_noise(from, 2, count, to); break;
    case 3: join_noise(from, 3, count, to); break;
    case 4: join_noise(from, 4, count, to); break;
    case 5: join_noise(from, 5, count, to); break;
    default: join_noise(from, MOST_NOISE, count, to);
  }
}

/* Joins `count` numbers of a stretch. The last ones, fewer than eight, are copied to local words, so that nothing is
 * read or written beyond the buffers. */
static void join_stretch(Stretch from, int noise, Py_ssize_t count, uint8_t *to) {
  Py_ssize_t words = count / 8, rest = count % 8;
  join_words(from, noise, words, (Word *)to);
  if (!rest) return;
  uint64_t last[5] = {0};
  memcpy(&last[0], from.high + words, (size_t)rest);
  if (noise & 4) memcpy(&last[1], from.four + words, (size_t)rest);
  if (noise & 2) memcpy(&last[2], from.two + words, (size_t)rest);
  if (noise & 1) memcpy(&last[3], from.one + words, (size_t)rest);
  from.high = &last[0], from.four = &last[1], from.two = &last[2], from.one = &last[3];
  join_words(from, noise, 1, &last[4]);
  memcpy(to + words * 8, &last[4], (size_t)rest);
}

/* Finds the values behind the gaps; returns 0 if the gaps do not end at `total`, or there is not exactly one valid
 * value for each exception. After this check `add_exceptions` can trust gaps and values. */
static int find_values(Numbers *from, Py_ssize_t total) {
  Py_ssize_t at = 0, count = 0;
  const uint8_t *gap = from->gaps;
  for (; gap < from->high && at <= total; ++gap) { /* `at` cannot overflow: a gap adds at most 255 */
    at += *gap;
    if (*gap == LONG_GAP) continue;
    if (at == total) break;
    ++at, ++count;
  }
  if (gap == from->high || at != total || from->high - gap - 1 != count) return 0;
  from->values = gap + 1, from->end = from->high;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (from->values[i] == 0 || from->values[i] >= 256u >> (from->noise + 2)) return 0;
  return 1;
}

/* Starts to read the encoding of `total` numbers by `split`; returns 0 if it is not valid. */
int open_numbers(Numbers *from, const uint8_t *stored, Py_ssize_t size, Py_ssize_t total) {
  Py_ssize_t length = length_of(total);
  /* The division is the check size - 1 >= (noise + 2) * length without overflow: all fields are inside `stored`. */
  if (size < 1 || stored[0] > MOST_NOISE || (size - 1) / (stored[0] + 2) < length) return 0;
  from->length = length, from->noise = stored[0], from->at = from->exception = 0;
  from->high = stored + size - (from->noise + 2) * length, from->low = stored + size - from->noise * length;
  from->gaps = stored + 1;
  return find_values(from, total);
}

/* Adds the upper bits of exceptions to `count` numbers from `from->at` on. */
static void add_exceptions(Numbers *from, Py_ssize_t count, uint8_t *to) {
  while (from->values < from->end) {
    Py_ssize_t next = from->exception + *from->gaps;
    if (*from->gaps != LONG_GAP) {
      if (next >= from->at + count) return;
      uint8_t *number = to + (next - from->at);
      *number = (uint8_t)from_zigzag((to_zigzag(*number) | *from->values++ << (from->noise + 2)) & 255);
      ++next;
    }
    from->exception = next, ++from->gaps;
  }
}

/* Reads the next `count` numbers; the caller guarantees that there are this many. */
void read_numbers(Numbers *from, Py_ssize_t count, uint8_t *to) {
  Py_ssize_t length = from->length, done = 0;
  while (done < count) {
    Py_ssize_t j = (from->at + done) % length, rest = length - j < count - done ? length - j : count - done;
    join_stretch(find_stretch(from, (int)((from->at + done) / length), j), from->noise, rest, to + done);
    done += rest;
  }
  add_exceptions(from, count, to);
  from->at += count;
}

/* Converts `count` words of numbers to zigzag. */
FOR_EACH_CPU
static void fill_zigzag(Word *numbers, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) numbers[i] = to_zigzag(numbers[i]);
}

FOR_EACH_CPU
static Py_ssize_t count_from(const uint8_t *numbers, Py_ssize_t count, unsigned least) {
  Py_ssize_t found = 0;
  while (count > 0) { /* in parts whose counts fit into 32 bits, for more values in each vector */
    Py_ssize_t size = count < 1 << 16 ? count : 1 << 16;
    uint32_t here = 0;
    for (Py_ssize_t i = 0; i < size; ++i) here += numbers[i] >= least;
    found += here, numbers += size, count -= size;
  }
  return found;
}

/* Writes the gaps before numbers of more than `bits` bits, and the bits above these; advances both pointers. */
static void take_exceptions(const uint8_t *numbers, Py_ssize_t total, int bits, uint8_t **gaps, uint8_t **values) {
  const uint64_t above = (255u << bits & 255u) * EACH;
  Py_ssize_t next = 0; /* the first number that is in no gap yet */
  for (Py_ssize_t i = 0; i <= total; ++i) {
    while (i + 8 <= total && !(*(const Word *)(numbers + i) & above)) i += 8;
    if (i < total && numbers[i] >> bits == 0) continue;
    for (; i - next >= LONG_GAP; next += LONG_GAP) *(*gaps)++ = LONG_GAP;
    *(*gaps)++ = (uint8_t)(i - next);
    if (i < total) *(*values)++ = (uint8_t)(numbers[i] >> bits);
    next = i + 1;
  }
}

/* The bits from `shift` on of the numbers that share a byte. `width` is a constant in each inlined copy. */
static inline void fill_bytes(const uint8_t *numbers, Py_ssize_t length, int shift, int width, uint8_t *RESTRICT to) {
  const uint64_t mask = ((1u << width) - 1) * EACH;
  Py_ssize_t words = length / 8;
  for (Py_ssize_t i = 0; i < words; ++i) {
    uint64_t word = 0;
    for (int j = 0; j < 8 / width; ++j)
      word |= (((const Word *)(numbers + j * width * length))[i] >> shift & mask) << j * width;
    ((Word *)to)[i] = word;
  }
  for (Py_ssize_t i = words * 8; i < length; ++i) {
    unsigned byte = 0;
    for (int j = 0; j < 8 / width; ++j)
      byte |= (numbers[j * width * length + i] >> shift & ((1u << width) - 1)) << j * width;
    to[i] = (uint8_t)byte;
  }
}

/* Writes a field; returns its end. */
FOR_EACH_CPU
static uint8_t *fill_field(const uint8_t *numbers, Py_ssize_t length, int shift, int width, uint8_t *to) {
  for (int first = 0; first < width; ++first, numbers += length, to += length) {
    if (width == 4) fill_bytes(numbers, length, shift, 4, to);
    else if (width == 2) fill_bytes(numbers, length, shift, 2, to);
    else fill_bytes(numbers, length, shift, 1, to);
  }
  return to;
}

/* Bytes that `begin_split` needs: zigzag numbers, values of exceptions, and the beginning of what is stored. */
Py_ssize_t most_bytes_split(Py_ssize_t total) { return 8 * length_of(total) + 3 * (total / FEW) + total / LONG_GAP + 2; }

/* Makes zigzag numbers, takes more bits for noise if there would be many exceptions, and returns the beginning of what is
 * stored: these bits and the exceptions, up to `end`. All of that is in `numbers`, which has `most_bytes_split`. */
const uint8_t *begin_split(const uint8_t *left, Py_ssize_t total, int *noise, uint8_t *numbers, const uint8_t **end) {
  Py_ssize_t all = 8 * length_of(total);
  memcpy(numbers, left, (size_t)total);
  memset(numbers + total, 0, (size_t)(all - total));
  fill_zigzag((Word *)numbers, all / 8);
  while (*noise < MOST_NOISE && count_from(numbers, total, 4u << *noise) > total / FEW) ++*noise;
  uint8_t *values = numbers + all, *values_end = values, *begin = values + total / FEW, *gaps_end = begin;
  *gaps_end++ = (uint8_t)*noise;
  take_exceptions(numbers, total, *noise + 2, &gaps_end, &values_end);
  memcpy(gaps_end, values, (size_t)(values_end - values));
  *end = gaps_end + (values_end - values);
  return begin;
}

Py_ssize_t size_of_fields(Py_ssize_t total, int noise) { return (noise + 2) * length_of(total); }

/* Writes the fields of zigzag numbers. */
void fill_fields(const uint8_t *numbers, Py_ssize_t total, int noise, uint8_t *to) {
  Py_ssize_t length = length_of(total);
  to = fill_field(numbers, length, noise, 2, to);
  if (noise & 4) to = fill_field(numbers, length, 0, 4, to);
  if (noise & 2) to = fill_field(numbers, length, noise & 4, 2, to);
  if (noise & 1) fill_field(numbers, length, noise & 6, 1, to);
}
