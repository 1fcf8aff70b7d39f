/* log_row: copies a row of all lanes, and notes which episodes begin and end with it. log_step: does that with the results of
 * a step. Between two steps of a training, calls take the time of cache misses. So all of it is one call, and what it needs
 * to know of the arrays is in one piece of memory. Nothing is changed unless all of the row can be recorded, so that no
 * signal handler sees a part of it. See row_log.py. */

#include "rows.h"

#include <stdlib.h>
#include <time.h>
#if defined(__linux__) && defined(__LP64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { ROWS, ROOM, BYTES, LIMIT, ENDS, AFTER_END, NUMBERS }; /* of a log */
enum { REFUSE, CLOSE, BEGIN };                               /* after a row with ends */
enum { ARRAYS = 5 };

/* The rows of a column: all values of a row are in one piece. */
typedef struct {
  uint8_t *rows, *present; /* `present` has flags of presence, or is NULL */
  npy_intp capacity, row_bytes;
  PyArray_Descr *descr;
  const npy_intp *shape; /* of the values of all lanes */
  int rank;
} Column;

/* Columns of rows of one form. */
typedef struct {
  PyObject *infos; /* their form; None: they are not recorded */
  Column *columns; /* those of values, and that of discounts */
  Py_ssize_t count; /* of values */
} Form;

/* A log: what its arrays have, whose pointers are borrowed from `parts`. */
typedef struct {
  npy_intp lanes, capacity;
  npy_int64 least, most; /* place of the first row, of any lane */
  npy_int64 *numbers, *times;
  const npy_int64 *begin;
  const npy_uint8 *first; /* not 0 where an episode begins with the first row */
  npy_uint8 *ends;        /* of all rows */
  Form *forms;
  Py_ssize_t count; /* of forms */
  PyObject *parts;
} Log;

/* ---- What is known before the first row -------------------------------------------------------------- */

/* Reads the arrays of a log; 0 after an error. */
static int read_arrays(PyObject *given, Log *log) {
  PyObject *parts[ARRAYS];
  int is_right = PyTuple_Check(given) && PyTuple_Size(given) == ARRAYS;
  for (int i = 0; is_right && i < ARRAYS; ++i) is_right = PyArray_Check(parts[i] = PyTuple_GetItem(given, i));
  const npy_intp lanes = is_right && is_of_lanes(parts[1], NPY_INT64, -1) ? PyArray_DIM((PyArrayObject *)parts[1], 0) : -1;
  if (lanes >= 0 && is_of_lanes(parts[0], NPY_INT64, NUMBERS) && is_of_lanes(parts[2], NPY_BOOL, lanes) &&
      is_of_lanes(parts[4], NPY_INT64, -1)) {
    PyArrayObject *ends = (PyArrayObject *)parts[3];
    log->numbers = PyArray_DATA((PyArrayObject *)parts[0]), log->times = PyArray_DATA((PyArrayObject *)parts[4]);
    log->begin = PyArray_DATA((PyArrayObject *)parts[1]), log->first = PyArray_DATA((PyArrayObject *)parts[2]);
    log->ends = PyArray_DATA(ends), log->lanes = lanes;
    if (PyArray_NDIM(ends) == 2 && PyArray_TYPE(ends) == NPY_UINT8 && PyArray_IS_C_CONTIGUOUS(ends) && PyArray_DIM(ends, 1) == lanes) {
      const npy_intp times = PyArray_DIM((PyArrayObject *)parts[4], 0), rows = PyArray_DIM(ends, 0);
      log->capacity = times < rows ? times : rows, log->least = log->most = lanes ? log->begin[0] : 0;
      for (npy_intp i = 1; i < lanes; ++i) {
        if (log->begin[i] < log->least) log->least = log->begin[i];
        if (log->begin[i] > log->most) log->most = log->begin[i];
      }
      if (log->numbers[ROWS] >= 0 && log->numbers[ROWS] <= log->capacity && log->numbers[ROOM] <= log->capacity) return 1;
    }
  }
  PyErr_SetString(PyExc_TypeError, "expected the arrays of a log");
  return 0;
}

