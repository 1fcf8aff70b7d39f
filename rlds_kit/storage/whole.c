/* Makes what is written of episodes, beside their blocks: the C twin of whole_hashes.py, part_records.py and of a part of
 * digest.py. Numbers are read as the processor has them: little-endian. */

#define PY_SSIZE_T_CLEAN
#include "whole.h"

#include <stdlib.h>

#include "columns.h"
#include "put.h"

#define EMPTY_DICT_SIZE 2

/* ---- Hashes of leaves -------------------------------------------------------------------------------- */

#define LAYOUT_SIZE (2 * DIGEST_SIZE)

typedef struct {
  Py_buffer head, shape, spans, hashes;
} HashedColumn;

static void hash_rows(int64_t first, int64_t stop, uint8_t *result) {
  Xxh3 hash = {0};
  uint64_t numbers[HASHED_AT_ONCE];
  while (first < stop) {
    int count = 0;
    for (; count < HASHED_AT_ONCE && first < stop; ++count) numbers[count] = (uint64_t)first++;
    xxh3_add(&hash, (const uint8_t *)numbers, (uint64_t)count * sizeof *numbers);
  }
  xxh3_end(&hash, result);
}

void hash_shapes(const void *shape, Py_ssize_t shape_size, int64_t count, uint8_t *result) {
  Xxh3 hash = {0};
  uint8_t shapes[MOST_SHAPE_SIZE];
  const int64_t most = shape_size ? MOST_SHAPE_SIZE / shape_size : 0;
  for (int64_t i = 0; i < most && i < count; ++i) memcpy(shapes + i * shape_size, shape, (size_t)shape_size);
  for (; most && count > 0; count -= most) xxh3_add(&hash, shapes, (uint64_t)((count < most ? count : most) * shape_size));
  xxh3_end(&hash, result);
}

const uint8_t *hash_of_rows(RowHashes *rows, int64_t first, int64_t stop) {
  for (int i = 0; i < rows->count; ++i)
    if (rows->first[i] == first && rows->stop[i] == stop) return rows->hashes[i];
  if (rows->count == KNOWN_ROWS) rows->count = 0;
  const int at = rows->count++;
  rows->first[at] = first, rows->stop[at] = stop;
  hash_rows(first, stop, rows->hashes[at]);
  return rows->hashes[at];
}

static void put_leaves(uint8_t *to, const HashedColumn *columns, Py_ssize_t count, Py_ssize_t block) {
  RowHashes rows = {.count = 0};
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Span *span = (const Span *)columns[i].spans.buf + block;
    if (span->first >= span->stop) continue;
    to = put_bytes(to, columns[i].head.buf, columns[i].head.len);
    to = put_bytes(to, hash_of_rows(&rows, span->first, span->stop), DIGEST_SIZE);
    hash_shapes(columns[i].shape.buf, columns[i].shape.len, span->stop - span->first, to);
    to = put_bytes(to + DIGEST_SIZE, (const uint8_t *)columns[i].hashes.buf + DIGEST_SIZE * block, DIGEST_SIZE);
  }
}

static Py_ssize_t size_of_leaves(const HashedColumn *columns, Py_ssize_t count, Py_ssize_t block) {
  Py_ssize_t size = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Span *span = (const Span *)columns[i].spans.buf + block;
    if (span->first < span->stop) size += columns[i].head.len + LAYOUT_SIZE + DIGEST_SIZE;
  }
  return size;
}

static void close_hashed(HashedColumn *column) {
  PyBuffer_Release(&column->head);
  PyBuffer_Release(&column->shape);
  PyBuffer_Release(&column->spans);
  PyBuffer_Release(&column->hashes);
}

static int open_hashed(PyObject *item, Py_ssize_t blocks, HashedColumn *column) {
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple for each column");
    return 0;
  }
  if (!PyArg_ParseTuple(item, "y*y*y*y*", &column->head, &column->shape, &column->spans, &column->hashes)) return 0;
  if (column->spans.len == blocks * (Py_ssize_t)sizeof(Span) && column->hashes.len == blocks * DIGEST_SIZE &&
      column->shape.len <= MOST_SHAPE_SIZE)
    return 1;
  PyErr_Format(PyExc_ValueError, "expected rows and hashes of %zd blocks", blocks);
  close_hashed(column);
  return 0;
}

