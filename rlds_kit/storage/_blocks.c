/* Makes the records of step blocks: the C twin of block.py and block_header.py. A short episode has one block of a few
 * columns, so that Python's calls for each of them would cost more than its values. Columns: pack.c; episodes: whole.c. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pack.h"
#include "put.h"
#include "whole.h"

#define ID_SIZE 16
/* A tag and a varint for each of four numbers of a column, the tag and length of its entry, and its checksum. */
#define MOST_ENTRY (6 * (MOST_VARINT + 1) + 8)
/* Below this size, giving up and taking back the interpreter lock costs more than it frees. */
#define RELEASE_GIL_SIZE (32 * 1024)

enum { HEADER = 0x0a, HASH = 0x11, PAYLOAD = 0x1a }; /* tags of StepBlock */
enum { ID = 0x0a, FIRST_ROW = 0x10, END_ROW = 0x18, COLUMN = 0x22 }; /* of BlockHeader */
enum { FIRST = 0x20, COUNT = 0x28, FILTER = 0x50, CODEC = 0x58 }; /* of Column */
enum { OFFSET = 0x60, LENGTH = 0x68, DECODED = 0x70, XXH3 = 0x79 };

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
static uint8_t *put_header(uint8_t *to, const void *id, Py_ssize_t id_size, uint64_t first_row, uint64_t end_row,
                           const Entry *entries, Py_ssize_t count, Py_ssize_t *payloads) {
  Py_ssize_t offset = 0;
  if (id_size) {
    *to++ = ID;
    to = put_bytes(put_varint(to, (uint64_t)id_size), id, id_size);
  }
  to = put_number(put_number(to, FIRST_ROW, first_row), END_ROW, end_row);
  for (Py_ssize_t i = 0; i < count; ++i) {
    offset += 1 + size_of_varint((uint64_t)entries[i].size);
    to = put_entry(to, entries + i, (uint64_t)offset);
    offset += entries[i].size;
  }
  *payloads = offset;
  return to;
}

/* The bytes before the header of a record. */
static uint8_t *put_lead(uint8_t *to, Py_ssize_t header, Py_ssize_t payloads) {
  to = put_bytes(to, "\x08\x01\x22", 3); /* Record.version, of block.py, and Record.block */
  to = put_varint(to, (uint64_t)(1 + size_of_varint((uint64_t)header) + header + 9 + payloads));
  *to++ = HEADER;
  return put_varint(to, (uint64_t)header);
}

static PyObject *new_record(Py_ssize_t header, Py_ssize_t payloads) {
  uint8_t lead[3 * MOST_VARINT];
  return PyBytes_FromStringAndSize(NULL, put_lead(lead, header, payloads) - lead + header + 9 + payloads);
}

/* Fills a new record. */
static void put_record(uint8_t *to, const uint8_t *header, Py_ssize_t size, const Entry *entries, Py_ssize_t count,
                       Py_ssize_t payloads) {
  to = put_bytes(put_lead(to, size, payloads), header, size);
  to = put_hash(to, HASH, xxh3(header, (uint64_t)size));
  for (Py_ssize_t i = 0; i < count; ++i) {
    *to++ = PAYLOAD;
    to = put_varint(to, (uint64_t)entries[i].size);
    to = put_bytes(to, entries[i].payload, entries[i].size);
  }
}

/* join(episode_id, first_row, end_row, columns): see block.join_in_python. */
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
  uint8_t *end = put_header(header, id, id_size, first_row, end_row, entries, count, &payloads);
  if ((record = new_record(end - header, payloads))) {
    uint8_t *to = (uint8_t *)PyBytes_AsString(record);
    PyThreadState *state = payloads >= RELEASE_GIL_SIZE ? PyEval_SaveThread() : NULL;
    put_record(to, header, end - header, entries, count, payloads);
    if (state) PyEval_RestoreThread(state);
  }
done:
  while (open) PyBuffer_Release(&entries[--open].view);
  free(header);
  free(entries);
  return record;
}

/* A column of many blocks. */
typedef struct {
  Py_buffer prefix, suffix, data, frames, table;
} LaneColumn;

static void close_column(LaneColumn *column) {
  PyBuffer_Release(&column->prefix);
  PyBuffer_Release(&column->suffix);
  PyBuffer_Release(&column->data);
  PyBuffer_Release(&column->frames);
  PyBuffer_Release(&column->table);
}

/* The blocks that records are made of: their numbers in the tables of columns, of which there are `all`. */
typedef struct {
  const int64_t *numbers;
  Py_ssize_t count, all;
} Chosen;

