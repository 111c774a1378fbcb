/* Repeated launches of a kernel, with arguments of the same types and layouts as before.
 *
 * Source: CUDA driver API, cuLaunchKernel; interchange.cuda.kernel, which does all of this in Python.
 * A launch on the CPU runs in the calling thread.  For one on a GPU, arrays of other libraries are
 * ordered by launch_order.c.  Where anything differs (a type, layout or device, work of an Array on
 * another stream, a number out of range, a stream of another GPU, a default stream while another
 * stream captures, an error of the driver), nothing is launched, and Python does it.  No address of an
 * array is followed. */
#include "launching.h"

#include "errors.h"
#include "launch_arguments.h"
#include "launch_on_host.h"
#include "launch_order.h"

#include <string.h>

#define MOST_PLANS 16 /* of a kernel; further ones are launched by Python */
#define LEGACY_DEFAULT_STREAM 1
#define PER_THREAD_DEFAULT_STREAM 2 /* a different stream in each thread */

typedef int (*LaunchKernel)(void *function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int shared_bytes, void *stream,
                            void **parameters, void **extra);
typedef int (*GetCurrent)(void **context);

typedef struct {
    PyObject *loaded;  /* dict: ordinal -> (handle of the function, its context, ...); of a kernel for
                          the CPU f(place), which raises the error of a launch */
    PyObject *ordinal; /* of the GPU; of a kernel for the CPU what keeps its code alive */
    HostCode host;
    Py_ssize_t count;
    Argument arguments[];
} Plan;

/* It cannot be part of a reference cycle, and needs no garbage collection. */
typedef struct {
    PyObject_HEAD
    LaunchKernel call;  /* NULL until `connect` */
    GetCurrent current; /* NULL where there is one GPU */
    OrderCalls order;
    PyObject *streams;  /* dict: handle -> ordinal, of streams whose GPU is known */
    PyTypeObject *pending, *on_consumer, *ordered; /* classes of pending work */
    PyTypeObject *host_stream;
    int count;
    Plan *plans[MOST_PLANS];
} Launcher;

typedef struct {
    unsigned int grid[3], block[3], shared_bytes;
    PyObject *stream, *given; /* borrowed */
    void *handle;
} Sizes;

static PyTypeObject *launcher_type;
static PyObject *n_origin;

/* ---------------------------------------------------------------- pending work */

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

/* ---------------------------------------------------------------- arguments */

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
    out->given = PyTuple_GetItem(configuration, 3);
    if (grid == NULL || block == NULL || out->given == NULL || !PyLong_CheckExact(out->stream))
        return 0;
    for (int i = 0; i < 3; i++) {
        out->grid[i] = size_at(grid, i);
        out->block[i] = size_at(block, i);
    }
    out->shared_bytes = size_at(configuration, 4);
    out->handle = PyLong_AsVoidPtr(out->stream);
    return !PyErr_Occurred() && (uintptr_t)out->handle != PER_THREAD_DEFAULT_STREAM;
}

/* Whether an array matches and is ready, or its producer's stream can be waited for. */
static int pass_given(const Launcher *self, const Argument *wanted, PyObject *value, Given *given,
                      const Sizes *sizes, Producers *producers, Parameters *into)
{
    Array *array = array_given(value, wanted->device.device_type, given);

    if (array == NULL || !is_like(wanted, array))
        return 0;
    if (wanted->device.device_type != DL_CPU &&
        !(given->is_foreign ? add_producer(producers, given->stream, sizes->handle)
                            : is_settled(self, array, sizes)))
        return 0;
    return pass_array(array, into);
}

/* Whether the arguments match a plan; if so, fill the parameters. */
static int pass_all(const Launcher *self, const Plan *plan, PyObject *arguments, Given *given,
                    const Sizes *sizes, Producers *producers, Parameters *into)
{
    into->count = 0;
    *producers = (Producers){.count = 0};
    if (PyTuple_Size(arguments) != plan->count)
        return 0;
    for (Py_ssize_t i = 0; i < plan->count; i++) {
        const Argument *wanted = &plan->arguments[i];
        PyObject *value = PyTuple_GetItem(arguments, i);
        if (wanted->type != NULL) {
            if ((PyObject *)Py_TYPE(value) != wanted->type ||
                !pass_number(&wanted->number, value, into))
                return 0;
        } else if (!pass_given(self, wanted, value, &given[i], sizes, producers, into)) {
            return 0;
        }
    }
    return 1;
}