/* New bytes for the leaves of each chosen block, and where they are; the others get no bytes. */
static PyObject *new_leaves(const HashedColumn *columns, Py_ssize_t count, const char *chosen, Py_ssize_t blocks, uint8_t **places) {
  PyObject *found = PyList_New(blocks);
  for (Py_ssize_t block = 0; found && block < blocks; ++block) {
    PyObject *leaves = PyBytes_FromStringAndSize(NULL, chosen[block] ? size_of_leaves(columns, count, block) : 0);
    if (!leaves) {
      Py_CLEAR(found);
      break;
    }
    places[block] = (uint8_t *)PyBytes_AsString(leaves);
    PyList_SetItem(found, block, leaves);
  }
  return found;
}

/* leaf_hashes(columns, is_whole): see whole_hashes.leaf_hashes_in_python. */
PyObject *leaf_hashes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given, *found = NULL;
  const char *chosen;
  Py_ssize_t blocks, open = 0;
  if (!PyArg_ParseTuple(args, "O!y#", &PyList_Type, &given, &chosen, &blocks)) return NULL;
  const Py_ssize_t count = PyList_Size(given);
  HashedColumn *columns = malloc((size_t)(count + 1) * sizeof *columns);
  uint8_t **places = malloc((size_t)(blocks + 1) * sizeof *places);
  if (!columns || !places) {
    PyErr_NoMemory();
    goto done;
  }
  for (; open < count; ++open)
    if (!open_hashed(PyList_GetItem(given, open), blocks, columns + open)) goto done;
  if (!(found = new_leaves(columns, count, chosen, blocks, places))) goto done;
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t block = 0; block < blocks; ++block)
    if (chosen[block]) put_leaves(places[block], columns, count, block);
  Py_END_ALLOW_THREADS
done:
  while (open) close_hashed(columns + --open);
  free(places);
  free(columns);
  return found;
}

/* ---- Digests ----------------------------------------------------------------------------------------- */

enum { START_METADATA = 2, SEED, OPTIONS };                     /* fields of EpisodeStart */
enum { ENDING = 2, IS_TERMINATED, IS_TRUNCATED, ROWS, END_METADATA }; /* of EpisodeEnd */
#define FIELDS 8

/* The fields of a message with numbers below FIELDS: its numbers, and the bytes of its strings and messages. */
typedef struct {
  uint64_t numbers[FIELDS]; /* of bytes their size */
  const uint8_t *bytes[FIELDS];
} Message;

/* NULL if it does not end before `end`. */
static const uint8_t *take_varint(const uint8_t *at, const uint8_t *end, uint64_t *number) {
  *number = 0;
  for (int shift = 0; shift < 64 && at < end; shift += 7) {
    *number |= (uint64_t)(*at & 127) << shift;
    if (*at++ < 128) return at;
  }
  return NULL;
}

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types */

/* Returns 0 for what is left to protobuf: bytes that are no message, groups, and fields of another type. `with_bytes` has a
 * bit for each field of bytes, `with_numbers` for each number; other fields are left out, whatever their type is. */
static int parse_message(const uint8_t *at, Py_ssize_t size, unsigned with_bytes, unsigned with_numbers, Message *message) {
  const uint8_t *end = at + size;
  memset(message, 0, sizeof *message);
  while (at < end) {
    uint64_t tag, number;
    if (!(at = take_varint(at, end, &tag))) return 0;
    const int type = (int)(tag & 7);
    if (type == FIXED64 || type == FIXED32)
      number = type == FIXED64 ? 8 : 4;
    else if ((type != VARINT && type != BYTES) || !(at = take_varint(at, end, &number)))
      return 0;
    if (type != VARINT && number > (uint64_t)(end - at)) return 0;
    const unsigned field = tag >> 3 < FIELDS ? 1u << (tag >> 3) : 0;
    if (field & (type == BYTES ? with_numbers : type == VARINT ? with_bytes : with_bytes | with_numbers)) return 0;
    if (field & (with_bytes | with_numbers))
      message->numbers[tag >> 3] = number, message->bytes[tag >> 3] = type == BYTES ? at : NULL;
    if (type != VARINT) at += number;
  }
  return 1;
}

