/*
 * Copyright (C) the ngx_symcache authors
 *
 * Landlock restricts a process's access to files and the network, independent
 * of the rights of its user.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_ASAN 1
#endif

/* Rights to files, with the values of the kernel's interface. */
#define LANDLOCK_WRITE_FILE (1ull << 1)
#define LANDLOCK_READ_FILE (1ull << 2)
#define LANDLOCK_READ_DIR (1ull << 3)
#define LANDLOCK_REMOVE_FILE (1ull << 5)
#define LANDLOCK_MAKE_REG (1ull << 8)

struct landlock_grant {
    int fd; /* of a folder; the rights apply to everything below it */
    uint64_t rights;
};

/*
 * Removes every right that this kernel knows from the process for good, except
 * for n grants, and for connecting to a TCP port if that is not 0.  Returns 0;
 * 1 where the kernel has no Landlock, or has it switched off; or -1 with
 * errno.
 */
int landlock_restrict(const struct landlock_grant *grants, size_t n,
                      unsigned port);
