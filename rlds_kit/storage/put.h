/* Writes varints and bytes of messages. */

#ifndef RLDS_KIT_STORAGE_PUT_H
#define RLDS_KIT_STORAGE_PUT_H

#include <stdint.h>
#include <string.h>

#define MOST_VARINT 10

static inline uint8_t *put_varint(uint8_t *to, uint64_t number) {
  for (; number >= 128; number >>= 7) *to++ = (uint8_t)(number & 127) | 128;
  *to++ = (uint8_t)number;
  return to;
}

static inline uint8_t *put_bytes(uint8_t *to, const void *bytes, Py_ssize_t size) {
  memcpy(to, bytes, (size_t)size);
  return to + size;
}

#endif
