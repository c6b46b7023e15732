/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include "base/byte_compare.h"
#include "base/le.h"

struct proguardcache_verify {
    const struct proguardcache_reader *reader;
    struct integrity file;
};

static bool
check_proguardcache_layout(const struct proguardcache_verify *verify)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    size_t end = proguardcache->begins[PROGUARDCACHE_STRINGS] +
                 proguardcache->counts[PROGUARDCACHE_STRINGS];

    if (proguardcache->size != end) {
        return integrity_fails(&verify->file,
                               "offset 0x%zx: %zu bytes after the parts", end,
                               proguardcache->size - end);
    }
    return integrity_zeros(&verify->file, PROGUARDCACHE_AT_RESERVED,
                           PROGUARDCACHE_HEADER, "header");
}

/* Checks n offsets of strings, from one in the file on.  Bit i of optional says
 * that number i may be absent. */
static bool check_strings(const struct proguardcache_verify *verify,
                          const uint8_t *at, unsigned n, unsigned optional)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    uint32_t offset;
    unsigned i;

    for (i = 0; i < n; i++, at += 4) {
        offset = le32(at);
        if (offset == PROGUARDCACHE_NONE && (optional & 1u << i)) {
            continue;
        }
        if (!integrity_is_string(&verify->file, offset)) {
            return integrity_fails(&verify->file,
                                   "offset 0x%zx: no string begins at 0x%x",
                                   (size_t)(at - proguardcache->data), offset);
        }
    }
    return true;
}

static int compare(const struct symc_string *a,
                   const struct symc_string *b)
{
    return byte_compare(a->data, a->size, b->data, b->size);
}

/* The previous member of a class, or the previous place in its parameters. */
struct before {
    bool is_any;
    struct symc_string renamed;
    struct symc_string arguments;
    uint32_t index;
};

static bool check_member(const struct proguardcache_verify *verify,
                         uint32_t index, struct before *before)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    const uint8_t *p = proguardcache->data +
                       proguardcache->begins[PROGUARDCACHE_MEMBERS] +
                       (size_t)index * PROGUARDCACHE_MEMBER_SIZE;
    struct proguardcache_member m;

    if (!check_strings(verify, p, 1, 0) ||
        !check_strings(verify, p + 12, 3, 3) ||
        !check_strings(verify, p + 32, 1, 0)) {
        return false;
    }
    if (!proguardcache_reader_member(proguardcache, index, &m) ||
        m.extra > proguardcache->counts[PROGUARDCACHE_EXTRAS] ||
        (m.flags & ~PROGUARDCACHE_FLAGS) != 0) {
        return integrity_fails(&verify->file,
                               "member %u: no such extra, or unknown flags",
                               index);
    }
    if (before->is_any && compare(&before->renamed, &m.renamed) > 0) {
        return integrity_fails(&verify->file, "member %u: not in order",
                               index);
    }
    before->is_any = true;
    before->renamed = m.renamed;
    return true;
}

static bool check_parameter(const struct proguardcache_verify *verify,
                            const struct proguardcache_class *class,
                            uint32_t place, struct before *before)
{
    uint32_t index = proguardcache_reader_parameter(verify->reader, place);
    struct proguardcache_member m;
    int c;

    if (index < class->first || index - class->first >= class->count ||
        !proguardcache_reader_member(verify->reader, index, &m)) {
        return integrity_fails(&verify->file,
                               "parameters %u: no member of the class", place);
    }
    c = before->is_any ? compare(&before->renamed, &m.renamed) : -1;
    if (c == 0) {
        c = compare(&before->arguments, &m.arguments);
    }
    if (c > 0 || (c == 0 && before->index >= index)) {
        return integrity_fails(&verify->file, "parameters %u: not in order",
                               place);
    }
    *before = (struct before){true, m.renamed, m.arguments, index};
    return true;
}

static bool check_class(const struct proguardcache_verify *verify,
                        uint32_t index, uint32_t *members,
                        uint32_t *parameters, struct before *before)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    const uint8_t *p = proguardcache->data +
                       proguardcache->begins[PROGUARDCACHE_CLASSES] +
                       (size_t)index * PROGUARDCACHE_CLASS_SIZE;
    struct proguardcache_class c;
    struct before member = {0}, parameter = {0};
    uint32_t i;

    if (!check_strings(verify, p, 3, 4) ||
        !proguardcache_reader_class(proguardcache, index, &c)) {
        return false;
    }
    if (c.first != *members || c.count != le32(p + 16) ||
        c.first_parameter != *parameters ||
        c.num_parameters != le32(p + 24)) {
        return integrity_fails(
            &verify->file, "class %u: its members do not follow those before",
            index);
    }
    if (before->is_any && compare(&before->renamed, &c.renamed) >= 0) {
        return integrity_fails(&verify->file, "class %u: not in order", index);
    }
    *before = (struct before){.is_any = true, .renamed = c.renamed};
    for (i = 0; i < c.count; i++) {
        if (!check_member(verify, c.first + i, &member)) {
            return false;
        }
    }
    for (i = 0; i < c.num_parameters; i++) {
        if (!check_parameter(verify, &c, c.first_parameter + i, &parameter)) {
            return false;
        }
    }
    *members += c.count;
    *parameters += c.num_parameters;
    return true;
}

