/* What _rows.c and row_log.c share. */

#ifndef RLDS_KIT_STORAGE_ROWS_H
#define RLDS_KIT_STORAGE_ROWS_H

#include "filters.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL rlds_kit_rows_array_api
#ifndef RLDS_KIT_IMPORTS_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* Whether an array, from its dimension `first` on, has the dtype and the shape of another. */
static inline int has_form_of(PyArrayObject *array, int first, PyArrayObject *other) {
  int rank = PyArray_NDIM(other);
  if (PyArray_NDIM(array) != rank + first) return 0;
  for (int i = 0; i < rank; ++i)
    if (PyArray_DIM(array, i + first) != PyArray_DIM(other, i)) return 0;
  return PyArray_DESCR(array) == PyArray_DESCR(other) || PyArray_EquivTypes(PyArray_DESCR(array), PyArray_DESCR(other));
}

/* Whether an array has one value for each of so many lanes, of any number if that is -1, as the processor has them, in one
 * piece. */
static inline int is_of_lanes(PyObject *object, int type, npy_intp lanes) {
  if (!PyArray_Check(object)) return 0;
  PyArrayObject *array = (PyArrayObject *)object;
  return PyArray_NDIM(array) == 1 && (lanes < 0 || PyArray_DIM(array, 0) == lanes) && PyArray_TYPE(array) == type &&
         PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISNOTSWAPPED(array) && PyArray_ISALIGNED(array);
}

/* How values of lanes are copied into rows: to one place, or each to a place of its own; 0: they are not made like these. */
enum { TOGETHER = 1, APART };

/* How the values of some lanes, None for all, can be copied into the rows at `at`. */
int fit_lanes(PyArrayObject *rows, PyObject *at, PyObject *which, PyArrayObject *values);

/* Called before values are copied to one place that fit. Returns whether the GIL was released: then check again. */
int make_room(PyArrayObject *rows, PyObject *at, PyArrayObject *values);

/* Copies values that fit. */
void put_fitting(PyArrayObject *rows, PyObject *at, PyObject *which, PyArrayObject *values, int how);

PyObject *log_row(PyObject *self, PyObject *args);

#endif
