/* Finds and reads the columns of many blocks of a shard with one call each. Only what most recordings consist of:
 * columns of numbers of one shape. Whatever else a block has, and whatever is wrong with it, is left to the readers in Python:
 * located.py. A payload is never returned without a check of its checksum, unless the caller made it before. */

#include "columns.h"

#include <errno.h>
#include <unistd.h>

/* The container of Riegeli: a header interrupts a chunk at every multiple of BLOCK. */
#define BLOCK 65536
#define BLOCK_HEADER 24
#define CHUNK_HEADER 40
#define FIRST_BYTES 4096 /* of a record: with its whole header, very likely */
#define LARGEST ((uint64_t)1 << 31)
#define MOST_ROWS ((uint64_t)1 << 62) /* and bytes: what is added to them does not overflow */

/* The file position of a byte of a chunk; `blocks.physical` beside this file's folder. */
static uint64_t physical(uint64_t begin, uint64_t offset) {
  uint64_t usable = BLOCK - BLOCK_HEADER;
  uint64_t interruptions = (offset + 1 + (begin + usable - 1) % BLOCK) / usable;
  return begin + offset + interruptions * BLOCK_HEADER;
}

static int read_exactly(int file, uint8_t *to, uint64_t size, uint64_t at) {
  while (size) {
    ssize_t count = pread(file, to, size, (off_t)at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    to += count, at += (uint64_t)count, size -= (uint64_t)count;
  }
  return 1;
}

/* Reads bytes of a chunk, without the headers that interrupt it. */
static int read_payload(int file, uint64_t begin, uint64_t offset, uint64_t size, uint8_t *to) {
  while (size) {
    uint64_t at = physical(begin, offset), part = BLOCK - at % BLOCK;
    if (part > size) part = size;
    if (!read_exactly(file, to, part, at)) return 0;
    to += part, offset += part, size -= part;
  }
  return 1;
}

/* A protobuf message. */
typedef struct {
  const uint8_t *at, *end;
} Message;

static int read_varint(Message *from, uint64_t *number) {
  *number = 0;
  for (int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
    uint64_t byte = *from->at++;
    *number |= (byte & 127) << shift;
    if (byte < 128) return shift < 63 || byte < 2;
  }
  return 0;
}

enum { NUMBER, FIXED64, BYTES };
#define MOST_VARINT 5 /* bytes of a tag and of a length: protobuf refuses longer ones */

/* A field: its number and type, and its value or, of text and messages, its bytes. */
typedef struct {
  uint64_t number, type, value;
  Message bytes;
} Field;

static int read_field(Message *from, Field *field) {
  uint64_t tag;
  const uint8_t *begin = from->at;
  if (!read_varint(from, &tag) || from->at - begin > MOST_VARINT) return 0;
  field->number = tag >> 3;
  field->type = tag & 7;
  field->bytes.at = field->bytes.end = from->at;
  switch (field->type) {
    case NUMBER: return read_varint(from, &field->value);
    case FIXED64:
      if (from->end - from->at < 8) return 0;
      memcpy(&field->value, from->at, 8);
      from->at += 8;
      return 1;
    case BYTES:
      begin = from->at;
      if (!read_varint(from, &field->value) || from->at - begin > MOST_VARINT) return 0;
      if (field->value > (uint64_t)(from->end - from->at)) return 0;
      field->bytes.at = from->at;
      field->bytes.end = from->at += field->value;
      return 1;
  }
  return 0;
}

static int is_text(const Message *bytes, const char *text, Py_ssize_t size) {
  return bytes->end - bytes->at == size && memcmp(bytes->at, text, (size_t)size) == 0;
}

#define MOST_RANK 8
#define MOST_WANTED 64

/* A leaf whose columns are wanted. */
typedef struct {
  const char *path, *dtype;
  Py_ssize_t path_size, dtype_size, row_bytes;
  Py_ssize_t rank;
  uint64_t shape[MOST_RANK];
} Wanted;

/* What is found out about a leaf in a block, in the order of the table. */
enum { STATUS, OFFSET, LENGTH, DECODED, CHECKSUM, FILTER, CODEC, FIRST_ROW, END_ROW, NUMBERS };
enum { ABSENT, FOUND, OTHER };

typedef struct {
  Message path, dtype;
  uint64_t kind, first_row, count, is_partial, rank, is_ragged, filter, codec, offset, length, decoded, checksum;
  uint64_t shape[MOST_RANK], dimensions;
} Stored;

static int read_shape(Field *field, Stored *column) {
  if (field->bytes.at == field->bytes.end) { /* one number by itself */
    if (column->dimensions == MOST_RANK) return 0;
    column->shape[column->dimensions++] = field->value;
    return 1;
  }
  while (field->bytes.at < field->bytes.end)
    if (column->dimensions == MOST_RANK || !read_varint(&field->bytes, &column->shape[column->dimensions++])) return 0;
  return 1;
}

static int read_column(Message from, Stored *column) {
  memset(column, 0, sizeof *column);
  while (from.at < from.end) {
    Field field;
    if (!read_field(&from, &field)) return 0;
    switch (field.number) {
      case 1: column->path = field.bytes; break;
      case 2: column->kind = field.value; break;
      case 3: column->dtype = field.bytes; break;
      case 4: column->first_row = field.value; break;
      case 5: column->count = field.value; break;
      case 6: column->is_partial = field.value; break;
      case 7: column->rank = field.value; break;
      case 8: column->is_ragged = field.value; break;
      case 9:
        if (!read_shape(&field, column)) return 0;
        break;
      case 10: column->filter = field.value; break;
      case 11: column->codec = field.value; break;
      case 12: column->offset = field.value; break;
      case 13: column->length = field.value; break;
      case 14: column->decoded = field.value; break;
      case 15: column->checksum = field.value; break;
    }
  }
  return 1;
}

/* The numbers of `Kind` that are numbers, and their dtypes where the header names none. */
static int has_dtype(const Stored *column, const Wanted *leaf) {
  static const char *const NAMES[] = {NULL, NULL, "bool", "int64", NULL, "float64", "complex128"};
  if (column->kind > 6) return 0;
  const char *name = NAMES[column->kind];
  if (column->dtype.at != column->dtype.end) return is_text(&column->dtype, leaf->dtype, leaf->dtype_size);
  return name && (Py_ssize_t)strlen(name) == leaf->dtype_size && memcmp(name, leaf->dtype, strlen(name)) == 0;
}

static int is_as_wanted(const Stored *column, const Wanted *leaf) {
  if (column->is_partial || column->is_ragged || column->rank != (uint64_t)leaf->rank) return 0;
  if (column->dimensions != (uint64_t)leaf->rank || !has_dtype(column, leaf)) return 0;
  for (Py_ssize_t i = 0; i < leaf->rank; ++i)
    if (column->shape[i] != leaf->shape[i]) return 0;
  uint64_t row = (uint64_t)leaf->row_bytes;
  if (column->first_row > MOST_ROWS || !column->count || column->count > LARGEST / (row < 8 ? 8 : row)) return 0;
  if (column->decoded > 2 * column->count * row) return 0;
  if (!column->codec && column->length != column->decoded) return 0;
  /* Compressed bytes are fewer than those before. A header that claims more must not make anyone allocate memory. */
  return column->length <= column->decoded + FIRST_BYTES && column->offset <= MOST_ROWS;
}

static int is_at_or_below(const Message *path, const Wanted *leaf) {
  Py_ssize_t size = path->end - path->at;
  if (size < leaf->path_size || memcmp(path->at, leaf->path, (size_t)leaf->path_size) != 0) return 0;
  return size == leaf->path_size || path->at[leaf->path_size] == '/';
}

typedef struct {
  int64_t position, first_row, end_row;
  uint8_t episode[16];
} Place;

/* Sets the numbers of the leaves of one block; returns 0 if its header must be read in Python. */
static int find(const Message *header, uint64_t base, const Place *place, const Wanted *wanted, Py_ssize_t leaves,
                int64_t *table) {
  Message from = *header;
  uint64_t first_row = 0, end_row = 0;
  int has_id = 0;
  while (from.at < from.end) {
    Field field;
    if (!read_field(&from, &field)) return 0;
    if (field.number == 1) has_id = is_text(&field.bytes, (const char *)place->episode, 16);
    if (field.number == 2) first_row = field.value;
    if (field.number == 3) end_row = field.value;
    if (field.number != 4) continue;
    Stored column;
    if (!read_column(field.bytes, &column)) return 0;
    for (Py_ssize_t i = 0; i < leaves; ++i) {
      if (!is_at_or_below(&column.path, wanted + i)) continue;
      int64_t *numbers = table + i * NUMBERS;
      if (column.path.end - column.path.at != wanted[i].path_size || numbers[STATUS] != ABSENT ||
          !is_as_wanted(&column, wanted + i)) {
        numbers[STATUS] = OTHER;
        continue;
      }
      numbers[STATUS] = FOUND;
      numbers[OFFSET] = (int64_t)(base + column.offset), numbers[LENGTH] = (int64_t)column.length;
      numbers[DECODED] = (int64_t)column.decoded, numbers[CHECKSUM] = (int64_t)column.checksum;
      numbers[FILTER] = (int64_t)column.filter, numbers[CODEC] = (int64_t)column.codec;
      numbers[FIRST_ROW] = (int64_t)column.first_row, numbers[END_ROW] = (int64_t)(column.first_row + column.count);
    }
  }
  if (!has_id || first_row != (uint64_t)place->first_row || end_row != (uint64_t)place->end_row) return 0;
  for (Py_ssize_t i = 0; i < leaves; ++i) { /* the action of a step is written with the observation after it */
    int64_t *numbers = table + i * NUMBERS;
    int is_inside = numbers[FIRST_ROW] + 1 >= place->first_row && numbers[END_ROW] <= place->end_row;
    if (numbers[STATUS] == FOUND && !is_inside) numbers[STATUS] = OTHER;
  }
  return 1;
}

/* The first bytes of a chunk: the header of its block, and the first byte after it and its checksum. */
typedef struct {
  uint8_t bytes[CHUNK_HEADER + FIRST_BYTES];
  Message header;
  uint64_t base;
} Prefix;

/* Reads the header of a block, and compares its checksum; returns 0 if that must be done in Python. */
static int read_prefix(int file, int64_t position, Prefix *prefix) {
  uint8_t *bytes = prefix->bytes;
  uint64_t begin = (uint64_t)position, size = FIRST_BYTES, number;
  if (position < 0) return 0;
  int is_read = read_payload(file, begin, 0, sizeof prefix->bytes, bytes); /* not if the file ends before: then in two steps */
  if (!is_read && !read_payload(file, begin, 0, CHUNK_HEADER, bytes)) return 0;
  static const uint8_t ONE_RECORD[] = {'r', 1, 0, 0, 0, 0, 0, 0}; /* a simple chunk of one record */
  if (memcmp(bytes + 24, ONE_RECORD, 8) != 0) return 0;
  memcpy(&number, bytes + 8, 8); /* bytes of the chunk after its header: of a small one there are not so many */
  if (number < size) size = number;
  if (!is_read && !read_payload(file, begin, CHUNK_HEADER, size, bytes + CHUNK_HEADER)) return 0;
  Message from = {bytes + CHUNK_HEADER + 1, bytes + CHUNK_HEADER + size};
  if (size < 1 || bytes[CHUNK_HEADER] != 0) return 0; /* compressed */
  if (!read_varint(&from, &number) || !read_varint(&from, &number)) return 0;
  static const uint8_t RECORD[] = {8, 1, 0x22};
  if (from.end - from.at < 3 || memcmp(from.at, RECORD, 3) != 0) return 0;
  from.at += 3;
  if (!read_varint(&from, &number) || from.at == from.end || *from.at++ != 0x0a) return 0;
  if (!read_varint(&from, &number) || number > LARGEST || (uint64_t)(from.end - from.at) < number + 9) return 0;
  prefix->header = (Message){from.at, from.at + number};
  if (*prefix->header.end != 0x11) return 0;
  uint64_t checksum;
  memcpy(&checksum, prefix->header.end + 1, 8);
  prefix->base = (uint64_t)(prefix->header.end + 9 - bytes);
  return checksum == xxh3(prefix->header.at, number);
}

static int locate_block(int file, const Place *place, const Wanted *wanted, Py_ssize_t leaves, int64_t *table) {
  Prefix prefix;
  return read_prefix(file, place->position, &prefix) && find(&prefix.header, prefix.base, place, wanted, leaves, table);
}

/* Numbers of the fields of Column: 1 to 3 and 6 to 11 are equal in most blocks; 4, 5 and 12 to 15 differ. */
enum { COLUMN_FIRST = 4, COLUMN_COUNT, COLUMN_PARTIAL, COLUMN_OFFSET = 12, COLUMN_LENGTH, COLUMN_DECODED, COLUMN_XXH3 };
#define MOST_COMMON 512 /* bytes */

/* A tuple that describes a column: the encoded fields that are equal in most blocks, and the numbers of the others. None if
 * a field is unknown, or if they are not in ascending order, each at most once. */
static PyObject *column_tuple(Message from) {
  uint64_t numbers[COLUMN_XXH3 + 1] = {0}, last = 0;
  uint8_t common[MOST_COMMON];
  Py_ssize_t size = 0;
  while (from.at < from.end) {
    Field field;
    const uint8_t *begin = from.at;
    if (!read_field(&from, &field) || field.number <= last || field.number > COLUMN_XXH3) Py_RETURN_NONE;
    last = field.number;
    if (last < COLUMN_FIRST || (last >= COLUMN_PARTIAL && last < COLUMN_OFFSET)) {
      if (from.at - begin > MOST_COMMON - size) Py_RETURN_NONE;
      memcpy(common + size, begin, (size_t)(from.at - begin));
      size += from.at - begin;
    } else if (field.type != (last == COLUMN_XXH3 ? FIXED64 : NUMBER)) {
      Py_RETURN_NONE;
    } else {
      numbers[last] = field.value;
    }
  }
  return Py_BuildValue("(y#KKKKKK)", common, size, numbers[COLUMN_FIRST], numbers[COLUMN_COUNT],
                       numbers[COLUMN_OFFSET], numbers[COLUMN_LENGTH], numbers[COLUMN_DECODED], numbers[COLUMN_XXH3]);
}

/* Appends the tuples of all columns to a list, and fills the other fields of a header: episode and rows. Returns 0 if a field
 * is unknown or they are not in ascending order, or with an exception. */
static int list_columns(Message from, PyObject *columns, Message *episode, uint64_t *rows) {
  uint64_t last = 0;
  while (from.at < from.end) {
    Field field;
    if (!read_field(&from, &field) || !field.number || field.number < last || field.number > 4) return 0;
    if (field.type != (field.number == 1 || field.number == 4 ? BYTES : NUMBER)) return 0;
    last = field.number;
    if (last == 1) *episode = field.bytes;
    if (last == 2 || last == 3) rows[last - 2] = field.value;
    if (last != 4) continue;
    PyObject *column = column_tuple(field.bytes);
    int is_added = column && column != Py_None && PyList_Append(columns, column) == 0;
    Py_XDECREF(column);
    if (!is_added) return 0;
  }
  return 1;
}

/* describe(file, position): id of the episode, first and end row, the byte of the chunk from which offsets of payloads are
 * counted, and a tuple for each column; None if the header must be read in Python. */
static PyObject *describe(PyObject *self, PyObject *args) {
  (void)self;
  int file, is_read;
  long long position;
  if (!PyArg_ParseTuple(args, "iL", &file, &position)) return NULL;
  Prefix prefix;
  Py_BEGIN_ALLOW_THREADS
  is_read = read_prefix(file, position, &prefix);
  Py_END_ALLOW_THREADS
  if (!is_read) Py_RETURN_NONE;
  PyObject *columns = PyList_New(0), *found = NULL;
  Message episode = {prefix.bytes, prefix.bytes};
  uint64_t rows[2] = {0, 0};
  if (columns && list_columns(prefix.header, columns, &episode, rows))
    found = Py_BuildValue("(y#KKKO)", episode.at, episode.end - episode.at, rows[0], rows[1], prefix.base, columns);
  Py_XDECREF(columns);
  if (found || PyErr_Occurred()) return found;
  Py_RETURN_NONE;
}

static int parse_wanted(PyObject *given, Wanted *wanted, Py_ssize_t *count) {
  *count = PyTuple_Size(given);
  if (*count < 0 || *count > MOST_WANTED) {
    PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d leaves", MOST_WANTED);
    return 0;
  }
  for (Py_ssize_t i = 0; i < *count; ++i) {
    PyObject *shape;
    Wanted *leaf = wanted + i;
    if (!PyArg_ParseTuple(PyTuple_GetItem(given, i), "y#y#nO!", &leaf->path, &leaf->path_size, &leaf->dtype,
                          &leaf->dtype_size, &leaf->row_bytes, &PyTuple_Type, &shape))
      return 0;
    leaf->rank = PyTuple_Size(shape);
    if (leaf->rank > MOST_RANK || leaf->row_bytes <= 0) {
      PyErr_Format(PyExc_ValueError, "expected values of at most %d dimensions and at least one byte", MOST_RANK);
      return 0;
    }
    for (Py_ssize_t k = 0; k < leaf->rank; ++k) {
      leaf->shape[k] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, k));
      if (PyErr_Occurred()) return 0;
    }
  }
  return 1;
}

