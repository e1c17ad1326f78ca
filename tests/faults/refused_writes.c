/* Writes to one file fail, as of a quota, a disk or a file server: FAULT_ERRNO, and FAULT_PATH that its path ends with.

   Loaded behind the launcher's own library (failed_writes.c), which asks libc for __write and pwritev2. */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_refused(int fd) {
    char link[32], path[4096];
    const char *end = getenv("FAULT_PATH"), *error = getenv("FAULT_ERRNO");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = end && error ? readlink(link, path, sizeof path) : -1;
    ssize_t suffix = end ? (ssize_t)strlen(end) : 0;
    if (length < suffix || strncmp(path + length - suffix, end, suffix))
        return 0;
    errno = atoi(error);
    return 1;
}

ssize_t __write(int fd, const void *data, size_t size) {
    return is_refused(fd) ? -1 : syscall(SYS_write, fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size) {
    return __write(fd, data, size);
}

ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags) {
    return is_refused(fd) ? -1 : syscall(SYS_pwritev2, fd, vector, count, offset, 0, flags);
}
