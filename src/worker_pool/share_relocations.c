/*
 * Copyright (C) the ngx_symcache authors
 */
#include "share_relocations.h"

#include <link.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns a descriptor of a file with these bytes, or -1.  The bytes are those
 * of many variables, and of what is between them, which write() itself refuses
 * to read in a build with AddressSanitizer. */
static int copy_to_file(const void *data, size_t size)
{
    int fd = memfd_create("relocated", MFD_CLOEXEC);

    if (fd >= 0 && syscall(SYS_write, fd, data, size) != (long)size) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* A part of the image that only the start has written (PT_GNU_RELRO).  Its
 * first and last page are found as the C library finds them to protect it. */
static void share(uintptr_t start, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t end = (start + size) & ~(page - 1);
    int fd;

    start &= ~(page - 1);
    if (end <= start ||
        (fd = copy_to_file((const void *)start, end - start)) < 0) {
        return;
    }
    if (mmap((void *)start, end - start, PROT_READ, MAP_PRIVATE | MAP_FIXED,
             fd, 0) == MAP_FAILED) {
        _exit(1); /* what was there may be gone */
    }
    close(fd);
}

static int share_image(struct dl_phdr_info *image, size_t size, void *arg)
{
    const ElfW(Phdr) * part;
    size_t i;

    for (i = 0; i < image->dlpi_phnum; i++) {
        part = &image->dlpi_phdr[i];
        if (part->p_type == PT_GNU_RELRO) {
            share(image->dlpi_addr + part->p_vaddr, part->p_memsz);
        }
    }
    return 0;
}

void share_relocations(void)
{
    dl_iterate_phdr(share_image, NULL);
}
