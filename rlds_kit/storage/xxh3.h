/* The hash of content digests and checksums: xxh3.c */

#ifndef RLDS_KIT_STORAGE_XXH3_H
#define RLDS_KIT_STORAGE_XXH3_H

#include <stdint.h>

#define STRIPE 64

uint64_t xxh3(const uint8_t *data, uint64_t size);
void xxh3_128(const uint8_t *data, uint64_t size, uint8_t *hash);

/* XXH3-128 of data that come piece by piece. All zeros is the one of no data. */
typedef struct {
  uint64_t sums[8], total, stripes, count; /* stripes of an unfinished block; bytes in `kept` */
  uint8_t kept[4 * STRIPE];                /* not added to the sums yet; after them some that were */
} Xxh3;

int is_valid_hash(const Xxh3 *hash);
void xxh3_add(Xxh3 *hash, const uint8_t *data, uint64_t size);
void xxh3_end(const Xxh3 *hash, uint8_t *result);

#endif