/* ---------------------------------------------------------------- launching on a GPU */

static void *handle_at(PyObject *loaded, Py_ssize_t place)
{
    PyObject *number = PyTuple_GetItem(loaded, place);

    return number == NULL ? NULL : PyLong_AsVoidPtr(number);
}

/* Whether the stream is of the GPU of a plan; a default stream is of the current context. */
static int is_there(const Launcher *self, const Plan *plan, void *home, const Sizes *sizes)
{
    void *context = NULL;
    PyObject *ordinal;
    int is_same;

    if (self->current == NULL)
        return 1;
    if ((uintptr_t)sizes->handle <= LEGACY_DEFAULT_STREAM)
        return self->current(&context) == 0 && context == home;
    ordinal = dict_item(self->streams, sizes->stream);
    is_same = ordinal != NULL && PyLong_AsLong(ordinal) == PyLong_AsLong(plan->ordinal);
    drop_item(ordinal);
    return is_same;
}

/* Whether a launch would be captured, or end the capture of another stream (DLP-STREAM-8). */
static int is_captured(const Launcher *self, const Sizes *sizes)
{
    int status = 0;

    return self->order.is_capturing(sizes->handle, &status) != 0 || status != 0;
}

/* Whether the context of a plan is current, which the legacy default streams of producers belong to. */
static int is_at_home(const Launcher *self, const Producers *producers, void *home)
{
    void *context = NULL;

    for (int i = 0; i < producers->count; i++)
        if ((uintptr_t)producers->streams[i] <= LEGACY_DEFAULT_STREAM)
            return self->order.current(&context) == 0 && context == home;
    return 1;
}

/* The loaded function of a plan, with an event if streams are to be ordered; NULL: ask Python. */
static void *function_of(const Launcher *self, const Plan *plan, const Sizes *sizes,
                         Producers *producers)
{
    PyObject *found = dict_item(plan->loaded, plan->ordinal);
    void *function = NULL, *home;

    own_found(found);
    home = found == NULL ? NULL : handle_at(found, 1);
    if (home != NULL && is_there(self, plan, home, sizes) && !is_captured(self, sizes) &&
        is_at_home(self, producers, home) &&
        take_event(&self->order, producers, home, sizes->handle))
        function = handle_at(found, 0);
    Py_XDECREF(found);
    return function;
}

enum { NOT_LAUNCHED, LAUNCHED, LAUNCHED_UNORDERED };

static int enqueue(const Launcher *self, const Plan *plan, const Sizes *sizes, Producers *producers,
                   Parameters *parameters)
{
    void *function = function_of(self, plan, sizes, producers);
    int done = NOT_LAUNCHED;

    if (LIKELY(function != NULL)) {
        Py_BEGIN_ALLOW_THREADS
        if (!order_before(&self->order, producers, sizes->handle) &&
            !self->call(function, sizes->grid[0], sizes->grid[1], sizes->grid[2], sizes->block[0],
                        sizes->block[1], sizes->block[2], sizes->shared_bytes, sizes->handle,
                        parameters->places, NULL))
            done = order_after(&self->order, producers, sizes->handle) ? LAUNCHED_UNORDERED
                                                                       : LAUNCHED;
        Py_END_ALLOW_THREADS
    }
    give_event(producers);
    return done;
}

/* ---------------------------------------------------------------- launching on the CPU */

/* Whether no stream has to be waited for, and one thread runs all blocks. */
static int is_simple(const Launcher *self, const Plan *plan, const Sizes *sizes)
{
    return (sizes->given == Py_None || Py_TYPE(sizes->given) == self->host_stream) &&
           is_small(&plan->host, sizes->grid, sizes->block, sizes->shared_bytes);
}

/* Run a kernel; -1 with an exception. */
static int run(const Plan *plan, const Sizes *sizes, Parameters *parameters)
{
    PyObject *done;
    int place = run_on_host(&plan->host, sizes->grid, sizes->block, sizes->shared_bytes,
                            parameters->places);

    if (LIKELY(place == 0))
        return LAUNCHED;
    if (PyErr_Occurred())
        return -1;
    done = PyObject_CallFunction(plan->loaded, "i", place);
    Py_XDECREF(done);
    return done == NULL ? -1 : LAUNCHED;
}