/* Whether an object is an array `[capacity, lanes, ...]` that rows can be copied to. */
static int has_rows(PyObject *object, npy_intp lanes) {
  if (!PyArray_Check(object)) return 0;
  PyArrayObject *rows = (PyArrayObject *)object;
  return PyArray_NDIM(rows) >= 2 && PyArray_DIM(rows, 1) == lanes && lanes > 0 && !PyDataType_REFCHK(PyArray_DESCR(rows)) &&
         PyArray_CHKFLAGS(rows, NPY_ARRAY_CARRAY);
}

/* Reads a column from its array, and that of its flags of presence or None; 0 if rows cannot be copied to them. */
static int read_column(PyObject *given, PyObject *flags, npy_intp lanes, Column *column) {
  if (!has_rows(given, lanes)) return 0;
  PyArrayObject *rows = (PyArrayObject *)given, *present = (PyArrayObject *)flags;
  column->rows = PyArray_DATA(rows), column->present = NULL, column->capacity = PyArray_DIM(rows, 0);
  column->descr = PyArray_DESCR(rows), column->shape = PyArray_DIMS(rows) + 1, column->rank = PyArray_NDIM(rows) - 1;
  column->row_bytes = PyArray_ITEMSIZE(rows);
  for (int i = 0; i < column->rank; ++i) column->row_bytes *= column->shape[i];
  if (flags == Py_None) return 1;
  if (!has_rows(flags, lanes) || PyArray_NDIM(present) != 2 || PyArray_TYPE(present) != NPY_BOOL) return 0;
  column->present = PyArray_DATA(present);
  if (PyArray_DIM(present, 0) < column->capacity) column->capacity = PyArray_DIM(present, 0);
  return 1;
}

static int is_of_discounts(const Column *column) {
  return column->descr->type_num == NPY_FLOAT64 && PyDataType_ISNOTSWAPPED(column->descr) && column->rank == 1;
}

/* Reads columns, two arrays for each; 0 if rows cannot be copied to them, -1 after an error. */
static int read_columns(PyObject *given, npy_intp lanes, Form *form) {
  const Py_ssize_t count = PyTuple_Check(given) ? PyTuple_Size(given) / 2 : 0;
  if (!count || PyTuple_Size(given) % 2) {
    PyErr_SetString(PyExc_TypeError, "expected two arrays for each value and for discounts");
    return -1;
  }
  if (!(form->columns = malloc((size_t)count * sizeof *form->columns))) {
    PyErr_NoMemory();
    return -1;
  }
  form->count = count - 1;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!read_column(PyTuple_GetItem(given, 2 * i), PyTuple_GetItem(given, 2 * i + 1), lanes, form->columns + i)) return 0;
  return is_of_discounts(form->columns + form->count);
}

/* Reads forms; leaves out those to whose columns rows cannot be copied. 0 after an error. */
static int read_forms(PyObject *given, Log *log) {
  const Py_ssize_t count = PyTuple_Check(given) ? PyTuple_Size(given) : -1;
  int is_right = count >= 0;
  for (Py_ssize_t i = 0; is_right && i < count; ++i)
    is_right = PyTuple_Check(PyTuple_GetItem(given, i)) && PyTuple_Size(PyTuple_GetItem(given, i)) == 2;
  if (!is_right) {
    PyErr_SetString(PyExc_TypeError, "expected the forms of infos, each with columns");
    return 0;
  }
  if (!(log->forms = calloc((size_t)count + 1, sizeof *log->forms))) {
    PyErr_NoMemory();
    return 0;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    Form *form = log->forms + log->count;
    form->infos = PyTuple_GetItem(PyTuple_GetItem(given, i), 0);
    const int found = read_columns(PyTuple_GetItem(PyTuple_GetItem(given, i), 1), log->lanes, form);
    if (found < 0) return 0;
    log->count += found;
    if (!found) {
      free(form->columns);
      form->columns = NULL;
    }
  }
  return 1;
}

