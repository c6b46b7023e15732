/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <string.h>

#include "base/byte_compare.h"
#include "base/le.h"

static const unsigned sizes[PROGUARDCACHE_PARTS] = {
    PROGUARDCACHE_CLASS_SIZE, PROGUARDCACHE_MEMBER_SIZE,
    PROGUARDCACHE_PARAMETER_SIZE, PROGUARDCACHE_EXTRA_SIZE,
    PROGUARDCACHE_PAIR_SIZE, PROGUARDCACHE_RULE_SIZE, 1};

bool proguardcache_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, PROGUARDCACHE_MAGIC, 4) == 0;
}

static const struct symc_head head = {"ProguardCache", PROGUARDCACHE_MAGIC,
                                      PROGUARDCACHE_VERSION,
                                      PROGUARDCACHE_HEADER};

enum symc_reader_status
proguardcache_reader_open(struct proguardcache_reader *reader,
                          const void *data, size_t size, char *error,
                          size_t error_size)
{
    unsigned i;
    uint64_t end = PROGUARDCACHE_HEADER;
    enum symc_reader_status status;
    struct proguardcache_reader r = {.data = data, .size = size};

    status = symc_head_check(&head, data, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    for (i = 0; i < PROGUARDCACHE_PARTS; i++) {
        r.counts[i] = le32(r.data + PROGUARDCACHE_AT_COUNTS + 4 * (size_t)i);
        r.begins[i] = end;
        end += (uint64_t)r.counts[i] * sizes[i];
    }
    status = symc_head_check_end(end, size, error, error_size);
    if (status == SYMC_OPENED) {
        *reader = r;
    }
    return status;
}

/* Returns where a record is, or NULL. */
static const uint8_t *record_at(const struct proguardcache_reader *reader,
                                enum proguardcache_part part, uint32_t index)
{
    return index < reader->counts[part] ? reader->data + reader->begins[part] +
                                              (size_t)index * sizes[part]
                                        : NULL;
}

/* Reads the string whose offset is at p; data is NULL if it is absent. */
static struct symc_string
proguard_string(const struct proguardcache_reader *reader, const uint8_t *p)
{
    struct symc_string string;

    (void)symc_string_find(reader->data +
                               reader->begins[PROGUARDCACHE_STRINGS],
                           reader->counts[PROGUARDCACHE_STRINGS], le32(p),
                           SYMC_LEB128_VERSION, &string);
    return string;
}

/* The same of a string that is never absent. */
static struct symc_string
proguard_text_at(const struct proguardcache_reader *reader, const uint8_t *p)
{
    struct symc_string string = proguard_string(reader, p);

    if (string.data == NULL) {
        string.data = "";
    }
    return string;
}

/* Cuts a slice off at the end of its part. */
static void bound(const struct proguardcache_reader *reader,
                  enum proguardcache_part part, uint32_t *first,
                  uint32_t *count)
{
    if (*first > reader->counts[part]) {
        *first = *count = 0;
    } else if (*count > reader->counts[part] - *first) {
        *count = reader->counts[part] - *first;
    }
}

bool proguardcache_reader_class(const struct proguardcache_reader *reader,
                                uint32_t index, struct proguardcache_class *c)
{
    const uint8_t *p = record_at(reader, PROGUARDCACHE_CLASSES, index);

    if (p == NULL) {
        return false;
    }
    c->renamed = proguard_text_at(reader, p);
    c->original = proguard_text_at(reader, p + 4);
    c->file = proguard_string(reader, p + 8);
    c->first = le32(p + 12);
    c->count = le32(p + 16);
    c->first_parameter = le32(p + 20);
    c->num_parameters = le32(p + 24);
    bound(reader, PROGUARDCACHE_MEMBERS, &c->first, &c->count);
    bound(reader, PROGUARDCACHE_PARAMETERS, &c->first_parameter,
          &c->num_parameters);
    return true;
}

bool proguardcache_reader_lines(const struct proguardcache_reader *reader,
                                uint32_t index, struct proguardcache_member *m)
{
    const uint8_t *p = record_at(reader, PROGUARDCACHE_MEMBERS, index);

    if (p == NULL) {
        return false;
    }
    m->record = p;
    m->lines[0] = le32(p + 4);
    m->lines[1] = le32(p + 8);
    m->originals[0] = le32(p + 24);
    m->originals[1] = le32(p + 28);
    m->extra = le32(p + 36);
    m->flags = le32(p + 40);
    return true;
}

void proguardcache_reader_names(const struct proguardcache_reader *reader,
                                struct proguardcache_member *m)
{
    const uint8_t *p = m->record;

    m->renamed = proguard_text_at(reader, p);
    m->class = proguard_string(reader, p + 12);
    m->file = proguard_string(reader, p + 16);
    m->name = proguard_text_at(reader, p + 20);
    m->arguments = proguard_text_at(reader, p + 32);
}

bool proguardcache_reader_member(const struct proguardcache_reader *reader,
                                 uint32_t index,
                                 struct proguardcache_member *m)
{
    if (!proguardcache_reader_lines(reader, index, m)) {
        return false;
    }
    proguardcache_reader_names(reader, m);
    return true;
}

uint32_t
proguardcache_reader_parameter(const struct proguardcache_reader *reader,
                               uint32_t place)
{
    const uint8_t *p = record_at(reader, PROGUARDCACHE_PARAMETERS, place);

    return p != NULL ? le32(p) : PROGUARDCACHE_NONE;
}

void proguardcache_reader_extra(const struct proguardcache_reader *reader,
                                uint32_t number,
                                struct proguardcache_slice *pairs,
                                struct proguardcache_slice *rules)
{
    const uint8_t *p =
        number > 0 ? record_at(reader, PROGUARDCACHE_EXTRAS, number - 1)
                   : NULL;

    *pairs = *rules = (struct proguardcache_slice){0, 0};
    if (p == NULL) {
        return;
    }
    *pairs = (struct proguardcache_slice){le32(p), le32(p + 4)};
    *rules = (struct proguardcache_slice){le32(p + 8), le32(p + 12)};
    bound(reader, PROGUARDCACHE_PAIRS, &pairs->first, &pairs->count);
    bound(reader, PROGUARDCACHE_RULES, &rules->first, &rules->count);
}

bool proguardcache_reader_rule(const struct proguardcache_reader *reader,
                               uint32_t index, struct proguardcache_rule *rule)
{
    const uint8_t *p = record_at(reader, PROGUARDCACHE_RULES, index);

    if (p == NULL) {
        return false;
    }
    rule->descriptor = proguard_text_at(reader, p);
    rule->removed = le32(p + 4);
    return true;
}

bool proguardcache_reader_find(const struct proguardcache_reader *reader,
                               const char *name, size_t size,
                               struct proguardcache_class *class)
{
    uint32_t low = 0, high = reader->counts[PROGUARDCACHE_CLASSES], middle;
    struct symc_string renamed;
    int c;

    while (low < high) {
        middle = low + (high - low) / 2;
        renamed = proguard_text_at(
            reader, record_at(reader, PROGUARDCACHE_CLASSES, middle));
        c = byte_compare(renamed.data, renamed.size, name, size);
        if (c == 0) {
            return proguardcache_reader_class(reader, middle, class);
        }
        if (c < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* A method that is looked for; its arguments are NULL if they do not count. */
struct proguardcache_wanted {
    const char *name;
    size_t size;
    const char *arguments;
    size_t arguments_size;
};

/* Compares the member at a place, of members or parameters, with what is
 * wanted. */
static int compare_member(const struct proguardcache_reader *reader,
                          enum proguardcache_part part, uint32_t place,
                          const struct proguardcache_wanted *wanted)
{
    uint32_t index = part == PROGUARDCACHE_PARAMETERS
                         ? proguardcache_reader_parameter(reader, place)
                         : place;
    const uint8_t *p = record_at(reader, PROGUARDCACHE_MEMBERS, index);
    struct symc_string text;
    int c;

    if (p == NULL) {
        return 1;
    }
    text = proguard_text_at(reader, p);
    c = byte_compare(text.data, text.size, wanted->name, wanted->size);
    if (c == 0 && wanted->arguments != NULL) {
        text = proguard_text_at(reader, p + 32);
        c = byte_compare(text.data, text.size, wanted->arguments,
                         wanted->arguments_size);
    }
    return c;
}

/* Returns the first place that is not below what is wanted; or, if is_after,
 * that is above. */
static uint32_t find_place(const struct proguardcache_reader *reader,
                           enum proguardcache_part part, uint32_t low,
                           uint32_t high,
                           const struct proguardcache_wanted *wanted,
                           bool is_after)
{
    uint32_t middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (compare_member(reader, part, middle, wanted) <
            (is_after ? 1 : 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void find_slice(const struct proguardcache_reader *reader,
                       enum proguardcache_part part, uint32_t first,
                       uint32_t count,
                       const struct proguardcache_wanted *wanted,
                       struct proguardcache_slice *slice)
{
    slice->first =
        find_place(reader, part, first, first + count, wanted, false);
    slice->count =
        find_place(reader, part, slice->first, first + count, wanted, true) -
        slice->first;
}

void proguardcache_reader_methods(const struct proguardcache_reader *reader,
                                  const struct proguardcache_class *class,
                                  const char *name, size_t size,
                                  struct proguardcache_slice *members)
{
    const struct proguardcache_wanted wanted = {name, size, NULL, 0};

    find_slice(reader, PROGUARDCACHE_MEMBERS, class->first, class->count,
               &wanted, members);
}

void proguardcache_reader_overloads(const struct proguardcache_reader *reader,
                                    const struct proguardcache_class *class,
                                    const char *name, size_t size,
                                    const char *arguments,
                                    size_t arguments_size,
                                    struct proguardcache_slice *places)
{
    const struct proguardcache_wanted wanted = {name, size, arguments,
                                                arguments_size};

    find_slice(reader, PROGUARDCACHE_PARAMETERS, class->first_parameter,
               class->num_parameters, &wanted, places);
}

bool proguardcache_reader_outlined(const struct proguardcache_reader *reader,
                                   const struct proguardcache_member *member,
                                   uint32_t position, uint32_t *line)
{
    struct proguardcache_slice pairs, rules;
    uint32_t low, high, middle, at;
    const uint8_t *p;

    proguardcache_reader_extra(reader, member->extra, &pairs, &rules);
    low = pairs.first;
    high = pairs.first + pairs.count;
    while (low < high) {
        middle = low + (high - low) / 2;
        p = record_at(reader, PROGUARDCACHE_PAIRS, middle);
        at = le32(p);
        if (at == position) {
            *line = le32(p + 4);
            return true;
        }
        if (at < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}
