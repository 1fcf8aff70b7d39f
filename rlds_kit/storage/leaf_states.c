/* Digests of episodes whose blocks come one after the other: running hashes of all of their leaves, and of many episodes with
 * one call. See leaf_states.py. The lock of the interpreter is kept: a call takes less time than waiting for it would. */

#define PY_SSIZE_T_CLEAN
#include <stdlib.h>

#include "columns.h"
#include "put.h"
#include "whole.h"

/* The consecutive rows `[first, stop)` of a leaf, and the hash of their values. All zeros: it has none. */
typedef struct {
  int64_t first, stop;
  Xxh3 hash;
} Leaf;

typedef struct {
  Py_buffer data, spans;
} Values;

static void close_values(Values *values) {
  PyBuffer_Release(&values->data);
  PyBuffer_Release(&values->spans);
}

static int open_values(PyObject *item, Values *values) {
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple for each column");
    return 0;
  }
  return PyArg_ParseTuple(item, "y*y*", &values->data, &values->spans);
}

/* The leaves of a state of so many columns; NULL, with an error, if it has others. */
static Leaf *leaves_in(PyObject *state, Py_ssize_t count) {
  Leaf *leaves = NULL;
  if (PyByteArray_Check(state) && PyByteArray_Size(state) == count * (Py_ssize_t)sizeof(Leaf))
    leaves = (Leaf *)PyByteArray_AsString(state);
  for (Py_ssize_t i = 0; leaves && i < count; ++i)
    if (leaves[i].first < 0 || leaves[i].first > leaves[i].stop || !is_valid_hash(&leaves[i].hash)) leaves = NULL;
  if (!leaves) PyErr_Format(PyExc_ValueError, "expected the states of %zd leaves", count);
  return leaves;
}

/* The span of a block in a column; NULL, with an error, if there is none. */
static const Span *span_at(const Values *values, int64_t number) {
  const Span *spans = values->spans.buf;
  if (number >= 0 && number < values->spans.len / (Py_ssize_t)sizeof(Span) && spans[number].first >= 0 &&
      spans[number].first <= spans[number].stop && spans[number].begin >= 0 && spans[number].begin <= spans[number].end &&
      spans[number].end <= values->data.len)
    return spans + number;
  PyErr_Format(PyExc_ValueError, "expected rows of %zd bytes", values->data.len);
  return NULL;
}

/* Adds a block to the leaves of its episode. Returns 1; 0 if its rows do not follow theirs, then nothing is added; -1 after an
 * error. */
static int add_block(const Values *columns, Py_ssize_t count, int64_t number, Leaf *leaves) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Span *span = span_at(columns + i, number);
    if (!span) return -1;
    if (span->first < span->stop && leaves[i].stop > leaves[i].first && leaves[i].stop != span->first) return 0;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Span *span = (const Span *)columns[i].spans.buf + number;
    if (span->first >= span->stop) continue;
    if (leaves[i].stop == leaves[i].first) leaves[i].first = span->first;
    leaves[i].stop = span->stop;
    xxh3_add(&leaves[i].hash, (const uint8_t *)columns[i].data.buf + span->begin, (uint64_t)(span->end - span->begin));
  }
  return 1;
}

