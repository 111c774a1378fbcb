/* Arguments that are imported and checked against contracts, several in one call.
 *
 * Source: interchange._core.plans.Plan; _functions/accepts_arrays.py.  Accepted here are None, and
 * Arrays and ndarrays that meet their contracts.  Otherwise Python repeats the whole call, and
 * raises the error where a contract is not met. */
#include "contracts.h"

#include "errors.h"
#include "numpy.h"
#include "spec.h"

#define MOST_NAMES 32

typedef struct {
    int32_t axis;   /* below 0 it counts from the end */
    int64_t extent; /* [elements], or the number of a name */
} Axis;

/* A contract; `is_empty` where an argument has none. */
typedef struct {
    PyObject *dtypes;            /* a tuple */
    PyObject **choice;           /* its items, borrowed */
    Py_ssize_t dtype_count;      /* 0: any */
    uint8_t ndims[MOST_AXES + 1]; /* whether a shape may have so many axes */
    Axis *axes;                  /* fixed ones, then named ones */
    Py_ssize_t fixed_count, named_count;
    int32_t device_type, device_id; /* -1: any */
    uint32_t align;                 /* [bytes] */
    char order;                     /* 'C', 'F', 'A', or 0 */
    uint8_t is_empty, is_writable;
} Plan;

typedef struct {
    PyObject_HEAD
    PyObject *careful;
    Py_ssize_t count;
    Py_ssize_t names;
    Plan *plans;
} Checks;

static PyTypeObject *checks_type;

/* ---------------------------------------------------------------- checks */

static int is_ordered(const Plan *plan, const Array *self)
{
    if (plan->order == 0)
        return 1;
    return (plan->order != 'F' && is_dense(self, 1)) || (plan->order != 'C' && is_dense(self, 0));
}

static int has_type(const Plan *plan, const Array *self)
{
    for (Py_ssize_t i = 0; i < plan->dtype_count; i++)
        if (plan->choice[i] == self->dtype) /* equal types are the same object */
            return 1;
    return plan->dtype_count == 0;
}

static int has_extents(const Plan *plan, const Array *self, int64_t *bound)
{
    const Axis *axis = plan->axes;

    for (Py_ssize_t i = 0; i < plan->fixed_count; i++, axis++)
        if (self->dims[axis->axis < 0 ? axis->axis + self->ndim : axis->axis] != axis->extent)
            return 0;
    for (Py_ssize_t i = 0; i < plan->named_count; i++, axis++) {
        int64_t found = self->dims[axis->axis < 0 ? axis->axis + self->ndim : axis->axis];
        if (bound[axis->extent] < 0)
            bound[axis->extent] = found;
        else if (bound[axis->extent] != found)
            return 0;
    }
    return 1;
}

/* 0: it does not, or Python has to check.  `bound` holds the extents of names; -1: none yet. */
static int meets_contract(const Plan *plan, Array *self, int64_t *bound)
{
    int64_t flags;

    if (UNLIKELY(LOAD(self->dims) == NULL) && fill_dims(self) < 0) {
        if (!must_propagate())
            PyErr_Clear();
        return 0;
    }
    flags = LOAD(self->flags); /* final once `dims` are set */
    if (!plan->ndims[self->ndim] || !has_type(plan, self) || !has_extents(plan, self, bound))
        return 0;
    if (plan->device_type >= 0 && plan->device_type != self->device.device_type)
        return 0;
    if (plan->device_id >= 0 && plan->device_id != self->device.device_id)
        return 0;
    if (plan->is_writable && (flags == FLAGS_UNKNOWN || (flags & DLPACK_READ_ONLY)))
        return 0;
    if (plan->align > 1 && (self->device.device_type != DL_CPU ||
                            ((uintptr_t)self->ptr & (plan->align - 1)) != 0))
        return 0;
    return is_ordered(plan, self);
}

/* ---------------------------------------------------------------- arguments */

