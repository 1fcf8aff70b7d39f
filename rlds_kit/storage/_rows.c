/* Fast versions of the functions that are called for every row; array_form.py, batch_columns.py, bounds.py, row_form.py and
 * row_log.py beside this file, and autoreset.py of the logger, have the same functions in Python.
 *
 * Shape and dtype of an array are read directly from its structure. Accessing them from Python creates objects, and
 * between two steps of a slow environment that code leaves the processor's cache: then the access takes longer than to
 * copy a frame. */

#define RLDS_KIT_IMPORTS_ARRAY
#include "rows.h"

static int check_arrays(PyObject *first, PyObject *second) {
  if (PyArray_Check(first) && PyArray_Check(second)) return 1;
  PyErr_Format(PyExc_TypeError, "expected two arrays, got %R and %R", Py_TYPE(first), Py_TYPE(second));
  return 0;
}

static PyObject *is_alike(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *example;
  if (!PyArg_UnpackTuple(args, "is_alike", 2, 2, &array, &example) || !check_arrays(array, example)) return NULL;
  return PyBool_FromLong(has_form_of((PyArrayObject *)array, 0, (PyArrayObject *)example));
}

static PyObject *any_true(PyObject *self, PyObject *flags) {
  (void)self;
  if (!check_arrays(flags, flags)) return NULL;
  PyArrayObject *array = (PyArrayObject *)flags;
  if (PyArray_TYPE(array) != NPY_BOOL) {
    PyErr_SetString(PyExc_TypeError, "expected flags");
    return NULL;
  }
  if (!PyArray_IS_C_CONTIGUOUS(array)) return PyArray_Any(array, NPY_RAVEL_AXIS, NULL);
  const char *bytes = PyArray_BYTES(array);
  Py_ssize_t count = PyArray_NBYTES(array);
  /* All are false if the first one is, and each is equal to the next. */
  return PyBool_FromLong(count && (*bytes || memcmp(bytes, bytes + 1, (size_t)count - 1)));
}

/* add_flags(counts, flags): see array_form.add_flags_in_python. */
static PyObject *add_flags(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *of, *more;
  if (!PyArg_UnpackTuple(args, "add_flags", 2, 2, &of, &more)) return NULL;
  if (!is_of_lanes(of, NPY_INT64, -1) || !is_of_lanes(more, NPY_BOOL, PyArray_DIM((PyArrayObject *)of, 0))) {
    PyErr_SetString(PyExc_TypeError, "expected counts and a flag for each");
    return NULL;
  }
  npy_intp count = PyArray_DIM((PyArrayObject *)of, 0);
  PyObject *found = PyArray_SimpleNew(1, &count, NPY_INT64);
  if (!found) return NULL;
  const npy_int64 *counts = PyArray_DATA((PyArrayObject *)of);
  const npy_bool *flags = PyArray_DATA((PyArrayObject *)more);
  npy_int64 *sums = PyArray_DATA((PyArrayObject *)found);
  for (npy_intp i = 0; i < count; ++i) sums[i] = counts[i] + (flags[i] != 0);
  return found;
}

/* both_true(flags, others): see array_form.both_true_in_python. */
static PyObject *both_true(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given[2];
  if (!PyArg_UnpackTuple(args, "both_true", 2, 2, given, given + 1)) return NULL;
  if (!is_of_lanes(given[0], NPY_BOOL, -1) || !is_of_lanes(given[1], NPY_BOOL, PyArray_DIM((PyArrayObject *)given[0], 0))) {
    PyErr_SetString(PyExc_TypeError, "expected two arrays of flags");
    return NULL;
  }
  const npy_bool *flags = PyArray_DATA((PyArrayObject *)given[0]), *others = PyArray_DATA((PyArrayObject *)given[1]);
  int found = 0;
  for (npy_intp i = 0, count = PyArray_DIM((PyArrayObject *)given[0], 0); i < count; ++i) found |= flags[i] && others[i];
  return PyBool_FromLong(found);
}