static void add_number(Xxh3 *hash, uint64_t number) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = (uint8_t)(number >> 8 * i);
  xxh3_add(hash, bytes, sizeof bytes);
}

/* Adds a field of bytes after its size. */
static void add_field(Xxh3 *hash, const Message *message, int field) {
  const uint64_t size = message->bytes[field] ? message->numbers[field] : 0;
  add_number(hash, size);
  if (size) xxh3_add(hash, message->bytes[field], size);
}

/* See digest.EpisodeDigest.digest. */
static void put_digest(uint8_t *digest, const uint8_t *hashes, Py_ssize_t size, const Message *start, const Message *end) {
  Xxh3 hash = {0};
  const uint8_t flags[] = {(uint8_t)end->numbers[ENDING], end->numbers[IS_TERMINATED] != 0, end->numbers[IS_TRUNCATED] != 0};
  if (size) xxh3_add(&hash, hashes, (uint64_t)size);
  for (int field = START_METADATA; field <= OPTIONS; ++field) add_field(&hash, start, field);
  add_field(&hash, end, END_METADATA);
  add_number(&hash, end->numbers[ROWS]);
  xxh3_add(&hash, flags, sizeof flags);
  xxh3_end(&hash, digest);
}

enum { START = 0x1a, END = 0x2a };                /* tags of Record */
static const uint8_t DIGEST[] = {0x3a, DIGEST_SIZE}; /* tag and size of the last field of EpisodeEnd */

/* A serialized message, and its fields. */
typedef struct {
  char *data; /* borrowed from an object that the caller has */
  Py_ssize_t size;
  Message fields;
} Item;

static int parse_item(PyObject *bytes, int is_end, Item *item) {
  const unsigned with_bytes = is_end ? 1u << END_METADATA : 1u << START_METADATA | 1u << SEED | 1u << OPTIONS;
  const unsigned with_numbers = is_end ? 1u << ENDING | 1u << IS_TERMINATED | 1u << IS_TRUNCATED | 1u << ROWS : 0;
  if (PyBytes_AsStringAndSize(bytes, &item->data, &item->size) < 0) return 0;
  if (parse_message((const uint8_t *)item->data, item->size, with_bytes, with_numbers, &item->fields) &&
      (!is_end || item->fields.numbers[ENDING] <= UINT8_MAX))
    return 1;
  PyErr_SetString(PyExc_ValueError, "expected the message of the start or the end of an episode");
  return 0;
}

/* digest(hashes, start, end): see digest.digest_in_python. */
PyObject *digest(PyObject *self, PyObject *args) {
  (void)self;
  const char *hashes;
  Py_ssize_t size;
  PyObject *first, *last;
  Item start, end;
  uint8_t found[DIGEST_SIZE];
  if (!PyArg_ParseTuple(args, "y#OO", &hashes, &size, &first, &last)) return NULL;
  if (!parse_item(first, 0, &start) || !parse_item(last, 1, &end)) return NULL;
  put_digest(found, (const uint8_t *)hashes, size, &start.fields, &end.fields);
  return PyBytes_FromStringAndSize((const char *)found, sizeof found);
}

/* The record of a message, of which the last bytes are given apart. */
static PyObject *record_of(int tag, const Item *item, const uint8_t *rest, Py_ssize_t rest_size) {
  const uint64_t size = (uint64_t)(item->size + rest_size);
  uint8_t lead[3 + MOST_VARINT] = {0x08, 0x01, (uint8_t)tag}; /* after Record.version */
  const Py_ssize_t lead_size = put_varint(lead + 3, size) - lead;
  PyObject *record = PyBytes_FromStringAndSize(NULL, lead_size + (Py_ssize_t)size);
  if (!record) return NULL;
  uint8_t *to = put_bytes(put_bytes((uint8_t *)PyBytes_AsString(record), lead, lead_size), item->data, item->size);
  if (rest_size) put_bytes(to, rest, rest_size);
  return record;
}

