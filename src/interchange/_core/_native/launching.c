/* Repeated launches of a kernel, with arguments of the same types and layouts as before.
 *
 * Source: CUDA driver API, cuLaunchKernel; interchange.cuda.kernel, `_run_as_before`, which this
 * does in one step.  Where anything differs (a type, layout or device, work on another stream, a
 * number out of range, a stream of another GPU, a default stream while another stream captures,
 * an error of the driver), nothing is launched, and Python does it.  No address of an array is
 * followed. */
#include "launching.h"

#include "errors.h"
#include "parameters.h"
#include "spec.h"

#define MOST_PLANS 16 /* of a kernel; further ones are launched by Python */
#define ALIGNMENT 7 /* mask of addresses: a multiple of 8 is aligned for every type */
#define LEGACY_DEFAULT_STREAM 1
#define PER_THREAD_DEFAULT_STREAM 2 /* a different stream in each thread */

typedef int (*LaunchKernel)(void *function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int shared_bytes, void *stream,
                            void **parameters, void **extra);
typedef int (*IsCapturing)(void *stream, int *status);
typedef int (*GetCurrent)(void **context);

/* Properties of an argument. */
typedef struct {
    PyObject *type;  /* of a number, exactly; NULL of an array */
    Number number;   /* what is passed for it */
    PyObject *dtype; /* of an array, as is all below */
    DLDevice device;
    int32_t ndim;
    int in_c_order, is_readonly, misaligned;
} Argument;

typedef struct {
    PyObject *loaded;  /* dict: ordinal -> (handle of the function, its context, ...) */
    PyObject *ordinal; /* of the GPU */
    Py_ssize_t count;
    Argument arguments[];
} Plan;

/* It cannot be part of a reference cycle, and needs no garbage collection. */
typedef struct {
    PyObject_HEAD
    LaunchKernel call;
    IsCapturing capturing;
    GetCurrent current; /* NULL where there is one GPU */
    PyObject *streams;  /* dict: handle -> ordinal, of streams whose GPU is known */
    PyTypeObject *pending, *on_consumer, *ordered; /* classes of pending work */
    int count;
    Plan *plans[MOST_PLANS];
} Launcher;

typedef struct {
    unsigned int grid[3], block[3], shared_bytes;
    PyObject *stream; /* borrowed */
    void *handle;
} Sizes;

static PyTypeObject *launcher_type;
static PyObject *n_origin;

/* ---------------------------------------------------------------- arrays */

static int readonly_of(const Array *array)
{
    int64_t flags = LOAD(array->flags);

    return flags == FLAGS_UNKNOWN ? -1 : (flags & DLPACK_READ_ONLY) != 0;
}

