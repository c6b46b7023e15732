/*
 * Copyright (C) the ngx_symcache authors
 *
 * The handler takes no lock: a slot is filled before its base is set, and its
 * base is taken away before the mapping goes.
 */
#include "sigbus.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct sigbus_slot {
    atomic_uintptr_t base; /* 0: free */
    size_t size;
    atomic_bool *broken;
};

static struct sigbus_slot sigbus_slots[SIGBUS_MAX];
static atomic_uint sigbus_used; /* slots that were ever filled */
static unsigned lowest;  /* the slots before it are taken */
static pthread_mutex_t sigbus_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct sigbus_slot *sigbus_find_mapping(uintptr_t address)
{
    unsigned i, n = atomic_load(&sigbus_used);
    uintptr_t base;

    for (i = 0; i < n; i++) {
        base = atomic_load(&sigbus_slots[i].base);
        if (base != 0 && address >= base &&
            address - base < sigbus_slots[i].size) {
            return &sigbus_slots[i];
        }
    }
    return NULL;
}

static void on_sigbus(int signo, siginfo_t *info, void *context)
{
    struct sigbus_slot *slot = sigbus_find_mapping((uintptr_t)info->si_addr);

    if (slot == NULL ||
        mmap((void *)atomic_load(&slot->base), slot->size, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        signal(SIGBUS, SIG_DFL); /* a fault of our own: happens again */
        return;
    }
    atomic_store(slot->broken, true);
}

int sigbus_start(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus,
                               .sa_flags = SA_SIGINFO};

    return sigaction(SIGBUS, &action, NULL);
}

int sigbus_add(void *base, size_t size, atomic_bool *broken)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned i;

    pthread_mutex_lock(&sigbus_mutex);
    for (i = lowest; i < SIGBUS_MAX && atomic_load(&sigbus_slots[i].base) != 0;
         i++) {
    }
    lowest = i;
    if (i < SIGBUS_MAX) {
        sigbus_slots[i].size = (size + page - 1) / page * page;
        sigbus_slots[i].broken = broken;
        atomic_store(&sigbus_slots[i].base, (uintptr_t)base);
        if (i >= atomic_load(&sigbus_used)) {
            atomic_store(&sigbus_used, i + 1);
        }
    }
    pthread_mutex_unlock(&sigbus_mutex);
    return i < SIGBUS_MAX ? (int)i : -1;
}

void sigbus_remove(int number)
{
    pthread_mutex_lock(&sigbus_mutex);
    atomic_store(&sigbus_slots[number].base, 0);
    if ((unsigned)number < lowest) {
        lowest = (unsigned)number;
    }
    pthread_mutex_unlock(&sigbus_mutex);
}