/* locate(file, places, wanted, table): the numbers of each leaf in each block; those of a block whose header must be
 * read in Python have the status OTHER. */
static PyObject *locate(PyObject *self, PyObject *args) {
  (void)self;
  int file;
  PyObject *given;
  Py_buffer places, table;
  if (!PyArg_ParseTuple(args, "iy*O!w*", &file, &places, &PyTuple_Type, &given, &table)) return NULL;
  Wanted wanted[MOST_WANTED];
  Py_ssize_t leaves = 0, count = places.len / (Py_ssize_t)sizeof(Place);
  int is_right = parse_wanted(given, wanted, &leaves);
  if (is_right && (places.len % (Py_ssize_t)sizeof(Place) || table.len != count * leaves * NUMBERS * 8)) {
    PyErr_SetString(PyExc_ValueError, "the table does not have the size of the places");
    is_right = 0;
  }
  if (is_right) {
    Py_BEGIN_ALLOW_THREADS
    memset(table.buf, 0, (size_t)table.len);
    for (Py_ssize_t i = 0; i < count; ++i) {
      int64_t *numbers = (int64_t *)table.buf + i * leaves * NUMBERS;
      if (!locate_block(file, (const Place *)places.buf + i, wanted, leaves, numbers))
        for (Py_ssize_t k = 0; k < leaves; ++k) numbers[k * NUMBERS] = OTHER;
    }
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&places);
  PyBuffer_Release(&table);
  if (!is_right) return NULL;
  Py_RETURN_NONE;
}