/* Whether `dims` are set; 0 without an exception: ask Python. */
static int has_fields(Array *array)
{
    if (LIKELY(LOAD(array->dims) != NULL))
        return 1;
    if (LOAD(array->spec) == NULL)
        return 0;
    if (fill_dims(array) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

/* Whether pending work is on the stream of the launch. */
static int is_ordered(const Launcher *self, PyObject *work, const Sizes *sizes)
{
    PyObject *found;
    int is_same;

    if (Py_TYPE(work) == self->ordered)
        return 1;
    if (Py_TYPE(work) == self->on_consumer) {
        found = PyObject_GetAttr(work, n_origin);
        Py_XDECREF(found);
        if (found != Py_None)
            return 0;
    } else if (Py_TYPE(work) != self->pending) {
        return 0;
    }
    found = PyObject_GetAttr(work, core.n_stream);
    is_same = found != NULL && (found == sizes->stream || (PyLong_CheckExact(found) &&
                                                           PyLong_AsVoidPtr(found) == sizes->handle));
    Py_XDECREF(found);
    return is_same;
}

/* As interchange.cuda.consumer.is_settled, which Python calls where this returns 0. */
static int is_settled(const Launcher *self, Array *array, const Sizes *sizes)
{
    PyObject *work = NULL;
    int answer;

    BEGIN_LOCKED(array);
    if (array->work != NULL && !array->work_is_record)
        work = Py_NewRef(array->work);
    END_LOCKED();
    answer = work != NULL && is_ordered(self, work, sizes);
    Py_XDECREF(work);
    return answer;
}

static int is_like(const Argument *wanted, Array *array)
{
    return has_fields(array) && array->dtype == wanted->dtype && array->ndim == wanted->ndim &&
           array->device.device_type == wanted->device.device_type &&
           array->device.device_id == wanted->device.device_id &&
           readonly_of(array) == wanted->is_readonly &&
           (int)((uintptr_t)array->ptr & ALIGNMENT) == wanted->misaligned &&
           is_dense(array, 1) == wanted->in_c_order;
}

/* ---------------------------------------------------------------- launching */

static unsigned int size_at(PyObject *sizes, Py_ssize_t place)
{
    PyObject *found = PyTuple_GetItem(sizes, place);

    return found == NULL ? 0 : (unsigned int)PyLong_AsUnsignedLong(found);
}

/* Read an interchange.cuda.configuration.Configuration. */
static int read_sizes(PyObject *configuration, Sizes *out)
{
    PyObject *grid = PyTuple_GetItem(configuration, 0), *block = PyTuple_GetItem(configuration, 1);

    out->stream = PyTuple_GetItem(configuration, 2);
    if (grid == NULL || block == NULL || out->stream == NULL || !PyLong_CheckExact(out->stream))
        return 0;
    for (int i = 0; i < 3; i++) {
        out->grid[i] = size_at(grid, i);
        out->block[i] = size_at(block, i);
    }
    out->shared_bytes = size_at(configuration, 4);
    out->handle = PyLong_AsVoidPtr(out->stream);
    return !PyErr_Occurred() && (uintptr_t)out->handle != PER_THREAD_DEFAULT_STREAM;
}

/* Whether the arguments match a plan; if so, fill the parameters. */
static int pass_all(const Launcher *self, const Plan *plan, PyObject *arguments, const Sizes *sizes,
                    Parameters *into)
{
    into->count = 0;
    if (PyTuple_Size(arguments) != plan->count)
        return 0;
    for (Py_ssize_t i = 0; i < plan->count; i++) {
        const Argument *wanted = &plan->arguments[i];
        PyObject *value = PyTuple_GetItem(arguments, i);
        if (wanted->type != NULL) {
            if ((PyObject *)Py_TYPE(value) != wanted->type ||
                !pass_number(&wanted->number, value, into))
                return 0;
        } else {
            if (Py_TYPE(value) != core.array_type || !is_like(wanted, (Array *)value) ||
                !is_settled(self, (Array *)value, sizes) || !pass_array((Array *)value, into))
                return 0;
        }
    }
    return 1;
}

static void *handle_at(PyObject *loaded, Py_ssize_t place)
{
    PyObject *number = PyTuple_GetItem(loaded, place);

    return number == NULL ? NULL : PyLong_AsVoidPtr(number);
}

/* Whether the stream is of the GPU of a plan; a default stream is of the current context. */
static int is_there(const Launcher *self, const Plan *plan, PyObject *loaded, const Sizes *sizes)
{
    void *context = NULL;
    PyObject *ordinal;
    int is_same;

    if (self->current == NULL)
        return 1;
    if ((uintptr_t)sizes->handle <= LEGACY_DEFAULT_STREAM)
        return self->current(&context) == 0 && context == handle_at(loaded, 1);
    ordinal = dict_item(self->streams, sizes->stream);
    is_same = ordinal != NULL && PyLong_AsLong(ordinal) == PyLong_AsLong(plan->ordinal);
    drop_item(ordinal);
    return is_same;
}

/* Whether a launch would end the capture of another stream (DLP-STREAM-8). */
static int is_disturbing(const Launcher *self, const Sizes *sizes)
{
    int status = 0;

    return (uintptr_t)sizes->handle <= LEGACY_DEFAULT_STREAM &&
           (self->capturing(sizes->handle, &status) != 0 || status != 0);
}

/* The loaded function of a plan; NULL where the stream does not match. */
static void *function_of(const Launcher *self, const Plan *plan, const Sizes *sizes)
{
    PyObject *found = dict_item(plan->loaded, plan->ordinal);
    void *function = NULL;

    if (found != NULL && is_there(self, plan, found, sizes) && !is_disturbing(self, sizes))
        function = handle_at(found, 0);

    drop_item(found);
    return function;
}

/* launch(configuration, arguments) -> whether the kernel was launched; if not, nothing happened. */
static PyObject *launch(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    Launcher *self = (Launcher *)object;
    LaunchKernel call = self->call;
    void *function = NULL;
    int is_done = 0, plans = LOAD(self->count);
    Parameters parameters;
    Sizes sizes;

    if (count != 2 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "launch(configuration, arguments)");
        return NULL;
    }
    if (LIKELY(read_sizes(args[0], &sizes)))
        for (int i = 0; i < plans && function == NULL && !PyErr_Occurred(); i++)
            if (pass_all(self, self->plans[i], args[1], &sizes, &parameters))
                function = function_of(self, self->plans[i], &sizes);
    if (LIKELY(function != NULL)) {
        Py_BEGIN_ALLOW_THREADS
        is_done = !call(function, sizes.grid[0], sizes.grid[1], sizes.grid[2], sizes.block[0],
                        sizes.block[1], sizes.block[2], sizes.shared_bytes, sizes.handle,
                        parameters.places, NULL);
        Py_END_ALLOW_THREADS
    }
    if (must_propagate()) /* an attribute was read */
        return NULL;
    PyErr_Clear(); /* Python gets it again, and raises */
    return PyBool_FromLong(is_done);
}

/* ---------------------------------------------------------------- plans */

static void free_plan(Plan *plan)
{
    Py_XDECREF(plan->loaded);
    Py_XDECREF(plan->ordinal);
    for (Py_ssize_t i = 0; i < plan->count; i++) {
        Py_XDECREF(plan->arguments[i].type);
        Py_XDECREF(plan->arguments[i].dtype);
    }
    PyMem_Free(plan);
}

/* The number of parameters of an array, or of a number (type, kind, size); -1 on error. */
static int read_argument(PyObject *given, Argument *out)
{
    Array *array = (Array *)given;
    const char *kind;

    if (Py_TYPE(given) != core.array_type) {
        if (!PyArg_ParseTuple(given, "Osi", &out->type, &kind, &out->number.itemsize)) {
            out->type = NULL;
            return -1;
        }
        Py_INCREF(out->type);
        out->number.kind = kind[0];
        return 1;
    }
    if (fill_dims(array) < 0)
        return -1;
    out->dtype = Py_NewRef(array->dtype);
    out->device = array->device;
    out->ndim = array->ndim;
    out->in_c_order = is_dense(array, 1);
    out->is_readonly = readonly_of(array);
    out->misaligned = (int)((uintptr_t)array->ptr & ALIGNMENT);
    return 1 + 2 * array->ndim;
}

/* Publish a plan; 0 where the table is full. */
static int add_plan(Launcher *self, Plan *plan)
{
    int has_room;

    BEGIN_LOCKED(self);
    has_room = self->count < MOST_PLANS;
    if (has_room) {
        self->plans[self->count] = plan;
        STORE(self->count, self->count + 1);
    }
    END_LOCKED();
    return has_room;
}

/* learn(loaded, ordinal, arguments) -> whether a plan for such arguments was added. */
static PyObject *learn(PyObject *object, PyObject *args)
{
    Launcher *self = (Launcher *)object;
    PyObject *loaded, *ordinal, *arguments;
    Py_ssize_t i, count;
    int slots = 0, more = 0, is_added;
    Plan *plan;

    if (!PyArg_ParseTuple(args, "O!OO!", &PyDict_Type, &loaded, &ordinal, &PyTuple_Type, &arguments))
        return NULL;
    count = PyTuple_Size(arguments);
    plan = PyMem_Calloc(1, sizeof *plan + (size_t)count * sizeof *plan->arguments);
    if (plan == NULL)
        return PyErr_NoMemory();
    plan->loaded = Py_NewRef(loaded);
    plan->ordinal = Py_NewRef(ordinal);
    plan->count = count;
    for (i = 0; i < count && more >= 0 && slots <= MOST_SLOTS; i++) {
        more = read_argument(PyTuple_GetItem(arguments, i), &plan->arguments[i]);
        slots += more;
    }
    is_added = more >= 0 && slots <= MOST_SLOTS && add_plan(self, plan);
    if (!is_added)
        free_plan(plan);
    return more < 0 ? NULL : PyBool_FromLong(is_added);
}

static void launcher_dealloc(PyObject *object)
{
    Launcher *self = (Launcher *)object;
    PyTypeObject *type = Py_TYPE(object);

    while (self->count > 0)
        free_plan(self->plans[--self->count]);
    Py_DECREF(self->streams);
    Py_DECREF(self->pending);
    Py_DECREF(self->on_consumer);
    Py_DECREF(self->ordered);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef launcher_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL,
     "launch(configuration, arguments): whether it was launched; if not, nothing happened."},
    {"learn", learn, METH_VARARGS,
     "learn(loaded, ordinal, arguments): whether a plan for such launches was added."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_methods, launcher_methods},
    {Py_tp_doc, "Repeats launches of a kernel."},
    {0, NULL},
};

