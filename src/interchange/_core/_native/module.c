/* The extension module.
 *
 * Source: PEP 489 (multi-phase initialisation).  There is one state per process, since C callers
 * compare types by identity.  It belongs to the main interpreter, whose GIL PyGILState_Ensure()
 * takes; subinterpreters use the ctypes core. */
#include "array_ctors.h"
#include "array_type.h"
#include "arrow.h"
#include "arrow_bits.h"
#include "arrow_chunks.h"
#include "arrow_columns.h"
#include "arrow_export.h"
#include "arrow_offsets.h"
#include "arrow_pack.h"
#include "arrow_read.h"
#include "arrow_stream.h"
#include "asarray.h"
#include "c_memory.h"
#include "cai.h"
#include "cai_parse.h"
#include "capi.h"
#include "capsule_in.h"
#include "contracts.h"
#include "copying.h"
#include "cuda_driver.h"
#include "described.h"
#include "exchange.h"
#include "export.h"
#include "importing.h"
#include "known_types.h"
#include "launching.h"
#include "numpy.h"
#include "operators.h"
#include "owners.h"
#include "strided.h"
#include "torch_bits.h"
#include "torch_fields.h"

static long times_imported;

static PyMethodDef *const tables[] = {
    array_type_functions,
    array_ctors_functions,
    capsule_in_functions,
    numpy_functions,
    known_types_functions,
    importing_functions,
    asarray_functions,
    copying_functions,
    described_functions,
    contracts_functions,
    export_functions,
    exchange_functions,
    cuda_driver_functions,
    cai_functions,
    cai_parse_functions,
    launching_functions,
    operator_functions,
    torch_bits_functions,
    torch_fields_functions,
    strided_functions,
    arrow_functions,
    arrow_bits_functions,
    arrow_chunks_functions,
    arrow_export_functions,
    arrow_offsets_functions,
    arrow_columns_functions,
    arrow_stream_functions,
    arrow_pack_functions,
    arrow_read_functions,
};

static int execute(PyObject *module)
{
    const char *why = NULL; /* as MAIN_ONLY and FIRST_ONLY of interchange._core have it */

    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
        why = "it serves the main interpreter only";
    else if (change_count(&times_imported, 1) > 1)
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
    if (find_functions() < 0 || init_state() < 0 || make_managed_type(module) < 0 ||
        make_array_type(module) < 0 || make_arrow_owner_type(module) < 0 ||
        make_operator_type() < 0 || make_checks_type() < 0 || intern_record_keys() < 0 ||
        intern_driver_names() < 0 ||
        init_described() < 0)
        return -1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (PyModule_AddFunctions(module, tables[i]) < 0)
            return -1;
    register_c_memory();
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
    .m_doc = "The native core of interchange: see interchange._core.core_protocol.",
    .m_methods = state_functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__extension(void)
{
    return PyModuleDef_Init(&module_def);
}
