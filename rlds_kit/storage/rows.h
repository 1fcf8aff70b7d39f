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

/* The values and the masks of the columns of infos, a new tuple of two tuples, the second one empty if there are no masks; or
 * None if they do not have the form. */
PyObject *columns_of_infos(PyObject *masked_form, PyObject *infos);

PyObject *log_row(PyObject *self, PyObject *args);
PyObject *log_step(PyObject *self, PyObject *args);
PyObject *native_log(PyObject *self, PyObject *args);

#endif
