/* Operators, functions and basic indices of Arrays, computed by the operands' library.
 *
 * Source: interchange._array.operators and indexing, interchange.xp, whose functions do all other
 * cases.  Computed here are Arrays whose library's array is known, of one library, and Python
 * numbers, where the library computes this operation by an operator or a function in C.  There is
 * no Python frame in between, so that a warning of the library points at the user's line. */
#include "operators.h"

#include "array_ctors.h"
#include "errors.h"
#include "numpy.h"

#include <string.h>
#include <structmember.h>

#define MOST_BACKENDS 4 /* of an operator; further ones are left to Python */
#define MOST_OPERANDS 2
#define MOST_ITEMS 64 /* of a list that is read here */

/* A backend: see interchange._libraries.backend.Backend. */
typedef struct {
    PyObject *backend;
    PyObject *plain_type;
    PyObject *callable; /* its own function; None for an operator */
    int64_t flags;      /* of its results */
} Library;

typedef PyObject *(*Function)(PyObject *left, PyObject *right);

typedef struct {
    PyObject_HEAD
    VectorcallFunction call;
    PyObject *careful; /* the Python method or function */
    PyObject *name;    /* of the standard's function */
    PyObject *direct;  /* the function of the module `operator` that `function` is, or NULL */
    Function function; /* NULL where libraries have functions of their own */
    int is_reflected;
    Py_ssize_t operands;
    PyObject *host; /* f(name) -> the backend of new arrays; NULL where Arrays decide */
    int takes_sequences;
    int count;
    Library libraries[MOST_BACKENDS];
} Operator;

static PyTypeObject *operator_type;
static PyObject *n_operators, *n_plain_type, *n_is_mutable, *n_as_native, *n_get;
static PyObject *n_direct_function, *n_annotations;

/* ---------------------------------------------------------------- functions */

static PyObject *power(PyObject *left, PyObject *right)
{
    return PyNumber_Power(left, right, Py_None);
}

#define COMPARISON(name, sign)                                \
    static PyObject *name(PyObject *left, PyObject *right)    \
    {                                                         \
        return PyObject_RichCompare(left, right, sign);       \
    }

COMPARISON(equal, Py_EQ)
COMPARISON(not_equal, Py_NE)
COMPARISON(less, Py_LT)
COMPARISON(less_equal, Py_LE)
COMPARISON(greater, Py_GT)
COMPARISON(greater_equal, Py_GE)

static const struct {
    const char *name; /* in the module `operator` */
    Function function;
} functions[] = {
    {"add", PyNumber_Add},
    {"and_", PyNumber_And},
    {"eq", equal},
    {"floordiv", PyNumber_FloorDivide},
    {"ge", greater_equal},
    {"gt", greater},
    {"le", less_equal},
    {"lshift", PyNumber_Lshift},
    {"lt", less},
    {"matmul", PyNumber_MatrixMultiply},
    {"mod", PyNumber_Remainder},
    {"mul", PyNumber_Multiply},
    {"ne", not_equal},
    {"or_", PyNumber_Or},
    {"pow", power},
    {"rshift", PyNumber_Rshift},
    {"sub", PyNumber_Subtract},
    {"truediv", PyNumber_TrueDivide},
    {"xor", PyNumber_Xor},
};

static Function function_named(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    PyErr_Format(PyExc_ValueError, "%s is not a binary operator", name);
    return NULL;
}

/* ---------------------------------------------------------------- operands */

/* The library's array in a `_library` tuple, borrowed, or NULL; its backend. */
static PyObject *native_in(PyObject *held, PyObject **backend)
{
    PyObject *native;

    if (held == NULL || !PyTuple_CheckExact(held) || PyTuple_Size(held) < 2)
        return NULL;
    *backend = PyTuple_GetItem(held, 0);
    native = PyTuple_GetItem(held, 1);
    return native == Py_None ? NULL : native;
}

static int is_number(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);

    return type == &PyFloat_Type || type == &PyLong_Type || type == &PyComplex_Type ||
           type == &PyBool_Type;
}

static const Library *find_library(Operator *self, PyObject *backend)
{
    int count = LOAD(self->count);

    for (int i = 0; i < count; i++)
        if (self->libraries[i].backend == backend)
            return &self->libraries[i];
    return NULL;
}

