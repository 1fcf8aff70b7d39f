/* The inner loops over files of records that are slow in Python: HighwayHash-64, the state machine of
 * transposed chunks, and CRC-32C. _pure_hash.py, _pure_transposed.py and convert/tfds/crc32c.py are the same
 * functions in Python; tests compare them. Format: https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
 *
 * Nothing here trusts its input: the state machine is read from files that anyone may have made. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2_VARIANT 1
#include <immintrin.h>
#endif

/* ---- HighwayHash-64, with the key of Riegeli/records ---------------------------------------------- */

#define PACKET_SIZE 32
/* Below this size, giving up and taking back the interpreter lock costs more than it frees. */
#define RELEASE_GIL_SIZE (32 * 1024)

typedef struct {
  uint64_t v0[4], v1[4], mul0[4], mul1[4];
} HashState;

static const uint64_t kKey[4] = {0x2f696c6567656952u, 0x0a7364726f636572u, 0x2f696c6567656952u, 0x0a7364726f636572u};
static const uint64_t kInit0[4] = {0xdbe6d5d5fe4cce2fu, 0xa4093822299f31d0u, 0x13198a2e03707344u, 0x243f6a8885a308d3u};
static const uint64_t kInit1[4] = {0x3bd39e10cb0ef593u, 0xc0acf169b5f18a8cu, 0xbe5466cf34e90c6cu, 0x452821e638d01377u};

static uint64_t load64(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
         (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static uint64_t swap_halves(uint64_t x) { return x >> 32 | x << 32; }

/* Add to a pair of lanes the byte shuffle 3,12,2,5,14,1,15,0 (low) and 11,4,10,13,9,6,8,7 (high) of another. */
static void zip_add(uint64_t even, uint64_t odd, uint64_t *low, uint64_t *high) {
  *low += (((even & 0xff000000u) | (odd & 0xff00000000u)) >> 24) |
          (((even & 0xff0000000000u) | (odd & 0xff000000000000u)) >> 16) | (even & 0xff0000u) |
          ((even & 0xff00u) << 32) | ((odd & 0xff00000000000000u) >> 8) | (even << 56);
  *high += (((odd & 0xff000000u) | (even & 0xff00000000u)) >> 24) | (odd & 0xff0000u) |
           ((odd & 0xff0000000000u) >> 16) | ((odd & 0xff00u) << 24) | ((even & 0xff000000000000u) >> 8) |
           ((odd & 0xffu) << 48) | (even & 0xff00000000000000u);
}

static void hash_update(HashState *s, const uint64_t packet[4]) {
  for (int i = 0; i < 4; ++i) {
    s->v1[i] += s->mul0[i] + packet[i];
    s->mul0[i] ^= (s->v1[i] & 0xffffffffu) * (s->v0[i] >> 32);
    s->v0[i] += s->mul1[i];
    s->mul1[i] ^= (s->v0[i] & 0xffffffffu) * (s->v1[i] >> 32);
  }
  zip_add(s->v1[0], s->v1[1], &s->v0[0], &s->v0[1]);
  zip_add(s->v1[2], s->v1[3], &s->v0[2], &s->v0[3]);
  zip_add(s->v0[0], s->v0[1], &s->v1[0], &s->v1[1]);
  zip_add(s->v0[2], s->v0[3], &s->v1[2], &s->v1[3]);
}

static void hash_packets_portable(HashState *s, const uint8_t *data, size_t packets) {
  for (; packets; --packets, data += PACKET_SIZE) {
    const uint64_t packet[4] = {load64(data), load64(data + 8), load64(data + 16), load64(data + 24)};
    hash_update(s, packet);
  }
}

#ifdef HAVE_AVX2_VARIANT
__attribute__((target("avx2"))) static void hash_packets_avx2(HashState *s, const uint8_t *data, size_t packets) {
  const __m256i zip = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7));
  __m256i v0 = _mm256_loadu_si256((const __m256i *)s->v0), v1 = _mm256_loadu_si256((const __m256i *)s->v1);
  __m256i mul0 = _mm256_loadu_si256((const __m256i *)s->mul0), mul1 = _mm256_loadu_si256((const __m256i *)s->mul1);
  for (; packets; --packets, data += PACKET_SIZE) {
    const __m256i packet = _mm256_loadu_si256((const __m256i *)data);
    v1 = _mm256_add_epi64(v1, _mm256_add_epi64(mul0, packet));
    mul0 = _mm256_xor_si256(mul0, _mm256_mul_epu32(v1, _mm256_srli_epi64(v0, 32)));
    v0 = _mm256_add_epi64(v0, mul1);
    mul1 = _mm256_xor_si256(mul1, _mm256_mul_epu32(v0, _mm256_srli_epi64(v1, 32)));
    v0 = _mm256_add_epi64(v0, _mm256_shuffle_epi8(v1, zip));
    v1 = _mm256_add_epi64(v1, _mm256_shuffle_epi8(v0, zip));
  }
  _mm256_storeu_si256((__m256i *)s->v0, v0);
  _mm256_storeu_si256((__m256i *)s->v1, v1);
  _mm256_storeu_si256((__m256i *)s->mul0, mul0);
  _mm256_storeu_si256((__m256i *)s->mul1, mul1);
}
#endif

