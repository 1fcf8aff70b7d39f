/* values: the values of a row of a known form. masked: those of infos of lanes, with their masks. See row_form.py. */

#include "rows.h"

#include <stdlib.h>

/* ---- Objects with references to them ----------------------------------------------------------------- */

static int make_room_for_object(Objects *objects) {
  const int is_first = !objects->room, are_few = objects->all == objects->few;
  PyObject **all = is_first ? objects->few : realloc(are_few ? NULL : objects->all, 2 * (size_t)objects->room * sizeof *all);
  if (!all) {
    PyErr_NoMemory();
    return 0;
  }
  if (!is_first && are_few) memcpy(all, objects->few, sizeof objects->few);
  objects->all = all, objects->room = is_first ? FEW : 2 * objects->room;
  return 1;
}

int add_object(Objects *objects, PyObject *object) {
  if (objects->count == objects->room && !make_room_for_object(objects)) return 0;
  objects->all[objects->count++] = Py_NewRef(object);
  return 1;
}

void release_objects(Objects *objects) {
  for (Py_ssize_t i = 0; i < objects->count; ++i) Py_DECREF(objects->all[i]);
  if (objects->all != objects->few) free(objects->all);
}

/* ---- Values of rows ---------------------------------------------------------------------------------- */

static int is_same_name(PyObject *key, PyObject *name) {
  return key == name || (PyUnicode_CheckExact(key) && PyUnicode_CheckExact(name) && PyUnicode_Compare(key, name) == 0);
}

static int fits_64_bits(PyObject *number) {
  int overflow;
  PyLong_AsLongLongAndOverflow(number, &overflow);
  return !overflow;
}

/* Adds the values below `value` to `items`. Returns 1; 0 if `value` does not have the form `form`; -1 after an error.
 * No Python code runs meanwhile, so the containers cannot change and borrowed references stay valid: names are
 * compared only if they are exact str, and examples have no dtypes with names, whose comparison could run Python code. */
static int take(PyObject *form, PyObject *value, Objects *items) {
  if (PyTuple_Check(form)) {
    PyObject *key, *below;
    Py_ssize_t place = 0, at = 0;
    if (!PyDict_CheckExact(value) || 2 * PyDict_Size(value) != PyTuple_Size(form)) return 0;
    while (PyDict_Next(value, &place, &key, &below)) {
      PyObject *name = PyTuple_GetItem(form, at), *further = name ? PyTuple_GetItem(form, at + 1) : NULL;
      if (!further) return -1;
      if (!is_same_name(key, name)) return 0;
      int taken = take(further, below, items);
      if (taken != 1) return taken;
      at += 2;
    }
    return 1;
  }
  if (PyBytes_Check(form)) { /* the value that is recorded for an empty dict */
    if (!PyDict_CheckExact(value) || PyDict_Size(value)) return 0;
    value = form;
  } else if (PyType_Check(form)) {
    if (Py_TYPE(value) != (PyTypeObject *)form) return 0;
    if (PyLong_CheckExact(value) && !fits_64_bits(value)) return 0;
  } else if (!PyArray_CheckExact(value) || !PyArray_Check(form) ||
             !has_form_of((PyArrayObject *)value, 0, (PyArrayObject *)form)) {
    return 0;
  }
  return add_object(items, value) ? 1 : -1;
}

PyObject *values(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *form, *row, *found = NULL;
  Objects items = {0};
  if (!PyArg_UnpackTuple(args, "values", 2, 2, &form, &row)) return NULL;
  const int taken = take(form, row, &items);
  if (!taken) found = Py_NewRef(Py_None);
  if (taken > 0) found = PyList_New(items.count);
  for (Py_ssize_t i = 0; taken > 0 && found && i < items.count; ++i) PyList_SetItem(found, i, Py_NewRef(items.all[i]));
  release_objects(&items);
  return found;
}

/* ---- Columns of infos -------------------------------------------------------------------------------- */

enum { VALUE, ALL_TRUE, ALIKE }; /* what an array is: a value, or a mask that must be true everywhere, or like the others */
enum { EVERY, SOME, OTHERS };    /* which lanes have a column: all, those with a true mask of these that are alike, or others */

/* The mask that those which must be alike are, of the arrays of a row; NULL if there is none. Sets `is_right` if the masks
 * are as they must be: those that are alike are true for some lanes, but not for all. */