/* Register a backend; NULL where the table is full. */
static const Library *keep_library(Operator *self, PyObject *backend, PyObject *plain_type,
                                   PyObject *callable, int is_mutable)
{
    const Library *kept;

    BEGIN_LOCKED(self);
    kept = find_library(self, backend); /* another thread may have been first */
    if (kept == NULL && self->count < MOST_BACKENDS) {
        Library *library = &self->libraries[self->count];
        library->backend = Py_NewRef(backend);
        library->plain_type = Py_NewRef(plain_type);
        library->callable = Py_NewRef(callable);
        library->flags = is_mutable ? 0 : DLPACK_READ_ONLY;
        STORE(self->count, self->count + 1);
        kept = library;
    }
    END_LOCKED();
    return kept;
}

/* What a backend computes this by: its function, None for an operator; NULL: ask Python. */
static PyObject *callable_of(Operator *self, PyObject *backend)
{
    PyObject *found, *direct = NULL, *args[2] = {backend, self->name};

    if (self->function == NULL) {
        found = vectorcall_method(n_direct_function, args, 2, NULL);
        if (found == Py_None)
            Py_CLEAR(found);
        return found;
    }
    found = PyObject_GetAttr(backend, n_operators);
    if (found != NULL) {
        direct = PyObject_GetItem(found, self->name);
        Py_DECREF(found);
    }
    Py_XDECREF(direct);
    return direct == self->direct ? Py_NewRef(Py_None) : NULL;
}

/* The entry of a backend, registered if it computes by this operator; NULL: ask Python. */
static const Library *library_of(Operator *self, PyObject *backend)
{
    PyObject *found, *callable, *plain_type = NULL;
    const Library *library = find_library(self, backend);
    int is_mutable = -1;

    if (LIKELY(library != NULL))
        return library;
    if (LOAD(self->count) == MOST_BACKENDS)
        return NULL;
    callable = callable_of(self, backend);
    if (callable != NULL && (found = PyObject_GetAttr(backend, n_is_mutable)) != NULL) {
        is_mutable = PyObject_IsTrue(found);
        Py_DECREF(found);
        plain_type = is_mutable < 0 ? NULL : PyObject_GetAttr(backend, n_plain_type);
    }
    if (!must_propagate())
        PyErr_Clear(); /* Python gets it again */
    if (plain_type != NULL && is_mutable >= 0 && plain_type != Py_None)
        library = keep_library(self, backend, plain_type, callable, is_mutable);
    Py_XDECREF(callable);
    Py_XDECREF(plain_type);
    return library;
}

/* ---------------------------------------------------------------- computing */

/* An Array of a backend's array, whose reference it takes. */
static PyObject *array_with(PyObject *native, PyObject *backend, int64_t flags)
{
    PyObject *held = PyTuple_Pack(3, backend, native, Py_None);
    Array *array = held == NULL ? NULL : computed_array(native, held, flags, core.array_type);

    Py_XDECREF(held);
    Py_DECREF(native);
    return (PyObject *)array;
}

static int is_read_only(PyObject *ndarray)
{
    return !(((NDArray *)ndarray)->flags & NDARRAY_WRITEABLE);
}

/* An Array of a result, whose reference it takes. */
static PyObject *array_of(PyObject *result, const Library *library)
{
    int64_t flags = library->flags;

    if ((PyObject *)Py_TYPE(result) != library->plain_type) {
        PyObject *args[2] = {library->backend, result};
        PyObject *native = vectorcall_method(n_as_native, args, 2, NULL);
        Py_DECREF(result);
        if (native == NULL)
            return NULL;
        result = native;
    }
    if (Py_TYPE(result) == core.ndarray_type && is_read_only(result))
        flags = DLPACK_READ_ONLY; /* a view */
    return array_with(result, library->backend, flags);
}

/* NULL without an exception: ask Python. */
static PyObject *compute(Operator *self, PyObject *other, PyObject *held)
{
    PyObject *own, *backend, *native = NULL, *others_backend = NULL, *others = NULL, *result;
    const Library *library;

    own = native_in(held, &backend);
    if (own == NULL)
        return NULL;
    if (is_number(other)) {
        native = other;
    } else if (Py_TYPE(other) == core.array_type) {
        others = get_field(other, &((Array *)other)->library);
        native = native_in(others, &others_backend);
        if (others_backend != backend)
            native = NULL;
    }
    library = native == NULL ? NULL : library_of(self, backend);
    if (library == NULL) {
        Py_XDECREF(others);
        return NULL;
    }
    result = self->is_reflected ? self->function(native, own) : self->function(own, native);
    Py_XDECREF(others);
    return result == NULL ? NULL : array_of(result, library);
}

