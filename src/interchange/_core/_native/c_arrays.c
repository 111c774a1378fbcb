/* Arrays over memory of C, and exports to C.
 *
 * Source: interchange/interchange.h; dlpack.h 1.3.  Descriptions are validated as structs of DLPack
 * are.  Exports that order streams, move or copy are those of Array.__dlpack__(). */
#include "c_arrays.h"

#include "asarray.h"
#include "c_memory.h"
#include "capsule_in.h"
#include "dltensor_in.h"
#include "errors.h"
#include "export.h"
#include "owners.h"
#include "spec.h"

static const char FROM_MEMORY[] = "interchange_array_from_memory()";
static const char TO_DLPACK[] = "interchange_array_to_dlpack()";
static const char TENSOR_FROM[] = "interchange_managed_tensor_from()";
static const char FROM_TENSOR[] = "interchange_array_from_managed_tensor()";

#define ALL_FLAGS (INTERCHANGE_MEMORY_READ_ONLY | INTERCHANGE_MEMORY_STATIC)

_Static_assert(sizeof(void *) != 8 || sizeof(InterchangeMemory) == 96, "version 1 has this size");

/* ---------------------------------------------------------------- memory of C */

static int check_stream_kind(const InterchangeStream *stream, const char *call)
{
    if (stream == NULL || (stream->kind >= INTERCHANGE_STREAM_NONE &&
                           stream->kind <= INTERCHANGE_STREAM_DEFAULT))
        return 0;
    return refuse_caller(call, "the kind of the stream is not defined");
}

static int check_memory(const InterchangeMemory *memory)
{
    int is_static;

    if (UNLIKELY(memory == NULL))
        return refuse_null(FROM_MEMORY, "the memory");
    if (UNLIKELY(memory->struct_size != sizeof *memory ||
                 memory->version != INTERCHANGE_MEMORY_VERSION))
        return refuse_version(FROM_MEMORY, "the struct", memory->version, memory->struct_size,
                              INTERCHANGE_MEMORY_VERSION, sizeof *memory, "IX-CAPI-4");
    if (UNLIKELY(memory->flags & ~ALL_FLAGS))
        return refuse_by_rule(FROM_MEMORY, "the memory has flags that are not defined",
                              "IX-CAPI-4");
    is_static = (memory->flags & INTERCHANGE_MEMORY_STATIC) != 0;
    if (UNLIKELY(is_static != (memory->deleter == NULL)))
        return refuse_by_rule(FROM_MEMORY,
                              is_static ? "static memory has a deleter"
                                        : "the deleter is NULL, and the memory is not static",
                              "IX-CAPI-4");
    return check_stream_kind(&memory->stream, FROM_MEMORY);
}

