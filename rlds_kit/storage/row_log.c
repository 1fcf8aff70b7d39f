/* log_row: copies a row of all lanes, and notes which episodes begin and end with it. Between two steps of a training, calls
 * take the time of cache misses, so that all of it is one call; and nothing is changed unless all of the row can be
 * recorded, so that no signal handler sees a part of it. See row_log.py. */

#include "rows.h"

#include <time.h>
#if defined(__linux__) && defined(__LP64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { ROWS, ROOM, BYTES, ENDS, AFTER_END, NUMBERS }; /* of a log */
enum { REFUSE, CLOSE, BEGIN };                        /* after a row with ends */

/* The arrays of a log. */
typedef struct {
  npy_intp lanes;
  npy_int64 *numbers, *times;
  const npy_uint8 *due; /* of the next row: not 0 where an episode begins */
  npy_uint8 *ends;      /* of all rows */
  const npy_int64 *places;
  PyObject *at, *every; /* the arrays of `places`, and of flags that are all true */
} Log;

/* Reads a log, and sets the places of its next row; 0 after an error. */
static int read_log(PyObject *given, Log *log) {
  PyObject *parts[7];
  int is_right = PyTuple_Check(given) && PyTuple_Size(given) == 7;
  for (int i = 0; is_right && i < 7; ++i) is_right = PyArray_Check(parts[i] = PyTuple_GetItem(given, i));
  npy_intp lanes = is_right && is_of_lanes(parts[1], NPY_INT64, -1) ? PyArray_DIM((PyArrayObject *)parts[1], 0) : -1;
  if (lanes >= 0 && is_of_lanes(parts[0], NPY_INT64, NUMBERS) && is_of_lanes(parts[2], NPY_BOOL, lanes) &&
      is_of_lanes(parts[4], NPY_INT64, -1) && is_of_lanes(parts[5], NPY_BOOL, lanes) && is_of_lanes(parts[6], NPY_INT64, lanes)) {
    PyArrayObject *ends = (PyArrayObject *)parts[3];
    log->numbers = PyArray_DATA((PyArrayObject *)parts[0]);
    npy_int64 row = log->numbers[ROWS], room = log->numbers[ROOM];
    if (PyArray_NDIM(ends) == 2 && PyArray_TYPE(ends) == NPY_UINT8 && PyArray_IS_C_CONTIGUOUS(ends) &&
        PyArray_DIM(ends, 1) == lanes && PyArray_DIM(ends, 0) >= room && PyArray_DIM((PyArrayObject *)parts[4], 0) >= room &&
        row >= 0 && row <= PyArray_DIM(ends, 0)) {
      const npy_int64 *begin = PyArray_DATA((PyArrayObject *)parts[1]);
      npy_int64 *places = PyArray_DATA((PyArrayObject *)parts[6]);
      for (npy_intp i = 0; i < lanes; ++i) places[i] = begin[i] + row;
      log->lanes = lanes, log->places = places, log->at = parts[6], log->every = parts[5];
      log->ends = PyArray_DATA(ends), log->times = PyArray_DATA((PyArrayObject *)parts[4]);
      log->due = row ? log->ends + (row - 1) * lanes : PyArray_DATA((PyArrayObject *)parts[2]);
      return 1;
    }
  }
  PyErr_SetString(PyExc_TypeError, "expected the arrays of a log");
  return 0;
}

static PyObject *mask_of(PyObject *masks, Py_ssize_t number) {
  return masks == Py_None ? Py_None : PyTuple_GetItem(masks, number);
}

/* Whether values can be copied into an array of a column. If `is_released` is given, new memory is cleared, and it is set
 * if the GIL was released. */
static int fits(const Log *log, PyObject *rows, PyObject *values, int *is_released) {
  if (!PyArray_Check(rows) || !PyArray_Check(values)) return 0;
  int how = fit_lanes((PyArrayObject *)rows, log->at, Py_None, (PyArrayObject *)values);
  if (how == TOGETHER && is_released) *is_released |= make_room((PyArrayObject *)rows, log->at, (PyArrayObject *)values);
  return how != 0;
}

/* Whether all values fit into their columns. */
static int all_fit(const Log *log, PyObject *columns, PyObject *given, PyObject *masks, int *is_released) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(given); ++i) {
    PyObject *values = PyTuple_GetItem(given, i), *mask = mask_of(masks, i), *present = PyTuple_GetItem(columns, 2 * i + 1);
    if (!PyArray_CheckExact(values)) return 0; /* a subclass could have more than its array, such as a mask */
    if (!fits(log, PyTuple_GetItem(columns, 2 * i), values, is_released)) return 0;
    if (present == Py_None ? mask != Py_None : !fits(log, present, mask == Py_None ? log->every : mask, is_released)) return 0;
  }
  return 1;
}

/* Whether there is room for a row, and flags of all lanes were given. */
static int is_due(const Log *log, PyObject **flags) {
  if (log->numbers[ROWS] >= log->numbers[ROOM]) return 0;
  for (int i = 0; i < 2; ++i)
    if (!PyArray_CheckExact(flags[i]) || !is_of_lanes(flags[i], NPY_BOOL, log->lanes)) return 0;
  return 1;
}