static void (*hash_packets)(HashState *, const uint8_t *, size_t) = hash_packets_portable;

/* `size` is 1 to 31. */
static void hash_tail(HashState *s, const uint8_t *tail, size_t size) {
  uint8_t packet[PACKET_SIZE] = {0};
  const size_t whole = size & ~(size_t)3, rest = size & 3;
  const unsigned bits = (unsigned)size;
  for (int i = 0; i < 4; ++i) {
    const uint32_t low = (uint32_t)s->v1[i], high = (uint32_t)(s->v1[i] >> 32);
    s->v0[i] += ((uint64_t)size << 32) + size;
    s->v1[i] = (uint64_t)(high << bits | high >> (32 - bits)) << 32 | (uint32_t)(low << bits | low >> (32 - bits));
  }
  memcpy(packet, tail, whole);
  if (size & 16) {
    memcpy(packet + 28, tail + size - 4, 4);
  } else if (rest) {
    packet[16] = tail[whole];
    packet[17] = tail[whole + (rest >> 1)];
    packet[18] = tail[whole + rest - 1];
  }
  hash_packets_portable(s, packet, 1);
}

static uint64_t hash64(const uint8_t *data, size_t size) {
  HashState s;
  for (int i = 0; i < 4; ++i) {
    s.mul0[i] = kInit0[i];
    s.mul1[i] = kInit1[i];
    s.v0[i] = kInit0[i] ^ kKey[i];
    s.v1[i] = kInit1[i] ^ swap_halves(kKey[i]);
  }
  hash_packets(&s, data, size / PACKET_SIZE);
  if (size % PACKET_SIZE) hash_tail(&s, data + size - size % PACKET_SIZE, size % PACKET_SIZE);
  for (int round = 0; round < 4; ++round) {
    const uint64_t permuted[4] = {swap_halves(s.v0[2]), swap_halves(s.v0[3]), swap_halves(s.v0[0]),
                                  swap_halves(s.v0[1])};
    hash_update(&s, permuted);
  }
  return s.v0[0] + s.v1[0] + s.mul0[0] + s.mul1[0];
}

static PyObject *highway_hash64(PyObject *module, PyObject *data) {
  Py_buffer view;
  uint64_t hash;
  (void)module;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
  if (view.len >= RELEASE_GIL_SIZE) {
    Py_BEGIN_ALLOW_THREADS
    hash = hash64(view.buf, (size_t)view.len);
    Py_END_ALLOW_THREADS
  } else {
    hash = hash64(view.buf, (size_t)view.len);
  }
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLongLong(hash);
}

/* ---- Chunks of one record --------------------------------------------------------------------------- */

#define BLOCK_SIZE (1 << 16)
#define BLOCK_HEADER_SIZE 24
#define USABLE_BLOCK_SIZE (BLOCK_SIZE - BLOCK_HEADER_SIZE)
#define CHUNK_HEADER_SIZE 40
#define MOST_VARINT 10
#define SIMPLE_CHUNK_OF_ONE ('r' | 1 << 8)