/* over(terminated, truncated, resetting): see autoreset.over_in_python. */
static PyObject *over(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given[3];
  if (!PyArg_UnpackTuple(args, "over", 3, 3, given, given + 1, given + 2)) return NULL;
  npy_intp count = PyArray_Check(given[0]) && PyArray_NDIM((PyArrayObject *)given[0]) ? PyArray_DIM((PyArrayObject *)given[0], 0) : 0;
  const npy_bool *flags[3] = {NULL};
  for (int i = 0; i < 3; ++i) {
    if (i == 2 && given[i] == Py_None) break;
    if (!is_of_lanes(given[i], NPY_BOOL, count)) {
      PyErr_SetString(PyExc_TypeError, "expected flags of lanes");
      return NULL;
    }
    flags[i] = PyArray_DATA((PyArrayObject *)given[i]);
  }
  npy_intp first = 0;
  while (first < count && !((flags[0][first] | flags[1][first]) && !(flags[2] && flags[2][first]))) ++first;
  if (first == count) Py_RETURN_NONE;
  PyObject *found = PyArray_SimpleNew(1, &count, NPY_BOOL);
  if (!found) return NULL;
  npy_bool *are_over = PyArray_DATA((PyArrayObject *)found);
  for (npy_intp i = 0; i < count; ++i) are_over[i] = (flags[0][i] | flags[1][i]) && !(flags[2] && flags[2][i]);
  return found;
}

/* Releases the GIL only for new memory: waiting for a thread that compresses to return it may take longer than to copy a
 * frame. */
static PyObject *put_row(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *number, *of, *what;
  if (!PyArg_UnpackTuple(args, "put_row", 3, 3, &of, &number, &what) || !check_arrays(of, what)) return NULL;
  PyArrayObject *rows = (PyArrayObject *)of, *array = (PyArrayObject *)what;
  Py_ssize_t row = PyLong_AsSsize_t(number);
  if (row == -1 && PyErr_Occurred()) return NULL;
  if (PyArray_NDIM(rows) < 1 || row < 0 || row >= PyArray_DIM(rows, 0)) Py_RETURN_FALSE;
  if (!PyArray_CHKFLAGS(rows, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE) ||
      PyDataType_REFCHK(PyArray_DESCR(rows))) /* memmove would not count references */
    Py_RETURN_FALSE;
  Py_ssize_t whole = PyArray_NBYTES(rows), size = whole / PyArray_DIM(rows, 0);
  uint8_t *to = PyArray_DATA(rows);
  clear_new_memory(to, to + row * size, size, to + whole);
  /* Only now, because another thread may have resized the array meanwhile. */
  if (!has_form_of(rows, 1, array) || !PyArray_IS_C_CONTIGUOUS(array)) Py_RETURN_FALSE;
  uint8_t *from = PyArray_DATA(array);
  if (from < to + whole && to < from + size)
    memmove(to + row * size, from, (size_t)size); /* a part of the same memory */
  else
    put_past_cache(to + row * size, from, size, whole);
  Py_RETURN_TRUE;
}

/* `[n]` int64 in one piece. */
static int is_index(PyObject *array) { return is_of_lanes(array, NPY_INT64, -1); }

/* How values of lanes are copied into rows: to one place, or each to a place of its own; 0: they are not made like these. */
enum { TOGETHER = 1, APART };

/* How the values of some lanes, None for all, can be copied into the rows at `at`. */
static int fit_lanes(PyArrayObject *rows, PyObject *at, PyObject *which, PyArrayObject *values) {
  if (PyArray_NDIM(rows) < 2 || !has_form_of(rows, 1, values)) return 0;
  Py_ssize_t lanes = PyArray_DIM(rows, 1), capacity = PyArray_DIM(rows, 0), count = lanes;
  if (!is_index(at) || PyArray_DIM((PyArrayObject *)at, 0) != lanes) return 0;
  if (!PyArray_CHKFLAGS(rows, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE) || !PyArray_IS_C_CONTIGUOUS(values) ||
      PyDataType_REFCHK(PyArray_DESCR(rows)) || lanes == 0)
    return 0;
  const npy_int64 *places = PyArray_DATA((PyArrayObject *)at), *chosen = NULL;
  if (which != Py_None) {
    if (!is_index(which)) return 0;
    chosen = PyArray_DATA((PyArrayObject *)which);
    count = PyArray_DIM((PyArrayObject *)which, 0);
  }
  int together = !chosen; /* all in one row: one copy */
  for (Py_ssize_t i = 0; i < count; ++i) {
    npy_int64 lane = chosen ? chosen[i] : i;
    if (lane < 0 || lane >= lanes || places[lane] < 0 || places[lane] >= capacity) return 0;
    together = together && places[lane] == places[0];
  }
  return together ? TOGETHER : APART;
}

