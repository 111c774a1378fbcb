/* The state of the module, and the Python callables that it is given. */
#include "state.h"

#include "dlpack_abi.h"

Core core;

static int intern_names(void)
{
    struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&core.n_dlpack, "__dlpack__"},
        {&core.n_dlpack_device, "__dlpack_device__"},
        {&core.n_shape, "shape"},
        {&core.n_strides, "strides"},
        {&core.n_dtype, "dtype"},
        {&core.n_device, "device"},
        {&core.n_byte_offset, "byte_offset"},
        {&core.n_code, "code"},
        {&core.n_bits, "bits"},
        {&core.n_lanes, "lanes"},
        {&core.n_itemsize, "itemsize"},
        {&core.n_padded, "padded"},
        {&core.n_array, "Array"},
        {&core.n_export, "_export"},
        {&core.n_max_version, "max_version"},
        {&core.n_stream, "stream"},
        {&core.n_dl_device, "dl_device"},
        {&core.n_copy, "copy"},
        {&core.n_requires_grad, "requires_grad"},
        {&core.n_is_neg, "is_neg"},
        {&core.n_is_conj, "is_conj"},
        {&core.n_cuda_record, "__cuda_array_interface__"},
        {&core.from_dlpack_text, "from_dlpack()"},
        {&core.asarray_text, "asarray()"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].name = PyUnicode_InternFromString(names[i].text);
        if (*names[i].name == NULL)
            return -1;
    }
    return 0;
}

static int find_capsule_type(void)
{
    PyObject *capsule = PyCapsule_New(&core, NULL, NULL);

    if (capsule == NULL)
        return -1;
    core.capsule_type = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(capsule));
    Py_DECREF(capsule);
    return 0;
}

static int make_constants(void)
{
    core.max_version = Py_BuildValue("(ii)", DLPACK_MAJOR, DLPACK_MINOR);
    core.max_version_names = Py_BuildValue("(O)", core.n_max_version);
    core.cpu_pair = Py_BuildValue("(ii)", DL_CPU, 0);
    return core.max_version == NULL || core.max_version_names == NULL || core.cpu_pair == NULL
               ? -1
               : 0;
}

/* connect(name=callable, ...): set the Python callables that the core calls. */
static PyObject *connect(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"cpu",           "check_struct", "arrived", "refuse_capsule",
                            "refuse_arrow",  "spec_of",      "learn",   "refuse_for_c",
                            "refuse_stream", "learn_column", NULL};
    PyObject *found[10];

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$OOOOOOOOOO", names, &found[0], &found[1],
                                     &found[2], &found[3], &found[4], &found[5], &found[6],
                                     &found[7], &found[8], &found[9]))
        return NULL;
    core.cpu = Py_NewRef(found[0]);
    core.check_struct = Py_NewRef(found[1]);
    core.arrived = Py_NewRef(found[2]);
    core.refuse_capsule = Py_NewRef(found[3]);
    core.refuse_arrow = Py_NewRef(found[4]);
    core.spec_of = Py_NewRef(found[5]);
    core.learn = Py_NewRef(found[6]);
    core.refuse_for_c = Py_NewRef(found[7]);
    core.refuse_stream = Py_NewRef(found[8]);
    core.learn_column = Py_NewRef(found[9]);
    return Py_NewRef(Py_None);
}

int init_state(void)
{
    return intern_names() < 0 || find_capsule_type() < 0 || make_constants() < 0 ? -1 : 0;
}

PyMethodDef state_functions[] = {
    {"connect", (PyCFunction)(void (*)(void))connect, METH_VARARGS | METH_KEYWORDS,
     "connect(...): the Python callables that the core calls."},
    {NULL, NULL, 0, NULL},
};