static void put(const Log *log, PyObject *rows, PyObject *values) {
  int how = fit_lanes((PyArrayObject *)rows, log->at, Py_None, (PyArrayObject *)values);
  put_fitting((PyArrayObject *)rows, log->at, Py_None, (PyArrayObject *)values, how);
}

/* Copies all values; returns their bytes. */
static npy_int64 put_all(const Log *log, PyObject *columns, PyObject *given, PyObject *masks) {
  npy_int64 bytes = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(given); ++i) {
    PyObject *values = PyTuple_GetItem(given, i), *present = PyTuple_GetItem(columns, 2 * i + 1), *mask = mask_of(masks, i);
    put(log, PyTuple_GetItem(columns, 2 * i), values);
    if (present != Py_None) put(log, present, mask == Py_None ? log->every : mask);
    bytes += PyArray_NBYTES((PyArrayObject *)values);
  }
  return bytes;
}

/* The array of discounts, the last column, which has flags of presence or None. */
static double *discounts_of(const Log *log, PyObject *columns) {
  PyObject *rows = PyTuple_GetItem(columns, PyTuple_Size(columns) - 2), *present = PyTuple_GetItem(columns, PyTuple_Size(columns) - 1);
  if (!PyArray_Check(rows) || (present != Py_None && !fits(log, present, log->every, NULL))) return NULL;
  PyArrayObject *array = (PyArrayObject *)rows;
  int is_right = PyArray_NDIM(array) == 2 && PyArray_TYPE(array) == NPY_FLOAT64 && PyArray_ISNOTSWAPPED(array) &&
                 PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE) && PyArray_DIM(array, 1) == log->lanes;
  for (npy_intp i = 0; is_right && i < log->lanes; ++i)
    is_right = log->places[i] >= 0 && log->places[i] < PyArray_DIM(array, 0);
  return is_right ? PyArray_DATA(array) : NULL;
}

/* Unix time in nanoseconds. On Linux by a system call: the functions of the C library for it are not in old versions. */
static npy_int64 unix_time(void) {
  struct timespec now;
#if defined(__linux__) && defined(__LP64__)
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return (npy_int64)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Notes what a row changes, whose values were copied. */
static void note(const Log *log, double *discounts, const npy_bool *terminated, const npy_bool *truncated, npy_int64 bytes) {
  npy_int64 row = log->numbers[ROWS];
  npy_uint8 *ends = log->ends + row * log->lanes;
  int begin = 0, end = 0;
  for (npy_intp i = 0; i < log->lanes; ++i) {
    discounts[log->places[i] * log->lanes + i] = terminated[i] ? 0.0 : 1.0;
    begin |= log->due[i];
    ends[i] = log->due[i] ? 0 : (npy_uint8)((terminated[i] != 0) | (truncated[i] != 0) << 1);
    end |= ends[i];
  }
  if (begin) log->times[row] = unix_time();
  log->numbers[BYTES] += bytes;
  log->numbers[ENDS] += end != 0;
  log->numbers[ROWS] = row + 1;
  if (end && log->numbers[AFTER_END] == CLOSE) log->numbers[ROOM] = 0;
}

/* log_row(log, columns, values, masks, terminated, truncated): see row_log.log_row_in_python. */
PyObject *log_row(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *arrays, *columns, *given, *masks, *flags[2];
  Log log;
  if (!PyArg_UnpackTuple(args, "log_row", 6, 6, &arrays, &columns, &given, &masks, &flags[0], &flags[1])) return NULL;
  if (!PyTuple_Check(columns) || !PyTuple_Check(given) || PyTuple_Size(columns) != 2 * (PyTuple_Size(given) + 1) ||
      (masks != Py_None && (!PyTuple_Check(masks) || PyTuple_Size(masks) != PyTuple_Size(given)))) {
    PyErr_SetString(PyExc_TypeError, "expected two arrays for each value and for discounts, values, and masks of these");
    return NULL;
  }
  int is_released = 0;
  if (!read_log(arrays, &log)) return NULL;
  if (!is_due(&log, flags) || !all_fit(&log, columns, given, masks, &is_released)) return PyLong_FromLong(-1);
  if (is_released) { /* other threads may have changed what was checked */
    if (!read_log(arrays, &log)) return NULL;
    if (!is_due(&log, flags) || !all_fit(&log, columns, given, masks, NULL)) return PyLong_FromLong(-1);
  }
  double *discounts = discounts_of(&log, columns);
  if (!discounts) return PyLong_FromLong(-1);
  const npy_bool *terminated = PyArray_DATA((PyArrayObject *)flags[0]), *truncated = PyArray_DATA((PyArrayObject *)flags[1]);
  if (log.numbers[AFTER_END] == REFUSE)
    for (npy_intp i = 0; i < log.lanes; ++i)
      if (!log.due[i] && (terminated[i] || truncated[i])) return PyLong_FromLong(-1);
  npy_int64 bytes = put_all(&log, columns, given, masks) + log.lanes * (npy_int64)sizeof(double);
  PyObject *are_there = PyTuple_GetItem(columns, PyTuple_Size(columns) - 1);
  if (are_there != Py_None) put(&log, are_there, log.every);
  note(&log, discounts, terminated, truncated, bytes);
  return PyLong_FromLongLong(bytes);
}