static int append_record(PyObject *records, int tag, const Item *item, const uint8_t *rest, Py_ssize_t rest_size) {
  PyObject *record = record_of(tag, item, rest, rest_size);
  const int is_done = record && PyList_Append(records, record) == 0;
  Py_XDECREF(record);
  return is_done;
}

/* A part of an episode: its objects in the lists of all parts, and whether it begins. */
typedef struct {
  PyObject *hashes, *start, *block, *end; /* borrowed */
  int begins;
} Part;

/* Sets the digest of a part, zeros if it does not end, how it ends, and whether it has metadata, and appends its records. */
static int put_part(const Part *part, uint8_t *digest, uint8_t *ending, uint8_t *has_metadata, PyObject *records) {
  Item start, end;
  char *hashes, *block;
  Py_ssize_t size, block_size;
  if (!parse_item(part->start, 0, &start) || !parse_item(part->end, 1, &end) ||
      PyBytes_AsStringAndSize(part->hashes, &hashes, &size) < 0 || PyBytes_AsStringAndSize(part->block, &block, &block_size) < 0)
    return 0;
  *has_metadata = start.fields.numbers[START_METADATA] > EMPTY_DICT_SIZE || end.fields.numbers[END_METADATA] > EMPTY_DICT_SIZE;
  *ending = (uint8_t)end.fields.numbers[ENDING];
  memset(digest, 0, DIGEST_SIZE);
  if (part->begins && !append_record(records, START, &start, NULL, 0)) return 0;
  if (block_size && PyList_Append(records, part->block) < 0) return 0;
  if (!end.size) return 1;
  uint8_t rest[sizeof DIGEST + DIGEST_SIZE];
  put_digest(digest, (const uint8_t *)hashes, size, &start.fields, &end.fields);
  put_bytes(put_bytes(rest, DIGEST, sizeof DIGEST), digest, DIGEST_SIZE);
  return append_record(records, END, &end, rest, sizeof rest);
}

/* part_records(hashes, starts, blocks, ends, begins): see part_records.part_records_in_python. */
PyObject *part_records(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *lists[4], *digests = NULL, *endings = NULL, *flags = NULL, *records = NULL, *result = NULL;
  const char *begins;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O!O!O!O!y#", &PyList_Type, lists, &PyList_Type, lists + 1, &PyList_Type, lists + 2, &PyList_Type,
                        lists + 3, &begins, &count))
    return NULL;
  for (int i = 0; i < 4; ++i) {
    if (PyList_Size(lists[i]) == count) continue;
    PyErr_Format(PyExc_ValueError, "expected %zd hashes, starts, blocks and ends", count);
    return NULL;
  }
  digests = PyBytes_FromStringAndSize(NULL, DIGEST_SIZE * count), endings = PyBytes_FromStringAndSize(NULL, count);
  flags = PyBytes_FromStringAndSize(NULL, count), records = PyList_New(0);
  if (!digests || !endings || !flags || !records) goto done;
  uint8_t *digest = (uint8_t *)PyBytes_AsString(digests), *ending = (uint8_t *)PyBytes_AsString(endings);
  uint8_t *flag = (uint8_t *)PyBytes_AsString(flags);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Part part = {PyList_GetItem(lists[0], i), PyList_GetItem(lists[1], i), PyList_GetItem(lists[2], i),
                       PyList_GetItem(lists[3], i), begins[i] != 0};
    if (!put_part(&part, digest + DIGEST_SIZE * i, ending + i, flag + i, records)) goto done;
  }
  result = PyTuple_Pack(4, records, digests, endings, flags);
done:
  Py_XDECREF(digests);
  Py_XDECREF(endings);
  Py_XDECREF(flags);
  Py_XDECREF(records);
  return result;
}
