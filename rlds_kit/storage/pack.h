/* How pieces of columns are stored, for Python: pack.c */

#ifndef RLDS_KIT_STORAGE_PACK_H
#define RLDS_KIT_STORAGE_PACK_H

#include <Python.h>

#include "columns.h"

PyObject *spans_of(PyObject *self, PyObject *args);
PyObject *describe(PyObject *self, PyObject *columns);
PyObject *stored(PyObject *self, PyObject *args);

#endif