/* Called before values are copied to one place that fit. Returns whether the GIL was released: then check again. */
static int make_room(PyArrayObject *rows, PyObject *at, PyArrayObject *values) {
  Py_ssize_t row = PyArray_NBYTES(values);
  uint8_t *first = PyArray_DATA(rows);
  const npy_int64 *places = PyArray_DATA((PyArrayObject *)at);
  return clear_new_memory(first, first + places[0] * row, row, first + PyArray_DIM(rows, 0) * row);
}

/* Copies values that fit. */
static void put_fitting(PyArrayObject *rows, PyObject *at, PyObject *which, PyArrayObject *values, int how) {
  const npy_int64 *places = PyArray_DATA((PyArrayObject *)at);
  size_t row = (size_t)PyArray_NBYTES(values);
  char *to = PyArray_BYTES(rows);
  const char *from = PyArray_BYTES(values);
  if (how == TOGETHER) {
    memmove(to + (size_t)places[0] * row, from, row);
    return;
  }
  const npy_int64 *chosen = which == Py_None ? NULL : PyArray_DATA((PyArrayObject *)which);
  size_t lanes = (size_t)PyArray_DIM(rows, 1), size = row / lanes;
  Py_ssize_t count = chosen ? PyArray_DIM((PyArrayObject *)which, 0) : (Py_ssize_t)lanes;
  for (Py_ssize_t i = 0; i < count; ++i) {
    size_t lane = (size_t)(chosen ? chosen[i] : i);
    memmove(to + ((size_t)places[lane] * lanes + lane) * size, from + lane * size, size);
  }
}

/* Copies the values of some lanes, each into the row of its own; returns whether they are made like the rows. Releases the
 * GIL only for new memory, as put_row does. */
static int copy_lanes(PyArrayObject *rows, PyObject *at, PyObject *which, PyArrayObject *values) {
  int how = fit_lanes(rows, at, which, values);
  if (how == TOGETHER && make_room(rows, at, values)) how = fit_lanes(rows, at, which, values); /* resized meanwhile? */
  if (how) put_fitting(rows, at, which, values, how);
  return how != 0;
}

static PyObject *put_lanes(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *of, *at, *which, *what;
  if (!PyArg_UnpackTuple(args, "put_lanes", 4, 4, &of, &at, &which, &what) || !check_arrays(of, what)) return NULL;
  return PyBool_FromLong(copy_lanes((PyArrayObject *)of, at, which, (PyArrayObject *)what));
}

static PyObject *array_name, *present_name; /* the attributes of a column in batch_columns.py */

static int put_array(PyObject *rows, PyObject *at, PyObject *which, PyObject *values) {
  return PyArray_Check(rows) && PyArray_Check(values) && copy_lanes((PyArrayObject *)rows, at, which, (PyArrayObject *)values);
}

/* Copies the values of a column, and their flags of presence if it has some. Returns its bytes of a lane; -1 if the column
 * is made otherwise, or has no flags though there is a mask; -2 after an error. Counts the columns of which every row has
 * a value. */
static Py_ssize_t put_column(PyObject *column, PyObject *values, PyObject *at, PyObject *which, PyObject *mask,
                             PyObject *every, Py_ssize_t *always) {
  PyObject *array = NULL, *present = NULL;
  Py_ssize_t found = -2;
  if ((array = PyObject_GetAttr(column, array_name)) && (present = PyObject_GetAttr(column, present_name))) {
    int is_copied = put_array(array, at, which, values);
    if (is_copied && present != Py_None)
      is_copied = put_array(present, at, which, mask == Py_None ? every : mask);
    else if (is_copied && (is_copied = mask == Py_None))
      ++*always;
    found = is_copied ? PyArray_NBYTES((PyArrayObject *)values) / PyArray_DIM((PyArrayObject *)values, 0) : -1;
  }
  Py_XDECREF(array);
  Py_XDECREF(present);
  return found;
}

/* Copies one column of a step, as put_column; -1 also if it is not known. */
static Py_ssize_t put_leaf(PyObject *columns, PyObject *leaf, PyObject *at, PyObject *which, PyObject *every,
                           Py_ssize_t *always) {
  if (!PyTuple_Check(leaf) || PyTuple_Size(leaf) != 3) {
    PyErr_SetString(PyExc_TypeError, "expected a key, values and a mask for each column");
    return -2;
  }
  PyObject *column = PyDict_GetItemWithError(columns, PyTuple_GetItem(leaf, 0));
  if (!column) return PyErr_Occurred() ? -2 : -1;
  Py_INCREF(column); /* another thread may run while memory is cleared */
  Py_ssize_t found = put_column(column, PyTuple_GetItem(leaf, 1), at, which, PyTuple_GetItem(leaf, 2), every, always);
  Py_DECREF(column);
  return found;
}

