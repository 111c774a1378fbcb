/* Shared events: the state of an event that processes share, and waiting for it. */
#pragma once

#include "submit.h"
#include "tokens.h"

bool shared_event_new(struct event *event); /* false: there are too many */
bool shared_event_attach(struct event *event, const struct token *token);
void shared_event_drop(struct event *event); /* with its event */
uint32_t shared_event_index(const struct event *event);
void shared_event_record(struct event *event, struct stream *stream, struct op *marker);
struct op *shared_event_marker(const struct event *event, const char *name); /* to record with */

/* The record that is the last one now; false if it is this event's own, or there is none: then
 * event->marker is all there is. Joins the clock with what came before it. */
bool shared_event_last(const struct event *event, struct remote *record, struct clock *clock);
bool remote_done(const struct remote *record);
void remote_wait(const struct remote *record); /* without the lock of the driver */
struct op *remote_op(const struct remote *record, const char *name); /* waits for it */