static void store64(uint8_t *to, uint64_t number) {
  for (int i = 0; i < 8; ++i) to[i] = (uint8_t)(number >> 8 * i);
}

static void hash_chunk(uint8_t *chunk, size_t size, uint64_t record_size) {
  store64(chunk + 8, size);
  store64(chunk + 16, hash64(chunk + CHUNK_HEADER_SIZE, size));
  store64(chunk + 24, SIMPLE_CHUNK_OF_ONE);
  store64(chunk + 32, record_size);
  store64(chunk, hash64(chunk + 8, CHUNK_HEADER_SIZE - 8));
}

/* Puts headers of blocks between the bytes of a chunk, which stand at the end of `[to, to + end - begin)`. */
static void put_block_headers(uint8_t *to, const uint8_t *from, uint64_t begin, uint64_t end) {
  for (uint64_t position = begin; to != from;) {
    if (position % BLOCK_SIZE == 0) {
      store64(to + 8, position - begin);
      store64(to + 16, end - position);
      store64(to, hash64(to + 8, BLOCK_HEADER_SIZE - 8));
      to += BLOCK_HEADER_SIZE, position += BLOCK_HEADER_SIZE;
    }
    uint64_t piece = BLOCK_SIZE - position % BLOCK_SIZE;
    if (piece > end - position) piece = end - position;
    memmove(to, from, piece);
    to += piece, from += piece, position += piece;
  }
}

typedef struct {
  const uint8_t *bytes;
  size_t size;
} Record;

/* What stands before a record of `size` bytes in its chunk; returns its size. */
static size_t put_lead(uint8_t lead[2 + MOST_VARINT], size_t size) {
  uint8_t *end = lead + 2; /* no compression, and the size of the sizes of records */
  for (; size >= 128; size >>= 7) *end++ = (uint8_t)(size & 127) | 128;
  *end++ = (uint8_t)size;
  lead[0] = 0, lead[1] = (uint8_t)(end - lead - 2);
  return (size_t)(end - lead);
}

/* The bytes of headers of blocks in a chunk of `size` bytes. */
static uint64_t size_of_block_headers(uint64_t begin, uint64_t size) {
  return (size + (begin + USABLE_BLOCK_SIZE - 1) % BLOCK_SIZE) / USABLE_BLOCK_SIZE * BLOCK_HEADER_SIZE;
}

/* The bytes of a chunk of a record. It is longer than its number of records, so it has no padding. */
static uint64_t size_of_chunk(uint64_t begin, size_t record_size) {
  uint8_t lead[2 + MOST_VARINT];
  const uint64_t size = CHUNK_HEADER_SIZE + put_lead(lead, record_size) + record_size;
  return size + size_of_block_headers(begin, size);
}

static void put_chunk(uint8_t *to, uint64_t begin, uint64_t end, const Record *record) {
  uint8_t lead[2 + MOST_VARINT];
  const size_t lead_size = put_lead(lead, record->size), data_size = lead_size + record->size;
  uint8_t *chunk = to + size_of_block_headers(begin, CHUNK_HEADER_SIZE + data_size);
  memcpy(chunk + CHUNK_HEADER_SIZE, lead, lead_size);
  memcpy(chunk + CHUNK_HEADER_SIZE + lead_size, record->bytes, record->size);
  hash_chunk(chunk, data_size, record->size);
  put_block_headers(to, chunk, begin, end);
}

static int read_records(PyObject *tuple, Record *records, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(tuple, i), &bytes, &size) < 0) return -1;
    records[i].bytes = (const uint8_t *)bytes, records[i].size = (size_t)size;
  }
  return 0;
}

/* Fills `chunks`, which begin at `positions` and follow each other. */
static void put_chunks(uint8_t *chunks, uint64_t size, const uint64_t *positions, const Record *records, Py_ssize_t count) {
  const uint64_t begin = count ? positions[0] : 0;
  PyThreadState *state = size >= RELEASE_GIL_SIZE ? PyEval_SaveThread() : NULL;
  for (Py_ssize_t i = 0; i < count; ++i)
    put_chunk(chunks + (positions[i] - begin), positions[i], i + 1 < count ? positions[i + 1] : begin + size, records + i);
  if (state) PyEval_RestoreThread(state);
}