static void close_log(Log *log) {
  for (Py_ssize_t i = 0; log->forms && i <= log->count; ++i) free(log->forms[i].columns);
  free(log->forms);
  Py_XDECREF(log->parts);
}

static const char LOG[] = "rlds_kit.storage.row_log";

static void free_log(PyObject *capsule) {
  Log *log = PyCapsule_GetPointer(capsule, LOG);
  close_log(log);
  free(log);
}

/* native_log(log, forms): what `log_step` needs to know of these, which it refers to. */
PyObject *native_log(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *arrays, *forms, *capsule = NULL;
  if (!PyArg_UnpackTuple(args, "native_log", 2, 2, &arrays, &forms)) return NULL;
  Log *log = calloc(1, sizeof *log);
  if (!log) return PyErr_NoMemory();
  if (read_arrays(arrays, log) && read_forms(forms, log) && (log->parts = PyTuple_Pack(2, arrays, forms)))
    capsule = PyCapsule_New(log, LOG, free_log);
  if (capsule) return capsule;
  close_log(log);
  free(log);
  return NULL;
}

/* ---- Rows -------------------------------------------------------------------------------------------- */

/* Whether the flags of a step are of all lanes. */
static int are_flags(const Log *log, PyObject **flags) {
  for (int i = 0; i < 2; ++i)
    if (!PyArray_CheckExact(flags[i]) || !is_of_lanes(flags[i], NPY_BOOL, log->lanes)) return 0;
  return 1;
}

/* Whether values are like the rows of a column; a subclass could have more than its array, such as a mask. */
static int is_like(const Column *column, PyObject *values) {
  if (!PyArray_CheckExact(values)) return 0;
  PyArrayObject *array = (PyArrayObject *)values;
  return PyArray_NDIM(array) == column->rank && PyArray_IS_C_CONTIGUOUS(array) &&
         !memcmp(PyArray_DIMS(array), column->shape, (size_t)column->rank * sizeof *column->shape) &&
         (PyArray_DESCR(array) == column->descr || PyArray_EquivTypes(PyArray_DESCR(array), column->descr));
}

static PyObject *mask_of(PyObject *masks, Py_ssize_t number) {
  return masks == Py_None ? Py_None : PyTuple_GetItem(masks, number);
}

/* Bytes of a row, if it can be added; else -1. */
static npy_int64 bytes_of(const Log *log, const Form *form, PyObject *given, PyObject *masks, PyObject **flags) {
  const npy_int64 row = log->numbers[ROWS];
  npy_int64 bytes = 0;
  if (row >= log->numbers[ROOM] || log->least < 0 || !are_flags(log, flags)) return -1;
  for (Py_ssize_t i = 0; i <= form->count; ++i) {
    const Column *column = form->columns + i;
    PyObject *mask = i < form->count ? mask_of(masks, i) : Py_None;
    if (log->most + row >= column->capacity || (i < form->count && !is_like(column, PyTuple_GetItem(given, i)))) return -1;
    if (mask != Py_None && (!column->present || !PyArray_CheckExact(mask) || !is_of_lanes(mask, NPY_BOOL, log->lanes))) return -1;
    bytes += column->row_bytes;
  }
  return log->numbers[BYTES] + bytes < log->numbers[LIMIT] ? bytes : -1;
}

/* Not 0 where an episode begins with the next row. */
static const npy_uint8 *due(const Log *log) {
  return log->numbers[ROWS] ? log->ends + (log->numbers[ROWS] - 1) * log->lanes : log->first;
}

static int has_ends(const Log *log, const npy_bool *terminated, const npy_bool *truncated) {
  const npy_uint8 *begins = due(log);
  for (npy_intp i = 0; i < log->lanes; ++i)
    if (!begins[i] && (terminated[i] || truncated[i])) return 1;
  return 0;
}

