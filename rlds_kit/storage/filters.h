/* The filters that run over every byte of every frame. filters.py, noise_split.py, predict.py and runs.py beside this file
 * have the same functions in NumPy; tests compare them. docs/format.md, "Filters".
 *
 * Decoders validate everything: the payload comes from untrusted files. */

#ifndef RLDS_KIT_STORAGE_FILTERS_H
#define RLDS_KIT_STORAGE_FILTERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "xxh3.h"

/* Stores that bypass the cache: past_cache.c */

void write_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t count);
void put_past_cache(uint8_t *to, const uint8_t *from, Py_ssize_t size, Py_ssize_t array_bytes);
void write_row(uint8_t *to, const uint8_t *row, Py_ssize_t width, int is_past_cache);
int is_past_cache_better(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width, Py_ssize_t array_bytes);
int are_rows_better_past_cache(const uint8_t *rows, Py_ssize_t size, Py_ssize_t width);

/* Memory that was never used: new_memory.c */

int is_used_memory(const uint8_t *at);
int clear_new_memory(const uint8_t *first, const uint8_t *row, Py_ssize_t size, const uint8_t *stop);

/* Rows that are encoded relative to the previous row: row_by_row.c */

typedef int (*DecodeRow)(void *from, Py_ssize_t width, uint8_t *row);

int decode_rows(DecodeRow decode, void *from, Py_ssize_t begin, Py_ssize_t count, Py_ssize_t width, uint8_t *rows,
                uint8_t *row);

/* A row of a column, and the row of an array that it goes to. */
typedef struct {
  int64_t row, to;
} Pick;

/* Where picked rows go: `rows`, and `row`, memory for one. */
typedef struct {
  uint8_t *rows, *row;
  int is_past_cache;
} Target;

int pick_rows(DecodeRow decode, void *from, const Pick *picks, Py_ssize_t count, Py_ssize_t width, const Target *to);

/* SPARSE_XOR: sparse_xor.c */

Py_ssize_t most_bytes_sparse(Py_ssize_t count, Py_ssize_t width);
uint8_t *encode_sparse(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, const uint8_t *zeros, uint8_t *to,
                       Xxh3 *hash);
int decode_sparse(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, Py_ssize_t begin, Py_ssize_t count,
                  Py_ssize_t width, uint8_t *rows, uint8_t *row);

int pick_sparse(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, const Pick *picks, Py_ssize_t count,
                Py_ssize_t width, const Target *to);

/* XOR_RUNS: runs.c */

Py_ssize_t most_bytes_runs(Py_ssize_t count, Py_ssize_t width);
uint8_t *encode_runs(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, const uint8_t *zeros, uint8_t *to,
                     Xxh3 *hash);
int decode_runs(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, Py_ssize_t begin, Py_ssize_t count,
                Py_ssize_t width, uint8_t *rows, uint8_t *row);

int pick_runs(const uint8_t *stored, Py_ssize_t size, Py_ssize_t total, const Pick *picks, Py_ssize_t count,
              Py_ssize_t width, const Target *to);

/* SHUFFLE and what is combined with it: shuffle.c */

enum { ALONE, XORED, ADDED };

Py_ssize_t scratch_of_shuffle(Py_ssize_t width);
void encode_shuffled(const uint8_t *rows, Py_ssize_t count, Py_ssize_t width, Py_ssize_t itemsize, int relation,
                     uint8_t *planes, uint8_t *scratch);
void decode_shuffled(const uint8_t *planes, Py_ssize_t elements, Py_ssize_t itemsize, Py_ssize_t begin, Py_ssize_t count,
                     Py_ssize_t width, int relation, uint8_t *rows, uint8_t *scratch);

/* PREDICT: predict.c */

typedef struct {
  Py_ssize_t lines, width, pixel; /* of a row; bytes of a line and of a pixel */
  const uint8_t *zeros;           /* a line: used above the first line and before the first row */
  uint8_t *scratch;               /* two lines */
} Image;

/* The destination of rows, from `first` on. If there is a ring, a buffer of two rows that stays in the cache, rows are
 * decoded there and then written, past the cache or not; those before `first` are only decoded. */
typedef struct {
  uint8_t *rows, *ring;
  Py_ssize_t first;
  int is_past_cache;
} Sink;

void encode_images(const Image *image, const uint8_t *rows, Py_ssize_t count, uint8_t *modes, uint8_t *left);
int decode_image(const Image *image, const uint8_t *modes, const uint8_t *left, Py_ssize_t row, const Sink *to);

/* What PREDICT_SPLIT does with what is left of images: noise_split.c */

#define MOST_NOISE 6

/* The state of a sequential reader of numbers. */
typedef struct {
  Py_ssize_t length, at;     /* length of a stretch; index of the next number */
  int noise;                 /* bits of the low fields */
  const uint8_t *high, *low; /* the field of width 2 above the noise; those below, of widths 4, 2 and 1 */
  const uint8_t *gaps, *values, *end; /* the next gap and the value behind it; the end of the values */
  Py_ssize_t exception;               /* the first number in the next gap */
} Numbers;

Py_ssize_t most_bytes_split(Py_ssize_t total);
const uint8_t *begin_split(const uint8_t *left, Py_ssize_t total, int *noise, uint8_t *numbers, const uint8_t **end);
Py_ssize_t size_of_fields(Py_ssize_t total, int noise);
void fill_fields(const uint8_t *numbers, Py_ssize_t total, int noise, uint8_t *to);
int open_numbers(Numbers *from, const uint8_t *stored, Py_ssize_t size, Py_ssize_t total);
void read_numbers(Numbers *from, Py_ssize_t count, uint8_t *to);

#endif
