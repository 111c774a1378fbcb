/* Reports: what the detector found, kept until they are reset, and written at exit. */
#include "accesses.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_REPORTS 10000 /* later ones are dropped */

static char **reports;
static size_t count, capacity;

void report_add(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    if (count == MAX_REPORTS)
        return;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    if (count == capacity) {
        capacity = capacity ? capacity * 2 : 16;
        reports = realloc(reports, capacity * sizeof *reports);
    }
    reports[count++] = text;
    if (driver.races >= RACES_PRINT)
        fprintf(stderr, "emucuda: %s\n", text);
    if (driver.races == RACES_ABORT)
        abort();
}

/* Appends: a program and its children may share the file. Without reports an empty file is made. */
void reports_write(void)
{
    FILE *file = driver.report_file ? fopen(driver.report_file, "a") : NULL;
    if (!file)
        return;
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s\n", reports[i]);
    fclose(file);
}

CONTROL uint64_t emu_reports(void)
{
    LOCKED();
    return count;
}

CONTROL size_t emu_report(uint64_t index, char *buffer, size_t size)
{
    LOCKED();
    return (size_t)snprintf(buffer, size, "%s", index < count ? reports[index] : "");
}

void reports_clear(void)
{
    for (size_t i = 0; i < count; i++)
        free(reports[i]);
    count = 0;
}
