/* What _rows.c, bounds.c, row_ends.c, row_form.c and row_log.c share. */

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

/* Objects with references to them; all zeros: none. It must not be moved. */
enum { FEW = 24 };
typedef struct {
  PyObject **all, *few[FEW];
  Py_ssize_t count, room;
} Objects;

/* Adds an object; 0 after an error. */
int add_object(Objects *objects, PyObject *object);
void release_objects(Objects *objects);

/* The form of infos: see row_form.MaskedForm. What it has is borrowed. */
typedef struct {
  PyObject *form, *empty;
  const char *kinds, *columns;
  Py_ssize_t arrays, count; /* of `kinds` and `columns` */
} MaskedForm;

/* Reads a form; 0 after an error. */
int read_masked_form(PyObject *given, MaskedForm *form);

/* Adds the values and the masks, None for all lanes, of the columns of infos. Returns 1; 0 if they do not have the form; -1
 * after an error. */
int take_columns(const MaskedForm *form, PyObject *infos, Objects *values, Objects *masks);

/* A copy of values that are within bounds; None if they are not, or are left to NumPy; NULL after an error. See bounds.py. */
PyObject *copy_of_inside(PyObject *bounds, PyObject *values);

PyObject *copy_inside(PyObject *self, PyObject *args);
PyObject *ends_of(PyObject *self, PyObject *args);
PyObject *log_row(PyObject *self, PyObject *args);
PyObject *log_step(PyObject *self, PyObject *args);
PyObject *masked(PyObject *self, PyObject *args);
PyObject *native_log(PyObject *self, PyObject *args);
PyObject *step_and_log(PyObject *self, PyObject *args);
PyObject *values(PyObject *self, PyObject *args);

#endif