static PyType_Spec launcher_spec = {
    .name = "interchange._core._native._extension.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = launcher_slots,
};

/* Create the type of launchers at first use. */
static int make_type(void)
{
    PyObject *name, *type;

    if (LOAD(launcher_type) != NULL)
        return 0;
    name = PyUnicode_InternFromString("origin");
    type = PyType_FromSpec(&launcher_spec);
    if (name == NULL || type == NULL) {
        Py_XDECREF(name);
        Py_XDECREF(type);
        return -1;
    }
    (void)set_once(&n_origin, name);
    (void)set_once((PyObject **)&launcher_type, type);
    return 0;
}

/* make_launcher((launch, capturing, current), streams, pending, on_consumer, ordered): addresses of
 * cuLaunchKernel, cuStreamIsCapturing and, where there are several GPUs, cuCtxGetCurrent, else 0; a
 * dict, handle -> ordinal; classes of work. */
static PyObject *make_launcher(PyObject *module, PyObject *args)
{
    unsigned long long address, capturing, current;
    PyObject *streams, *pending, *on_consumer, *ordered;
    Launcher *self;

    (void)module;
    if (!PyArg_ParseTuple(args, "(KKK)O!O!O!O!", &address, &capturing, &current, &PyDict_Type,
                          &streams, &PyType_Type, &pending, &PyType_Type, &on_consumer,
                          &PyType_Type, &ordered))
        return NULL;
    if (make_type() < 0)
        return NULL;
    self = PyObject_New(Launcher, launcher_type);
    if (self == NULL)
        return NULL;
    *(void **)&self->capturing = (void *)(uintptr_t)capturing;
    *(void **)&self->current = (void *)(uintptr_t)current;
    self->streams = Py_NewRef(streams);
    *(void **)&self->call = (void *)(uintptr_t)address;
    self->pending = (PyTypeObject *)Py_NewRef(pending);
    self->on_consumer = (PyTypeObject *)Py_NewRef(on_consumer);
    self->ordered = (PyTypeObject *)Py_NewRef(ordered);
    self->count = 0;
    return (PyObject *)self;
}

PyMethodDef launching_functions[] = {
    {"make_launcher", make_launcher, METH_VARARGS,
     "make_launcher((launch, capturing, current), streams, pending, on_consumer, ordered)"},
    {NULL, NULL, 0, NULL},
};