/* See single.frame_records_in_python. */
static PyObject *frame_records(PyObject *module, PyObject *args) {
  unsigned long long begin;
  PyObject *list, *tuple, *places = NULL, *chunks = NULL, *result = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "KO!", &begin, &PyList_Type, &list)) return NULL;
  if (!(tuple = PyList_AsTuple(list))) return NULL; /* keeps the records while other threads run */
  const Py_ssize_t count = PyTuple_Size(tuple);
  Record *records = malloc((size_t)(count + 1) * sizeof *records);
  if (!records) {
    PyErr_NoMemory();
    goto done;
  }
  if (read_records(tuple, records, count) < 0) goto done;
  if (!(places = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint64_t)))) goto done;
  uint64_t *positions = (uint64_t *)PyBytes_AsString(places), end = begin;
  for (Py_ssize_t i = 0; i < count; ++i) {
    positions[i] = end;
    end += size_of_chunk(end, records[i].size);
  }
  if (!(chunks = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(end - begin)))) goto done;
  put_chunks((uint8_t *)PyBytes_AsString(chunks), end - begin, positions, records, count);
  result = PyTuple_Pack(2, chunks, places);
done:
  Py_XDECREF(chunks);
  Py_XDECREF(places);
  free(records);
  Py_DECREF(tuple);
  return result;
}

/* ---- The index of an ArrayRecord file -------------------------------------------------------------- */

#define ENTRY_FIELDS 3

/* A message of the numbers of a chunk, each after its tag; returns its size. */
static Py_ssize_t put_chunk_entry(uint8_t *entry, const uint64_t numbers[ENTRY_FIELDS]) {
  uint8_t *end = entry;
  for (int field = 0; field < ENTRY_FIELDS; ++field) {
    uint64_t left = numbers[field];
    for (*end++ = (uint8_t)(8 * (field + 1)); left >= 128; left >>= 7) *end++ = (uint8_t)(left & 127) | 128;
    *end++ = (uint8_t)left;
  }
  return end - entry;
}

/* Appends the entry of a chunk, and its number of records. */
static int add_chunk_entry(PyObject *chunk, PyObject *entries, PyObject *counts) {
  uint64_t numbers[ENTRY_FIELDS];
  uint8_t entry[ENTRY_FIELDS * (1 + MOST_VARINT)];
  PyObject *parts[ENTRY_FIELDS], *message;
  if (!PyTuple_Check(chunk)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple for each chunk");
    return -1;
  }
  if (!PyArg_UnpackTuple(chunk, "a chunk", ENTRY_FIELDS, ENTRY_FIELDS, parts, parts + 1, parts + 2)) return -1;
  for (int i = 0; i < ENTRY_FIELDS; ++i) {
    numbers[i] = PyLong_AsUnsignedLongLong(parts[i]);
    if (!PyErr_Occurred()) continue;
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
      PyErr_Format(PyExc_ValueError, "a varint holds 0 to 2**64 - 1, got %S", parts[i]);
    return -1;
  }
  if (!(message = PyBytes_FromStringAndSize((const char *)entry, put_chunk_entry(entry, numbers)))) return -1;
  const int failed = PyList_Append(entries, message) < 0 || PyList_Append(counts, parts[2]) < 0;
  Py_DECREF(message);
  return failed ? -1 : 0;
}

/* See array_record.chunk_entries_in_python. */
static PyObject *chunk_entries(PyObject *module, PyObject *chunks) {
  PyObject *iterator = PyObject_GetIter(chunks), *entries = PyList_New(0), *counts = PyList_New(0), *chunk, *result = NULL;
  (void)module;
  while (iterator && entries && counts && (chunk = PyIter_Next(iterator))) {
    const int failed = add_chunk_entry(chunk, entries, counts);
    Py_DECREF(chunk);
    if (failed) break;
  }
  if (!PyErr_Occurred()) result = PyTuple_Pack(2, entries, counts);
  Py_XDECREF(iterator);
  Py_XDECREF(entries);
  Py_XDECREF(counts);
  return result;
}

/* ---- The state machine of transposed chunks -------------------------------------------------------- */

