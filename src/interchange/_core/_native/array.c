/* The Array itself: what it says of its memory, and how it lives and dies.
 *
 * Source: interchange._core.abc.Tensor; CPython, Supporting Cyclic Garbage Collection.  The type is
 * the public `interchange.Array`: the methods of the Python class are put on it (types.c), since
 * an instance of a Python subclass costs three times as much to make and to drop. */
#include "core.h"

#if defined(__SANITIZE_ADDRESS__) || defined(Py_GIL_DISABLED)
#define MOST_FREE 0 /* what is used after it was freed shall be found; threads share no blocks */
#else
#define MOST_FREE 16 /* blocks kept for the next Arrays */
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

static int array_traverse(PyObject *object, visitproc visit, void *arg)
{
    Array *self = (Array *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->owner);
    Py_VISIT(self->keep);
    Py_VISIT(self->library);
    Py_VISIT(self->work);
    return 0;
}

static int array_clear(PyObject *object)
{
    Array *self = (Array *)object;

    Py_CLEAR(self->owner);
    Py_CLEAR(self->keep);
    Py_CLEAR(self->library);
    Py_CLEAR(self->work);
    return 0;
}

static void array_dealloc(PyObject *object)
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
    if (managed != NULL && !(owns == OWNS_TORCH && LIKELY(let_go_of_shared(managed))))
        delete_managed(managed, owns);
    let_go(keep);
    let_go(owner);
}

/* ---------------------------------------------------------------- what it says */

PyObject *array_spec(Array *self)
{
    PyObject *found;

    if (LOAD(self->spec) != NULL)
        return self->spec;
    if (LOAD(self->dims) != NULL)
        return spec_from_dims(self);
    found = PyObject_CallMethod((PyObject *)self, "_describe", NULL); /* redescribes it */
    Py_XDECREF(found);
    if (found != NULL && LOAD(self->spec) == NULL)
        PyErr_SetString(PyExc_SystemError, "an Array was not described");
    return found == NULL ? NULL : self->spec;
}

/* Let an object own what the Array owns itself, so that others can own it, too. */
static int share_managed(Array *self)
{
    PyObject *keep = new_managed(), *before = NULL;

    if (keep == NULL)
        return -1;
    BEGIN_LOCKED(self);
    if (self->managed != NULL) { /* no other thread was first */
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

static PyObject *tuple_of(const int64_t *numbers, int32_t count)
{
    PyObject *result = PyTuple_New(count);
    int32_t i;

    for (i = 0; result != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        PyTuple_SetItem(result, i, number);
    }
    return result;
}

static PyObject *of_spec(Array *self, PyObject *name)
{
    PyObject *spec = array_spec(self);

    return spec == NULL ? NULL : PyObject_GetAttr(spec, name);
}

static PyObject *get_shape(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL)
        return tuple_of(self->dims, self->ndim);
    return of_spec(self, core.n_shape);
}

static PyObject *get_strides(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL)
        return tuple_of(self->dims + self->ndim, self->ndim);
    return of_spec(self, core.n_strides);
}

static PyObject *get_dtype(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    return LOAD(self->dtype) != NULL ? Py_NewRef(self->dtype) : of_spec(self, core.n_dtype);
}

static PyObject *get_device(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL &&
        self->device.device_type == DL_CPU)
        return Py_NewRef(core.cpu);
    return of_spec(self, core.n_device);
}

static PyObject *get_ptr(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) == NULL && array_spec(self) == NULL)
        return NULL;
    return PyLong_FromVoidPtr(self->ptr);
}

static PyObject *get_spec(PyObject *object, void *unused)
{
    (void)unused;
    return Py_XNewRef(array_spec((Array *)object));
}

static PyObject *get_known(PyObject *object, void *unused)
{
    Array *self = (Array *)object;
    PyObject *spec = LOAD(self->spec);

    (void)unused;
    if (spec == NULL && LOAD(self->dims) != NULL && self->device.device_type != DL_CPU)
        return Py_XNewRef(array_spec(self)); /* what is not known is on the host */
    return Py_NewRef(spec == NULL ? Py_None : spec);
}

