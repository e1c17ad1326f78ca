/* Ends a program whose stream could not be written, and says which: loaded into each program of a job (LD_PRELOAD).

   A program that calls write() sees each failure. One that writes through a buffer, of C (FILE *), C++ (ofstream) or
   zlib (gzFile), sees it only if it asks each time, and at the end: Cufflinks, cuffdiff, samtools stats and samtools dict
   do not, so that a disk that was full for a moment leaves results with holes, and exit code 0. So what these three write
   is looked at where it leaves the process, and nothing else: a JVM, Python or bash tells of its failures itself, and
   lives with some.

   C's streams call the kernel within libc, where nothing can stand between. But each goes through libc's table of what
   streams do, in which the entry that writes is found by its value, and ours put in its place. Those of C++ and zlib
   call write(), which is ours, too; the caller is looked for only where it failed.

   And where a file could not be opened because too many are, the launcher is told, and nothing else happens: a JVM gives
   that a name that cannot be understood. A file is made as long as the limit for it, since none can be opened.

   Needs a compiler and no headers: build.py builds it where a workflow starts, and tries it. */

typedef unsigned long size_t;
typedef long ssize_t;
typedef struct FILE FILE;

struct segment { /* Elf64_Phdr */
    unsigned type, flags;
    size_t offset, address, physical, in_file, in_memory, alignment;
};
struct object { /* the beginning of struct dl_phdr_info */
    size_t base;
    const char *name;
    const struct segment *segments;
    unsigned short count;
};
struct limit {
    size_t soft, hard;
};
struct sought {
    size_t address;
    int is_buffer;
};

extern void *_IO_file_jumps[] __attribute__((weak)), *_IO_wfile_jumps[] __attribute__((weak));
extern ssize_t _IO_file_write(FILE *, const void *, ssize_t) __attribute__((weak));
extern ssize_t __write(int, const void *, size_t);
extern ssize_t pwritev2(int, const void *, int, long, int);
extern int *__errno_location(void);
extern int __open(const char *, int, unsigned), __open_2(const char *, int), truncate(const char *, long);
extern FILE *_IO_fopen(const char *, const char *);
extern int dl_iterate_phdr(int (*)(struct object *, size_t, void *), void *);
extern int fileno(FILE *), mprotect(void *, size_t, int), strcmp(const char *, const char *);
extern int snprintf(char *, size_t, const char *, ...);
extern int getrlimit(int, struct limit *);
extern long sysconf(int);
extern ssize_t readlink(const char *, char *, size_t);
extern char *getenv(const char *), *strerror(int), *strstr(const char *, const char *);
extern void _exit(int) __attribute__((noreturn));

/* as they are on x86, ARM, POWER and RISC-V */
enum { OPEN_FILES = 7, EIO = 5, EMFILE = 24, EFBIG = 27, ENOSPC = 28, ESTALE = 116, EDQUOT = 122 };
enum { O_WRONLY = 1, O_APPEND = 02000, PROT_READ = 1, PROT_WRITE = 2, PAGE_SIZE = 30, PT_LOAD = 1 };
enum { ENTRIES = 21, LONGEST = 4096 };

static int is_lost(int error) {
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == ESTALE;
}

static void path_of(int fd, char path[LONGEST]) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, LONGEST - 1);
    path[length > 0 ? length : 0] = 0;
}

/* Tell the log and the launcher, which knows then whatever becomes of this exit code, and end. */
static void end_at(int fd, int error) {
    char path[LONGEST], log[LONGEST], line[LONGEST + 256];
    path_of(fd, path);
    path_of(2, log);
    if (fd == 2 || !strcmp(path, log))
        return; /* what is said and no result */
    int length = snprintf(line, sizeof line, "error: cannot write %s: %s\n", path, strerror(error));
    length = length < (int)sizeof line ? length : (int)sizeof line - 1;
    const char *notes = getenv("GPD_FAILED_WRITES");
    int to[] = {2, notes ? __open(notes, O_WRONLY | O_APPEND, 0) : -1};
    for (int i = 0; i < 2; i++)
        if (to[i] >= 0)
            __write(to[i], line, length); /* where that fails, there is the other, and the exit code */
    _exit(1);
}

static ssize_t write_stream(FILE *stream, const void *data, ssize_t size) {
    ssize_t written = _IO_file_write(stream, data, size);
    int error = *__errno_location();
    if (written < size && is_lost(error)) {
        end_at(fileno(stream), error);
        *__errno_location() = error;
    }
    return written;
}

static int look_at(struct object *object, size_t size, void *data) {
    (void)size;
    struct sought *sought = data;
    for (int i = 0; i < object->count; i++) {
        const struct segment *segment = object->segments + i;
        size_t start = object->base + segment->address;
        if (segment->type == PT_LOAD && sought->address - start < segment->in_memory) {
            sought->is_buffer = strstr(object->name, "/libstdc++.so") || strstr(object->name, "/libz.so");
            return 1;
        }
    }
    return 0;
}

static ssize_t checked(ssize_t written, int fd, void *caller) {
    int error = *__errno_location();
    if (written < 0 && is_lost(error)) {
        struct sought sought = {(size_t)caller, 0};
        dl_iterate_phdr(look_at, &sought);
        if (sought.is_buffer)
            end_at(fd, error);
        *__errno_location() = error;
    }
    return written;
}

ssize_t write(int fd, const void *data, size_t size) {
    return checked(__write(fd, data, size), fd, __builtin_return_address(0));
}

ssize_t writev(int fd, const void *pieces, int count) { /* which libc has under no other name */
    return checked(pwritev2(fd, pieces, count, -1, 0), fd, __builtin_return_address(0));
}

static void look_for_limit(void) {
    int error = *__errno_location();
    const char *notes = getenv("GPD_FAILED_OPENS");
    struct limit limit;
    if (error == EMFILE && notes && !getrlimit(OPEN_FILES, &limit))
        truncate(notes, limit.soft);
    *__errno_location() = error;
}

static int opened(int fd) {
    if (fd < 0)
        look_for_limit();
    return fd;
}

static FILE *opened_stream(FILE *stream) {
    if (!stream)
        look_for_limit();
    return stream;
}

/* libc's names of these: with 64 bits of offset or not, which on machines of 64 bits is the same, and as fortified */
int open(const char *path, int flags, unsigned mode) { return opened(__open(path, flags, mode)); }
int open64(const char *path, int flags, unsigned mode) { return opened(__open(path, flags, mode)); }
int __open64_2(const char *path, int flags) { return opened(__open_2(path, flags)); }
FILE *fopen(const char *path, const char *mode) { return opened_stream(_IO_fopen(path, mode)); }
FILE *fopen64(const char *path, const char *mode) { return opened_stream(_IO_fopen(path, mode)); }

static void take_place_in(void **table) {
    for (int i = 0; table && _IO_file_write && i < ENTRIES; i++)
        if (table[i] == (void *)_IO_file_write) {
            size_t size = sysconf(PAGE_SIZE);
            void *page = (void *)((size_t)(table + i) & -size);
            if (mprotect(page, size, PROT_READ | PROT_WRITE))
                return;
            table[i] = (void *)write_stream;
            mprotect(page, size, PROT_READ);
        }
}

__attribute__((constructor)) static void begin(void) {
    take_place_in(_IO_file_jumps);
    take_place_in(_IO_wfile_jumps);
}
