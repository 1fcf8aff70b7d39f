/* copy_inside: copies values that are within bounds. See bounds.py. */

#include "rows.h"

/* Whether each of `count` values is within the bounds, which a NaN never is. There are `period` bounds, one for each of so
 * many values that follow each other. */
#define INSIDE(TYPE)                                                                                            \
  {                                                                                                             \
    const TYPE *all = values, *least = low, *most = high;                                                       \
    int inside = 1;                                                                                             \
    for (Py_ssize_t i = 0, at = 0; i < count; ++i, at = at + 1 == period ? 0 : at + 1)                          \
      inside &= (!least || all[i] >= least[at]) & (!most || all[i] <= most[at]);                                \
    return inside;                                                                                              \
  }

static int inside_of_type(int type, const void *values, Py_ssize_t count, const void *low, const void *high,
                          Py_ssize_t period) {
  switch (type) {
    case NPY_INT64: INSIDE(npy_int64)
    case NPY_FLOAT32: INSIDE(npy_float32)
    default: INSIDE(npy_float64)
  }
}

/* Whether an array is in one piece, and has values of this type as the processor has them. */
static int is_plain(PyArrayObject *array, int type) {
  return PyArray_TYPE(array) == type && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISNOTSWAPPED(array) && PyArray_ISALIGNED(array);
}

/* Reads a bound of values: where it is, and how many numbers it has; 0 if it does not fit them. */
static int read_bound(PyObject *limit, PyArrayObject *values, const void **bound, Py_ssize_t *period) {
  if (limit == Py_None) return 1;
  if (!PyArray_Check(limit)) return 0;
  PyArrayObject *array = (PyArrayObject *)limit;
  const int first = PyArray_NDIM(values) - PyArray_NDIM(array);
  if (!is_plain(array, PyArray_TYPE(values)) || first < 0 || (*period && *period != PyArray_SIZE(array))) return 0;
  for (int i = 0; i < PyArray_NDIM(array); ++i)
    if (PyArray_DIM(array, i) != PyArray_DIM(values, i + first)) return 0;
  *bound = PyArray_DATA(array), *period = PyArray_SIZE(array);
  return 1;
}

/* A copy of a plain array. `PyArray_NewCopy` takes ten times as long between two steps, whose code drives NumPy's out of the
 * caches. */
static PyObject *copy_of_plain(PyArrayObject *values) {
  PyObject *copy = PyArray_SimpleNew(PyArray_NDIM(values), PyArray_DIMS(values), PyArray_TYPE(values));
  if (copy) memcpy(PyArray_DATA((PyArrayObject *)copy), PyArray_DATA(values), (size_t)PyArray_NBYTES(values));
  return copy;
}

PyObject *copy_of_inside(PyObject *bounds, PyObject *given) {
  PyObject *example = PyTuple_Check(bounds) && PyTuple_Size(bounds) == 3 ? PyTuple_GetItem(bounds, 0) : NULL;
  if (!example || !PyArray_Check(example)) {
    PyErr_SetString(PyExc_TypeError, "expected an example, and two bounds or None");
    return NULL;
  }
  if (!PyArray_CheckExact(given) || !has_form_of((PyArrayObject *)given, 0, (PyArrayObject *)example)) return Py_NewRef(Py_None);
  PyArrayObject *values = (PyArrayObject *)given;
  const int type = PyArray_TYPE(values);
  const void *low = NULL, *high = NULL;
  Py_ssize_t period = 0;
  if ((type == NPY_INT64 || type == NPY_FLOAT32 || type == NPY_FLOAT64) && is_plain(values, type) &&
      read_bound(PyTuple_GetItem(bounds, 1), values, &low, &period) && read_bound(PyTuple_GetItem(bounds, 2), values, &high, &period) &&
      inside_of_type(type, PyArray_DATA(values), PyArray_SIZE(values), low, high, period))
    return copy_of_plain(values);
  return Py_NewRef(Py_None);
}

/* copy_inside(bounds, values): see bounds.copy_inside_in_python. None also where that must be used. */
PyObject *copy_inside(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *bounds, *given;
  return PyArg_UnpackTuple(args, "copy_inside", 2, 2, &bounds, &given) ? copy_of_inside(bounds, given) : NULL;
}