/* The numbers of _pure_transposed.Action. */
enum { LITERAL, NON_PROTO, SUBMESSAGE_START, SUBMESSAGE_END, RECORD_START, VARINT, FIXED, STRING, NUM_ACTIONS };

#define MAX_PREFIX 6 /* a 32-bit tag as a varint, and an inline value */
#define MAX_VALUE 10 /* a 64-bit varint */
#define MAX_NESTING (1 << 20)

typedef struct {
  uint8_t action, implicit, prefix_size, value_size;
  uint8_t prefix[MAX_PREFIX];
  uint32_t next, buffer;
} State;

typedef struct {
  size_t cursor, end;
} Buffer;

typedef struct {
  size_t end; /* output size where the submessage ends */
  uint32_t state;
} Submessage;

typedef struct {
  State *states;
  size_t num_states;
  const uint8_t *data; /* of all buffers */
  Buffer *buffers;
  size_t num_buffers;
  const uint8_t *transitions;
  size_t num_transitions;
  uint8_t *out; /* filled from its end */
  size_t out_capacity, out_size;
  size_t *record_ends; /* output sizes at which records begin, last record first */
  size_t num_records, max_records, records_capacity;
  Submessage *open;
  size_t num_open, open_capacity;
} Machine;

static const char kOutOfMemory[] = "out of memory";

/* Make room for one more item in an array that doubles; NULL when there is no memory. */
static void *grow(void *items, size_t count, size_t *capacity, size_t item_size) {
  size_t wanted = *capacity ? *capacity * 2 : 64;
  void *grown;
  if (count < *capacity) return items;
  if (wanted > SIZE_MAX / 2 / item_size) return NULL;
  grown = realloc(items, wanted * item_size);
  if (grown) *capacity = wanted;
  return grown;
}

/* Every function below returns NULL, or what is wrong with the data. */

static const char *prepend(Machine *m, const uint8_t *bytes, size_t size) {
  if (size > m->out_capacity - m->out_size) return "more bytes came out than expected";
  m->out_size += size;
  if (size) memcpy(m->out + m->out_capacity - m->out_size, bytes, size);
  return NULL;
}

static const char *take(Machine *m, uint32_t buffer, size_t size, const uint8_t **bytes) {
  Buffer *b = &m->buffers[buffer];
  if (size > b->end - b->cursor) return "a buffer ends too early";
  *bytes = m->data + b->cursor;
  b->cursor += size;
  return NULL;
}

static const char *take_length(Machine *m, uint32_t buffer, size_t *length) {
  uint64_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const uint8_t *byte;
    const char *error = take(m, buffer, 1, &byte);
    if (error) return error;
    value |= (uint64_t)(*byte & 127) << shift;
    if (*byte < 128) {
      if (value > UINT32_MAX) break;
      *length = (size_t)value;
      return NULL;
    }
  }
  return "a length needs more than 32 bits";
}

static const char *start_record(Machine *m) {
  void *grown;
  if (m->num_open) return "a record starts inside a submessage";
  if (m->num_records == m->max_records) return "more records came out than expected";
  grown = grow(m->record_ends, m->num_records, &m->records_capacity, sizeof *m->record_ends);
  if (!grown) return kOutOfMemory;
  m->record_ends = grown;
  m->record_ends[m->num_records++] = m->out_size;
  return NULL;
}

static const char *run_non_proto(Machine *m, const State *s) {
  const uint8_t *bytes;
  size_t length;
  const char *error = take_length(m, (uint32_t)(m->num_buffers - 1), &length);
  if (!error) error = take(m, s->buffer, length, &bytes);
  if (!error) error = prepend(m, bytes, length);
  return error ? error : start_record(m);
}

static const char *end_submessage(Machine *m, uint32_t state) {
  void *grown;
  if (m->num_open == MAX_NESTING) return "submessages are nested too deeply";
  grown = grow(m->open, m->num_open, &m->open_capacity, sizeof *m->open);
  if (!grown) return kOutOfMemory;
  m->open = grown;
  m->open[m->num_open].end = m->out_size;
  m->open[m->num_open++].state = state;
  return NULL;
}

