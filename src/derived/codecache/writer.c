/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

static void put_codecache_header(uint8_t *p,
                                 const struct codecache_content *content)
{
    memcpy(p, CODECACHE_MAGIC, 4);
    le32_store(p + CODECACHE_AT_VERSION, CODECACHE_VERSION);
    memcpy(p + CODECACHE_AT_GUID, content->guid, sizeof(content->guid));
    le32_store(p + CODECACHE_AT_AGE, content->age);
    le32_store(p + CODECACHE_AT_ARCH, content->arch);
    le32_store(p + CODECACHE_AT_PARTS, content->num_parts);
    le32_store(p + CODECACHE_AT_MARKS, content->num_marks);
    le32_store(p + CODECACHE_AT_BIG, content->is_big);
}

/* Returns the size of header and lists; *total is that of the file. */
static uint64_t codecache_lay_out(const struct codecache_content *content,
                                  uint64_t *total)
{
    uint64_t lists = CODECACHE_HEADER +
                     (uint64_t)content->num_parts * CODECACHE_PART_SIZE +
                     (uint64_t)content->num_marks * CODECACHE_MARK_SIZE;
    uint32_t i;

    *total = lists;
    for (i = 0; i < content->num_parts; i++) {
        *total += content->parts[i].size;
    }
    return lists;
}

enum symc_status codecache_write(const struct codecache_content *content,
                                 const struct symc_sink *sink)
{
    uint64_t total, lists = codecache_lay_out(content, &total);
    uint32_t i, offset = (uint32_t)lists;
    uint8_t *head, *p;
    int rc;

    head = total <= UINT32_MAX ? calloc(1, (size_t)lists) : NULL;
    if (head == NULL) {
        return SYMC_NO_MEMORY;
    }
    put_codecache_header(head, content);
    p = head + CODECACHE_HEADER;
    for (i = 0; i < content->num_parts; i++, p += CODECACHE_PART_SIZE) {
        le32_store(p, content->parts[i].address);
        le32_store(p + 4, content->parts[i].size);
        le32_store(p + 8, offset);
        offset += content->parts[i].size;
    }
    for (i = 0; i < content->num_marks; i++, p += CODECACHE_MARK_SIZE) {
        le32_store(p, content->marks[i].address);
        le32_store(p + 4, content->marks[i].mode);
    }
    rc = sink->write(sink->context, head, (size_t)lists);
    free(head);
    for (i = 0; rc == 0 && i < content->num_parts; i++) {
        rc = sink->write(sink->context, content->parts[i].data,
                         content->parts[i].size);
    }
    return rc == 0 ? SYMC_OK : SYMC_NO_WRITE;
}
