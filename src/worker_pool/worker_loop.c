/*
 * Copyright (C) the ngx_symcache authors
 */
#include "worker_loop.h"

#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spawner.h"

/*
 * Addresses that were written into a program when it was started lie in pages
 * of its own, which a fork copies the tables of.  Libcapstone has 1.3 MB of
 * them: a third of the time of a fork.
 */

/* Returns a descriptor of a file with these bytes, or -1.  The bytes are those
 * of many variables, and of what is between them, which write() itself refuses
 * to read in a build with AddressSanitizer. */
static int worker_copy_to_file(const void *data, size_t size)
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
static void worker_share(uintptr_t start, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t end = (start + size) & ~(page - 1);
    int fd;

    start &= ~(page - 1);
    if (end <= start ||
        (fd = worker_copy_to_file((const void *)start, end - start)) < 0) {
        return;
    }
    if (mmap((void *)start, end - start, PROT_READ, MAP_PRIVATE | MAP_FIXED,
             fd, 0) == MAP_FAILED) {
        _exit(1); /* what was there may be gone */
    }
    close(fd);
}

static int worker_share_image(struct dl_phdr_info *image, size_t size,
                              void *arg)
{
    const ElfW(Phdr) * part;
    size_t i;

    for (i = 0; i < image->dlpi_phnum; i++) {
        part = &image->dlpi_phdr[i];
        if (part->p_type == PT_GNU_RELRO) {
            worker_share(image->dlpi_addr + part->p_vaddr, part->p_memsz);
        }
    }
    return 0;
}

/*
 * Puts such pages, which can only be read since then, into files in memory and
 * maps these in their place: a fork leaves it to the copy to look for what it
 * reads.  For a process with one thread, which must not load libraries
 * afterwards.  Pages stay as they are where there is no memory for it.
 */
static void worker_share_relocations(void)
{
    dl_iterate_phdr(worker_share_image, NULL);
}

/* Memory that stays with a worker between bodies: giving it back and taking it
 * anew would cost more than a small body does. */
#define HEAP_KEPT (1 << 20)

#define TEXT_ROOM (WORK_MESSAGE_MAX - sizeof(struct work_head))

struct worker_mapping {
    const uint8_t *data;
    size_t size;
};

struct work_service {
    size_t size; /* of the text that was not sent yet */
    struct {
        struct work_head head;
        char text[TEXT_ROOM];
    } packet;
    char begin[WORK_MESSAGE_MAX]; /* the order, and a small body */
    char input[WORK_MESSAGE_MAX];
    struct worker_mapping slots[WORK_SLOTS];
};

static struct work_service only;

static _Noreturn void worker_give_up(void)
{
    _exit(1);
}

_Noreturn void work_cannot(void)
{
    static const struct work_head head = {WORK_CANNOT, 0};

    if (write(WORK_SOCKET, &head, sizeof(head)) < 0) {
        /* the other side finds the socket closed */
    }
    _exit(1);
}

/* The size of the packet; the process ends with the daemon's interest. */
static size_t worker_receive_packet(char packet[WORK_MESSAGE_MAX], int *fds,
                                    size_t *nfds)
{
    ssize_t n =
        work_message_receive(WORK_SOCKET, packet, WORK_MESSAGE_MAX, fds, nfds);

    if (n == 0) {
        exit(0);
    }
    if (n < 0) {
        work_cannot();
    }
    if (n < (ssize_t)sizeof(struct work_head)) {
        worker_give_up();
    }
    return (size_t)n;
}

static void worker_send_packet(struct work_service *service,
                               enum work_message message, uint32_t detail)
{
    const void *packet = &service->packet;

    service->packet.head = (struct work_head){message, detail};
    if (write(WORK_SOCKET, packet, sizeof(struct work_head) + service->size) <
        0) {
        work_cannot();
    }
    service->size = 0;
}

static struct worker_mapping worker_map_body(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    struct worker_mapping mapping = {NULL, 0};
    void *data;

    if (size > 0) {
        data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            work_cannot();
        }
        mapping = (struct worker_mapping){data, (size_t)size};
    }
    close(fd);
    return mapping;
}

/* The text that is not sent yet goes along with what ends it. */
void work_say(struct work_service *service, const void *text, size_t size)
{
    size_t n;

    for (; size > 0; size -= n) {
        n = TEXT_ROOM - service->size;
        n = n < size ? n : size;
        memcpy(service->packet.text + service->size, text, n);
        service->size += n;
        text = (const char *)text + n;
        if (service->size == TEXT_ROOM) {
            worker_send_packet(service, WORK_TEXT, 0);
        }
    }
}