/* ---------------------------------------------------------------- all launches */

/* -1 with an exception of a kernel that ran. */
static int repeat(const Launcher *self, PyObject *arguments, Given *given, const Sizes *sizes)
{
    int plans = LOAD(self->count), done = NOT_LAUNCHED;
    Producers producers;
    Parameters parameters;

    for (int i = 0; i < plans && done == NOT_LAUNCHED && !PyErr_Occurred(); i++) {
        const Plan *plan = self->plans[i];
        if (plan->host.run != NULL && !is_simple(self, plan, sizes))
            continue;
        if (!pass_all(self, plan, arguments, given, sizes, &producers, &parameters))
            continue;
        done = plan->host.run != NULL ? run(plan, sizes, &parameters)
                                      : enqueue(self, plan, sizes, &producers, &parameters);
    }
    return done;
}

/* launch(configuration, arguments) -> 1 if the kernel was launched; 2 if so, and streams of producers
 * could not be made to wait for it; 0 if nothing happened. */
static PyObject *launch(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    Given given[MOST_SLOTS];
    Py_ssize_t arguments = count == 2 && PyTuple_Check(args[1]) ? PyTuple_Size(args[1]) : 0;
    int done = NOT_LAUNCHED;
    Sizes sizes;

    if (count != 2 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "launch(configuration, arguments)");
        return NULL;
    }
    if (arguments > MOST_SLOTS)
        return PyLong_FromLong(NOT_LAUNCHED);
    for (Py_ssize_t i = 0; i < arguments; i++)
        given[i] = (Given){.array = NULL};
    if (LIKELY(read_sizes(args[0], &sizes)))
        done = repeat((Launcher *)object, args[1], given, &sizes);
    drop_given(given, arguments);
    if (done < 0 || must_propagate()) /* a kernel failed, or an attribute was read */
        return NULL;
    PyErr_Clear(); /* Python gets it again, and raises */
    return PyLong_FromLong(done);
}

/* ---------------------------------------------------------------- plans */