static int open_column(PyObject *item, const Chosen *chosen, LaneColumn *column) {
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple for each column");
    return 0;
  }
  if (!PyArg_ParseTuple(item, "y*y*y*y*y*", &column->prefix, &column->suffix, &column->data, &column->frames, &column->table))
    return 0;
  const StoredPiece *stored = column->table.buf;
  int is_right = column->table.len == chosen->all * (Py_ssize_t)sizeof(StoredPiece);
  for (Py_ssize_t i = 0; is_right && i < chosen->count; ++i) {
    const StoredPiece *one = stored + chosen->numbers[i];
    Py_ssize_t all = one->in_frames ? column->frames.len : column->data.len;
    is_right = one->begin >= 0 && one->size >= 0 && one->size <= all && one->begin <= all - one->size;
  }
  if (is_right) return 1;
  PyErr_Format(PyExc_ValueError, "expected the places of %zd payloads in %zd bytes", chosen->count, column->data.len);
  close_column(column);
  return 0;
}

/* A block of a lane: an entry for each column that has rows in it, whose fields are written to `fields`, and its header to
 * `to`. Sets how many entries there are. */
static uint8_t *put_lane(uint8_t *to, const uint8_t *id, const int64_t *rows, const LaneColumn *columns, Py_ssize_t count,
                         Py_ssize_t number, Entry *entries, uint8_t *fields, Py_ssize_t *used, Py_ssize_t *payloads) {
  *used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const StoredPiece *stored = (const StoredPiece *)columns[i].table.buf + number;
    if (!stored->count) continue;
    Entry *entry = entries + (*used)++;
    entry->payload = (const char *)(stored->in_frames ? columns[i].frames.buf : columns[i].data.buf) + stored->begin;
    entry->size = (Py_ssize_t)stored->size, entry->decoded = (uint64_t)stored->decoded;
    entry->hash = xxh3((const uint8_t *)entry->payload, (uint64_t)entry->size);
    entry->fields = (const char *)fields;
    fields = put_bytes(fields, columns[i].prefix.buf, columns[i].prefix.len);
    fields = put_number(put_number(fields, FIRST, (uint64_t)stored->first_row), COUNT, (uint64_t)stored->count);
    fields = put_bytes(fields, columns[i].suffix.buf, columns[i].suffix.len);
    fields = put_number(put_number(fields, FILTER, (uint64_t)stored->filter), CODEC, (uint64_t)stored->codec);
    entry->fields_size = (const char *)fields - entry->fields;
  }
  return put_header(to, id, ID_SIZE, (uint64_t)rows[0], (uint64_t)rows[1], entries, *used, payloads);
}

/* Memory for the headers of all blocks, one after the other; and of each its size, how many columns it has, and the bytes
 * of their payloads. */
typedef struct {
  Entry *entries; /* of all blocks */
  uint8_t *fields, *headers;
  Py_ssize_t *sizes, *used, *payloads;
  Py_ssize_t most_fields, most_header; /* of a block */
} Headers;

static int allocate(Headers *made, Py_ssize_t blocks, const LaneColumn *columns, Py_ssize_t count) {
  made->most_fields = 1;
  for (Py_ssize_t i = 0; i < count; ++i)
    made->most_fields += columns[i].prefix.len + columns[i].suffix.len + 4 * (MOST_VARINT + 1);
  made->most_header = ID_SIZE + 4 * MOST_VARINT + made->most_fields + count * MOST_ENTRY;
  made->entries = malloc((size_t)(blocks * count + 1) * sizeof(Entry));
  made->fields = malloc((size_t)(blocks * made->most_fields + 1));
  made->headers = malloc((size_t)(blocks * made->most_header + 1));
  made->sizes = malloc((size_t)(blocks + 1) * sizeof(Py_ssize_t));
  made->used = malloc((size_t)(blocks + 1) * sizeof(Py_ssize_t));
  made->payloads = malloc((size_t)(blocks + 1) * sizeof(Py_ssize_t));
  return made->entries && made->fields && made->headers && made->sizes && made->used && made->payloads;
}