void work_ask(struct work_service *service,
              void (*have)(void *arg, const struct work_file *file,
                           const uint8_t *data, size_t size),
              void *arg)
{
    const struct work_head *head = (const struct work_head *)service->input;
    const struct work_file *files = (const struct work_file *)(head + 1);
    const struct worker_mapping none = {NULL, 0}, *mapping;
    int fds[WORK_FILES_MAX];
    size_t i, n, nfds, next;

    worker_send_packet(service, WORK_ASKS, 0);
    do {
        nfds = WORK_FILES_MAX;
        n = (worker_receive_packet(service->input, fds, &nfds) -
             sizeof(*head)) /
            sizeof(*files);
        if (head->message != WORK_HAVE) {
            worker_give_up();
        }
        for (i = next = 0; i < n; i++) {
            mapping = &none;
            if (files[i].slot < WORK_SLOTS) {
                if (files[i].is_new) {
                    if (next == nfds) {
                        work_cannot(); /* the kernel had none left for us */
                    }
                    service->slots[files[i].slot] =
                        worker_map_body(fds[next++]);
                }
                mapping = &service->slots[files[i].slot];
            }
            have(arg, &files[i], mapping->data, mapping->size);
        }
    } while (head->detail == 0);
}

void work_done(struct work_service *service)
{
    worker_send_packet(service, WORK_DONE, 0);
}

void work_refuse(struct work_service *service, uint32_t status)
{
    worker_send_packet(service, WORK_REFUSES, status);
}

/* Serves the body that a packet of this size begins; the text in it has a NUL
 * after it. */
static void worker_read_body(struct work_service *service,
                             const struct work_kind *kind, size_t size, int fd)
{
    struct work_begin begin;
    struct worker_mapping mapping = {NULL, 0};
    struct work_body body = {.service = service};
    char *text;

    memcpy(&begin, service->begin, sizeof(begin));
    size -= sizeof(begin);
    if (begin.text > size ||
        (text = strndup(service->begin + sizeof(begin), begin.text)) == NULL) {
        worker_give_up();
    }
    body.text = text;
    body.limit = begin.limit;
    if (fd != -1) {
        mapping = worker_map_body(fd);
        body.data = mapping.data;
        body.size = mapping.size;
    } else {
        body.data =
            (const uint8_t *)service->begin + sizeof(begin) + begin.text;
        body.size = size - begin.text;
    }
    kind->read(&body);
    free(text);
    explicit_bzero(service->begin, sizeof(begin) + size);
    if (mapping.data != NULL) {
        munmap((void *)mapping.data, mapping.size);
    }
    if (mapping.size > HEAP_KEPT) {
        malloc_trim(HEAP_KEPT);
    }
}

/* Makes a copy of this process, a child of the same parent.  Returns as
 * fork(). */
static pid_t worker_copy_process(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL,
                          NULL);
}

void work_fork(void)
{
    const pid_t spawner = getppid();
    struct spawner_message order;
    int fd;
    size_t n;
    ssize_t got;

    mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
    mallopt(M_TOP_PAD, HEAP_KEPT / 8);
#ifndef __SANITIZE_ADDRESS__ /* it forbids to read between variables */
    worker_share_relocations();
#endif
    for (;;) {
        n = 1;
        got =
            work_message_receive(WORK_SOCKET, &order, sizeof(order), &fd, &n);
        if (got == 0) {
            exit(0);
        }
        if (got != sizeof(order) || n != 1) {
            worker_give_up();
        }
        order.pid = worker_copy_process();
        if (order.pid == 0) {
            break;
        }
        close(fd);
        if (write(WORK_SOCKET, &order, sizeof(order)) != sizeof(order)) {
            worker_give_up();
        }
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != spawner || dup2(fd, WORK_SOCKET) < 0) {
        worker_give_up();
    }
    close(fd);
}

void work_serve(const struct work_kind *kinds, size_t n)
{
    struct work_service *service = &only;
    const struct work_begin *begin = (const struct work_begin *)service->begin;
    size_t i, size, nfds;
    int fd;

    for (;;) {
        nfds = 1;
        size = worker_receive_packet(service->begin, &fd, &nfds);
        for (i = 0; i < n && kinds[i].kind != begin->kind; i++) {
        }
        if (i == n || size < sizeof(*begin) ||
            begin->head.message != WORK_BEGIN) {
            worker_give_up();
        }
        worker_read_body(service, &kinds[i], size, nfds == 1 ? fd : -1);
    }
}
