/* Fields and storage of a torch tensor, by torch's stable C functions.
 *
 * Source: torch 2.13, torch/csrc/inductor/aoti_torch/c/shim.h; c10/util/intrusive_ptr.h.  They
 * cost half as much as the exchange table.  The table is used where torch lacks one of them, or
 * where they were not verified on sample tensors (_torch_fields.py).  Bits that neither has are
 * in torch_bits.c. */
#include "torch_fields.h"

#include "errors.h"
#include "owners.h"
#include "torch_bits.h"

#include <string.h>

#define MOST_CODES 64
#define MOST_NDIM 64
#define MOST_PLACES 6 /* words of an object that are searched for a pointer */

typedef int32_t (*Constant)(void);
typedef int32_t (*GetInt32)(void *tensor, int32_t *out);
typedef int32_t (*GetInt64)(void *tensor, int64_t *out);
typedef int32_t (*GetInt64s)(void *tensor, int64_t **out);
typedef int32_t (*GetPointer)(void *tensor, void **out);
typedef void (*Release)(void *place);

static struct {
    size_t place;   /* of the tensor in an object of Python [words] */
    size_t storage; /* of the storage in an implementation [words] */
    Release release; /* takes the address of the pointer to a storage */
    GetPointer data_ptr;
    GetInt64 dim;
    GetInt64s sizes, strides;
    GetInt32 dtype, device_type, device_index, layout;
    int32_t cpu, cuda, strided;
} torch;

static DLDataType types[MOST_CODES]; /* by torch's number; `lanes` of 0: none */
static enum { NOT_TRIED, IN_USE, NOT_IN_USE } state; /* all above is set before IN_USE */
STATIC_LOCK(verifying);

static const struct {
    const char *name;
    DLDataType type;
} TYPES[] = {
    {"aoti_torch_dtype_bool", {6, 8, 1}},      {"aoti_torch_dtype_int8", {0, 8, 1}},
    {"aoti_torch_dtype_int16", {0, 16, 1}},    {"aoti_torch_dtype_int32", {0, 32, 1}},
    {"aoti_torch_dtype_int64", {0, 64, 1}},    {"aoti_torch_dtype_uint8", {1, 8, 1}},
    {"aoti_torch_dtype_uint16", {1, 16, 1}},   {"aoti_torch_dtype_uint32", {1, 32, 1}},
    {"aoti_torch_dtype_uint64", {1, 64, 1}},   {"aoti_torch_dtype_float16", {2, 16, 1}},
    {"aoti_torch_dtype_float32", {2, 32, 1}},  {"aoti_torch_dtype_float64", {2, 64, 1}},
    {"aoti_torch_dtype_bfloat16", {4, 16, 1}}, {"aoti_torch_dtype_complex64", {5, 64, 1}},
    {"aoti_torch_dtype_complex128", {5, 128, 1}},
};

/* ---------------------------------------------------------------- finding the functions */

static int find_constant(PyObject *look_up, const char *name, int32_t *out)
{
    Constant constant;

    if (!find_function(look_up, name, &constant))
        return 0;
    *out = constant();
    return 1;
}

static void find_types(PyObject *look_up)
{
    int32_t code;

    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (find_constant(look_up, TYPES[i].name, &code) && code >= 0 && code < MOST_CODES)
            types[code] = TYPES[i].type;
}

/* Whether this torch has all of them; -1 with an exception. */
static int find_all(PyObject *look_up)
{
    int found;

    find_types(look_up);
    found = !PyErr_Occurred() && find_function(look_up, "aoti_torch_get_data_ptr", &torch.data_ptr) &&
           find_function(look_up, "aoti_torch_get_dim", &torch.dim) &&
           find_function(look_up, "aoti_torch_get_sizes", &torch.sizes) &&
           find_function(look_up, "aoti_torch_get_strides", &torch.strides) &&
           find_function(look_up, "aoti_torch_get_dtype", &torch.dtype) &&
           find_function(look_up, "aoti_torch_get_device_type", &torch.device_type) &&
           find_function(look_up, "aoti_torch_get_device_index", &torch.device_index) &&
           find_function(look_up, "aoti_torch_get_layout", &torch.layout) &&
           find_constant(look_up, "aoti_torch_device_type_cpu", &torch.cpu) &&
           find_constant(look_up, "aoti_torch_device_type_cuda", &torch.cuda) &&
           find_constant(look_up, "aoti_torch_layout_strided", &torch.strided);
    return PyErr_Occurred() ? -1 : found;
}