/* NULL without an exception: ask Python; with one: raise it. */
static PyObject *take(const Plan *plan, PyObject *x, int64_t *bound)
{
    PyObject *found;

    if (x == Py_None)
        return Py_NewRef(x);
    if (Py_TYPE(x) == core.array_type)
        found = Py_NewRef(x);
    else if (LIKELY(Py_TYPE(x) == LOAD(core.ndarray_type)))
        found = (PyObject *)read_ndarray(x);
    else
        return NULL;
    if (found != NULL && !plan->is_empty && !meets_contract(plan, (Array *)found, bound))
        Py_CLEAR(found);
    return found;
}

/* Python repeats the call, and raises where a contract is not met. */
static PyObject *ask_python(const Checks *self, PyObject *const *args, Py_ssize_t count)
{
    if (PyErr_Occurred())
        return NULL;
    if (self->careful == NULL) { /* cleared by the garbage collector */
        PyErr_SetString(PyExc_RuntimeError,
                        "the function that checks these arguments was garbage-collected");
        return NULL;
    }
    return call_with_keywords(self->careful, args, count, NULL);
}

static PyObject *check(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const Checks *self = (const Checks *)object;
    int64_t bound[MOST_NAMES];
    PyObject *found, *all = NULL;

    if (UNLIKELY(count != self->count))
        return ask_python(self, args, count);
    for (Py_ssize_t i = 0; i < self->names; i++)
        bound[i] = -1;
    if (count == 1) {
        found = take(self->plans, args[0], bound);
        return LIKELY(found != NULL) ? found : ask_python(self, args, 1);
    }
    all = PyTuple_New(count);
    for (Py_ssize_t i = 0; all != NULL && i < count; i++) {
        found = take(&self->plans[i], args[i], bound);
        if (UNLIKELY(found == NULL)) {
            Py_DECREF(all);
            return ask_python(self, args, count);
        }
        PyTuple_SetItem(all, i, found);
    }
    return all;
}

static PyMethodDef check_def = {"check", (PyCFunction)(void (*)(void))check, METH_FASTCALL, NULL};

/* ---------------------------------------------------------------- plans */

/* Pairs of an axis and a number, into room for them; -1 on error. */
static int read_axes(PyObject *pairs, Axis *out)
{
    Py_ssize_t count = PyTuple_Size(pairs);

    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *number;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "iO", &out[i].axis, &number))
            return -1;
        out[i].extent = PyLong_AsLongLong(number);
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_OverflowError))
                return -1;
            PyErr_Clear();
            out[i].extent = -1; /* no axis is that long */
        }
    }
    return 0;
}