/* Clears new memory for the next row, if all lanes have it in the same place; returns whether the GIL was released. */
static int make_row(const Log *log, const Form *form) {
  int is_released = 0;
  for (Py_ssize_t i = 0; log->least == log->most && i < form->count; ++i) {
    const Column *column = form->columns + i;
    const npy_int64 place = log->least + log->numbers[ROWS];
    uint8_t *first = column->rows, *row = first + place * column->row_bytes;
    is_released |= clear_new_memory(first, row, column->row_bytes, first + column->capacity * column->row_bytes);
  }
  return is_released;
}

/* Copies a row to the places of lanes; all of it at once if these are the same. */
static void copy(const Log *log, uint8_t *rows, const uint8_t *from, size_t row_bytes) {
  const size_t row = (size_t)log->numbers[ROWS], size = row_bytes / (size_t)log->lanes;
  if (log->least == log->most) {
    memmove(rows + ((size_t)log->least + row) * row_bytes, from, row_bytes);
    return;
  }
  for (npy_intp i = 0; i < log->lanes; ++i)
    memmove(rows + ((size_t)log->begin[i] + row) * row_bytes + (size_t)i * size, from + (size_t)i * size, size);
}

/* Sets the flags of presence of a row; `mask` is None if all lanes have the value. */
static void put_present(const Log *log, const Column *column, PyObject *mask) {
  if (!column->present) return;
  if (mask != Py_None) {
    copy(log, column->present, PyArray_DATA((PyArrayObject *)mask), (size_t)log->lanes);
    return;
  }
  for (npy_intp i = 0; i < log->lanes; ++i) column->present[(log->begin[i] + log->numbers[ROWS]) * log->lanes + i] = 1;
}