/* ---------------------------------------------------------------- fields */

static int read_fields_of(PyObject *x, DLTensor *out)
{
    void *tensor = (void **)x + torch.place;
    int32_t layout, code, device;
    int64_t ndim;

    if (torch.layout(tensor, &layout) || layout != torch.strided || torch.dtype(tensor, &code) ||
        code < 0 || code >= MOST_CODES || types[code].lanes == 0 ||
        torch.device_type(tensor, &device) || (device != torch.cpu && device != torch.cuda) ||
        torch.device_index(tensor, &out->device.device_id) || torch.dim(tensor, &ndim) ||
        ndim > MOST_NDIM || torch.sizes(tensor, &out->shape) ||
        torch.strides(tensor, &out->strides) || torch.data_ptr(tensor, &out->data))
        return 0;
    out->device.device_type = device == torch.cpu ? DL_CPU : DL_CUDA;
    if (device == torch.cpu)
        out->device.device_id = 0;
    out->dtype = types[code];
    out->ndim = (int32_t)ndim;
    out->byte_offset = 0;
    return 1;
}

static PyObject *run_verification(void)
{
    PyObject *module = PyImport_ImportModule("interchange._core._native._torch_fields");
    PyObject *extension = PyImport_ImportModule("interchange._core._native._extension");
    PyObject *verified = NULL;

    if (module != NULL && extension != NULL)
        verified = PyObject_CallMethod(module, "fields_are_right", "O", extension);
    Py_XDECREF(module);
    Py_XDECREF(extension);
    return verified;
}

/* Whether this thread is the first.  Until it is done the functions are not used, also for tensors
 * that the verification itself imports. */
static int is_first_to_verify(void)
{
    int is_first;

    LOCK(verifying);
    is_first = state == NOT_TRIED;
    if (is_first)
        STORE(state, NOT_IN_USE);
    UNLOCK(verifying);
    return is_first;
}

/* Verify the functions on sample tensors; once per process. */
static int verify(void)
{
    PyObject *verified;
    int is_verified;

    if (!is_first_to_verify())
        return 0; /* only one thread writes `torch` */
    verified = run_verification();
    is_verified = verified == Py_True;
    if (is_verified)
        STORE(state, IN_USE);
    else if (verified == NULL && must_propagate())
        STORE(state, NOT_TRIED); /* interrupted: verify again next time */
    else
        PyErr_Clear(); /* the table is used instead */
    Py_XDECREF(verified);
    return is_verified;
}

int read_tensor_of_torch(PyObject *x, DLTensor *out)
{
    if (UNLIKELY(!is_torch_tensor(x)))
        return 0;
    if (UNLIKELY(LOAD(state) != IN_USE) && !verify())
        return 0;
    return read_fields_of(x, out);
}

/* ---------------------------------------------------------------- references to storages
 *
 * A storage begins with a pointer, followed by its reference count in the lower half of a word.
 * The highest bit says that a Python object of the storage must be notified when the count
 * changes between 1 and 2. */

#define IS_NOTIFIED ((uint64_t)1 << 63)

static uint64_t *count_of(void *storage)
{
    return (uint64_t *)storage + 1;
}

void *hold_storage_of_torch(PyObject *x)
{
    void **implementation = ((void ***)x)[torch.place], *storage = implementation[torch.storage];
    uint64_t before;

    if (UNLIKELY(storage == NULL))
        return NULL;
    before = LOAD_RELAXED(*count_of(storage));
    do {
        if (UNLIKELY((before & IS_NOTIFIED) && (uint32_t)before < 2))
            return NULL;
    } while (!replace_word_relaxed(count_of(storage), &before, before + 1));
    return storage;
}

