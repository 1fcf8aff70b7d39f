/* The hash of content digests and checksums: xxh3.c */

#ifndef RLDS_KIT_STORAGE_XXH3_H
#define RLDS_KIT_STORAGE_XXH3_H

#include <stdint.h>

#define STRIPE 64

uint64_t xxh3(const uint8_t *data, uint64_t size);
void xxh3_128(const uint8_t *data, uint64_t size, uint8_t *hash);

/* XXH3-128 of data that come piece by piece. All zeros is the one of no data. */
typedef struct {
  uint64_t sums[8];
  uint64_t total;   /* bytes so far */
  uint64_t stripes; /* that were added to the sums since the last whole block of stripes */
  uint64_t count;   /* bytes at the beginning of `kept` that were not added yet */
  uint8_t kept[4 * STRIPE]; /* its last stripe is the one that was added last, unless bytes that were not are there */
} Xxh3;

int is_valid_hash(const Xxh3 *hash);
void xxh3_add(Xxh3 *hash, const uint8_t *data, uint64_t size);
void xxh3_end(const Xxh3 *hash, uint8_t *result);

#endif