static bool check_classes(const struct proguardcache_verify *verify)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    uint32_t i, members = 0, parameters = 0;
    struct before before = {0};

    for (i = 0; i < proguardcache->counts[PROGUARDCACHE_CLASSES]; i++) {
        if (!check_class(verify, i, &members, &parameters, &before)) {
            return false;
        }
    }
    return (members == proguardcache->counts[PROGUARDCACHE_MEMBERS] &&
            parameters == proguardcache->counts[PROGUARDCACHE_PARAMETERS]) ||
           integrity_fails(&verify->file, "members or parameters of no class");
}

static bool check_extra(const struct proguardcache_verify *verify,
                        uint32_t index, struct proguardcache_slice *used)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    const uint8_t *p = proguardcache->data +
                       proguardcache->begins[PROGUARDCACHE_EXTRAS] +
                       (size_t)index * PROGUARDCACHE_EXTRA_SIZE;
    struct proguardcache_slice pairs, rules;
    uint32_t i;

    proguardcache_reader_extra(proguardcache, index + 1, &pairs, &rules);
    if (pairs.count != le32(p + 4) || rules.count != le32(p + 12)) {
        return integrity_fails(&verify->file,
                               "extra %u: no such pairs or rules", index + 1);
    }
    p = proguardcache->data + proguardcache->begins[PROGUARDCACHE_PAIRS] +
        (size_t)pairs.first * PROGUARDCACHE_PAIR_SIZE;
    for (i = 1; i < pairs.count; i++, p += PROGUARDCACHE_PAIR_SIZE) {
        if (le32(p) >= le32(p + PROGUARDCACHE_PAIR_SIZE)) {
            return integrity_fails(&verify->file,
                                   "extra %u: pairs not in order", index + 1);
        }
    }
    used->first += pairs.count;
    used->count += rules.count;
    return true;
}

/* Extras do not share pairs or rules, so this takes no longer than the file is
 * long. */
static bool check_extras(const struct proguardcache_verify *verify)
{
    const struct proguardcache_reader *proguardcache = verify->reader;
    struct proguardcache_slice used = {0, 0};
    uint32_t i;
    const uint8_t *p;

    for (i = 0; i < proguardcache->counts[PROGUARDCACHE_EXTRAS]; i++) {
        if (!check_extra(verify, i, &used)) {
            return false;
        }
        if (used.first > proguardcache->counts[PROGUARDCACHE_PAIRS] ||
            used.count > proguardcache->counts[PROGUARDCACHE_RULES]) {
            return integrity_fails(&verify->file,
                                   "extra %u: shares pairs or rules", i + 1);
        }
    }
    p = proguardcache->data + proguardcache->begins[PROGUARDCACHE_RULES];
    for (i = 0; i < proguardcache->counts[PROGUARDCACHE_RULES]; i++) {
        if (!check_strings(verify, p + (size_t)i * PROGUARDCACHE_RULE_SIZE, 1,
                           0)) {
            return false;
        }
    }
    return true;
}

enum symc_verify_status
proguardcache_verify(const struct proguardcache_reader *reader, char *error,
                     size_t error_size)
{
    enum symc_verify_status status;
    struct proguardcache_verify verify = {
        .reader = reader,
        .file = {.data = reader->data,
                 .strings = reader->begins[PROGUARDCACHE_STRINGS],
                 .string_bytes = reader->counts[PROGUARDCACHE_STRINGS],
                 .error = error,
                 .error_size = error_size},
    };

    if (!check_proguardcache_layout(&verify)) {
        return SYMC_VIOLATED;
    }
    status = integrity_strings(&verify.file, SYMC_LEB128_VERSION);
    if (status == SYMC_SOUND &&
        (!check_classes(&verify) || !check_extras(&verify))) {
        status = SYMC_VIOLATED;
    }
    integrity_end(&verify.file);
    return status;
}
