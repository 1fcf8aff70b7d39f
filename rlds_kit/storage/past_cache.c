/* Non-temporal stores, which bypass the cache, on processors that have them. */

#include "filters.h"

/* They need memory that begins at a multiple of WIDTH bytes: `is_past_cache_better` checks that, and `put_past_cache`
 * copies the bytes before it in the ordinary way. */
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <emmintrin.h>
#define WIDTH 16
#define LEAST_LARGE (2 << 20) /* about the size of a core's private cache */
#define LEAST_ROW (4 << 10)   /* smaller copies are as fast in the ordinary way */
#define LEVEL 3               /* of the shared cache */
#define MOST_CACHES 8         /* of a core: ends the search in a machine whose description does not end */
#define PARTS 8               /* of the shared cache, one of which an array may take: other cores use it, too */

void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i += WIDTH)
    _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
  _mm_sfence(); /* these stores are weakly ordered: makes them visible to other threads before later stores */
}

/* Copies a row into an array of `array_bytes` that another thread reads when it is full. Ordinary stores would first read
 * the memory that they replace, which takes as long again. */
void put_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t size, Py_ssize_t array_bytes) {
  if (size < LEAST_ROW || array_bytes < LEAST_LARGE) {
    memcpy(to, from, (size_t)size);
    return;
  }
  Py_ssize_t before = -(uintptr_t)to % WIDTH, whole = (size - before) / WIDTH * WIDTH, done = before + whole;
  memcpy(to, from, (size_t)before);
  write_past_cache(to + before, from + before, whole);
  memcpy(to + done, from + done, (size_t)(size - done));
}

/* Bytes of the shared cache that this core uses; 0: unknown. The C library may return the sum of all such caches of the
 * processor. "Deterministic cache parameters" in Intel's manual (volume 2A, CPUID, leaf 4) and in AMD's (volume 3,
 * appendix E.4.15, function 8000001D): a list of caches, which ends with type 0. */
static Py_ssize_t shared_cache(void) {
  static const unsigned leaves[] = {0x4, 0x8000001D};
  unsigned about, shape, sets, rest;
  for (int i = 0; i < 2; ++i)
    for (unsigned at = 0; at < MOST_CACHES && __get_cpuid_count(leaves[i], at, &about, &shape, &sets, &rest) && about & 31; ++at)
      if ((about >> 5 & 7) == LEVEL)
        return (Py_ssize_t)((shape >> 22) + 1) * ((shape >> 12 & 0x3FF) + 1) * ((shape & 0xFFF) + 1) * ((Py_ssize_t)sets + 1);
  return 0;
}

/* Bytes of the smallest array whose beginning has left the caches by the time it is read. */
static Py_ssize_t least_large(void) {
  static Py_ssize_t found; /* 0: not determined yet; it does not matter which thread is last to do it */
  if (!found) {
    Py_ssize_t part = shared_cache() / PARTS;
    found = part > LEAST_LARGE ? part : LEAST_LARGE;
  }
  return found;
}

/* Whether that is likely to be faster for `size` bytes of rows that are a part of an array of `array_bytes`. Not in a small
 * array, which stays in the cache until it is read. Not in memory that was never written: the system clears it, which
 * brings it into the cache. The last page stands for all: rows are written from the first to the last. */
int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width, Py_ssize_t array_bytes) {
  if (array_bytes < least_large() || ((uintptr_t)rows | (uintptr_t)width) % WIDTH) return 0;
  return is_used_memory(rows + size - 1) == 1;
}

/* The same for the rows of an array that are written in any order. Small ones share cache lines, and a line that is
 * written past the cache in parts is slow. In memory that is used for the first time, some rows may have been written
 * before: then this is slower the first time. */
int are_rows_better_past_cache(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width) {
  return width >= LEAST_ROW && is_past_cache_better(rows, size, width, size);
}
#else
void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count) { memcpy(to, from, (size_t)count); }

void put_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t size, Py_ssize_t array_bytes) {
  (void)array_bytes;
  memcpy(to, from, (size_t)size);
}

int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width, Py_ssize_t array_bytes) {
  (void)rows, (void)size, (void)width, (void)array_bytes;
  return 0;
}

int are_rows_better_past_cache(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width) {
  (void)rows, (void)size, (void)width;
  return 0;
}
#endif

void write_row(uint8_t *to, const uint8_t *row, Py_ssize_t width, int is_past_cache) {
  if (is_past_cache)
    write_past_cache(to, row, width);
  else
    memcpy(to, row, (size_t)width);
}