/* Read and validate a struct; owns nothing. */
static Array *described(void *managed, PyObject *call)
{
    Array *self = new_array(core.array_type);

    if (self == NULL)
        return NULL;
    if (fill_from_struct(self, managed, 1, call) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return self;
}

/* Refuse handles, and note the stream of device memory. */
static int note_stream(Array *self, const InterchangeStream *stream, const char *call)
{
    PyObject *done = call_for_c("describe", Py_BuildValue("(OiKs)", self, stream->kind,
                                                          (unsigned long long)(uintptr_t)
                                                              stream->handle,
                                                          call));

    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* An Array over memory, which does not own it yet. */
static Array *over_memory(const InterchangeMemory *memory)
{
    DLManagedTensorVersioned managed = {.version = {DLPACK_MAJOR, DLPACK_MINOR}};
    static PyObject *call;
    Array *self;

    if (call == NULL && (call = PyUnicode_InternFromString(FROM_MEMORY)) == NULL)
        return NULL;
    managed.flags = memory->flags & INTERCHANGE_MEMORY_READ_ONLY ? DLPACK_READ_ONLY : 0;
    managed.dl_tensor.data = memory->data;
    managed.dl_tensor.device.device_type = memory->device_type;
    managed.dl_tensor.device.device_id = memory->device_id;
    managed.dl_tensor.ndim = memory->ndim;
    managed.dl_tensor.dtype.code = memory->dtype.code;
    managed.dl_tensor.dtype.bits = memory->dtype.bits;
    managed.dl_tensor.dtype.lanes = memory->dtype.lanes;
    managed.dl_tensor.shape = (int64_t *)(uintptr_t)memory->shape;
    managed.dl_tensor.strides = (int64_t *)(uintptr_t)memory->strides;
    managed.dl_tensor.byte_offset = memory->byte_offset;
    self = described(&managed, call);
    if (UNLIKELY(self != NULL && LOAD(self->spec) != NULL) &&
        note_stream(self, &memory->stream, FROM_MEMORY) < 0)
        Py_CLEAR(self);
    return self;
}

int interchange_array_from_memory(const InterchangeMemory *memory, void **array)
{
    CMemory *owner = NULL;
    Array *self;

    if (UNLIKELY(array == NULL))
        return refuse_null(FROM_MEMORY, "the output pointer");
    if (check_memory(memory) < 0 || (self = over_memory(memory)) == NULL)
        return -1;
    owner = new_c_memory(memory->deleter, memory->context);
    if (UNLIKELY(owner == NULL)) {
        Py_DECREF(self);
        return -1;
    }
    self->managed = owner;
    self->owns = OWNS_C_MEMORY;
    *array = self;
    return 0;
}

int interchange_array_from_managed_tensor(struct DLManagedTensorVersioned *tensor, void **array)
{
    Array *self;

    if (UNLIKELY(tensor == NULL || array == NULL))
        return refuse_null(FROM_TENSOR, tensor == NULL ? "the tensor" : "the output pointer");
    self = described(tensor, core.from_dlpack_text);
    if (self == NULL || finish_arrival(&self, core.from_dlpack_text, 0) < 0)
        return -1;
    self->managed = tensor; /* last: after an error it is the caller's */
    self->owns = OWNS_VERSIONED;
    *array = self;
    return 0;
}

/* ---------------------------------------------------------------- exports */

/* The Array of any object, a new reference. */
static Array *array_of(PyObject *x, const char *call)
{
    PyObject *found = is_array(x) ? Py_NewRef(x) : share(x);

    if (found != NULL && UNLIKELY(!is_array(found))) {
        Py_DECREF(found);
        refuse_by_rule(call, "the object is a proxy of an Array, which has no fields", "IX-CAPI-1");
        return NULL;
    }
    return (Array *)found;
}

/* The export that Python makes; a capsule. */
static PyObject *export_in_python(Array *self, const uint32_t *version,
                                  const InterchangeStream *stream, const int32_t *device, int copy,
                                  const char *call)
{
    PyObject *newest = version == NULL ? Py_NewRef(Py_None)
                                       : Py_BuildValue("(II)", version[0], version[1]);
    PyObject *where = device == NULL ? Py_NewRef(Py_None)
                                     : Py_BuildValue("(ii)", device[0], device[1]);

    return call_for_c("export", Py_BuildValue("(ON(iK)Nis)", self, newest,
                                              stream == NULL ? 0 : stream->kind,
                                              stream == NULL ? 0ULL
                                                             : (unsigned long long)(uintptr_t)
                                                                   stream->handle,
                                              where, copy, call));
}

static int names_no_stream(const InterchangeStream *stream)
{
    return stream == NULL || stream->kind == INTERCHANGE_STREAM_NONE;
}

int interchange_array_to_dlpack(void *object, const uint32_t *max_version,
                                const InterchangeStream *stream, const int32_t *dl_device, int copy,
                                void **capsule)
{
    PyObject *made = NULL;
    Array *self;

    if (UNLIKELY(object == NULL || capsule == NULL))
        return refuse_null(TO_DLPACK, object == NULL ? "the object" : "the output pointer");
    if (UNLIKELY(copy < -1 || copy > 1))
        return refuse_caller(TO_DLPACK, "copy is none of -1, 0 and 1");
    if (check_stream_kind(stream, TO_DLPACK) < 0 || (self = array_of(object, TO_DLPACK)) == NULL)
        return -1;
    if (LIKELY(copy <= 0 && dl_device == NULL && names_no_stream(stream)))
        made = plain_capsule(self, max_version != NULL && max_version[0] >= DLPACK_MAJOR);
    if (made == NULL && !PyErr_Occurred())
        made = export_in_python(self, max_version, stream, dl_device, copy, TO_DLPACK);
    Py_DECREF(self);
    if (made == NULL)
        return -1;
    *capsule = made;
    return 0;
}

/* The struct of a capsule that was just made, which is dropped. */
static DLManagedTensorVersioned *taken(PyObject *capsule)
{
    DLManagedTensorVersioned *found = PyCapsule_GetPointer(capsule, DLPACK_VERSIONED);

    if (found != NULL && (PyCapsule_SetName(capsule, DLPACK_USED_VERSIONED) < 0 ||
                          PyCapsule_SetDestructor(capsule, NULL) < 0))
        found = NULL;
    Py_DECREF(capsule);
    return found;
}

int interchange_managed_tensor_from(void *object, const InterchangeStream *stream,
                                    struct DLManagedTensorVersioned **out)
{
    static const uint32_t version[2] = {DLPACK_MAJOR, DLPACK_MINOR};
    DLManagedTensorVersioned *made = NULL;
    PyObject *capsule;
    Array *self;
    int is_idle;

    if (UNLIKELY(object == NULL || out == NULL))
        return refuse_null(TENSOR_FROM, object == NULL ? "the object" : "the output pointer");
    if (check_stream_kind(stream, TENSOR_FROM) < 0 ||
        (self = array_of(object, TENSOR_FROM)) == NULL)
        return -1;
    is_idle = has_no_pending_work(self);
    if (is_idle > 0) {
        made = export_versioned(self, exported_flags(LOAD(self->flags)));
    } else if (is_idle == 0 && names_no_stream(stream)) {
        raise_by_rule("ExchangeError", TENSOR_FROM,
                      "work on the memory may be pending, and no stream was named", "DLP-API-1");
    } else if (is_idle == 0) {
        capsule = export_in_python(self, version, stream, NULL, -1, TENSOR_FROM);
        made = capsule == NULL ? NULL : taken(capsule);
    }
    Py_DECREF(self);
    if (made == NULL)
        return -1;
    *out = made;
    return 0;
}
