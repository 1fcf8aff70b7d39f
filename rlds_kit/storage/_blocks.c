/* Makes the records of step blocks: the C twin of block_header.py and lane_blocks.py. A short episode has one block of a few columns, so
 * that Python's calls for each of them would cost more than its values. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "columns.h"

#define MOST_VARINT 10
/* A tag and a varint for each of four numbers of a column, the tag and length of its entry, and its checksum. */
#define MOST_ENTRY (6 * (MOST_VARINT + 1) + 8)
/* Below this size, giving up and taking back the interpreter lock costs more than it frees. */
#define RELEASE_GIL_SIZE (32 * 1024)

enum { HEADER = 0x0a, HASH = 0x11, PAYLOAD = 0x1a }; /* tags of StepBlock */
enum { ID = 0x0a, FIRST_ROW = 0x10, END_ROW = 0x18, COLUMN = 0x22 }; /* of BlockHeader */
enum { OFFSET = 0x60, LENGTH = 0x68, DECODED = 0x70, XXH3 = 0x79 }; /* of Column */

static uint8_t *put_varint(uint8_t *to, uint64_t number) {
  for (; number >= 128; number >>= 7) *to++ = (uint8_t)(number & 127) | 128;
  *to++ = (uint8_t)number;
  return to;
}

static uint8_t *put_bytes(uint8_t *to, const void *bytes, Py_ssize_t size) {
  memcpy(to, bytes, (size_t)size);
  return to + size;
}

/* A number of a message; protobuf leaves out what is zero. */
static uint8_t *put_number(uint8_t *to, int tag, uint64_t number) {
  if (!number) return to;
  *to++ = (uint8_t)tag;
  return put_varint(to, number);
}

static uint8_t *put_hash(uint8_t *to, int tag, uint64_t hash) {
  *to++ = (uint8_t)tag;
  for (int i = 0; i < 8; ++i) *to++ = (uint8_t)(hash >> 8 * i);
  return to;
}

typedef struct {
  const char *fields, *payload; /* the fields are borrowed from objects that the caller's list has */
  Py_ssize_t fields_size, size;
  uint64_t decoded, hash;
  Py_buffer view; /* of the payload */
} Entry;

static int parse_entry(PyObject *item, Entry *entry) {
  PyObject *fields, *decoded, *payload;
  if (!PyTuple_Check(item) || !PyArg_UnpackTuple(item, "a column", 3, 3, &fields, &decoded, &payload)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a tuple for each column");
    return 0;
  }
  char *begin;
  if (PyBytes_AsStringAndSize(fields, &begin, &entry->fields_size) < 0) return 0;
  entry->fields = begin;
  entry->decoded = PyLong_AsUnsignedLongLong(decoded);
  if (PyErr_Occurred() || PyObject_GetBuffer(payload, &entry->view, PyBUF_SIMPLE) < 0) return 0;
  entry->payload = entry->view.buf, entry->size = entry->view.len;
  return 1;
}

static uint8_t *put_entry(uint8_t *to, const Entry *entry, uint64_t offset) {
  uint8_t tail[MOST_ENTRY], *end = tail;
  end = put_number(end, OFFSET, offset);
  end = put_number(end, LENGTH, (uint64_t)entry->size);
  end = put_number(end, DECODED, entry->decoded);
  if (entry->hash) end = put_hash(end, XXH3, entry->hash);
  *to++ = COLUMN;
  to = put_varint(to, (uint64_t)(entry->fields_size + (end - tail)));
  to = put_bytes(to, entry->fields, entry->fields_size);
  return put_bytes(to, tail, end - tail);
}

static Py_ssize_t size_of_varint(uint64_t number) {
  uint8_t varint[MOST_VARINT];
  return put_varint(varint, number) - varint;
}

/* The header in `to`, which has enough memory; sets the bytes of all payloads with their tags and lengths. */
static uint8_t *put_header(uint8_t *to, const Entry *entries, Py_ssize_t count, Py_ssize_t *payloads) {
  Py_ssize_t offset = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    offset += 1 + size_of_varint((uint64_t)entries[i].size);
    to = put_entry(to, entries + i, (uint64_t)offset);
    offset += entries[i].size;
  }
  *payloads = offset;
  return to;
}

static PyObject *record_of(const uint8_t *header, Py_ssize_t size, const Entry *entries, Py_ssize_t count,
                           Py_ssize_t payloads) {
  uint8_t lead[3 * MOST_VARINT], *end = lead;
  uint64_t inside = (uint64_t)(1 + size_of_varint((uint64_t)size) + size + 9 + payloads);
  end = put_bytes(end, "\x08\x01\x22", 3); /* Record.version, of block.py, and Record.block */
  end = put_varint(end, inside);
  *end++ = HEADER;
  end = put_varint(end, (uint64_t)size);
  PyObject *record = PyBytes_FromStringAndSize(NULL, end - lead + size + 9 + payloads);
  if (!record) return NULL;
  uint8_t *to = (uint8_t *)PyBytes_AsString(record);
  PyThreadState *state = payloads >= RELEASE_GIL_SIZE ? PyEval_SaveThread() : NULL;
  to = put_bytes(to, lead, end - lead);
  to = put_bytes(to, header, size);
  to = put_hash(to, HASH, xxh3(header, (uint64_t)size));
  for (Py_ssize_t i = 0; i < count; ++i) {
    *to++ = PAYLOAD;
    to = put_varint(to, (uint64_t)entries[i].size);
    to = put_bytes(to, entries[i].payload, entries[i].size);
  }
  if (state) PyEval_RestoreThread(state);
  return record;
}

