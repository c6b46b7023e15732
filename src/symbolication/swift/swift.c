/*
 * Copyright (C) the ngx_symcache authors
 */
#include "swift.h"

#include <string.h>

#include "base/thread.h"
#include "node.h"

/* The size of the prefix, or 0. */
static size_t prefix_of(const char *name, size_t size)
{
    size_t n = 0;

    while (n < size && n < 2 && name[n] == '_') {
        n++;
    }
    return size > n + 2 && name[n] == '$' &&
                   (name[n + 1] == 's' || name[n + 1] == 'S' ||
                    name[n + 1] == 'e')
               ? n + 2
               : 0;
}

bool swift_sniff(const char *name, size_t size)
{
    return prefix_of(name, size) > 0;
}

size_t swift_demangle(const char *name, size_t size, bool is_full, char *room,
                      size_t room_size)
{
    static _Thread_local void *kept;
    size_t n = prefix_of(name, size);
    struct swift *s = n > 0 ? thread_keep(&kept, sizeof(*s)) : NULL;

    if (s == NULL) {
        return 0;
    }
    memset(s, 0, offsetof(struct swift, nodes));
    s->num_nodes = 1;
    s->num_kids = s->depth = s->num_shared = s->num_words = s->text_size = 0;
    memset(&s->nodes[0], 0, sizeof(s->nodes[0]));
    s->p = name + n;
    s->end = name + size;
    return swift_parse(s) ? swift_print(s, is_full, room, room_size) : 0;
}
