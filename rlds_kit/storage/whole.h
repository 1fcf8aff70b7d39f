/* Digests and records of episodes, for Python: whole.c */

#ifndef RLDS_KIT_STORAGE_WHOLE_H
#define RLDS_KIT_STORAGE_WHOLE_H

#include <Python.h>

#include <stdint.h>

#define DIGEST_SIZE 16
#define HASHED_AT_ONCE 256 /* numbers */
#define MOST_SHAPE_SIZE (HASHED_AT_ONCE * (Py_ssize_t)sizeof(uint64_t))
#define KNOWN_ROWS 4

/* Hashes of the numbers of rows that columns of a block have: most columns have the same rows. */
typedef struct {
  int64_t first[KNOWN_ROWS], stop[KNOWN_ROWS];
  uint8_t hashes[KNOWN_ROWS][DIGEST_SIZE];
  int count;
} RowHashes;

const uint8_t *hash_of_rows(RowHashes *rows, int64_t first, int64_t stop);
void hash_shapes(const void *shape, Py_ssize_t shape_size, int64_t count, uint8_t *result);

PyObject *add_values(PyObject *self, PyObject *args);
PyObject *leaves_of(PyObject *self, PyObject *state);
PyObject *hashes_of_states(PyObject *self, PyObject *args);
PyObject *digest(PyObject *self, PyObject *args);
PyObject *leaf_hashes(PyObject *self, PyObject *args);
PyObject *part_records(PyObject *self, PyObject *args);

#endif
