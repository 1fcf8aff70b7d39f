/* Sums of stripes in vectors of one size, for xxh3.c, which includes this for each size. It defines VECTOR, the type;
 * PRODUCT, of the lower halves of numbers, as compilers multiply these in vectors only when they are shown how; SWAPPED,
 * which exchanges the numbers of each pair; TARGET, the processors; and NAME, of a function here. */

#define LANES (STRIPE / (int)sizeof(VECTOR))

TARGET static inline VECTOR NAME(lane_of)(const uint8_t *stripe, int lane) {
  VECTOR found;
  memcpy(&found, stripe + lane * (int)sizeof found, sizeof found);
  return found;
}

TARGET static inline VECTOR NAME(added)(VECTOR sum, const uint8_t *data, const uint8_t *secret, int lane) {
  VECTOR value = NAME(lane_of)(data, lane), keyed = value ^ NAME(lane_of)(secret, lane);
  return sum + SWAPPED(value) + PRODUCT(keyed, keyed >> 32);
}

TARGET static inline VECTOR NAME(scrambled)(VECTOR sum, int lane) {
  const VECTOR prime = (VECTOR){0} + P32_1;
  sum ^= sum >> 47 ^ NAME(lane_of)(LAST_SECRET, lane);
  return PRODUCT(sum, prime) + (PRODUCT(sum >> 32, prime) << 32);
}

/* Adds stripes to the sums; `at` is how many are in the unfinished block of stripes, and the result how many are then. */
TARGET static uint64_t NAME(add_stripes)(uint64_t *sums, const uint8_t *data, uint64_t stripes, uint64_t at) {
  VECTOR lanes[LANES];
  memcpy(lanes, sums, sizeof lanes);
  for (; stripes; --stripes, data += STRIPE) {
    __builtin_prefetch(data + AHEAD);
    for (int i = 0; i < LANES; ++i) lanes[i] = NAME(added)(lanes[i], data, SECRET + 8 * at, i);
    if (++at < STRIPES_PER_BLOCK) continue;
    for (int i = 0; i < LANES; ++i) lanes[i] = NAME(scrambled)(lanes[i], i);
    at = 0;
  }
  memcpy(sums, lanes, sizeof lanes);
  return at;
}

TARGET static inline void NAME(add_last)(uint64_t *sums, const uint8_t *stripe) {
  VECTOR lanes[LANES];
  memcpy(lanes, sums, sizeof lanes);
  for (int i = 0; i < LANES; ++i) lanes[i] = NAME(added)(lanes[i], stripe, LAST_SECRET - 7, i);
  memcpy(sums, lanes, sizeof lanes);
}

#undef LANES
#undef VECTOR
#undef PRODUCT
#undef SWAPPED
#undef NAME
#undef TARGET