static PyArrayObject *mask_of_some(const Objects *items, const char *kinds, int *is_right) {
  PyArrayObject *first = NULL;
  *is_right = 0;
  for (Py_ssize_t i = 0; i < items->count; ++i) {
    if (kinds[i] == VALUE) continue;
    if (!is_of_lanes(items->all[i], NPY_BOOL, -1)) return NULL;
    PyArrayObject *mask = (PyArrayObject *)items->all[i];
    const char *flags = PyArray_BYTES(mask);
    size_t lanes = (size_t)PyArray_DIM(mask, 0), same = 1;
    while (same < lanes && !flags[same] == !flags[0]) ++same;
    if (kinds[i] == ALL_TRUE ? lanes && (same < lanes || !flags[0]) : same >= lanes) return NULL;
    if (kinds[i] == ALL_TRUE) continue;
    if (first && (lanes != (size_t)PyArray_DIM(first, 0) || memcmp(flags, PyArray_BYTES(first), lanes))) return NULL;
    first = first ? first : mask;
  }
  *is_right = 1;
  return first;
}

static PyObject *inverted(PyArrayObject *mask) {
  npy_intp lanes = PyArray_DIM(mask, 0);
  PyObject *found = PyArray_SimpleNew(1, &lanes, NPY_BOOL);
  if (!found) return NULL;
  const npy_bool *from = PyArray_DATA(mask);
  npy_bool *to = PyArray_DATA((PyArrayObject *)found);
  for (npy_intp i = 0; i < lanes; ++i) to[i] = !from[i];
  return found;
}

int read_masked_form(PyObject *given, MaskedForm *form) {
  if (!PyTuple_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "expected the form of infos");
    return 0;
  }
  return PyArg_ParseTuple(given, "Oy#y#O", &form->form, &form->kinds, &form->arrays, &form->columns, &form->count, &form->empty);
}

/* Adds the values and the masks of columns, given the arrays of infos, and the mask of some lanes or NULL; 0 after an error. */
static int add_columns(const MaskedForm *form, const Objects *items, PyArrayObject *some, Objects *values, Objects *masks) {
  PyObject *others = NULL;
  int is_added = 1;
  for (Py_ssize_t i = 0; is_added && i + 1 < form->count; i += 2) {
    const Py_ssize_t at = (unsigned char)form->columns[i];
    const int which = form->columns[i + 1];
    if (which == OTHERS && !others && !(others = inverted(some))) return 0;
    PyObject *mask = which == EVERY ? Py_None : which == OTHERS ? others : (PyObject *)some;
    is_added = add_object(values, at < items->count ? items->all[at] : form->empty) && add_object(masks, mask);
  }
  Py_XDECREF(others);
  return is_added;
}

int take_columns(const MaskedForm *form, PyObject *infos, Objects *values, Objects *masks) {
  Objects items = {0};
  int is_right = 0, taken = take(form->form, infos, &items);
  if (taken == 1 && items.count != form->arrays) taken = 0;
  PyArrayObject *some = taken == 1 ? mask_of_some(&items, form->kinds, &is_right) : NULL;
  for (Py_ssize_t i = 1; is_right && i < form->count; i += 2) is_right = form->columns[i] == EVERY || some;
  if (taken == 1) taken = is_right ? add_columns(form, &items, some, values, masks) ? 1 : -1 : 0;
  release_objects(&items);
  return taken;
}

/* A new tuple; NULL after an error. */
static PyObject *tuple_of(const Objects *objects) {
  PyObject *found = PyTuple_New(objects->count);
  for (Py_ssize_t i = 0; found && i < objects->count; ++i) PyTuple_SetItem(found, i, Py_NewRef(objects->all[i]));
  return found;
}

/* masked(form, infos): see row_form.MaskedForm, which `form` is. */
PyObject *masked(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given, *infos, *parts[2] = {NULL, NULL}, *found = NULL;
  MaskedForm form;
  Objects values = {0}, masks = {0};
  if (!PyArg_UnpackTuple(args, "masked", 2, 2, &given, &infos) || !read_masked_form(given, &form)) return NULL;
  const int taken = take_columns(&form, infos, &values, &masks);
  int has_masks = 0;
  for (Py_ssize_t i = 0; i < masks.count; ++i) has_masks |= masks.all[i] != Py_None;
  if (!has_masks) release_objects(&masks), masks = (Objects){0};
  if (!taken) found = Py_NewRef(Py_None);
  if (taken > 0 && (parts[0] = tuple_of(&values)) && (parts[1] = tuple_of(&masks))) found = PyTuple_Pack(2, parts[0], parts[1]);
  for (int i = 0; i < 2; ++i) Py_XDECREF(parts[i]);
  release_objects(&values);
  release_objects(&masks);
  return found;
}