static void put_values(const Log *log, const Form *form, PyObject *given, PyObject *masks) {
  for (Py_ssize_t i = 0; i < form->count; ++i) {
    const Column *column = form->columns + i;
    copy(log, column->rows, PyArray_DATA((PyArrayObject *)PyTuple_GetItem(given, i)), (size_t)column->row_bytes);
    put_present(log, column, mask_of(masks, i));
  }
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

/* Adds discounts, and notes what a row changes, whose values were copied. */
static void note(const Log *log, const Column *discounts, const npy_bool *terminated, const npy_bool *truncated, npy_int64 bytes) {
  const npy_int64 row = log->numbers[ROWS];
  const npy_uint8 *begins = due(log);
  npy_uint8 *ends = log->ends + row * log->lanes;
  double *rows = (double *)discounts->rows;
  int begin = 0, end = 0;
  put_present(log, discounts, Py_None);
  for (npy_intp i = 0; i < log->lanes; ++i) {
    rows[(log->begin[i] + row) * log->lanes + i] = terminated[i] ? 0.0 : 1.0;
    begin |= begins[i];
    ends[i] = begins[i] ? 0 : (npy_uint8)((terminated[i] != 0) | (truncated[i] != 0) << 1);
    end |= ends[i];
  }
  if (begin) log->times[row] = unix_time();
  log->numbers[BYTES] += bytes;
  log->numbers[ENDS] += end != 0;
  log->numbers[ROWS] = row + 1;
  if (end && log->numbers[AFTER_END] == CLOSE) log->numbers[ROOM] = 0;
}

/* Adds a row; returns its bytes, or -1 if it is left to other calls. */
static npy_int64 add_row(const Log *log, const Form *form, PyObject *given, PyObject *masks, PyObject **flags) {
  npy_int64 bytes = bytes_of(log, form, given, masks, flags);
  if (bytes < 0) return -1;
  if (make_row(log, form) && (bytes = bytes_of(log, form, given, masks, flags)) < 0) return -1; /* closed meanwhile */
  const npy_bool *terminated = PyArray_DATA((PyArrayObject *)flags[0]), *truncated = PyArray_DATA((PyArrayObject *)flags[1]);
  if (log->numbers[AFTER_END] == REFUSE && has_ends(log, terminated, truncated)) return -1;
  put_values(log, form, given, masks);
  note(log, form->columns + form->count, terminated, truncated, bytes);
  return bytes;
}

/* log_row(log, columns, values, masks, terminated, truncated): see row_log.log_row_in_python. */
PyObject *log_row(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *arrays, *columns, *given, *masks, *flags[2];
  Log log = {0};
  Form form = {0};
  if (!PyArg_UnpackTuple(args, "log_row", 6, 6, &arrays, &columns, &given, &masks, &flags[0], &flags[1])) return NULL;
  if (!PyTuple_Check(columns) || !PyTuple_Check(given) || PyTuple_Size(columns) != 2 * (PyTuple_Size(given) + 1) ||
      (masks != Py_None && (!PyTuple_Check(masks) || PyTuple_Size(masks) != PyTuple_Size(given)))) {
    PyErr_SetString(PyExc_TypeError, "expected two arrays for each value and for discounts, values, and masks of these");
    return NULL;
  }
  const int found = read_arrays(arrays, &log) ? read_columns(columns, log.lanes, &form) : -1;
  const npy_int64 bytes = found > 0 ? add_row(&log, &form, given, masks, flags) : -1;
  free(form.columns);
  return found < 0 ? NULL : PyLong_FromLongLong(bytes);
}

enum { OBSERVATIONS, REWARDS, TERMINATED, TRUNCATED, INFOS, RESULTS }; /* of a step */

/* A new tuple of items between others; NULL after an error. */
static PyObject *between(PyObject *first, PyObject *items, PyObject *second, PyObject *third) {
  const Py_ssize_t count = items ? PyTuple_Size(items) : 0;
  PyObject *all = PyTuple_New(count + 3);
  for (Py_ssize_t i = 0; all && i < count + 3; ++i)
    PyTuple_SetItem(all, i, Py_NewRef(!i ? first : i <= count ? PyTuple_GetItem(items, i - 1) : i == count + 1 ? second : third));
  return all;
}

/* Adds the results of a step whose infos have the columns `row`, from `columns_of_infos`, or NULL if infos are not recorded.
 * Returns 1; 0 if it is left to other calls; -1 after an error. */
static int add_step(const Log *log, const Form *form, PyObject *row, PyObject *actions, PyObject *result) {
  PyObject *values = row ? PyTuple_GetItem(row, 0) : NULL, *of_infos = row ? PyTuple_GetItem(row, 1) : NULL, *masks = Py_None;
  PyObject *flags[2] = {PyTuple_GetItem(result, TERMINATED), PyTuple_GetItem(result, TRUNCATED)};
  PyObject *given = between(PyTuple_GetItem(result, OBSERVATIONS), values, actions, PyTuple_GetItem(result, REWARDS));
  if (of_infos && PyTuple_Size(of_infos)) masks = between(Py_None, of_infos, Py_None, Py_None);
  int done = -1;
  if (given && masks) done = PyTuple_Size(given) == form->count && add_row(log, form, given, masks, flags) >= 0;
  Py_XDECREF(given);
  if (masks != Py_None) Py_XDECREF(masks);
  return done;
}

/* log_step(log, actions, result): see row_log.log_step_in_python; the log is from `native_log`. */
PyObject *log_step(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *actions, *result;
  if (!PyArg_UnpackTuple(args, "log_step", 3, 3, &capsule, &actions, &result)) return NULL;
  const Log *log = PyCapsule_GetPointer(capsule, LOG);
  if (!log) return NULL;
  if (log->numbers[ROWS] >= log->numbers[ROOM] || !PyTuple_CheckExact(result) || PyTuple_Size(result) != RESULTS) Py_RETURN_FALSE;
  int done = 0;
  for (Py_ssize_t i = 0; !done && i < log->count; ++i) {
    const Form *form = log->forms + i;
    PyObject *row = form->infos == Py_None ? NULL : columns_of_infos(form->infos, PyTuple_GetItem(result, INFOS));
    if (form->infos != Py_None && !row) return NULL;
    if (row != Py_None) done = add_step(log, form, row, actions, result);
    Py_XDECREF(row);
  }
  return done < 0 ? NULL : PyBool_FromLong(done);
}
