/* The call log: one line per call of the driver, of all threads, in order. */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool tracing;
static pthread_mutex_t trace_lock =
    PTHREAD_MUTEX_INITIALIZER; /* calls are logged without the lock of the driver */
static char **lines;
static size_t count, capacity;

void trace_add(const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    va_start(arguments, format);
    int size = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    pthread_mutex_lock(&trace_lock);
    if (count == capacity) {
        capacity = capacity ? capacity * 2 : 256;
        lines = realloc(lines, capacity * sizeof *lines);
    }
    lines[count++] = line;
    pthread_mutex_unlock(&trace_lock);
}

void trace_write(void)
{
    FILE *file = driver.trace_file ? fopen(driver.trace_file, "a") : NULL;
    if (!file)
        return;
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s\n", lines[i]);
    fclose(file);
}

/* Starting empties the log; stopping keeps it for reading. */
CONTROL void emu_trace(int on)
{
    pthread_mutex_lock(&trace_lock);
    if (on) {
        for (size_t i = 0; i < count; i++)
            free(lines[i]);
        count = 0;
    }
    __atomic_store_n(&tracing, on != 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&trace_lock);
}

CONTROL uint64_t emu_calls(void)
{
    pthread_mutex_lock(&trace_lock);
    uint64_t calls = count;
    pthread_mutex_unlock(&trace_lock);
    return calls;
}

CONTROL size_t emu_call(uint64_t index, char *buffer, size_t size)
{
    pthread_mutex_lock(&trace_lock);
    int needed = snprintf(buffer, size, "%s", index < count ? lines[index] : "");
    pthread_mutex_unlock(&trace_lock);
    return (size_t)needed;
}