/* A part of a chunk, and where it goes. */
typedef struct {
  int64_t position, offset, length, to, checksum;
} Request;

/* read(file, requests, out, is_checked): copies parts of chunks to `out`; returns the number of the first one that could
 * not be read or, if they are checked, whose checksum differs, else how many there are. */
static PyObject *read_parts(PyObject *self, PyObject *args) {
  (void)self;
  int file, is_checked;
  Py_buffer requests, out;
  if (!PyArg_ParseTuple(args, "iy*w*i", &file, &requests, &out, &is_checked)) return NULL;
  Py_ssize_t count = requests.len / (Py_ssize_t)sizeof(Request), done = 0;
  int is_inside = requests.len % (Py_ssize_t)sizeof(Request) == 0;
  const Request *all = requests.buf;
  for (Py_ssize_t i = 0; is_inside && i < count; ++i)
    is_inside = all[i].position >= 0 && all[i].offset >= 0 && all[i].length >= 0 && all[i].to >= 0 &&
                all[i].to <= out.len && all[i].length <= out.len - all[i].to;
  if (is_inside) {
    Py_BEGIN_ALLOW_THREADS
    for (; done < count; ++done) {
      const Request *one = all + done;
      uint8_t *to = (uint8_t *)out.buf + one->to;
      if (!read_payload(file, (uint64_t)one->position, (uint64_t)one->offset, (uint64_t)one->length, to)) break;
      if (is_checked && xxh3(to, (uint64_t)one->length) != (uint64_t)one->checksum) break;
    }
    Py_END_ALLOW_THREADS
  } else {
    PyErr_SetString(PyExc_ValueError, "a request is not inside of the array");
  }
  PyBuffer_Release(&requests);
  PyBuffer_Release(&out);
  return is_inside ? PyLong_FromSsize_t(done) : NULL;
}

static PyObject *checksum(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer data;
  if (!PyArg_ParseTuple(args, "y*", &data)) return NULL;
  uint64_t found = xxh3(data.buf, (uint64_t)data.len);
  PyBuffer_Release(&data);
  return PyLong_FromUnsignedLongLong(found);
}

static PyMethodDef methods[] = {
    {"describe", describe, METH_VARARGS, "Return what the header of a block contains, or None."},
    {"locate", locate, METH_VARARGS, "Fill a table with what the headers of blocks contain about some leaves."},
    {"read", read_parts, METH_VARARGS, "Copy parts of chunks into a buffer; return how many were sound."},
    {"xxh3", checksum, METH_VARARGS, "Return the XXH3-64 of a buffer."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_columns", "Reads columns of many blocks: located.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__columns(void) { return PyModuleDef_Init(&module); }
