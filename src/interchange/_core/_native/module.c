/* The extension module: what it finds when it is imported, and what Python connects it to.
 *
 * Source: PEP 489 (multi-phase initialisation).  Its state is one per process: types that C callers
 * compare by identity cannot be several.  It is the main interpreter's: a thread that no Python
 * knows gets that one's GIL, and no other's.  Further interpreters use the ctypes core. */
#include "capi.h"
#include "records.h"

#include <stdatomic.h>

Core core;

static atomic_flag is_taken = ATOMIC_FLAG_INIT;

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

/* connect(name=callable, ...): what the core asks Python for. */
static PyObject *connect(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"cpu",           "check_struct", "arrived", "refuse_capsule",
                            "refuse_arrow",  "spec_of",      "learn",   "refuse_for_c",
                            "refuse_stream", NULL};
    PyObject *found[9];

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$OOOOOOOOO", names, &found[0], &found[1],
                                     &found[2], &found[3], &found[4], &found[5], &found[6],
                                     &found[7], &found[8]))
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
    return Py_NewRef(Py_None);
}

static PyMethodDef module_functions[] = {
    {"connect", (PyCFunction)(void (*)(void))connect, METH_VARARGS | METH_KEYWORDS,
     "connect(...): what the core asks Python for."},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    const char *why = NULL; /* as MAIN_ONLY and FIRST_ONLY of interchange._core have it */

    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
        why = "it serves the main interpreter only";
    else if (atomic_flag_test_and_set(&is_taken))
        why = "it serves the first import of interchange in a process, and this is another one:"
              " its modules were removed from sys.modules, or Python was started again";
    if (why != NULL) {
        PyObject *said = PyUnicode_FromString(why);
        PyObject *name = PyUnicode_FromString("interchange._core._native");
        PyErr_SetImportErrorSubclass(PyExc_ModuleNotFoundError, said, name, NULL);
        Py_XDECREF(said);
        Py_XDECREF(name);
        return -1;
    }
    if (find_functions() < 0 || intern_names() < 0 || find_capsule_type() < 0 ||
        make_constants() < 0 || make_managed_type(module) < 0 || make_array_type(module) < 0 ||
        make_arrow_owner_type(module) < 0 || make_operator_type() < 0 ||
        make_checks_type() < 0 || intern_record_keys() < 0)
        return -1;
    if (PyModule_AddFunctions(module, describing_functions) < 0 ||
        PyModule_AddFunctions(module, consuming_functions) < 0 ||
        PyModule_AddFunctions(module, numpy_functions) < 0 ||
        PyModule_AddFunctions(module, importing_functions) < 0 ||
        PyModule_AddFunctions(module, asarray_functions) < 0 ||
        PyModule_AddFunctions(module, checking_functions) < 0 ||
        PyModule_AddFunctions(module, exporting_functions) < 0 ||
        PyModule_AddFunctions(module, exchange_functions) < 0 ||
        PyModule_AddFunctions(module, cuda_functions) < 0 ||
        PyModule_AddFunctions(module, cai_functions) < 0 ||
        PyModule_AddFunctions(module, record_functions) < 0 ||
        PyModule_AddFunctions(module, launching_functions) < 0 ||
        PyModule_AddFunctions(module, operator_functions) < 0 ||
        PyModule_AddFunctions(module, torch_functions) < 0 ||
        PyModule_AddFunctions(module, torch_fields_functions) < 0 ||
        PyModule_AddFunctions(module, arrow_functions) < 0 ||
        PyModule_AddFunctions(module, arrow_export_functions) < 0)
        return -1;
    return add_c_api(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* see locking.h */
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_extension",
    .m_doc = "The native core of interchange: see interchange._core.abc.",
    .m_methods = module_functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__extension(void)
{
    return PyModuleDef_Init(&module_def);
}
