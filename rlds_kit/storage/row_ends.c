/* ends_of: finds where episodes end in the rows of a log. See row_ends.py. */

#include "rows.h"

/* Adds a number to a list; 0 after an error. */
static int append_number(PyObject *list, npy_intp number) {
  PyObject *object = PyLong_FromSsize_t(number);
  const int is_added = object && PyList_Append(list, object) == 0;
  Py_XDECREF(object);
  return is_added;
}

/* ends_of(ends, count): see row_ends.ends_of_in_python. It keeps the GIL: most are zeros, of which eight are seen at once. */
PyObject *ends_of(PyObject *self, PyObject *args) {
  (void)self;
  PyArrayObject *array;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O!n", &PyArray_Type, &array, &count)) return NULL;
  if (PyArray_NDIM(array) != 2 || PyArray_TYPE(array) != NPY_UINT8 || !PyArray_IS_C_CONTIGUOUS(array) || count < 0 ||
      count > PyArray_DIM(array, 0))
    return PyErr_Format(PyExc_ValueError, "expected [rows, lanes] of uint8, in one piece, and some of its rows, got %zd", count);
  const uint8_t *ends = PyArray_DATA(array);
  const npy_intp lanes = PyArray_DIM(array, 1), size = count * lanes;
  PyObject *found = Py_BuildValue("([][][])");
  for (npy_intp at = 0; found && at < size; ++at) {
    uint64_t eight;
    if (size - at >= 8 && (memcpy(&eight, ends + at, 8), !eight)) {
      at += 7;
      continue;
    }
    if (ends[at] && !(append_number(PyTuple_GetItem(found, 0), at / lanes) && append_number(PyTuple_GetItem(found, 1), at % lanes) &&
                      append_number(PyTuple_GetItem(found, 2), ends[at])))
      Py_CLEAR(found);
  }
  return found;
}