/* How many columns have a value in every row; -1 after an error. */
static Py_ssize_t count_always(PyObject *columns) {
  PyObject *key, *column;
  Py_ssize_t place = 0, count = 0;
  while (PyDict_Next(columns, &place, &key, &column)) {
    PyObject *present = PyObject_GetAttr(column, present_name);
    if (!present) return -1;
    count += present == Py_None;
    Py_DECREF(present);
  }
  return count;
}

/* put_leaves(columns, leaves, lanes, places, every): see batch_columns.put_leaves_in_python. */
static PyObject *put_leaves(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *columns, *leaves, *which, *at, *every;
  if (!PyArg_UnpackTuple(args, "put_leaves", 5, 5, &columns, &leaves, &which, &at, &every)) return NULL;
  Py_ssize_t count = PySequence_Size(leaves), always = 0, bytes = 0, all;
  if (count < 0) return NULL;
  if (!PyDict_Check(columns)) {
    PyErr_SetString(PyExc_TypeError, "expected a dict of columns");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *leaf = PySequence_GetItem(leaves, i);
    Py_ssize_t found = leaf ? put_leaf(columns, leaf, at, which, every, &always) : -2;
    Py_XDECREF(leaf);
    if (found < -1) return NULL;
    if (found < 0) return PyLong_FromLong(-1);
    bytes += found;
  }
  if (count == PyDict_Size(columns)) return PyLong_FromSsize_t(bytes);
  if ((all = count_always(columns)) < 0) return NULL;
  return PyLong_FromSsize_t(all == always ? bytes : -1);
}

#define TILE_BYTES 4096 /* of a row, so that the lines and pages of all lanes of a tile stay in the caches */
#define MOST_LANES 64   /* of a tile: as many places are written to in turn */

#define TURN(SIZE)                                                                           \
  for (size_t row = 0; row < rows; ++row, from += lanes * size)                              \
    for (size_t lane = 0; lane < count; ++lane)                                              \
      memcpy(to + (lane * rows + row) * (SIZE), from + lane * (SIZE), (SIZE));

/* Copies some lanes of `[rows, lanes, size]` as `[lanes, rows, size]`; sizes of numbers are known to the compiler. */
static void turn_tile(const char *from, char *to, size_t rows, size_t lanes, size_t size, size_t count) {
  switch (size) {
    case 1: TURN(1) return;
    case 4: TURN(4) return;
    case 8: TURN(8) return;
  }
  TURN(size)
}

static int is_turned(PyArrayObject *rows, PyArrayObject *lanes) {
  int rank = PyArray_NDIM(rows);
  if (rank < 2 || PyArray_NDIM(lanes) != rank || !PyArray_EquivTypes(PyArray_DESCR(rows), PyArray_DESCR(lanes))) return 0;
  for (int i = 2; i < rank; ++i)
    if (PyArray_DIM(rows, i) != PyArray_DIM(lanes, i)) return 0;
  return PyArray_DIM(lanes, 0) == PyArray_DIM(rows, 1) && PyArray_DIM(lanes, 1) <= PyArray_DIM(rows, 0) &&
         PyArray_IS_C_CONTIGUOUS(rows) && PyArray_CHKFLAGS(lanes, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE) &&
         !PyDataType_REFCHK(PyArray_DESCR(rows));
}

/* The rows of an array, and where they are copied to. */
typedef struct {
  const char *from;
  char *to;
  size_t rows, lanes, size; /* bytes of a value; 0: there is nothing to copy */
} Turned;