static void free_plan(Plan *plan)
{
    Py_XDECREF(plan->loaded);
    Py_XDECREF(plan->ordinal);
    for (Py_ssize_t i = 0; i < plan->count; i++)
        drop_argument(&plan->arguments[i]);
    PyMem_Free(plan);
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

/* Whether there is such a plan: arguments of another class were learned. */
static int has_plan(const Launcher *self, const Plan *plan)
{
    for (int i = 0; i < LOAD(self->count); i++) {
        const Plan *known = self->plans[i];
        if (known->loaded == plan->loaded && known->ordinal == plan->ordinal &&
            known->host.run == plan->host.run && known->count == plan->count &&
            memcmp(known->arguments, plan->arguments,
                   (size_t)plan->count * sizeof *plan->arguments) == 0)
            return 1;
    }
    return 0;
}

/* A plan whose arguments are not read; `code` is None of a kernel for a GPU. */
static Plan *new_plan(PyObject *loaded, PyObject *ordinal, PyObject *code, Py_ssize_t count)
{
    Plan *plan = PyMem_Calloc(1, sizeof *plan + (size_t)count * sizeof *plan->arguments);

    if (plan == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    plan->loaded = Py_NewRef(loaded);
    plan->ordinal = Py_NewRef(ordinal);
    if (code == Py_None || read_host_code(code, &plan->host) == 0) {
        plan->count = count;
        return plan;
    }
    free_plan(plan);
    return NULL;
}

/* learn((loaded, ordinal, code), arguments) -> whether there are plans. */
static PyObject *learn(PyObject *object, PyObject *args)
{
    Launcher *self = (Launcher *)object;
    PyObject *loaded, *ordinal, *code, *arguments;
    Py_ssize_t i, count;
    int slots = 0, more = 0, is_added = 0;
    Plan *plan;

    if (!PyArg_ParseTuple(args, "(OOO)O!", &loaded, &ordinal, &code, &PyTuple_Type, &arguments))
        return NULL;
    if (code == Py_None && (!PyDict_Check(loaded) || self->call == NULL)) {
        PyErr_SetString(PyExc_TypeError, "the launcher is not connected to a driver");
        return NULL;
    }
    count = PyTuple_Size(arguments);
    plan = new_plan(loaded, ordinal, code, count);
    if (plan == NULL)
        return NULL;
    for (i = 0; i < count && more >= 0 && slots <= MOST_SLOTS; i++) {
        more = read_argument(PyTuple_GetItem(arguments, i), &plan->arguments[i]);
        slots += more;
    }
    if (more >= 0 && slots <= MOST_SLOTS && !has_plan(self, plan))
        is_added = add_plan(self, plan);
    if (!is_added)
        free_plan(plan);
    return more < 0 ? NULL : PyBool_FromLong(LOAD(self->count) > 0);
}

/* connect((launch, current, capturing, record, wait, synchronize), several, events, ready): addresses
 * of functions of the driver, whether there are several GPUs, and dicts of `OrderCalls`. */
static PyObject *connect(PyObject *object, PyObject *args)
{
    Launcher *self = (Launcher *)object;
    unsigned long long found[6];
    PyObject *events, *ready;
    int several;

    if (!PyArg_ParseTuple(args, "(KKKKKK)pO!O!", &found[0], &found[1], &found[2], &found[3],
                          &found[4], &found[5], &several, &PyDict_Type, &events, &PyDict_Type,
                          &ready))
        return NULL;
    BEGIN_LOCKED(self);
    if (self->call == NULL) {
        *(void **)&self->order.current = (void *)(uintptr_t)found[1];
        self->current = several ? self->order.current : NULL;
        *(void **)&self->order.is_capturing = (void *)(uintptr_t)found[2];
        *(void **)&self->order.record = (void *)(uintptr_t)found[3];
        *(void **)&self->order.wait = (void *)(uintptr_t)found[4];
        *(void **)&self->order.synchronize = (void *)(uintptr_t)found[5];
        self->order.events = Py_NewRef(events);
        self->order.ready = Py_NewRef(ready);
        *(void **)&self->call = (void *)(uintptr_t)found[0];
    }
    END_LOCKED();
    return Py_NewRef(Py_None);
}

static void launcher_dealloc(PyObject *object)
{
    Launcher *self = (Launcher *)object;
    PyTypeObject *type = Py_TYPE(object);

    while (self->count > 0)
        free_plan(self->plans[--self->count]);
    Py_XDECREF(self->order.events);
    Py_XDECREF(self->order.ready);
    Py_DECREF(self->streams);
    Py_DECREF(self->pending);
    Py_DECREF(self->on_consumer);
    Py_DECREF(self->ordered);
    Py_DECREF(self->host_stream);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef launcher_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL,
     "launch(configuration, arguments): see interchange._core.core_protocol."},
    {"learn", learn, METH_VARARGS,
     "learn((loaded, ordinal, code), arguments): whether there are plans."},
    {"connect", connect, METH_VARARGS, "connect(addresses, several, events, ready)"},
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
    if (name == NULL || type == NULL || intern_order_names() < 0) {
        Py_XDECREF(name);
        Py_XDECREF(type);
        return -1;
    }
    (void)set_once(&n_origin, name);
    (void)set_once((PyObject **)&launcher_type, type);
    return 0;
}

/* make_launcher(streams, pending, on_consumer, ordered, host_stream): a dict, handle -> ordinal;
 * classes of work, and of streams of the CPU. */
static PyObject *make_launcher(PyObject *module, PyObject *args)
{
    PyObject *streams, *classes[4];
    Launcher *self;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!", &PyDict_Type, &streams, &PyType_Type, &classes[0],
                          &PyType_Type, &classes[1], &PyType_Type, &classes[2], &PyType_Type,
                          &classes[3]))
        return NULL;
    if (make_type() < 0)
        return NULL;
    self = PyObject_New(Launcher, launcher_type);
    if (self == NULL)
        return NULL;
    self->call = NULL;
    self->current = NULL;
    self->order = (OrderCalls){.events = NULL};
    self->streams = Py_NewRef(streams);
    self->pending = (PyTypeObject *)Py_NewRef(classes[0]);
    self->on_consumer = (PyTypeObject *)Py_NewRef(classes[1]);
    self->ordered = (PyTypeObject *)Py_NewRef(classes[2]);
    self->host_stream = (PyTypeObject *)Py_NewRef(classes[3]);
    self->count = 0;
    return (PyObject *)self;
}

PyMethodDef launching_functions[] = {
    {"make_launcher", make_launcher, METH_VARARGS,
     "make_launcher(streams, pending, on_consumer, ordered, host_stream)"},
    {NULL, NULL, 0, NULL},
};