/* The allowed numbers of axes: by a choice, and by a shape pattern. */
static int read_ndims(PyObject *choice, int least, int is_open, uint8_t *out)
{
    Py_ssize_t count = PyTuple_Size(choice);

    for (int ndim = 0; ndim <= MOST_AXES; ndim++)
        out[ndim] = least < 0 || ndim == least || (is_open && ndim > least);
    for (int ndim = 0; count > 0 && ndim <= MOST_AXES; ndim++) {
        int is_chosen = 0;
        for (Py_ssize_t i = 0; i < count; i++)
            is_chosen |= PyLong_AsLong(PyTuple_GetItem(choice, i)) == ndim;
        out[ndim] &= (uint8_t)is_chosen;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int read_plan(PyObject *given, Plan *out)
{
    PyObject *dtypes, *ndims, *fixed, *named;
    const char *order;
    int least, is_open, writable;

    out->is_empty = given == Py_None;
    if (out->is_empty)
        return 0;
    if (!PyArg_ParseTuple(given, "O!O!ipO!O!siipI", &PyTuple_Type, &dtypes, &PyTuple_Type, &ndims,
                          &least, &is_open, &PyTuple_Type, &fixed, &PyTuple_Type, &named, &order,
                          &out->device_type, &out->device_id, &writable, &out->align))
        return -1;
    out->order = order[0];
    out->is_writable = (uint8_t)writable;
    out->dtype_count = PyTuple_Size(dtypes);
    out->fixed_count = PyTuple_Size(fixed);
    out->named_count = PyTuple_Size(named);
    out->choice = PyMem_Calloc((size_t)out->dtype_count + 1, sizeof *out->choice);
    out->axes = PyMem_Calloc((size_t)(out->fixed_count + out->named_count) + 1, sizeof *out->axes);
    if (out->choice == NULL || out->axes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    out->dtypes = Py_NewRef(dtypes);
    for (Py_ssize_t i = 0; i < out->dtype_count; i++)
        out->choice[i] = PyTuple_GetItem(dtypes, i);
    if (read_axes(fixed, out->axes) < 0 || read_axes(named, out->axes + out->fixed_count) < 0)
        return -1;
    return read_ndims(ndims, least, is_open, out->ndims);
}

static int checks_traverse(PyObject *object, visitproc visit, void *arg)
{
    const Checks *self = (const Checks *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->careful);
    for (Py_ssize_t i = 0; self->plans != NULL && i < self->count; i++)
        Py_VISIT(self->plans[i].dtypes);
    return 0;
}

static int checks_clear(PyObject *object)
{
    Py_CLEAR(((Checks *)object)->careful);
    return 0;
}

static void checks_dealloc(PyObject *object)
{
    Checks *self = (Checks *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    for (Py_ssize_t i = 0; self->plans != NULL && i < self->count; i++) {
        Py_XDECREF(self->plans[i].dtypes);
        PyMem_Free(self->plans[i].choice);
        PyMem_Free(self->plans[i].axes);
    }
    PyMem_Free(self->plans);
    Py_XDECREF(self->careful);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyType_Slot checks_slots[] = {
    {Py_tp_dealloc, checks_dealloc},
    {Py_tp_traverse, checks_traverse},
    {Py_tp_clear, checks_clear},
    {Py_tp_doc, "Contracts that arguments are checked against."},
    {0, NULL},
};

static PyType_Spec checks_spec = {
    .name = "interchange._core._native._extension.Checks",
    .basicsize = sizeof(Checks),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = checks_slots,
};

int make_checks_type(void)
{
    checks_type = (PyTypeObject *)PyType_FromSpec(&checks_spec);
    return checks_type == NULL ? -1 : 0;
}

/* check_function(careful, plans, names) -> a function that calls `careful` where it has to */
static PyObject *check_function(PyObject *module, PyObject *args)
{
    PyObject *careful, *plans, *result = NULL;
    Py_ssize_t names;
    Checks *self;
    int failed = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!n", &careful, &PyTuple_Type, &plans, &names))
        return NULL;
    if (names > MOST_NAMES)
        return Py_NewRef(careful);
    self = PyObject_GC_New(Checks, checks_type);
    if (self == NULL)
        return NULL;
    self->careful = Py_NewRef(careful);
    self->count = PyTuple_Size(plans);
    self->names = names;
    self->plans = PyMem_Calloc((size_t)self->count + 1, sizeof *self->plans);
    PyObject_GC_Track(self);
    if (self->plans == NULL) {
        PyErr_NoMemory();
        failed = 1;
    }
    for (Py_ssize_t i = 0; !failed && i < self->count; i++)
        failed = read_plan(PyTuple_GetItem(plans, i), &self->plans[i]) < 0;
    if (!failed)
        result = PyCFunction_NewEx(&check_def, (PyObject *)self, NULL);
    Py_DECREF(self); /* the function has its own reference */
    return result;
}

PyMethodDef contracts_functions[] = {
    {"check_function", check_function, METH_VARARGS,
     "check_function(careful, plans, names): import arguments, and check their contracts."},
    {NULL, NULL, 0, NULL},
};