static const char *start_submessage(Machine *m) {
  uint8_t length[MAX_VALUE];
  size_t size = 0, value;
  const Submessage *open;
  const State *s;
  const char *error;
  if (!m->num_open) return "a submessage starts that has no end";
  open = &m->open[--m->num_open];
  s = &m->states[open->state];
  for (value = m->out_size - open->end; value >= 128; value >>= 7) length[size++] = (uint8_t)(value | 128);
  length[size++] = (uint8_t)value;
  error = prepend(m, length, size);
  return error ? error : prepend(m, s->prefix, s->prefix_size);
}

static const char *run_varint(Machine *m, const State *s) {
  uint8_t value[MAX_VALUE];
  const uint8_t *bytes;
  const char *error = take(m, s->buffer, s->value_size, &bytes);
  if (error) return error;
  for (int i = 0; i < s->value_size; ++i) value[i] = bytes[i] | 128;
  if (s->value_size) value[s->value_size - 1] = bytes[s->value_size - 1];
  error = prepend(m, value, s->value_size);
  return error ? error : prepend(m, s->prefix, s->prefix_size);
}

static const char *run_string(Machine *m, const State *s) {
  const size_t start = m->buffers[s->buffer].cursor;
  const uint8_t *bytes;
  size_t length;
  const char *error = take_length(m, s->buffer, &length);
  if (!error) error = take(m, s->buffer, length, &bytes);
  if (!error) error = prepend(m, m->data + start, m->buffers[s->buffer].cursor - start);
  return error ? error : prepend(m, s->prefix, s->prefix_size);
}

static const char *run_fixed(Machine *m, const State *s) {
  const uint8_t *bytes;
  const char *error = take(m, s->buffer, s->value_size, &bytes);
  if (!error) error = prepend(m, bytes, s->value_size);
  return error ? error : prepend(m, s->prefix, s->prefix_size);
}

static const char *run_state(Machine *m, uint32_t index) {
  const State *s = &m->states[index];
  switch (s->action) {
    case LITERAL: return prepend(m, s->prefix, s->prefix_size);
    case NON_PROTO: return run_non_proto(m, s);
    case SUBMESSAGE_START: return start_submessage(m);
    case SUBMESSAGE_END: return end_submessage(m, index);
    case RECORD_START: return start_record(m);
    case VARINT: return run_varint(m, s);
    case FIXED: return run_fixed(m, s);
    default: return run_string(m, s);
  }
}

static const char *check_finished(const Machine *m) {
  if (m->num_open) return "a submessage is never started";
  if (m->num_records != m->max_records) return "fewer records came out than expected";
  if (m->out_size != m->out_capacity) return "fewer bytes came out than expected";
  if (m->out_size != (m->num_records ? m->record_ends[m->num_records - 1] : 0)) return "bytes belong to no record";
  return NULL;
}

static const char *run_machine(Machine *m, uint32_t index) {
  size_t position = 0, implicit_hops = 0;
  int repeat = 0;
  for (;;) {
    const State *s = &m->states[index];
    const char *error = run_state(m, index);
    if (error) return error;
    index = s->next;
    if (s->implicit) {
      if (++implicit_hops > m->num_states) return "implicit edges form a ring";
      continue;
    }
    implicit_hops = 0;
    if (repeat) {
      --repeat;
    } else if (position == m->num_transitions) {
      return check_finished(m);
    } else {
      const uint8_t transition = m->transitions[position++];
      if ((size_t)(transition >> 2) >= m->num_states - index) return "a transition leads beyond the last state";
      index += transition >> 2;
      repeat = transition & 3;
    }
  }
}

/* ---- Between Python and the machine ---------------------------------------------------------------- */

