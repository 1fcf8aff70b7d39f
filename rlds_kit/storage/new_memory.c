/* Memory that was never used. The system clears a page when it is first written: 2 MiB take 0.2 to 6 ms, one to thirty
 * times as long as a copy into other memory. A thread that copies with the GIL would make all others wait for that: a writer
 * thread that falls behind makes its caller use still more new memory. */

#include "filters.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((uintptr_t)2 << 20) /* at most so much is cleared that may never be used */
#ifndef MADV_POPULATE_WRITE            /* later than some C libraries; a kernel before 5.14 does nothing */
#define MADV_POPULATE_WRITE 23
#endif

/* Whether a page was used: 1, or 0 if it is new, or -1 if that is unknown. */
int is_used_memory(const uint8_t *at) {
  uintptr_t here = (uintptr_t)at;
  unsigned char is_there = 0;
  return mincore((void *)(here - here % (uintptr_t)sysconf(_SC_PAGESIZE)), 1, &is_there) ? -1 : is_there & 1;
}

/* Called with the GIL before `row` is written into the array from `first` to `stop`, whose rows are written in order. If it
 * begins a huge page that is new, releases the GIL, so that other threads may run, and clears the page from the row on; returns
 * whether it did. */
int clear_new_memory(const uint8_t *first, const uint8_t *row, Py_ssize_t size, const uint8_t *stop) {
  uintptr_t begin = (uintptr_t)row, last = begin + (uintptr_t)size - 1, next = (last / HUGE_PAGE + 1) * HUGE_PAGE;
  if (size <= 0 || stop - first < (Py_ssize_t)HUGE_PAGE) return 0; /* a small array: copying it takes no time */
  if (row != first && (begin - 1) / HUGE_PAGE == last / HUGE_PAGE) return 0;
  if (is_used_memory(row + size - 1) != 0) return 0;
  begin -= begin % (uintptr_t)sysconf(_SC_PAGESIZE);
  next = next < (uintptr_t)stop ? next : (uintptr_t)stop;
  Py_BEGIN_ALLOW_THREADS
  madvise((void *)begin, next - begin, MADV_POPULATE_WRITE); /* on an error, pages are cleared as they are written */
  Py_END_ALLOW_THREADS
  return 1;
}
#else
int is_used_memory(const uint8_t *at) {
  (void)at;
  return -1;
}

int clear_new_memory(const uint8_t *first, const uint8_t *row, Py_ssize_t size, const uint8_t *stop) {
  (void)first, (void)row, (void)size, (void)stop;
  return 0;
}
#endif