static PyObject *records_of(const uint8_t *ids, const int64_t *rows, const Chosen *chosen, const LaneColumn *columns,
                            Py_ssize_t count, Headers *made) {
  const Py_ssize_t blocks = chosen->count;
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; i < blocks; ++i) {
    uint8_t *header = made->headers + i * made->most_header;
    const Py_ssize_t number = (Py_ssize_t)chosen->numbers[i];
    made->sizes[i] = put_lane(header, ids + ID_SIZE * i, rows + 2 * number, columns, count, number, made->entries + i * count,
                              made->fields + i * made->most_fields, made->used + i, made->payloads + i) - header;
  }
  Py_END_ALLOW_THREADS
  PyObject *records = PyList_New(blocks);
  uint8_t **places = malloc((size_t)(blocks + 1) * sizeof(uint8_t *));
  for (Py_ssize_t i = 0; records && places && i < blocks; ++i) {
    PyObject *record = new_record(made->sizes[i], made->payloads[i]);
    if (!record) {
      Py_CLEAR(records);
      break;
    }
    places[i] = (uint8_t *)PyBytes_AsString(record);
    PyList_SetItem(records, i, record);
  }
  if (records && places) {
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < blocks; ++i)
      put_record(places[i], made->headers + i * made->most_header, made->sizes[i], made->entries + i * count,
                 made->used[i], made->payloads[i]);
    Py_END_ALLOW_THREADS
  }
  if (!places) {
    Py_CLEAR(records);
    PyErr_NoMemory();
  }
  free(places);
  return records;
}

static int are_numbers(const Chosen *chosen) {
  for (Py_ssize_t i = 0; i < chosen->count; ++i)
    if (chosen->numbers[i] < 0 || chosen->numbers[i] >= chosen->all) return 0;
  return 1;
}

/* join_lanes(ids, rows, columns, numbers): see block.join_lanes_in_python. */
static PyObject *join_lanes(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer ids, rows, numbers;
  PyObject *given, *records = NULL;
  if (!PyArg_ParseTuple(args, "y*y*O!y*", &ids, &rows, &PyList_Type, &given, &numbers)) return NULL;
  const Chosen chosen = {numbers.buf, ids.len / ID_SIZE, rows.len / (2 * (Py_ssize_t)sizeof(int64_t))};
  Py_ssize_t count = PyList_Size(given), open = 0;
  LaneColumn *columns = malloc((size_t)(count + 1) * sizeof(LaneColumn));
  Headers made = {0};
  if (!columns) {
    PyErr_NoMemory();
    goto done;
  }
  if (ids.len % ID_SIZE || numbers.len != chosen.count * (Py_ssize_t)sizeof(int64_t) || !are_numbers(&chosen)) {
    PyErr_Format(PyExc_ValueError, "expected the number of a block for each of %zd bytes of ids", ids.len);
    goto done;
  }
  for (; open < count; ++open)
    if (!open_column(PyList_GetItem(given, open), &chosen, columns + open)) goto done;
  if (allocate(&made, chosen.count, columns, count))
    records = records_of(ids.buf, rows.buf, &chosen, columns, count, &made);
  else
    PyErr_NoMemory();
done:
  while (open) close_column(columns + --open);
  free(made.entries);
  free(made.fields);
  free(made.headers);
  free(made.sizes);
  free(made.used);
  free(made.payloads);
  free(columns);
  PyBuffer_Release(&ids);
  PyBuffer_Release(&rows);
  PyBuffer_Release(&numbers);
  return records;
}

static PyMethodDef methods[] = {
    {"digest", digest, METH_VARARGS, "Return the digest of an episode from the hashes of its leaves and its messages."},
    {"leaf_hashes", leaf_hashes, METH_VARARGS, "Return what the digests of whole episodes are made of, beside their messages."},
    {"part_records", part_records, METH_VARARGS, "Return the records and digests of parts of episodes."},
    {"spans_of", spans_of, METH_VARARGS, "Return which rows of a column blocks have, and whether there are gaps among them."},
    {"stored", stored, METH_VARARGS, "Return how pieces of a column are stored, and which are encoded in another way."},
    {"add_values", add_values, METH_VARARGS, "Add the values of blocks to the hashes of the leaves of their episodes."},
    {"leaves_of", leaves_of, METH_O, "Return rows and hash of each leaf of an episode."},
    {"hashes_of_states", hashes_of_states, METH_VARARGS, "Return what the digest of an episode is made of, beside its messages."},
    {"describe", describe, METH_O, "Return what there is to know of pieces of columns before they are written."},
    {"join_lanes", join_lanes, METH_VARARGS, "Return the records of blocks whose columns were encoded together."},
    {"join", join, METH_VARARGS, "Return the record of a block from its id, its rows and its encoded columns."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_blocks", "Makes blocks: block.py and lane_pieces.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__blocks(void) { return PyModuleDef_Init(&module); }
