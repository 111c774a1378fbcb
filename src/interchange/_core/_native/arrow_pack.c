/* Bitmaps and offsets of columns, made in host memory.
 *
 * Source: Arrow columnar format, Validity bitmaps and Variable-size List Layout.  Bit 0 is the
 * lowest bit of byte 0.  The GIL is released for more than 64 KiB. */
#include "arrow_pack.h"

#include <string.h>
#ifdef HAS_SSE2
#include <emmintrin.h>
#endif

/* ---------------------------------------------------------------- bits */

static int64_t pack_bytes(const uint8_t *source, int64_t count, uint8_t *out)
{
    int64_t ones = 0, i = 0;

#ifdef HAS_SSE2
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1);
    __m128i sums = zero;
    for (; count - i >= 16; i += 16, out += 2) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(source + i));
        __m128i zeros = _mm_cmpeq_epi8(bytes, zero);
        uint16_t found = (uint16_t)~_mm_movemask_epi8(zeros);
        memcpy(out, &found, sizeof found);
        sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_andnot_si128(zeros, one), zero));
    }
    ones = _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
#endif
    for (; i < count; out++) {
        *out = 0;
        for (int bit = 0; bit < 8 && i < count; bit++, i++) {
            *out |= (uint8_t)((source[i] != 0) << bit);
            ones += source[i] != 0;
        }
    }
    return ones;
}

/* pack_bits(source, count, out) */
static PyObject *pack_bits(PyObject *module, PyObject *args)
{
    const void *from;
    PyObject *source, *out;
    long long count, ones;
    void *to;

    (void)module;
    if (!PyArg_ParseTuple(args, "OLO:pack_bits", &source, &count, &out))
        return NULL;
    from = PyLong_AsVoidPtr(source);
    to = PyLong_AsVoidPtr(out);
    if (PyErr_Occurred())
        return NULL;
    RUN_UNLOCKED(count >= LONG_LOOP, ones = pack_bytes(from, count, to));
    return PyLong_FromLongLong(ones);
}

/* ---------------------------------------------------------------- offsets */

static inline int64_t offset_at(const void *offsets, int width, int64_t i)
{
    return width == 4 ? ((const int32_t *)offsets)[i] : ((const int64_t *)offsets)[i];
}

/* Without a source the offsets are multiples of `step`; the offsets of a source have the other
 * width. */
static void fill_offsets(void *out, int width, int64_t count, const void *source, int64_t step)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = source == NULL ? i * step : offset_at(source, 12 - width, i);
        if (width == 4)
            ((int32_t *)out)[i] = (int32_t)offset;
        else
            ((int64_t *)out)[i] = offset;
    }
}

/* write_offsets(out, width, count, source, step) */
static PyObject *write_offsets(PyObject *module, PyObject *args)
{
    PyObject *out, *source;
    long long count, step;
    const void *from;
    void *to;
    int width;

    (void)module;
    if (!PyArg_ParseTuple(args, "OiLOL:write_offsets", &out, &width, &count, &source, &step))
        return NULL;
    to = PyLong_AsVoidPtr(out);
    from = PyLong_AsVoidPtr(source);
    if (PyErr_Occurred())
        return NULL;
    RUN_UNLOCKED(count * width >= LONG_LOOP, fill_offsets(to, width, count, from, step));
    return Py_NewRef(Py_None);
}

PyMethodDef arrow_pack_functions[] = {
    {"pack_bits", pack_bits, METH_VARARGS,
     "pack_bits(source, count, out): see interchange._core.core_protocol."},
    {"write_offsets", write_offsets, METH_VARARGS,
     "write_offsets(out, width, count, source, step): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
