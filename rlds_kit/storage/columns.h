/* Reads stored columns of many blocks with one call: _columns.c, and the checksum of xxh3.c. */

#ifndef RLDS_KIT_STORAGE_COLUMNS_H
#define RLDS_KIT_STORAGE_COLUMNS_H

#include "filters.h"

uint64_t xxh3(const uint8_t *data, uint64_t size);

#endif
