/* Puts large blocks of memory on huge pages, where Linux gives them to whom asks (transparent_hugepage: madvise, as Debian
   and Ubuntu have it): loaded into bwa (LD_PRELOAD).

   bwa looks into its index, gigabytes in one block, in no order. On small pages nearly each look waits for the table of
   pages, too. glibc has a tunable that does the same, glibc.malloc.hugetlb=1, but glibc 2.36 often passes over it.

   Needs a compiler and no headers: build_launcher.py builds it where a workflow starts. */

typedef unsigned long size_t;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern int madvise(void *, size_t, int);
extern long sysconf(int);
extern int *__errno_location(void);

enum { PAGE_SIZE = 30, MADV_HUGEPAGE = 14 };
static const size_t LARGE = 256UL << 20; /* bytes: indexes of genomes, and nothing that comes and goes */

static void *advised(void *block, size_t size) {
    int error = *__errno_location();
    if (block && size >= LARGE) {
        size_t start = (size_t)block & -(size_t)sysconf(PAGE_SIZE);
        madvise((void *)start, (size_t)block + size - start, MADV_HUGEPAGE); /* a system without them loses nothing */
    }
    *__errno_location() = error;
    return block;
}

void *malloc(size_t size) { return advised(__libc_malloc(size), size); }
void *calloc(size_t count, size_t size) { return advised(__libc_calloc(count, size), count * size); }
void *realloc(void *block, size_t size) { return advised(__libc_realloc(block, size), size); }
