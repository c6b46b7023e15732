/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pdb_name.h"

#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"
#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS

/*
 * Windows opens a device by such a name, in any folder and with any extension.
 * CONIN$ and CONOUT$, and ports with superscript digits, are missing here since
 * pdb_name_is_plain() refuses their characters.
 */
static bool is_device(const char *name)
{
    static const char *const devices[] = {"CON", "PRN", "AUX", "NUL"};
    size_t i, len = strcspn(name, ".");

    for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (len == 3 && strncasecmp(name, devices[i], len) == 0) {
            return true;
        }
    }

    return len == 4 &&
           (strncasecmp(name, "COM", 3) == 0 ||
            strncasecmp(name, "LPT", 3) == 0) &&
           strchr(DIGITS, name[3]) != NULL;
}

bool pdb_name_is_plain(const char *name)
{
    size_t len = strspn(name, ALNUM "_.+-");

    return len > 0 && name[len] == '\0' && strcspn(name, ALNUM) == 0 &&
           name[len - 1] != '.' && !is_device(name);
}
