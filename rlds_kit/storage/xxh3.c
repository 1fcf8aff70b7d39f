/* XXH3-64 and XXH3-128 with seed 0, as https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md describes it: the package xxhash
 * cannot be called from C, and so not without the GIL for thousands of columns, nor row by row while rows are encoded. */

#include "xxh3.h"

#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

static const uint8_t SECRET[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9,
    0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78,
    0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71,
    0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3,
    0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8,
    0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa,
    0x13, 0x63, 0xeb, 0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b,
    0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f, 0x95,
    0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

#define LAST_SECRET (SECRET + 192 - STRIPE)
#define STRIPES_PER_BLOCK 16 /* (size of the secret - STRIPE) / 8 */
#define AHEAD 512 /* bytes: data that are not in the cache are hashed twice as fast when they are requested this early */

static const uint64_t P32_1 = 0x9E3779B1U, P32_2 = 0x85EBCA77U;
static const uint64_t P64_1 = 0x9E3779B185EBCA87U, P64_2 = 0xC2B2AE3D27D4EB4FU, P64_3 = 0x165667B19E3779F9U,
                      P64_4 = 0x85EBCA77C2B2AE63U;

static const uint64_t FIRST_SUMS[8] = {0xC2B2AE3DU,         0x9E3779B185EBCA87U, 0xC2B2AE3D27D4EB4FU, 0x165667B19E3779F9U,
                                       0x85EBCA77C2B2AE63U, 0x85EBCA77U,         0x27D4EB2F165667C5U, 0x9E3779B1U};

static inline uint64_t read64(const uint8_t *from) {
  uint64_t number;
  memcpy(&number, from, 8);
  return number;
}

static inline uint64_t read32(const uint8_t *from) {
  uint32_t number;
  memcpy(&number, from, 4);
  return number;
}

static inline uint64_t fold(uint64_t one, uint64_t other) {
  unsigned __int128 product = (unsigned __int128)one * other;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t rotated(uint64_t number, int bits) { return number << bits | number >> (64 - bits); }

static uint64_t avalanche(uint64_t hash) {
  hash ^= hash >> 37;
  hash *= 0x165667919E3779F9U;
  return hash ^ hash >> 32;
}

static uint64_t avalanche_short(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= P64_2;
  hash ^= hash >> 29;
  hash *= P64_3;
  return hash ^ hash >> 32;
}

static inline uint64_t mix(const uint8_t *data, const uint8_t *secret) {
  return fold(read64(data) ^ read64(secret), read64(data + 8) ^ read64(secret + 8));
}

static uint64_t hash_to_16(const uint8_t *data, uint64_t size) {
  if (size > 8) {
    uint64_t low = read64(data) ^ read64(SECRET + 24) ^ read64(SECRET + 32);
    uint64_t high = read64(data + size - 8) ^ read64(SECRET + 40) ^ read64(SECRET + 48);
    return avalanche(size + __builtin_bswap64(low) + high + fold(low, high));
  }
  if (size >= 4) {
    uint64_t hash = read32(data + size - 4) + (read32(data) << 32);
    hash ^= read64(SECRET + 8) ^ read64(SECRET + 16);
    hash ^= rotated(hash, 49) ^ rotated(hash, 24);
    hash *= 0x9FB21C651E98DF25U;
    hash ^= (hash >> 35) + size;
    hash *= 0x9FB21C651E98DF25U;
    return hash ^ hash >> 28;
  }
  if (!size) return avalanche_short(read64(SECRET + 56) ^ read64(SECRET + 64));
  uint64_t joined = (uint64_t)data[0] << 16 | (uint64_t)data[size >> 1] << 24 | data[size - 1] | size << 8;
  return avalanche_short(joined ^ read32(SECRET) ^ read32(SECRET + 4));
}

static uint64_t hash_to_128(const uint8_t *data, uint64_t size) {
  uint64_t sum = size * P64_1;
  for (int64_t i = (int64_t)(size - 1) / 32; i >= 0; --i)
    sum += mix(data + 16 * i, SECRET + 32 * i) + mix(data + size - 16 * (i + 1), SECRET + 32 * i + 16);
  return avalanche(sum);
}

static uint64_t hash_to_240(const uint8_t *data, uint64_t size) {
  uint64_t sum = size * P64_1;
  for (uint64_t i = 0; i < 8; ++i) sum += mix(data + 16 * i, SECRET + 16 * i);
  sum = avalanche(sum);
  for (uint64_t i = 8; i < size / 16; ++i) sum += mix(data + 16 * i, SECRET + 16 * (i - 8) + 3);
  return avalanche(sum + mix(data + size - 16, SECRET + 136 - 17));
}

/* Sums of stripes: `add_stripes` and `add_last`, in vectors where the processor has them. */
#ifdef __SSE2__
typedef uint64_t Two __attribute__((vector_size(16)));
#define VECTOR Two
#define PRODUCT(one, other) ((Two)_mm_mul_epu32((__m128i)(one), (__m128i)(other)))
#define SWAPPED(numbers) ((Two)_mm_shuffle_epi32((__m128i)(numbers), 0x4E))
#define NAME(function) function##_by_two
#define TARGET
#include "xxh3_stripes.h"

typedef uint64_t Four __attribute__((vector_size(32)));
#define VECTOR Four
#define PRODUCT(one, other) ((Four)_mm256_mul_epu32((__m256i)(one), (__m256i)(other)))
#define SWAPPED(numbers) ((Four)_mm256_shuffle_epi32((__m256i)(numbers), 0x4E))
#define NAME(function) function##_by_four
#define TARGET __attribute__((target("avx2")))
#include "xxh3_stripes.h"

static uint64_t add_stripes(uint64_t *sums, const uint8_t *data, uint64_t stripes, uint64_t at) {
  return (__builtin_cpu_supports("avx2") ? add_stripes_by_four : add_stripes_by_two)(sums, data, stripes, at);
}

static void add_last(uint64_t *sums, const uint8_t *stripe) { add_last_by_two(sums, stripe); }
#else
static inline void add_stripe(uint64_t *sums, const uint8_t *data, const uint8_t *secret) {
  for (int i = 0; i < 8; ++i) {
    uint64_t keyed = read64(data + 8 * i) ^ read64(secret + 8 * i);
    sums[i] += read64(data + 8 * (i ^ 1)) + (keyed & 0xFFFFFFFFU) * (keyed >> 32);
  }
}

static uint64_t add_stripes(uint64_t *sums, const uint8_t *data, uint64_t stripes, uint64_t at) {
  uint64_t here[8]; /* which `data` cannot be, as far as the compiler knows */
  memcpy(here, sums, sizeof here);
  for (; stripes; --stripes, data += STRIPE) {
    __builtin_prefetch(data + AHEAD);
    add_stripe(here, data, SECRET + 8 * at);
    if (++at < STRIPES_PER_BLOCK) continue;
    for (int i = 0; i < 8; ++i) here[i] = (here[i] ^ here[i] >> 47 ^ read64(LAST_SECRET + 8 * i)) * P32_1;
    at = 0;
  }
  memcpy(sums, here, sizeof here);
  return at;
}

static void add_last(uint64_t *sums, const uint8_t *stripe) { add_stripe(sums, stripe, LAST_SECRET - 7); }
#endif

/* The sums of more than 240 bytes, from which both hashes are made. */
static void sum_up(const uint8_t *data, uint64_t size, uint64_t *sums) {
  add_stripes(sums, data, (size - 1) / STRIPE, 0);
  add_last(sums, data + size - STRIPE);
}

static uint64_t merged(const uint64_t *sums, const uint8_t *secret, uint64_t hash) {
  for (int i = 0; i < 4; ++i)
    hash += fold(sums[2 * i] ^ read64(secret + 16 * i), sums[2 * i + 1] ^ read64(secret + 16 * i + 8));
  return avalanche(hash);
}

static uint64_t hash_long(const uint8_t *data, uint64_t size) {
  uint64_t sums[8];
  memcpy(sums, FIRST_SUMS, sizeof sums);
  sum_up(data, size, sums);
  return merged(sums, SECRET + 11, size * P64_1);
}

uint64_t xxh3(const uint8_t *data, uint64_t size) {
  if (size <= 16) return hash_to_16(data, size);
  if (size <= 128) return hash_to_128(data, size);
  return size <= 240 ? hash_to_240(data, size) : hash_long(data, size);
}

typedef struct {
  uint64_t low, high;
} Wide;

static Wide product(uint64_t one, uint64_t other) {
  unsigned __int128 product = (unsigned __int128)one * other;
  return (Wide){(uint64_t)product, (uint64_t)(product >> 64)};
}

static Wide wide_to_16(const uint8_t *data, uint64_t size) {
  if (size > 8) {
    uint64_t low = read64(data), high = read64(data + size - 8);
    Wide first = product(low ^ high ^ read64(SECRET + 32) ^ read64(SECRET + 40), P64_1);
    first.low += (size - 1) << 54;
    high ^= read64(SECRET + 48) ^ read64(SECRET + 56);
    first.high += high + (high & 0xFFFFFFFFU) * (P32_2 - 1);
    first.low ^= __builtin_bswap64(first.high);
    Wide hash = product(first.low, P64_2);
    hash.high += first.high * P64_2;
    return (Wide){avalanche(hash.low), avalanche(hash.high)};
  }
  if (size >= 4) {
    uint64_t both = read32(data) + (read32(data + size - 4) << 32);
    Wide hash = product(both ^ read64(SECRET + 16) ^ read64(SECRET + 24), P64_1 + (size << 2));
    hash.high += hash.low << 1;
    hash.low ^= hash.high >> 3;
    hash.low = (hash.low ^ hash.low >> 35) * 0x9FB21C651E98DF25U;
    return (Wide){hash.low ^ hash.low >> 28, avalanche(hash.high)};
  }
  if (!size) {
    uint64_t low = read64(SECRET + 64) ^ read64(SECRET + 72), high = read64(SECRET + 80) ^ read64(SECRET + 88);
    return (Wide){avalanche_short(low), avalanche_short(high)};
  }
  uint32_t joined = (uint32_t)data[0] << 16 | (uint32_t)data[size >> 1] << 24 | data[size - 1] | (uint32_t)size << 8;
  uint32_t swapped = __builtin_bswap32(joined);
  uint64_t low = joined ^ (read32(SECRET) ^ read32(SECRET + 4));
  uint64_t high = (swapped << 13 | swapped >> 19) ^ (read32(SECRET + 8) ^ read32(SECRET + 12));
  return (Wide){avalanche_short(low), avalanche_short(high)};
}

static void mix_both(Wide *sums, const uint8_t *one, const uint8_t *other, const uint8_t *secret) {
  sums->low = (sums->low + mix(one, secret)) ^ (read64(other) + read64(other + 8));
  sums->high = (sums->high + mix(other, secret + 16)) ^ (read64(one) + read64(one + 8));
}

static Wide ended(Wide sums, uint64_t size) {
  uint64_t high = sums.low * P64_1 + sums.high * P64_4 + size * P64_2;
  return (Wide){avalanche(sums.low + sums.high), 0 - avalanche(high)};
}

static Wide wide_to_240(const uint8_t *data, uint64_t size) {
  Wide sums = {size * P64_1, 0};
  if (size <= 128) {
    for (int64_t i = (int64_t)(size - 1) / 32; i >= 0; --i)
      mix_both(&sums, data + 16 * i, data + size - 16 * (i + 1), SECRET + 32 * i);
    return ended(sums, size);
  }
  for (uint64_t i = 0; i < 4; ++i) mix_both(&sums, data + 32 * i, data + 32 * i + 16, SECRET + 32 * i);
  sums = (Wide){avalanche(sums.low), avalanche(sums.high)};
  for (uint64_t i = 4; i < size / 32; ++i) mix_both(&sums, data + 32 * i, data + 32 * i + 16, SECRET + 32 * (i - 4) + 3);
  mix_both(&sums, data + size - 16, data + size - 32, SECRET + 136 - 17 - 16);
  return ended(sums, size);
}

static Wide wide_of(const uint64_t *sums, uint64_t size) {
  return (Wide){merged(sums, SECRET + 11, size * P64_1), merged(sums, SECRET + 192 - STRIPE - 11, ~(size * P64_2))};
}

static Wide wide_long(const uint8_t *data, uint64_t size) {
  uint64_t sums[8];
  memcpy(sums, FIRST_SUMS, sizeof sums);
  sum_up(data, size, sums);
  return wide_of(sums, size);
}

/* Big-endian, as the package xxhash returns it. */
static void put_wide(Wide found, uint8_t *hash) {
  for (int i = 0; i < 8; ++i) hash[i] = (uint8_t)(found.high >> (56 - 8 * i)), hash[8 + i] = (uint8_t)(found.low >> (56 - 8 * i));
}

void xxh3_128(const uint8_t *data, uint64_t size, uint8_t *hash) {
  put_wide(size <= 16 ? wide_to_16(data, size) : size <= 240 ? wide_to_240(data, size) : wide_long(data, size), hash);
}

int is_valid_hash(const Xxh3 *hash) {
  return hash->count <= sizeof hash->kept && hash->count <= hash->total && hash->stripes < STRIPES_PER_BLOCK;
}

/* A stripe is added to the sums only when a byte follows it: the last one is added in another way. */
void xxh3_add(Xxh3 *hash, const uint8_t *data, uint64_t size) {
  if (!hash->total) memcpy(hash->sums, FIRST_SUMS, sizeof hash->sums);
  hash->total += size;
  uint64_t room = sizeof hash->kept - hash->count;
  if (size > room) {
    if (hash->count) {
      memcpy(hash->kept + hash->count, data, room);
      hash->stripes = add_stripes(hash->sums, hash->kept, sizeof hash->kept / STRIPE, hash->stripes);
      data += room, size -= room, hash->count = 0;
    }
    if (size > sizeof hash->kept) {
      uint64_t stripes = (size - 1) / STRIPE;
      hash->stripes = add_stripes(hash->sums, data, stripes, hash->stripes);
      data += stripes * STRIPE, size -= stripes * STRIPE;
      memcpy(hash->kept + sizeof hash->kept - STRIPE, data - STRIPE, STRIPE); /* where a full `kept` would have it */
    }
  }
  memcpy(hash->kept + hash->count, data, size);
  hash->count += size;
}

void xxh3_end(const Xxh3 *hash, uint8_t *result) {
  if (hash->total <= 240) {
    xxh3_128(hash->kept, hash->total, result);
    return;
  }
  uint64_t sums[8], stripes = hash->count ? (hash->count - 1) / STRIPE : 0;
  uint8_t last[2 * STRIPE]; /* what was added before, then what was not */
  memcpy(sums, hash->sums, sizeof sums);
  add_stripes(sums, hash->kept, stripes, hash->stripes);
  uint64_t left = hash->count - stripes * STRIPE;
  memcpy(last, stripes ? hash->kept + (stripes - 1) * STRIPE : hash->kept + sizeof hash->kept - STRIPE, STRIPE);
  memcpy(last + STRIPE, hash->kept + stripes * STRIPE, left);
  add_last(sums, last + left);
  put_wide(wide_of(sums, hash->total), result);
}