static PyObject *operate(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Operator *self = (Operator *)callable;
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    PyObject *held, *result;

    if (LIKELY(count == 2 && names == NULL && Py_TYPE(args[0]) == core.array_type)) {
        held = get_field(args[0], &((Array *)args[0])->library);
        result = compute(self, args[1], held);
        Py_XDECREF(held);
        if (result != NULL || PyErr_Occurred())
            return result;
    }
    return call_with_keywords(self->careful, args, count, names);
}

/* ---------------------------------------------------------------- functions of the namespace */

/* Whether a result may share the memory: its flags are known, and no work on it is pending. */
static int may_be_viewed(Array *self)
{
    return LOAD(self->flags) != FLAGS_UNKNOWN && LOAD(self->work) == NULL;
}

/* A number of a standard type. */
static int is_standard(PyObject *x)
{
    int overflow = 0;

    if (PyLong_CheckExact(x))
        PyLong_AsLongLongAndOverflow(x, &overflow);
    return is_number(x) && !overflow;
}

/* An argument of which the host makes an array: a number, or a few numbers in a list or a tuple. */
static int is_content(Operator *self, PyObject *x)
{
    Py_ssize_t i, count;
    int fits = 1;

    if (!PyTuple_CheckExact(x) && !PyList_CheckExact(x))
        return is_standard(x);
    count = self->takes_sequences ? PySequence_Size(x) : MOST_ITEMS + 1;
    for (i = 0; i < count && count <= MOST_ITEMS && fits; i++) {
        PyObject *item = PySequence_GetItem(x, i);
        fits = item != NULL && is_standard(item);
        Py_XDECREF(item);
    }
    return fits && count <= MOST_ITEMS;
}

/* NULL without an exception: ask Python. */
static PyObject *compute_function(Operator *self, PyObject *const *args)
{
    PyObject *held[MOST_OPERANDS] = {NULL, NULL}, *natives[MOST_OPERANDS + 1] = {NULL};
    PyObject *first = NULL, *backend, *host = NULL, *result = NULL;
    const Library *library = NULL;
    Py_ssize_t i;

    for (i = 0; i < self->operands; i++) {
        natives[i + 1] = args[i];
        if (self->host != NULL) {
            if (!is_content(self, args[i]))
                goto done;
        } else if (Py_TYPE(args[i]) == core.array_type) {
            held[i] = get_field(args[i], &((Array *)args[i])->library);
            natives[i + 1] = native_in(held[i], &backend);
            if (natives[i + 1] == NULL || !may_be_viewed((Array *)args[i]) ||
                (first != NULL && first != backend))
                goto done;
            first = backend;
        } else if (!is_number(args[i])) {
            goto done;
        }
    }
    if (self->host != NULL)
        first = host = PyObject_CallFunctionObjArgs(self->host, self->name, NULL);
    library = first == NULL ? NULL : library_of(self, first);
    if (library != NULL && library->plain_type == (PyObject *)core.ndarray_type)
        result = vectorcall(library->callable, natives + 1,
                            (size_t)self->operands | ARGUMENTS_OFFSET, NULL);
done:
    Py_XDECREF(held[0]);
    Py_XDECREF(held[1]);
    Py_XDECREF(host); /* the table keeps it */
    return result == NULL ? NULL : array_of(result, library);
}

static PyObject *call_function(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    Operator *self = (Operator *)callable;
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    PyObject *result;

    if (LIKELY(count == self->operands && names == NULL)) {
        result = compute_function(self, args);
        if (result != NULL || (self->host == NULL ? PyErr_Occurred() != NULL : must_propagate()))
            return result;
        PyErr_Clear(); /* Python raises the error of interchange */
    }
    return call_with_keywords(self->careful, args, count, names);
}

/* ---------------------------------------------------------------- basic indices */

static int is_basic(PyObject *part)
{
    return PyLong_CheckExact(part) || Py_TYPE(part) == &PySlice_Type || part == Py_None;
}