/* join(episode_id, first_row, end_row, columns): see block_header.join_in_python. */
static PyObject *join(PyObject *self, PyObject *args) {
  (void)self;
  const char *id;
  Py_ssize_t id_size;
  unsigned long long first_row, end_row;
  PyObject *columns;
  if (!PyArg_ParseTuple(args, "y#KKO", &id, &id_size, &first_row, &end_row, &columns)) return NULL;
  if (!PyList_Check(columns)) {
    PyErr_SetString(PyExc_TypeError, "expected a list of columns");
    return NULL;
  }
  Py_ssize_t count = PyList_Size(columns), most = id_size + 4 * MOST_VARINT, all = 0, payloads = 0, open = 0;
  Entry *entries = malloc((size_t)(count + 1) * sizeof(Entry));
  uint8_t *header = NULL;
  PyObject *record = NULL;
  if (!entries) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!parse_entry(PyList_GetItem(columns, i), entries + i)) goto done;
    ++open;
    most += entries[i].fields_size + MOST_ENTRY;
    all += entries[i].size;
  }
  if (all < RELEASE_GIL_SIZE) {
    for (Py_ssize_t i = 0; i < count; ++i)
      entries[i].hash = xxh3((const uint8_t *)entries[i].payload, (uint64_t)entries[i].size);
  } else {
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; ++i)
      entries[i].hash = xxh3((const uint8_t *)entries[i].payload, (uint64_t)entries[i].size);
    Py_END_ALLOW_THREADS
  }
  if (!(header = malloc((size_t)most))) {
    PyErr_NoMemory();
    goto done;
  }
  uint8_t *end = header;
  if (id_size) {
    *end++ = ID;
    end = put_bytes(put_varint(end, (uint64_t)id_size), id, id_size);
  }
  end = put_number(put_number(end, FIRST_ROW, first_row), END_ROW, end_row);
  end = put_header(end, entries, count, &payloads);
  record = record_of(header, end - header, entries, count, payloads);
done:
  while (open) PyBuffer_Release(&entries[--open].view);
  free(header);
  free(entries);
  return record;
}

/* See lane_blocks.describe_in_python. */
static PyObject *describe(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer data, pieces;
  Py_ssize_t width;
  Wish wish;
  if (!PyArg_ParseTuple(args, "y*y*nninn", &data, &pieces, &width, &wish.itemsize, &wish.relation, &wish.least, &wish.most))
    return NULL;
  const Piece *first = pieces.buf;
  Py_ssize_t count = pieces.len / (Py_ssize_t)sizeof(Piece), room = 0, used;
  PyObject *repeated = NULL, *hashes = NULL, *bounds = NULL, *planes = NULL, *result = NULL;
  uint8_t *scratch = NULL;
  int is_number = wish.itemsize == 1 || wish.itemsize == 2 || wish.itemsize == 4 || wish.itemsize == 8;
  if (width <= 0 || wish.itemsize <= 0 || width % wish.itemsize || (wish.relation == ADDED && !is_number) ||
      pieces.len % (Py_ssize_t)sizeof(Piece) || !are_pieces_inside(first, count, width, data.len)) {
    PyErr_Format(PyExc_ValueError, "expected pieces of %zd bytes a row in %zd bytes", width, data.len);
    goto done;
  }
  room = most_bytes_planes(first, count, width, &wish);
  repeated = PyBytes_FromStringAndSize(NULL, count), hashes = PyBytes_FromStringAndSize(NULL, 16 * count);
  bounds = PyBytes_FromStringAndSize(NULL, pieces.len), planes = PyByteArray_FromStringAndSize(NULL, room);
  if (!repeated || !hashes || !bounds || !planes) goto done;
  if (!(scratch = malloc((size_t)scratch_of_shuffle(width)))) {
    PyErr_NoMemory();
    goto done;
  }
  uint8_t *flags = (uint8_t *)PyBytes_AsString(repeated), *sums = (uint8_t *)PyBytes_AsString(hashes);
  uint8_t *to = (uint8_t *)PyByteArray_AsString(planes);
  int64_t *ends = (int64_t *)PyBytes_AsString(bounds);
  Py_BEGIN_ALLOW_THREADS
  used = describe_pieces(data.buf, first, count, width, &wish, flags, sums, ends, to, scratch);
  Py_END_ALLOW_THREADS
  if (PyByteArray_Resize(planes, used) == 0) result = PyTuple_Pack(4, repeated, hashes, bounds, planes);
done:
  free(scratch);
  Py_XDECREF(repeated);
  Py_XDECREF(hashes);
  Py_XDECREF(bounds);
  Py_XDECREF(planes);
  PyBuffer_Release(&data);
  PyBuffer_Release(&pieces);
  return result;
}

static PyMethodDef methods[] = {
    {"describe", describe, METH_VARARGS, "Return what there is to know of pieces of a column before they are written."},
    {"join", join, METH_VARARGS, "Return the record of a block from its id, its rows and its encoded columns."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_blocks", "Makes blocks: block_header.py and lane_blocks.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__blocks(void) { return PyModuleDef_Init(&module); }
