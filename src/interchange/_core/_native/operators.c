/* Binary operators of Arrays, computed by the operators of the operands' library.
 *
 * Source: interchange._array.operators, whose methods do all other cases.  Computed here are an
 * Array whose library's array is known, with another of the same library or with a Python
 * number, where the library computes this operation by an operator.  There is no Python frame in
 * between, so that a warning of the library points at the user's line. */
#include "operators.h"

#include "array_ctors.h"
#include "errors.h"

#include <string.h>
#include <structmember.h>

#define MOST_BACKENDS 4 /* of an operator; further ones are left to Python */

/* A backend: see interchange._libraries.backend.Backend. */
typedef struct {
    PyObject *backend;
    PyObject *plain_type;
    int64_t flags; /* of its results */
} Library;

typedef PyObject *(*Function)(PyObject *left, PyObject *right);
typedef PyObject *(*Vectorcall)(PyObject *callable, PyObject *const *args, size_t nargsf,
                                PyObject *names);

typedef struct {
    PyObject_HEAD
    Vectorcall call;
    PyObject *careful; /* the Python method */
    PyObject *name;    /* of the standard's function */
    PyObject *direct;  /* the function of the module `operator` that `function` is */
    Function function;
    int is_reflected;
    int count;
    Library libraries[MOST_BACKENDS];
} Operator;

static PyTypeObject *operator_type;
static PyObject *n_operators, *n_plain_type, *n_is_mutable, *n_as_native, *n_get;

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
                                   int is_mutable)
{
    const Library *kept;

    BEGIN_LOCKED(self);
    kept = find_library(self, backend); /* another thread may have been first */
    if (kept == NULL && self->count < MOST_BACKENDS) {
        Library *library = &self->libraries[self->count];
        library->backend = Py_NewRef(backend);
        library->plain_type = Py_NewRef(plain_type);
        library->flags = is_mutable ? 0 : DLPACK_READ_ONLY;
        STORE(self->count, self->count + 1);
        kept = library;
    }
    END_LOCKED();
    return kept;
}

/* The entry of a backend, registered if it computes by this operator; NULL: ask Python. */
static const Library *library_of(Operator *self, PyObject *backend)
{
    PyObject *found, *direct = NULL, *plain_type = NULL;
    const Library *library = find_library(self, backend);
    int is_mutable = -1;

    if (LIKELY(library != NULL))
        return library;
    if (LOAD(self->count) == MOST_BACKENDS)
        return NULL;
    found = PyObject_GetAttr(backend, n_operators);
    if (found != NULL) {
        direct = PyObject_GetItem(found, self->name);
        Py_DECREF(found);
    }
    if (direct == self->direct && (found = PyObject_GetAttr(backend, n_is_mutable)) != NULL) {
        is_mutable = PyObject_IsTrue(found);
        Py_DECREF(found);
        plain_type = is_mutable < 0 ? NULL : PyObject_GetAttr(backend, n_plain_type);
    }
    Py_XDECREF(direct);
    if (!must_propagate())
        PyErr_Clear(); /* Python gets it again */
    if (plain_type != NULL && is_mutable >= 0 && plain_type != Py_None)
        library = keep_library(self, backend, plain_type, is_mutable);
    Py_XDECREF(plain_type);
    return library;
}

/* ---------------------------------------------------------------- computing */

/* An Array of a result, whose reference it takes. */
static PyObject *array_of(PyObject *result, const Library *library)
{
    PyObject *held;
    Array *array;

    if ((PyObject *)Py_TYPE(result) != library->plain_type) {
        PyObject *args[2] = {library->backend, result};
        PyObject *native = vectorcall_method(n_as_native, args, 2, NULL);
        Py_DECREF(result);
        if (native == NULL)
            return NULL;
        result = native;
    }
    held = PyTuple_Pack(3, library->backend, result, Py_None);
    array = held == NULL ? NULL : computed_array(result, held, library->flags, core.array_type);
    Py_XDECREF(held);
    Py_DECREF(result);
    return (PyObject *)array;
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
    for (int i = 0; i < self->count; i++) {
        Py_VISIT(self->libraries[i].backend);
        Py_VISIT(self->libraries[i].plain_type);
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
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyGetSetDef operator_getters[] = {
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
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return -1;
    operator_type = (PyTypeObject *)PyType_FromSpec(&operator_spec);
    return operator_type == NULL ? -1 : 0;
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
    self = function == NULL ? NULL : PyObject_GC_New(Operator, operator_type);
    if (self == NULL)
        return NULL;
    self->call = operate;
    self->careful = Py_NewRef(careful);
    self->name = Py_NewRef(name);
    self->direct = Py_NewRef(direct);
    self->function = function;
    self->is_reflected = is_reflected;
    self->count = 0;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

PyMethodDef operator_functions[] = {
    {"make_operator", make_operator, METH_VARARGS,
     "make_operator(name, direct, careful, reflected): see interchange._core.core_protocol, fast_operator."},
    {NULL, NULL, 0, NULL},
};