/* A key that selects a view, never a scalar, by NumPy's rules; NULL: ask Python. */
static PyObject *key_of_view(PyObject *key, int ndim)
{
    PyObject *view;
    Py_ssize_t i, count;

    if (!PyTuple_CheckExact(key)) {
        if (!is_basic(key))
            return NULL;
        if (!PyLong_CheckExact(key) || ndim > 1)
            return Py_NewRef(key);
        return PyTuple_Pack(2, key, Py_Ellipsis);
    }
    count = PyTuple_Size(key);
    for (i = 0; i < count; i++)
        if (!is_basic(PyTuple_GetItem(key, i)))
            return NULL;
    view = PyTuple_New(count + 1);
    if (view == NULL)
        return NULL;
    for (i = 0; i < count; i++)
        PyTuple_SetItem(view, i, Py_NewRef(PyTuple_GetItem(key, i)));
    PyTuple_SetItem(view, count, Py_NewRef(Py_Ellipsis));
    return view;
}

/* Whether memory is the host's, and its flags are known. */
static int is_plain(Array *self)
{
    PyObject *spec, *device;

    if (LOAD(self->flags) == FLAGS_UNKNOWN)
        return 0;
    if (LOAD(self->dims) != NULL)
        return self->device.device_type == DL_CPU;
    spec = LOAD(self->spec);
    if (spec == NULL)
        return 1;
    device = PyObject_GetAttr(spec, core.n_device);
    Py_XDECREF(device);
    return device == core.cpu;
}

/* The ndarray of an Array in host memory, borrowed from a `_library` tuple, or NULL; its backend. */
static PyObject *ndarray_in(PyObject *held, Array *array, PyObject **backend)
{
    PyObject *native = native_in(held, backend);

    return native == NULL || Py_TYPE(native) != core.ndarray_type || !is_plain(array) ? NULL
                                                                                      : native;
}

/* An Array of a view of its ndarray, whose reference it takes; NULL where that is no ndarray. */
static PyObject *view_of(PyObject *object, PyObject *result, PyObject *backend)
{
    PyObject *view;

    if (result == NULL || Py_TYPE(result) != core.ndarray_type) {
        Py_XDECREF(result);
        return NULL;
    }
    view = array_with(result, backend, is_read_only(result) ? DLPACK_READ_ONLY : 0);
    if (view != NULL)
        set_field(view, &((Array *)view)->owner, get_field(object, &((Array *)object)->owner));
    return view;
}

/* NULL without an exception: ask Python. */
static PyObject *compute_item(Operator *self, PyObject *object, PyObject *key)
{
    PyObject *held = get_field(object, &((Array *)object)->library), *backend, *view = NULL;
    PyObject *native = ndarray_in(held, (Array *)object, &backend);

    key = native == NULL || library_of(self, backend) == NULL
              ? NULL
              : key_of_view(key, ((NDArray *)native)->nd);
    if (key != NULL) {
        view = view_of(object, PyObject_GetItem(native, key), backend);
        Py_DECREF(key);
    }
    Py_XDECREF(held);
    return view;
}

static PyObject *select_item(PyObject *callable, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    Operator *self = (Operator *)callable;
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    PyObject *result;

    if (LIKELY(count == 2 && names == NULL && Py_TYPE(args[0]) == core.array_type)) {
        result = compute_item(self, args[0], args[1]);
        if (result != NULL || must_propagate())
            return result;
        PyErr_Clear(); /* Python raises the error of interchange */
    }
    return call_with_keywords(self->careful, args, count, names);
}

/* ---------------------------------------------------------------- transposes */

static void swap(int64_t *numbers)
{
    int64_t first = numbers[0];

    numbers[0] = numbers[1];
    numbers[1] = first;
}

static int has_transpose(Operator *self, int ndim)
{
    int is_of_matrix = PyUnicode_CompareWithASCIIString(self->name, "T") == 0;

    return is_of_matrix ? ndim == 2 : ndim >= 2;
}

/* Where no library has computed: the view of described memory. */
static PyObject *swap_axes(Operator *self, Array *array)
{
    Array *view = alias_on_host(array);

    if (view == NULL || !has_transpose(self, view->ndim)) {
        Py_XDECREF(view);
        return NULL;
    }
    Py_CLEAR(view->spec);
    swap(view->dims + view->ndim - 2);
    swap(view->dims + 2 * view->ndim - 2);
    return (PyObject *)view;
}

