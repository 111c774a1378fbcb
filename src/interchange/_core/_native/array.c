/* The struct of an Array: how it is made and destroyed, and what owns its memory.
 *
 * Source: interchange._core._tensor.Tensor; CPython, Supporting Cyclic Garbage Collection. */
#include "array.h"

#include "owners.h"

#if defined(__SANITIZE_ADDRESS__) || defined(Py_GIL_DISABLED)
#define MOST_FREE 0 /* use after free must be detected; threads share no blocks */
#else
#define MOST_FREE 16 /* blocks kept for reuse by new Arrays */
#endif

static Array *free_blocks[MOST_FREE + 1];
static int free_count;

static void set_nothing(Array *self)
{
    self->ptr = NULL;
    self->spec = self->dtype = self->owner = self->keep = NULL;
    self->library = self->work = self->weakrefs = NULL;
    self->managed = NULL;
    self->dims = NULL;
    self->flags = 0;
    self->ndim = self->itemsize = 0;
    self->element = (DLDataType){0};
    self->device = (DLDevice){0};
    self->owns = OWNS_NOTHING;
    self->work_is_record = 0;
}

Array *new_array(PyTypeObject *type)
{
    Array *self;

    if (LIKELY(type == core.array_type)) {
        if (LIKELY(free_count > 0)) {
            self = free_blocks[--free_count];
            PyObject_Init((PyObject *)self, type);
        } else {
            self = PyObject_GC_New(Array, type);
            if (self == NULL)
                return NULL;
        }
        set_nothing(self);
        PyObject_GC_Track(self);
        return self;
    }
    if (!PyType_IsSubtype(type, core.array_type)) {
        PyErr_Format(PyExc_TypeError, "%R is no Array type", type);
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return (Array *)allocate(type, 0); /* all zero, and tracked */
}

int64_t *room_for_dims(Array *self, int32_t ndim)
{
    int64_t *room = self->inline_dims;

    if (ndim > INLINE_AXES) {
        room = PyMem_Malloc(3 * sizeof(int64_t) * (size_t)ndim);
        if (room == NULL)
            PyErr_NoMemory();
    }
    return room;
}

int reserve_dims(Array *self, int32_t ndim)
{
    self->dims = room_for_dims(self, ndim);
    if (UNLIKELY(self->dims == NULL))
        return -1;
    self->ndim = ndim;
    return 0;
}

int array_traverse(PyObject *object, visitproc visit, void *arg)
{
    Array *self = (Array *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->owner);
    Py_VISIT(self->keep);
    Py_VISIT(self->library);
    Py_VISIT(self->work);
    return 0;
}

int array_clear(PyObject *object)
{
    Array *self = (Array *)object;

    Py_CLEAR(self->owner);
    Py_CLEAR(self->keep);
    Py_CLEAR(self->library);
    Py_CLEAR(self->work);
    return 0;
}

void array_dealloc(PyObject *object)
{
    Array *self = (Array *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject *keep, *owner;
    void *managed;
    uint8_t owns;

    PyObject_GC_UnTrack(object);
    if (UNLIKELY(self->weakrefs != NULL))
        PyObject_ClearWeakRefs(object);
    Py_XDECREF(self->spec);
    Py_XDECREF(self->dtype);
    if (UNLIKELY(self->library != NULL))
        Py_CLEAR(self->library);
    if (UNLIKELY(self->work != NULL))
        Py_CLEAR(self->work);
    if (self->dims != self->inline_dims)
        PyMem_Free(self->dims);
    keep = self->keep, owner = self->owner, managed = self->managed, owns = self->owns;
    if (LIKELY(type == core.array_type)) {
        if (LIKELY(free_count < MOST_FREE))
            free_blocks[free_count++] = self;
        else
            PyObject_GC_Del(object);
    } else {
        ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    }
    Py_DECREF(type);
    if (managed != NULL && !LIKELY(release_if_shared(managed, owns)))
        release_managed(managed, owns);
    decref_deferred(keep);
    decref_deferred(owner);
}

/* ---------------------------------------------------------------- ownership */

int share_managed(Array *self)
{
    PyObject *keep = new_managed(), *before = NULL;

    if (keep == NULL)
        return -1;
    BEGIN_LOCKED(self);
    if (self->managed != NULL) { /* else another thread was first */
        ((Managed *)keep)->managed = self->managed;
        ((Managed *)keep)->owns = self->owns;
        before = self->keep;
        self->keep = keep;
        STORE(self->managed, NULL);
        keep = NULL;
    }
    END_LOCKED();
    Py_XDECREF(before);
    Py_XDECREF(keep);
    return 0;
}

PyObject *array_keep(Array *self)
{
    PyObject *keep;

    if (LOAD(self->managed) != NULL && share_managed(self) < 0)
        return NULL;
    keep = get_field((PyObject *)self, &self->keep);
    return keep == NULL ? Py_NewRef(Py_None) : keep;
}

void release_now(Array *self)
{
    uint8_t owns = self->owns;
    void *managed;
    PyObject *keep;

    BEGIN_LOCKED(self);
    managed = self->managed;
    STORE(self->managed, NULL);
    keep = Py_XNewRef(self->keep);
    END_LOCKED();
    if (managed == NULL && keep != NULL && Py_TYPE(keep) == core.managed_type) {
        owns = ((Managed *)keep)->owns;
        managed = EXCHANGE(((Managed *)keep)->managed, NULL);
    }
    Py_XDECREF(keep);
    release_managed(managed, owns);
}

/* ---------------------------------------------------------------- layout */

int is_dense(const Array *self, int from_last)
{
    const int64_t *shape = self->dims, *strides = self->dims + self->ndim;
    uint64_t step = 1;

    for (int32_t i = 0; i < self->ndim; i++)
        if (shape[i] == 0) /* any strides are contiguous */
            return 1;
    for (int32_t i = 0; i < self->ndim; i++) {
        int32_t axis = from_last ? self->ndim - 1 - i : i;
        if (shape[axis] != 1 && (uint64_t)strides[axis] != step)
            return 0;
        step *= (uint64_t)shape[axis];
    }
    return 1;
}