/* Reads a pair of arrays; 0 after an error. */
static int read_turned(PyObject *pair, Turned *found) {
  PyObject *of = PyTuple_Check(pair) && PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, 0) : NULL;
  PyObject *into = of ? PyTuple_GetItem(pair, 1) : NULL;
  if (!into) PyErr_SetString(PyExc_TypeError, "expected pairs of arrays");
  if (!into || !check_arrays(of, into)) return 0;
  PyArrayObject *rows = (PyArrayObject *)of, *lanes = (PyArrayObject *)into;
  if (!is_turned(rows, lanes)) {
    PyErr_SetString(PyExc_ValueError, "expected [rows, lanes, ...] and [lanes, rows or fewer, ...] of one dtype, in one piece");
    return 0;
  }
  found->from = PyArray_BYTES(rows), found->to = PyArray_BYTES(lanes);
  found->lanes = (size_t)PyArray_DIM(lanes, 0), found->rows = (size_t)PyArray_DIM(lanes, 1);
  found->size = PyArray_NBYTES(lanes) > 0 ? (size_t)PyArray_NBYTES(lanes) / found->lanes / found->rows : 0;
  return 1;
}

/* Copies the first rows of all lanes so that those of each lane are in one piece. */
static void turn_array(const Turned *each) {
  const size_t lanes = each->lanes, rows = each->rows, size = each->size;
  if (!size) return;
  size_t most = TILE_BYTES / size;
  most = most < 1 ? 1 : most > MOST_LANES ? MOST_LANES : most;
  for (size_t lane = 0; lane < lanes; lane += most)
    turn_tile(each->from + lane * size, each->to + lane * rows * size, rows, lanes, size, lanes - lane < most ? lanes - lane : most);
}

/* turn(pairs): see array_form.turn_in_python. Releases the GIL, once for all: each time, this thread may have to wait for it,
 * and another one for this thread. The tuples keep the arrays. */
static PyObject *turn(PyObject *self, PyObject *pairs) {
  (void)self;
  const Py_ssize_t count = PyTuple_Check(pairs) ? PyTuple_Size(pairs) : -1;
  if (count < 0) return PyErr_Format(PyExc_TypeError, "expected a tuple of pairs of arrays");
  Turned *all = calloc((size_t)count + 1, sizeof *all);
  if (!all) return PyErr_NoMemory();
  Py_ssize_t read = 0;
  while (read < count && read_turned(PyTuple_GetItem(pairs, read), all + read)) ++read;
  if (read == count) {
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; ++i) turn_array(all + i);
    Py_END_ALLOW_THREADS
  }
  free(all);
  if (read < count) return NULL;
  Py_RETURN_NONE;
}

static int prepare(PyObject *module) {
  (void)module;
  import_array1(-1);
  array_name = PyUnicode_InternFromString("array");
  present_name = PyUnicode_InternFromString("present");
  return array_name && present_name ? 0 : -1;
}

static PyMethodDef methods[] = {
    {"add_flags", add_flags, METH_VARARGS, "Return counts, one more where a flag is true."},
    {"any_true", any_true, METH_O, "Return whether one of an array of flags is true."},
    {"both_true", both_true, METH_VARARGS, "Return whether two arrays of flags have one that is true in both."},
    {"ends_of", ends_of, METH_VARARGS, "Return where the first rows of a log end episodes: rows, lanes, and how."},
    {"log_row", log_row, METH_VARARGS, "Copy a row of all lanes and note it in a log; return its bytes, or -1."},
    {"log_step", log_step, METH_VARARGS, "Log the results of a step if they have one of its forms; return whether it did."},
    {"copy_inside", copy_inside, METH_VARARGS, "Return a copy of values that are within bounds; None if they are not, or are left to NumPy."},
    {"step_and_log", step_and_log, METH_VARARGS, "Step environments and log the results; return these, or None if nothing was stepped."},
    {"is_alike", is_alike, METH_VARARGS, "Return whether an array has the dtype and the shape of an example."},
    {"over", over, METH_VARARGS, "Return which episodes a step has ended; None if it has ended none."},
    {"native_log", native_log, METH_VARARGS, "Return what other functions need to know of a log and of forms of steps."},
    {"masked", masked, METH_VARARGS, "Return the values and masks of columns of infos; None if they have another form."},
    {"put_row", put_row, METH_VARARGS, "Copy an array into a row; return False if it is not made like one."},
    {"put_lanes", put_lanes, METH_VARARGS, "Copy values of lanes into rows; return False if they are not made like these."},
    {"put_leaves", put_leaves, METH_VARARGS, "Copy a row; return its bytes of a lane, or -1 if NumPy must copy it."},
    {"turn", turn, METH_O, "Copy rows of lanes so that those of each lane are in one piece, in several arrays."},
    {"values", values, METH_VARARGS, "Return all values of a row, given its form; None if it is made otherwise."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_rows", "What row_form.py and array_form.py leave to C.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&module); }
