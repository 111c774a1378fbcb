/* Pending work on the memory of an Array.
 *
 * Source: _streams/ordering.py.  An Array of a CUDA record keeps the entries of the record, from
 * which its pending work is made when it is first asked for. */
#include "work.h"

/* Replace the entries of a record by pending work; returns the current work, a new reference. */
static PyObject *take_work(Array *self, PyObject *record, PyObject *work)
{
    PyObject *before = work, *found;

    BEGIN_LOCKED(self);
    if (self->work == record) { /* else another thread was first */
        before = record;
        self->work_is_record = 0;
        STORE(self->work, work);
    }
    found = Py_XNewRef(self->work);
    END_LOCKED();
    Py_DECREF(record);
    Py_DECREF(before);
    return found;
}

PyObject *array_work(Array *self)
{
    PyObject *kept, *owner, *work;
    int is_record;

    if (LIKELY(LOAD(self->work) == NULL))
        return NULL;
    BEGIN_LOCKED(self);
    kept = Py_XNewRef(self->work);
    is_record = self->work_is_record;
    END_LOCKED();
    if (!is_record || kept == NULL)
        return kept;
    owner = get_field((PyObject *)self, &self->owner);
    work = PyObject_CallFunctionObjArgs(core.publish, (PyObject *)self, owner, kept, NULL);
    Py_XDECREF(owner);
    return work == NULL ? (Py_DECREF(kept), NULL) : take_work(self, kept, work);
}

void set_array_work(Array *self, PyObject *work)
{
    PyObject *before;

    BEGIN_LOCKED(self);
    self->work_is_record = 0;
    before = self->work;
    STORE(self->work, work);
    END_LOCKED();
    Py_XDECREF(before);
}