static PyObject *transpose(PyObject *callable, PyObject *const *args, size_t nargsf,
                           PyObject *names)
{
    Operator *self = (Operator *)callable;
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    PyObject *held, *native, *backend, *result = NULL;

    if (LIKELY(count == 1 && names == NULL && Py_TYPE(args[0]) == core.array_type)) {
        held = get_field(args[0], &((Array *)args[0])->library);
        native = ndarray_in(held, (Array *)args[0], &backend);
        if (held == NULL)
            result = swap_axes(self, (Array *)args[0]);
        else if (native != NULL && has_transpose(self, ((NDArray *)native)->nd))
            result = view_of(args[0], PyObject_GetAttr(native, self->name), backend);
        Py_XDECREF(held);
        if (result != NULL || must_propagate())
            return result;
        PyErr_Clear(); /* NumPy before 2.0 has no mT */
    }
    return call_with_keywords(self->careful, args, count, names);
}

/* ---------------------------------------------------------------- the type */

static PyObject *operator_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    return PyObject_Call(((Operator *)self)->careful, args, keywords);
}

/* Bound to an Array, it is the Python method. */
static PyObject *operator_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    if (instance == NULL || instance == Py_None)
        return Py_NewRef(self);
    return PyObject_CallMethodObjArgs(((Operator *)self)->careful, n_get, instance, owner, NULL);
}

/* Name and docstring are those of the Python method. */
static PyObject *of_careful(PyObject *self, void *name)
{
    return PyObject_GetAttrString(((Operator *)self)->careful, name);
}

/* Empty where the Python method has none. */
static PyObject *operator_annotations(PyObject *self, void *unused)
{
    (void)unused;
    return PyObject_GetAttr(((Operator *)self)->careful, n_annotations);
}

/* Functions are pickled and copied by their names. */
static PyObject *operator_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(((Operator *)self)->careful, "__qualname__");
}

static PyObject *operator_repr(PyObject *self)
{
    return PyObject_Repr(((Operator *)self)->careful);
}

static int operator_traverse(PyObject *object, visitproc visit, void *arg)
{
    Operator *self = (Operator *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->careful);
    Py_VISIT(self->direct);
    Py_VISIT(self->host);
    for (int i = 0; i < self->count; i++) {
        Py_VISIT(self->libraries[i].backend);
        Py_VISIT(self->libraries[i].plain_type);
        Py_VISIT(self->libraries[i].callable);
    }
    return 0;
}

static int operator_clear(PyObject *object)
{
    Operator *self = (Operator *)object;

    while (self->count > 0) {
        self->count--;
        Py_CLEAR(self->libraries[self->count].backend);
        Py_CLEAR(self->libraries[self->count].plain_type);
        Py_CLEAR(self->libraries[self->count].callable);
    }
    return 0; /* `careful` may still be called */
}