static int read_state(PyObject *item, Machine *m, State *state) {
  int action, implicit, value_size;
  const char *prefix;
  Py_ssize_t prefix_size, next, buffer;
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "a state is a tuple");
    return -1;
  }
  if (!PyArg_ParseTuple(item, "iy#npni", &action, &prefix, &prefix_size, &next, &implicit, &buffer, &value_size)) {
    return -1;
  }
  const int uses_buffer = action == NON_PROTO || action == VARINT || action == FIXED || action == STRING;
  if (action < 0 || action >= NUM_ACTIONS || prefix_size > MAX_PREFIX || value_size < 0 || value_size > MAX_VALUE ||
      next < 0 || (size_t)next >= m->num_states || buffer < 0 ||
      (uses_buffer && (size_t)buffer >= m->num_buffers)) {
    PyErr_SetString(PyExc_ValueError, "a state is out of range");
    return -1;
  }
  state->action = (uint8_t)action;
  state->implicit = (uint8_t)implicit;
  state->prefix_size = (uint8_t)prefix_size;
  state->value_size = (uint8_t)value_size;
  if (prefix_size) memcpy(state->prefix, prefix, (size_t)prefix_size);
  state->next = (uint32_t)next;
  state->buffer = (uint32_t)buffer;
  return 0;
}

static int read_states(PyObject *states, Machine *m) {
  m->states = calloc(m->num_states, sizeof *m->states);
  if (!m->states) {
    PyErr_NoMemory();
    return -1;
  }
  for (size_t i = 0; i < m->num_states; ++i) {
    PyObject *item = PySequence_GetItem(states, (Py_ssize_t)i);
    const int failed = !item || read_state(item, m, &m->states[i]) < 0;
    Py_XDECREF(item);
    if (failed) return -1;
  }
  return 0;
}

static int read_buffers(PyObject *ends, size_t data_size, Machine *m) {
  size_t begin = 0;
  m->buffers = calloc(m->num_buffers ? m->num_buffers : 1, sizeof *m->buffers);
  if (!m->buffers) {
    PyErr_NoMemory();
    return -1;
  }
  for (size_t i = 0; i < m->num_buffers; ++i) {
    PyObject *item = PySequence_GetItem(ends, (Py_ssize_t)i);
    const Py_ssize_t end = item ? PyLong_AsSsize_t(item) : -1;
    Py_XDECREF(item);
    if (PyErr_Occurred()) return -1;
    if (end < 0 || (size_t)end < begin || (size_t)end > data_size) {
      PyErr_SetString(PyExc_ValueError, "the ends of the buffers are out of range");
      return -1;
    }
    m->buffers[i].cursor = begin;
    m->buffers[i].end = begin = (size_t)end;
  }
  return 0;
}

static PyObject *make_records(const Machine *m) {
  PyObject *records = PyList_New((Py_ssize_t)m->num_records);
  if (!records) return NULL;
  for (size_t i = 0; i < m->num_records; ++i) {
    const size_t k = m->num_records - 1 - i; /* the last record came out first */
    const size_t size = m->record_ends[k] - (k ? m->record_ends[k - 1] : 0);
    const uint8_t *start = m->out + m->out_capacity - m->record_ends[k];
    PyObject *record = PyBytes_FromStringAndSize((const char *)start, (Py_ssize_t)size);
    if (!record || PyList_SetItem(records, (Py_ssize_t)i, record) < 0) {
      Py_DECREF(records);
      return NULL;
    }
  }
  return records;
}

static PyObject *run_to_records(Machine *m, Py_ssize_t first) {
  const char *error;
  if (first < 0 || (size_t)first >= m->num_states) {
    PyErr_SetString(PyExc_ValueError, "the first state is out of range");
    return NULL;
  }
  m->out = malloc(m->out_capacity ? m->out_capacity : 1);
  if (!m->out) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS
  error = run_machine(m, (uint32_t)first);
  Py_END_ALLOW_THREADS
  if (error == kOutOfMemory) return PyErr_NoMemory();
  if (error) {
    PyErr_SetString(PyExc_ValueError, error);
    return NULL;
  }
  return make_records(m);
}

