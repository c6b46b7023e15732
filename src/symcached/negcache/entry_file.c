/*
 * Copyright (C) the ngx_symcache authors
 */

#include "entry_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/control.h"

/*
 * Reads "<reason> <seconds>[ <fingerprint>]\n<text>\n[<name variants>\n]" up
 * to the first NUL.  Anything else is not an entry: the file was cut off by a
 * crash, or written by hand.
 */
static bool parse_entry(char *text, struct written *written)
{
    struct negcache_entry *entry = &written->entry;
    char *p, *end;
    size_t n = 0;
    unsigned i;

    for (i = 0; i < NEGCACHE_REASONS; i++) {
        n = strlen(negcache_rules[i].name);
        if (negcache_rules[i].on_disk &&
            strncmp(text, negcache_rules[i].name, n) == 0 && text[n] == ' ') {
            break;
        }
    }
    if (i == NEGCACHE_REASONS) {
        return false;
    }

    p = text + n + 1;
    if (*p < '0' || *p > '9') {
        return false;
    }
    errno = 0;
    entry->since = (time_t)strtoll(p, &end, 10);
    written->has_fingerprint = errno == 0 && *end == ' ';
    if (written->has_fingerprint) {
        written->fingerprint = strtoull(end + 1, &end, 16);
    }
    if (errno != 0 || *end != '\n') {
        return false;
    }

    entry->reason = (enum negcache_reason)i;
    entry->uploads_changed = NEGCACHE_NO_UPLOADS;
    p = end + 1;
    n = strcspn(p, "\n");
    snprintf(entry->text, sizeof(entry->text), "%.*s", (int)n, p);
    p += n + (p[n] == '\n');
    snprintf(entry->variants.text, sizeof(entry->variants.text), "%.*s",
             (int)strcspn(p, "\n"), p);
    return true;
}

bool entry_read(int dir, const char *name, struct written *written)
{
    char text[NEGCACHE_TEXT_MAX + sizeof(struct name_variants) + 128];
    ssize_t n;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd == -1) {
        return false;
    }
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    return parse_entry(text, written);
}

bool entry_print(FILE *f, uint64_t fingerprint,
                 const struct negcache_entry *entry)
{
    char line[NEGCACHE_TEXT_MAX], *p;

    snprintf(line, sizeof(line), "%s", entry->text);
    for (p = line; *p != '\0'; p++) {
        if (control_is(*p)) {
            *p = ' ';
        }
    }
    return fprintf(f, "%s %lld %016" PRIx64 "\n%s\n",
                   negcache_rules[entry->reason].name, (long long)entry->since,
                   fingerprint, line) > 0 &&
           (entry->variants.text[0] == '\0' ||
            fprintf(f, "%s\n", entry->variants.text) > 0);
}
