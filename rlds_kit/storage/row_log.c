/* log_row: copies a row of all lanes, and notes which episodes begin and end with it. log_step: does that with the results of
 * a step. step_and_log: also makes the step. Between two steps of a training, calls take the time of cache misses. So all of
 * it is one call, and what it needs to know of the arrays is in one piece of memory. Nothing is changed unless all of the row
 * can be recorded, so that no signal handler sees a part of it. See row_log.py. */

#include "rows.h"

#include <stdlib.h>
#include <time.h>
#ifdef __linux__
#include <sys/time.h>
#endif

enum { ROWS, ROOM, BYTES, LIMIT, ENDS, AFTER_END, NUMBERS }; /* of a log */
enum { REFUSE, CLOSE, BEGIN };                               /* after a row with ends */
enum { ARRAYS = 6 };

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
  int has_infos; /* whether they are recorded */
  MaskedForm infos;
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
  const npy_bool *stopped; /* whether nothing can be recorded any more */
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
      is_of_lanes(parts[4], NPY_INT64, -1) && is_of_lanes(parts[5], NPY_BOOL, 1)) {
    PyArrayObject *ends = (PyArrayObject *)parts[3];
    log->numbers = PyArray_DATA((PyArrayObject *)parts[0]), log->times = PyArray_DATA((PyArrayObject *)parts[4]);
    log->begin = PyArray_DATA((PyArrayObject *)parts[1]), log->first = PyArray_DATA((PyArrayObject *)parts[2]);
    log->ends = PyArray_DATA(ends), log->lanes = lanes, log->stopped = PyArray_DATA((PyArrayObject *)parts[5]);
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
    PyObject *infos = PyTuple_GetItem(PyTuple_GetItem(given, i), 0);
    if ((form->has_infos = infos != Py_None) && !read_masked_form(infos, &form->infos)) return 0;
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

/* native_log(log, forms): what `log_step` and `step_and_log` need to know of these, which it refers to. */
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

/* Bytes of a row, if it can be added; else -1. */
static npy_int64 bytes_of(const Log *log, const Form *form, PyObject **given, PyObject **masks, PyObject **flags) {
  const npy_int64 row = log->numbers[ROWS];
  npy_int64 bytes = 0;
  if (row >= log->numbers[ROOM] || log->least < 0 || !are_flags(log, flags)) return -1;
  for (Py_ssize_t i = 0; i <= form->count; ++i) {
    const Column *column = form->columns + i;
    PyObject *mask = i < form->count ? masks[i] : Py_None;
    if (log->most + row >= column->capacity || (i < form->count && !is_like(column, given[i]))) return -1;
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

static void put_values(const Log *log, const Form *form, PyObject **given, PyObject **masks) {
  for (Py_ssize_t i = 0; i < form->count; ++i) {
    const Column *column = form->columns + i;
    copy(log, column->rows, PyArray_DATA((PyArrayObject *)given[i]), (size_t)column->row_bytes);
    put_present(log, column, masks[i]);
  }
}

/* Unix time in nanoseconds; on Linux in whole microseconds: old versions of the C library have no function for more that is
 * no system call, which takes as long as all else of a row. */
static npy_int64 unix_time(void) {
#ifdef __linux__
  struct timeval now;
  gettimeofday(&now, NULL);
  return (npy_int64)now.tv_sec * 1000000000 + (npy_int64)now.tv_usec * 1000;
#else
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (npy_int64)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
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
static npy_int64 add_row(const Log *log, const Form *form, PyObject **given, PyObject **masks, PyObject **flags) {
  npy_int64 bytes = bytes_of(log, form, given, masks, flags);
  if (bytes < 0) return -1;
  if (make_row(log, form) && (bytes = bytes_of(log, form, given, masks, flags)) < 0) return -1; /* closed meanwhile */
  const npy_bool *terminated = PyArray_DATA((PyArrayObject *)flags[0]), *truncated = PyArray_DATA((PyArrayObject *)flags[1]);
  if (log->numbers[AFTER_END] == REFUSE && has_ends(log, terminated, truncated)) return -1;
  put_values(log, form, given, masks);
  note(log, form->columns + form->count, terminated, truncated, bytes);
  return bytes;
}

/* Adds the items of a tuple, or so many times None; 0 after an error. */
static int add_items(Objects *objects, PyObject *given, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!add_object(objects, given == Py_None ? Py_None : PyTuple_GetItem(given, i))) return 0;
  return 1;
}

/* log_row(log, columns, values, masks, terminated, truncated): see row_log.log_row_in_python. */
PyObject *log_row(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *arrays, *columns, *given, *masks, *flags[2];
  Log log = {0};
  Form form = {0};
  Objects values = {0}, of_values = {0};
  if (!PyArg_UnpackTuple(args, "log_row", 6, 6, &arrays, &columns, &given, &masks, &flags[0], &flags[1])) return NULL;
  if (!PyTuple_Check(columns) || !PyTuple_Check(given) || PyTuple_Size(columns) != 2 * (PyTuple_Size(given) + 1) ||
      (masks != Py_None && (!PyTuple_Check(masks) || PyTuple_Size(masks) != PyTuple_Size(given)))) {
    PyErr_SetString(PyExc_TypeError, "expected two arrays for each value and for discounts, values, and masks of these");
    return NULL;
  }
  int found = read_arrays(arrays, &log) ? read_columns(columns, log.lanes, &form) : -1;
  npy_int64 bytes = -1;
  if (found > 0 && !(add_items(&values, given, form.count) && add_items(&of_values, masks, form.count))) found = -1;
  if (found > 0) bytes = add_row(&log, &form, values.all, of_values.all, flags);
  release_objects(&values);
  release_objects(&of_values);
  free(form.columns);
  return found < 0 ? NULL : PyLong_FromLongLong(bytes);
}

enum { OBSERVATIONS, REWARDS, TERMINATED, TRUNCATED, INFOS, RESULTS }; /* of a step */

/* Adds the values of a step, each with its mask. Returns 1; 0 if infos do not have the form; -1 after an error. */
static int take_values(const Form *form, PyObject *actions, PyObject *result, Objects *values, Objects *masks) {
  if (!add_object(values, PyTuple_GetItem(result, OBSERVATIONS)) || !add_object(masks, Py_None)) return -1;
  const int taken = form->has_infos ? take_columns(&form->infos, PyTuple_GetItem(result, INFOS), values, masks) : 1;
  if (taken != 1) return taken;
  return add_object(values, actions) && add_object(values, PyTuple_GetItem(result, REWARDS)) && add_items(masks, Py_None, 2) ? 1 : -1;
}

/* Adds the results of a step. Returns 1; 0 if it is left to other calls; -1 after an error. */
static int add_step(const Log *log, const Form *form, PyObject *actions, PyObject *result) {
  PyObject *flags[2] = {PyTuple_GetItem(result, TERMINATED), PyTuple_GetItem(result, TRUNCATED)};
  Objects values = {0}, masks = {0};
  int done = take_values(form, actions, result, &values, &masks);
  if (done > 0) done = values.count == form->count && add_row(log, form, values.all, masks.all, flags) >= 0;
  release_objects(&values);
  release_objects(&masks);
  return done;
}

static int has_room(const Log *log) { return log->numbers[ROWS] < log->numbers[ROOM]; }

/* As `add_step`, of any form. */
static int add_result(const Log *log, PyObject *actions, PyObject *result) {
  int done = 0;
  if (!has_room(log) || !PyTuple_CheckExact(result) || PyTuple_Size(result) != RESULTS) return 0;
  for (Py_ssize_t i = 0; !done && i < log->count; ++i) done = add_step(log, log->forms + i, actions, result);
  return done;
}

/* log_step(log, actions, result): see row_log.log_step_in_python; the log is from `native_log`. */
PyObject *log_step(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *actions, *result;
  if (!PyArg_UnpackTuple(args, "log_step", 3, 3, &capsule, &actions, &result)) return NULL;
  const Log *log = PyCapsule_GetPointer(capsule, LOG);
  const int done = log ? add_result(log, actions, result) : -1;
  return done < 0 ? NULL : PyBool_FromLong(done);
}

enum { STEPS, IS_UNFINISHED, CALLS }; /* of the environments */

/* step_and_log(log, calls, bounds, step, actions, record): see row_log.step_and_log_in_python; the log is from `native_log`. */
PyObject *step_and_log(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule, *counted, *bounds, *step, *actions, *record;
  if (!PyArg_UnpackTuple(args, "step_and_log", 6, 6, &capsule, &counted, &bounds, &step, &actions, &record)) return NULL;
  const Log *log = PyCapsule_GetPointer(capsule, LOG);
  if (!log) return NULL;
  if (!is_of_lanes(counted, NPY_INT64, CALLS)) return PyErr_Format(PyExc_TypeError, "expected two int64 numbers of calls");
  npy_int64 *calls = PyArray_DATA((PyArrayObject *)counted);
  if (bounds == Py_None || *log->stopped || calls[IS_UNFINISHED] || !has_room(log)) Py_RETURN_NONE;
  PyObject *taken = copy_of_inside(bounds, actions); /* the environments may change them */
  if (!taken || taken == Py_None) return taken;
  ++calls[STEPS], calls[IS_UNFINISHED] = 1; /* only now: what raises before makes no step */
  PyObject *result = PyObject_CallFunctionObjArgs(step, actions, NULL), *recorded = NULL;
  const int done = result ? add_result(log, taken, result) : -1;
  if (!done) recorded = PyObject_CallFunctionObjArgs(record, taken, result, NULL);
  if (done < 0 || (!done && !recorded)) Py_CLEAR(result);
  else calls[IS_UNFINISHED] = 0;
  Py_XDECREF(recorded);
  Py_DECREF(taken);
  return result;
}
