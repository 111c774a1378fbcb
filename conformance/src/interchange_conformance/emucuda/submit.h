/* Work for streams: enqueueing and waiting. */
#pragma once

#include "capture.h"

void stream_enqueue(struct stream *stream, struct op *op);
void gate_pass(struct stream *stream, struct stream *gate);
/* Enqueue or capture, as the stream's state requires; takes the operation over. */
CUresult submit(struct stream *stream, struct op *op);
void stream_synchronize(struct stream *stream);
void context_synchronize(struct context *context);