static void operator_dealloc(PyObject *object)
{
    Operator *self = (Operator *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    operator_clear(object);
    Py_XDECREF(self->careful);
    Py_XDECREF(self->name);
    Py_XDECREF(self->direct);
    Py_XDECREF(self->host);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyMethodDef operator_methods[] = {
    {"__reduce__", operator_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef operator_getters[] = {
    {"__annotations__", operator_annotations, NULL, NULL, NULL},
    {"__doc__", of_careful, NULL, NULL, "__doc__"},
    {"__module__", of_careful, NULL, NULL, "__module__"},
    {"__name__", of_careful, NULL, NULL, "__name__"},
    {"__qualname__", of_careful, NULL, NULL, "__qualname__"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operator, call), READONLY, NULL},
    {"__wrapped__", T_OBJECT_EX, offsetof(Operator, careful), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot operator_slots[] = {
    {Py_tp_dealloc, operator_dealloc},
    {Py_tp_traverse, operator_traverse},
    {Py_tp_clear, operator_clear},
    {Py_tp_call, operator_call},
    {Py_tp_descr_get, operator_get},
    {Py_tp_repr, operator_repr},
    {Py_tp_methods, operator_methods},
    {Py_tp_getset, operator_getters},
    {Py_tp_members, operator_members},
    {0, NULL},
};

/* Type flags that the limited API of 3.10 does not name. */
#define HAS_VECTORCALL (1UL << 11)
#define IS_METHOD_DESCRIPTOR (1UL << 17)

static PyType_Spec operator_spec = {
    .name = "interchange._core._native._extension.Operator",
    .basicsize = sizeof(Operator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             HAS_VECTORCALL | IS_METHOD_DESCRIPTOR,
    .slots = operator_slots,
};

int make_operator_type(void)
{
    struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&n_operators, "operators"},
        {&n_plain_type, "plain_type"},
        {&n_is_mutable, "is_mutable"},
        {&n_as_native, "as_native"},
        {&n_get, "__get__"},
        {&n_direct_function, "_direct_function"},
        {&n_annotations, "__annotations__"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return -1;
    operator_type = (PyTypeObject *)PyType_FromSpec(&operator_spec);
    return operator_type == NULL ? -1 : 0;
}

/* A new object; `self->operands` and what is special to its kind are set by the caller. */
static Operator *new_operator(VectorcallFunction call, PyObject *name, PyObject *careful)
{
    Operator *self = PyObject_GC_New(Operator, operator_type);

    if (self == NULL)
        return NULL;
    self->call = call;
    self->careful = Py_NewRef(careful);
    self->name = Py_NewRef(name);
    self->direct = NULL;
    self->function = NULL;
    self->is_reflected = 0;
    self->operands = MOST_OPERANDS;
    self->host = NULL;
    self->takes_sequences = 0;
    self->count = 0;
    PyObject_GC_Track(self);
    return self;
}

PyObject *wrap_function(VectorcallFunction call, PyObject *name, PyObject *careful)
{
    return (PyObject *)new_operator(call, name, careful);
}

PyObject *careful_of(PyObject *function)
{
    return ((Operator *)function)->careful;
}

/* make_operator(name, direct, careful, reflected): see interchange._core.core_protocol,
 * `fast_operator`. */
static PyObject *make_operator(PyObject *module, PyObject *args)
{
    PyObject *name, *direct, *careful, *word;
    int is_reflected;
    const char *text;
    Function function = NULL;
    Operator *self;

    (void)module;
    if (!PyArg_ParseTuple(args, "UOOp", &name, &direct, &careful, &is_reflected))
        return NULL;
    word = PyObject_GetAttrString(direct, "__name__");
    if (word == NULL)
        return NULL;
    text = PyUnicode_AsUTF8AndSize(word, NULL);
    if (text != NULL)
        function = function_named(text);
    Py_DECREF(word);
    self = function == NULL ? NULL : new_operator(operate, name, careful);
    if (self == NULL)
        return NULL;
    self->direct = Py_NewRef(direct);
    self->function = function;
    self->is_reflected = is_reflected;
    return (PyObject *)self;
}

/* make_function(name, careful, operands, host): see interchange._core.core_protocol, `fast_function`. */
static PyObject *make_function(PyObject *module, PyObject *args)
{
    PyObject *name, *careful, *host = Py_None;
    Py_ssize_t operands;
    VectorcallFunction call = call_function;
    Operator *self;

    (void)module;
    if (!PyArg_ParseTuple(args, "UOn|O", &name, &careful, &operands, &host))
        return NULL;
    if (operands < 1 || operands > MOST_OPERANDS) {
        PyErr_SetString(PyExc_ValueError, "functions have one operand or two");
        return NULL;
    }
    if (PyUnicode_CompareWithASCIIString(name, "__getitem__") == 0)
        call = select_item;
    else if (PyUnicode_CompareWithASCIIString(name, "T") == 0 ||
             PyUnicode_CompareWithASCIIString(name, "mT") == 0)
        call = transpose;
    self = new_operator(call, name, careful);
    if (self != NULL) {
        self->operands = operands;
        self->host = host == Py_None ? NULL : Py_NewRef(host);
        self->takes_sequences = PyUnicode_CompareWithASCIIString(name, "arange") != 0;
    }
    return (PyObject *)self;
}

PyMethodDef operator_functions[] = {
    {"make_operator", make_operator, METH_VARARGS,
     "make_operator(name, direct, careful, reflected): see interchange._core.core_protocol, fast_operator."},
    {"make_function", make_function, METH_VARARGS,
     "make_function(name, careful, operands, host): see interchange._core.core_protocol, fast_function."},
    {NULL, NULL, 0, NULL},
};
