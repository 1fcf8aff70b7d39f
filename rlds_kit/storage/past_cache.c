/* Non-temporal stores, which bypass the cache, on processors that have them. */

#include "filters.h"

/* They need rows that begin at a multiple of WIDTH bytes; `is_past_cache_better` checks that. */
#if defined(__x86_64__) && defined(__linux__)
#include <emmintrin.h>
#include <sys/mman.h>
#include <unistd.h>
#define WIDTH 16
#define LARGE (2 << 20) /* about the size of a core's private cache */

void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i += WIDTH)
    _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
  _mm_sfence(); /* these stores are weakly ordered: makes them visible to other threads before later stores */
}

/* Whether that is probably faster for `size` bytes of rows in an array of `room` bytes. Not for a small array, which
 * stays in the cache until it is read. Not for memory that was never used: the system clears its pages first, which
 * brings them into the cache. mincore tells whether the last page is in memory; it represents all others, because rows
 * are written from the first to the last. If mincore fails, ordinary stores are used. */
int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width, Py_ssize_t room) {
  if (room < LARGE || ((uintptr_t)rows | (uintptr_t)width) % WIDTH) return 0;
  uintptr_t last = (uintptr_t)rows + (uintptr_t)size - 1, page = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char is_there = 0;
  return mincore((void *)(last - last % page), 1, &is_there) == 0 && is_there & 1;
}
#else
void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count) { memcpy(to, from, (size_t)count); }

int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width, Py_ssize_t room) {
  (void)rows, (void)size, (void)width, (void)room;
  return 0;
}
#endif
