/* Files of memory: made, and recognised by the name of memfd_create(2), which nothing can change. */
#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST 256

int file_make(const struct file_label *l, uint64_t size)
{
    char name[LONGEST];
    snprintf(name, sizeof name, "emucuda-memory:%d:%d:%u:%u:%u:%llu:%u:%u", (int)l->kind, l->device,
             l->types, l->process.pid, l->process.file, (unsigned long long)l->process.started,
             l->index, l->serial);
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    if (ftruncate(file, (off_t)size) != 0) {
        close(file);
        return -1;
    }
    /* "Bus error" is the end of a process that reads beyond a file that another made shorter. */
    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
    return file;
}

bool file_read(int file, enum file_kind kind, struct file_label *l, uint64_t *size)
{
    char path[64], name[LONGEST];
    struct stat status;
    unsigned long long ticks;
    int number;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (length <= 0 || fstat(file, &status) != 0)
        return false;
    name[length] = '\0';
    int fields = sscanf(name, "/memfd:emucuda-memory:%d:%d:%u:%u:%u:%llu:%u:%u", &number, &l->device,
                        &l->types, &l->process.pid, &l->process.file, &ticks, &l->index, &l->serial);
    l->kind = (enum file_kind)number;
    l->process.started = ticks;
    *size = (uint64_t)status.st_size;
    return fields == 8 && l->kind == kind && l->device >= 0 && l->device < driver.devices;
}

uint32_t file_number(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 ? (uint32_t)status.st_ino : 0;
}

int file_again(int file)
{
    return fcntl(file, F_DUPFD_CLOEXEC, 0);
}