static int release_shared_storage(void *storage)
{
    uint64_t before = LOAD_RELAXED(*count_of(storage));

    do {
        if (UNLIKELY((uint32_t)before < (before & IS_NOTIFIED ? 3 : 2)))
            return 0;
    } while (!replace_word(count_of(storage), &before, before - 1));
    return 1;
}

static void release_storage(void *storage)
{
    torch.release(&storage);
}

/* ---------------------------------------------------------------- verification from Python */

/* The index of an address among words, from `first` on; 0: not found. */
static size_t place_of(unsigned long long address, const void *words, size_t first)
{
    for (size_t place = first; place < MOST_PLACES; place++)
        if ((uintptr_t)((void *const *)words)[place] == (uintptr_t)address)
            return place;
    return 0;
}

/* find_fields(x, its _cdata, that of its storage, look_up, the address of the function that drops a
 * storage) -> whether all functions and both pointers were found. */
static PyObject *find_fields(PyObject *module, PyObject *args)
{
    PyObject *x, *look_up;
    unsigned long long address, storage, release;
    int found;

    (void)module;
    torch.place = 0;
    if (!PyArg_ParseTuple(args, "OKKOK", &x, &address, &storage, &look_up, &release))
        return NULL;
    torch.release = (Release)(uintptr_t)release;
    found = release ? find_all(look_up) : 0;
    if (found < 0)
        return NULL;
    if (found) {
        torch.place = place_of(address, x, sizeof(PyObject) / sizeof(void *));
        torch.storage = torch.place ? place_of(storage, ((void **)x)[torch.place], 1) : 0;
        register_ownership(OWNS_TORCH,
                           (ReleaseFunctions){release_storage, release_shared_storage});
    }
    return PyBool_FromLong(torch.place && torch.storage);
}

/* hold_storage(x) -> the address of the storage, with a reference; None: it was not taken. */
static PyObject *hold_storage(PyObject *module, PyObject *x)
{
    void *storage = hold_storage_of_torch(x);

    (void)module;
    return storage == NULL ? Py_NewRef(Py_None) : PyLong_FromVoidPtr(storage);
}

/* release_storage(address, by torch): drop a reference. */
static PyObject *release_for_verification(PyObject *module, PyObject *args)
{
    unsigned long long address;
    void *storage;
    int by_torch;

    (void)module;
    if (!PyArg_ParseTuple(args, "Kp", &address, &by_torch))
        return NULL;
    storage = (void *)(uintptr_t)address;
    if (by_torch || !release_shared_storage(storage))
        release_storage(storage);
    return Py_NewRef(Py_None);
}

/* fields_of_tensor(x) -> (address, shape, strides, type, device), or None. */
static PyObject *fields_of_tensor(PyObject *module, PyObject *x)
{
    PyObject *shape, *strides;
    DLTensor tensor;

    (void)module;
    if (torch.place == 0 || !read_fields_of(x, &tensor))
        return Py_NewRef(Py_None);
    shape = PyTuple_New(tensor.ndim);
    strides = PyTuple_New(tensor.ndim);
    for (int i = 0; shape != NULL && strides != NULL && i < tensor.ndim; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(tensor.shape[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(tensor.strides[i]));
    }
    return Py_BuildValue("KNN(iii)(ii)", (unsigned long long)(uintptr_t)tensor.data, shape,
                         strides, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes,
                         tensor.device.device_type, tensor.device.device_id);
}

PyMethodDef torch_fields_functions[] = {
    {"find_fields", find_fields, METH_VARARGS,
     "find_fields(x, address, storage, look_up, release): for verification."},
    {"hold_storage", hold_storage, METH_O, "hold_storage(x): for verification."},
    {"release_storage", release_for_verification, METH_VARARGS,
     "release_storage(address, by): for verification."},
    {"fields_of_tensor", fields_of_tensor, METH_O, "fields_of_tensor(x): for verification."},
    {NULL, NULL, 0, NULL},
};