/* add_values(columns, numbers, states): see leaf_states.py. */
PyObject *add_values(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given, *states, *result = NULL;
  Py_buffer numbers;
  if (!PyArg_ParseTuple(args, "O!y*O!", &PyList_Type, &given, &numbers, &PyList_Type, &states)) return NULL;
  const Py_ssize_t count = PyList_Size(given), blocks = PyList_Size(states);
  Py_ssize_t open = 0;
  Values *columns = malloc((size_t)(count + 1) * sizeof(Values));
  PyObject *found = PyBytes_FromStringAndSize(NULL, blocks);
  if (!columns || !found) {
    if (!columns) PyErr_NoMemory();
    goto done;
  }
  for (; open < count; ++open)
    if (!open_values(PyList_GetItem(given, open), columns + open)) goto done;
  if (numbers.len != blocks * (Py_ssize_t)sizeof(int64_t)) {
    PyErr_Format(PyExc_ValueError, "expected the numbers of %zd blocks", blocks);
    goto done;
  }
  for (Py_ssize_t i = 0; i < blocks; ++i) {
    Leaf *leaves = leaves_in(PyList_GetItem(states, i), count);
    const int is_added = leaves ? add_block(columns, count, ((const int64_t *)numbers.buf)[i], leaves) : -1;
    if (is_added < 0) goto done;
    PyBytes_AsString(found)[i] = (char)is_added;
  }
  result = Py_NewRef(found);
done:
  while (open) close_values(columns + --open);
  free(columns);
  Py_XDECREF(found);
  PyBuffer_Release(&numbers);
  return result;
}

/* leaves_of(state): of each leaf its first row, one past the last, and the state of its hash; see leaf_states.py. */
PyObject *leaves_of(PyObject *self, PyObject *state) {
  (void)self;
  const Py_ssize_t count = PyByteArray_Check(state) ? PyByteArray_Size(state) / (Py_ssize_t)sizeof(Leaf) : -1;
  const Leaf *leaves = leaves_in(state, count);
  PyObject *found = leaves ? PyList_New(0) : NULL;
  for (Py_ssize_t i = 0; found && i < count; ++i) {
    PyObject *leaf = Py_BuildValue("LLy#", (long long)leaves[i].first, (long long)leaves[i].stop, (const char *)&leaves[i].hash,
                                   (Py_ssize_t)sizeof leaves[i].hash);
    if (!leaf || PyList_Append(found, leaf) < 0) Py_CLEAR(found);
    Py_XDECREF(leaf);
  }
  return found;
}

/* hashes_of_states(layouts, state): see leaf_states.py. */
PyObject *hashes_of_states(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *layouts, *state;
  if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &layouts, &state)) return NULL;
  const Py_ssize_t count = PyList_Size(layouts);
  const Leaf *leaves = leaves_in(state, count);
  PyObject *parts = leaves ? PyList_New(0) : NULL;
  RowHashes rows = {.count = 0};
  for (Py_ssize_t i = 0; parts && i < count; ++i) {
    PyObject *layout = PyList_GetItem(layouts, i);
    const char *head, *shape;
    Py_ssize_t head_size, shape_size;
    if (leaves[i].first == leaves[i].stop) continue;
    uint8_t hashes[3 * DIGEST_SIZE];
    if (!PyTuple_Check(layout) || !PyArg_ParseTuple(layout, "y#y#", &head, &head_size, &shape, &shape_size) ||
        shape_size > MOST_SHAPE_SIZE) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a tuple of two bytes for each column");
      Py_CLEAR(parts);
      break;
    }
    memcpy(hashes, hash_of_rows(&rows, leaves[i].first, leaves[i].stop), DIGEST_SIZE);
    hash_shapes(shape, shape_size, leaves[i].stop - leaves[i].first, hashes + DIGEST_SIZE);
    xxh3_end(&leaves[i].hash, hashes + 2 * DIGEST_SIZE);
    PyObject *leaf = PyBytes_FromStringAndSize(NULL, head_size + (Py_ssize_t)sizeof hashes);
    if (leaf) put_bytes(put_bytes((uint8_t *)PyBytes_AsString(leaf), head, head_size), hashes, sizeof hashes);
    if (!leaf || PyList_Append(parts, leaf) < 0) Py_CLEAR(parts);
    Py_XDECREF(leaf);
  }
  PyObject *nothing = parts ? PyBytes_FromStringAndSize("", 0) : NULL;
  PyObject *found = nothing ? PyObject_CallMethod(nothing, "join", "O", parts) : NULL;
  Py_XDECREF(nothing);
  Py_XDECREF(parts);
  return found;
}