static PyObject *get_flags(PyObject *object, void *unused)
{
    int64_t flags = LOAD(((Array *)object)->flags);

    (void)unused;
    return flags == FLAGS_UNKNOWN ? Py_NewRef(Py_None) : PyLong_FromLongLong(flags);
}

static int read_flags(PyObject *value, int64_t *out)
{
    if (value == Py_None) {
        *out = FLAGS_UNKNOWN;
        return 0;
    }
    *out = value == NULL ? -1 : PyLong_AsLongLong(value);
    if (*out < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "flags are None, or DLPack's bits");
    return *out < 0 ? -1 : 0;
}

static int set_flags(PyObject *object, PyObject *value, void *unused)
{
    int64_t flags;

    (void)unused;
    if (read_flags(value, &flags) < 0)
        return -1;
    STORE(((Array *)object)->flags, flags);
    return 0;
}

static PyObject *get_owner(PyObject *object, void *unused)
{
    PyObject *owner = get_field(object, &((Array *)object)->owner);

    (void)unused;
    return owner == NULL ? Py_NewRef(Py_None) : owner;
}

static int set_owner(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    set_field(object, &((Array *)object)->owner, Py_XNewRef(value));
    return 0;
}

static PyObject *get_keepalive(PyObject *object, void *unused)
{
    (void)unused;
    return array_keep((Array *)object);
}

static int set_keepalive(PyObject *object, PyObject *value, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_keepalive cannot be deleted");
        return -1;
    }
    if (LOAD(self->managed) != NULL && share_managed(self) < 0)
        return -1; /* what is owned here is given back with what refers to it */
    set_field(object, &self->keep, Py_NewRef(value));
    return 0;
}

static PyObject *get_work(PyObject *object, void *unused)
{
    PyObject *work = array_work((Array *)object);

    (void)unused;
    if (work == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_AttributeError, "_pending_work");
    return work;
}

static int set_work(PyObject *object, PyObject *value, void *unused)
{
    Array *self = (Array *)object;
    PyObject *before;

    (void)unused;
    BEGIN_LOCKED(self);
    self->work_is_record = 0;
    before = self->work;
    STORE(self->work, Py_XNewRef(value));
    END_LOCKED();
    Py_XDECREF(before);
    return 0;
}

static PyGetSetDef array_getters[] = {
    {"shape", get_shape, NULL, "Extent of each axis [elements].", NULL},
    {"strides", get_strides, NULL, "Step along each axis [elements]; may be negative or zero.",
     NULL},
    {"dtype", get_dtype, NULL, "Element type.", NULL},
    {"device", get_device, NULL, "Where the memory is.", NULL},
    {"ptr", get_ptr, NULL,
     "Address of the first element, 0 for an empty array; a handle on devices with handles.",
     NULL},
    {"_spec", get_spec, NULL, NULL, NULL},
    {"_known", get_known, NULL, NULL, NULL},
    {"_flags", get_flags, set_flags, NULL, NULL},
    {"_owner", get_owner, set_owner, NULL, NULL},
    {"_keepalive", get_keepalive, set_keepalive, NULL, NULL},
    {"_pending_work", get_work, set_work, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef array_members[] = {
    {"_library", T_OBJECT_EX, offsetof(Array, library), 0, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef array_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Return a fresh capsule of the memory, as the standard describes."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nReturn device type and id."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_traverse, array_traverse},
    {Py_tp_clear, array_clear},
    {Py_tp_getset, array_getters},
    {Py_tp_members, array_members},
    {Py_tp_methods, array_methods},
    {0, NULL},
};

static PyType_Spec array_type_spec = {
    .name = "interchange.Array",
    .basicsize = sizeof(Array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = array_slots,
};

int make_array_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&array_type_spec);

    if (type == NULL)
        return -1;
    core.array_type = (PyTypeObject *)type;
    if (PyObject_SetAttrString(type, "__name__", core.n_array) < 0) /* errors name it so */
        return -1;
    return PyModule_AddObjectRef(module, "Array", type);
}
