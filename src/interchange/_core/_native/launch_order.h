/* The order of a launch and of work on the streams that the producers of its arrays name. */
#ifndef INTERCHANGE_LAUNCH_ORDER_H
#define INTERCHANGE_LAUNCH_ORDER_H

#include "state.h"

#define MOST_PRODUCERS 8 /* streams other than that of the launch; Python orders more */

/* Functions of the driver, and its unused events. */
typedef struct {
    int (*is_capturing)(void *stream, int *status);
    int (*record)(void *event, void *stream);
    int (*wait)(void *stream, void *event, unsigned int flags);
    int (*synchronize)(void *stream);
    int (*current)(void **context);
    PyObject *events; /* dict: context -> list of events */
    PyObject *ready;  /* dict: stream that was ordered before -> (the list of its context, ...) */
} OrderCalls;

typedef struct {
    void *streams[MOST_PRODUCERS];
    int count, host_waits; /* host_waits: some producer names no stream */
    PyObject *pool, *item; /* the event in use, and where it belongs; NULL: none */
    void *event;
} Producers;

/* Add the stream of an array, or 0 for none; 0: there are too many. */
HIDDEN int add_producer(Producers *producers, int64_t stream, void *of_launch);
/* Take an event; 0, perhaps with an exception: Python orders the streams. */
HIDDEN int take_event(const OrderCalls *calls, Producers *producers, void *context, void *of_launch);
HIDDEN void give_event(Producers *producers); /* keeps a current exception */
/* These are called without the GIL, and return whether they failed. */
HIDDEN int order_before(const OrderCalls *calls, const Producers *producers, void *of_launch);
HIDDEN int order_after(const OrderCalls *calls, const Producers *producers, void *of_launch);
HIDDEN int intern_order_names(void);

#endif
