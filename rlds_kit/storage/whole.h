/* Digests and records of episodes, for Python: whole.c */

#ifndef RLDS_KIT_STORAGE_WHOLE_H
#define RLDS_KIT_STORAGE_WHOLE_H

#include <Python.h>

PyObject *digest(PyObject *self, PyObject *args);
PyObject *leaf_hashes(PyObject *self, PyObject *args);
PyObject *part_records(PyObject *self, PyObject *args);

#endif