static PyObject *expand(PyObject *module, PyObject *args) {
  PyObject *states, *ends, *records = NULL;
  Py_buffer data, transitions;
  Py_ssize_t first, num_records, decoded_size, num_states, num_buffers;
  Machine m;
  (void)module;
  if (!PyArg_ParseTuple(args, "Oy*Oy*nnn", &states, &data, &ends, &transitions, &first, &num_records, &decoded_size)) {
    return NULL;
  }
  memset(&m, 0, sizeof m);
  num_states = PySequence_Size(states);
  num_buffers = PySequence_Size(ends);
  if (num_states < 0 || num_buffers < 0) goto done;
  if (num_records < 0 || decoded_size < 0 || (size_t)num_states > UINT32_MAX || (size_t)num_buffers > UINT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "a count is out of range");
    goto done;
  }
  m.num_states = (size_t)num_states;
  m.num_buffers = (size_t)num_buffers;
  m.data = data.buf;
  m.transitions = transitions.buf;
  m.num_transitions = (size_t)transitions.len;
  m.max_records = (size_t)num_records;
  m.out_capacity = (size_t)decoded_size;
  if (read_buffers(ends, (size_t)data.len, &m) == 0 && read_states(states, &m) == 0) records = run_to_records(&m, first);
done:
  free(m.states);
  free(m.buffers);
  free(m.out);
  free(m.record_ends);
  free(m.open);
  PyBuffer_Release(&data);
  PyBuffer_Release(&transitions);
  return records;
}

/* ---- CRC-32C, of TFRecord files ------------------------------------------------------------------- */

static uint32_t crc_tables[8][256];

static void make_crc_tables(void) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82F63B78u : 0);
    crc_tables[0][byte] = state;
  }
  for (int table = 1; table < 8; ++table) {
    for (int byte = 0; byte < 256; ++byte) {
      const uint32_t before = crc_tables[table - 1][byte];
      crc_tables[table][byte] = crc_tables[0][before & 0xff] ^ before >> 8;
    }
  }
}

static uint32_t crc_portable(uint32_t state, const uint8_t *data, size_t size) {
  for (; size >= 8; size -= 8, data += 8) {
    const uint64_t word = load64(data) ^ state;
    state = 0;
    for (int byte = 0; byte < 8; ++byte) state ^= crc_tables[7 - byte][word >> 8 * byte & 0xff];
  }
  for (; size; --size, ++data) state = crc_tables[0][(state ^ *data) & 0xff] ^ state >> 8;
  return state;
}

#ifdef HAVE_AVX2_VARIANT
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t state, const uint8_t *data, size_t size) {
  uint64_t wide = state;
  for (; size >= 8; size -= 8, data += 8) wide = _mm_crc32_u64(wide, load64(data));
  state = (uint32_t)wide;
  for (; size; --size, ++data) state = _mm_crc32_u8(state, *data);
  return state;
}
#endif

static uint32_t (*crc_of)(uint32_t, const uint8_t *, size_t) = crc_portable;

static PyObject *crc32c(PyObject *module, PyObject *argument) {
  Py_buffer view;
  uint32_t state = 0xffffffffu;
  (void)module;
  if (PyObject_GetBuffer(argument, &view, PyBUF_SIMPLE) < 0) return NULL;
  if (view.len < RELEASE_GIL_SIZE) {
    state = crc_of(state, view.buf, (size_t)view.len);
  } else {
    Py_BEGIN_ALLOW_THREADS
    state = crc_of(state, view.buf, (size_t)view.len);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLong(state ^ 0xffffffffu);
}

/* ---- The module ------------------------------------------------------------------------------------ */

static PyMethodDef methods[] = {
    {"highway_hash64", highway_hash64, METH_O, "Return the 64-bit HighwayHash of a buffer under Riegeli's key."},
    {"frame_records", frame_records, METH_VARARGS, "Return chunks of one record each without compression; see single.py."},
    {"chunk_entries", chunk_entries, METH_O, "Return the entries of chunks in an index; see array_record.py."},
    {"crc32c", crc32c, METH_O, "Return the CRC-32C of a buffer; see rlds_kit.convert.tfds.crc32c."},
    {"expand", expand, METH_VARARGS, "Run the state machine of a transposed chunk; see _pure_transposed.expand."},
    {NULL, NULL, 0, NULL},
};

static int exec_module(PyObject *module) {
  (void)module;
  make_crc_tables();
#ifdef HAVE_AVX2_VARIANT
  if (__builtin_cpu_supports("avx2")) hash_packets = hash_packets_avx2;
  if (__builtin_cpu_supports("sse4.2")) crc_of = crc_sse42;
#endif
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "rlds_kit.riegeli._native", "HighwayHash-64, CRC-32C and transposed chunks, in C.", 0, methods, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
