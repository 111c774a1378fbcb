/* Parameters of a kernel launch. */
#ifndef INTERCHANGE_PARAMETERS_H
#define INTERCHANGE_PARAMETERS_H

#include "array.h"

#define MOST_SLOTS 128 /* parameters of a launch: an array has one, and two for each axis */

/* A parameter; a kernel reads as many bytes from its start as the type has. */
typedef union {
    uint64_t zeros[2];
    char *address;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32[2];
    double f64[2];
} Slot;

/* The parameters of a launch, as the driver takes them. */
typedef struct {
    int count;
    void *places[MOST_SLOTS];
    Slot slots[MOST_SLOTS];
} Parameters;

/* The type of a number: an interchange.cuda.types.ScalarType. */
typedef struct {
    char kind;        /* the first letter of its kind */
    int32_t itemsize; /* [bytes] */
} Number;

/* Pass pointer, shape and strides; 0 where strides in bytes overflow. */
HIDDEN int pass_array(const Array *array, Parameters *into);
/* 0 without an exception: Python converts it, or refuses. */
HIDDEN int pass_number(const Number *wanted, PyObject *value, Parameters *into);

#endif
