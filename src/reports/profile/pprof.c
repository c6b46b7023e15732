/*
 * Copyright (C) the ngx_symcache authors
 *
 * pprof, and the dictionary of OTLP's profiles, which was made of it: there,
 * tables take the place of lists with ids.  Both keep the order of fields.
 */
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"
#include "formats.h"
#include "mappings.h"

/* Fields of both formats; 0: there is none. */
struct pprof_layout {
    uint32_t mappings, locations, functions, strings, attributes;
    struct {
        uint32_t id, start, limit, offset, path, build, attributes, flags;
    } mapping;
    struct {
        uint32_t id, mapping, address, lines;
    } location;
    struct {
        uint32_t id, name, system_name, file;
    } function;
};

static const struct pprof_layout layouts[] = {
    [PROFILE_PPROF] =
        {3, 4, 5, 6, 0, {1, 2, 3, 4, 5, 6, 0, 7}, {1, 2, 3, 4}, {1, 2, 3, 4}},
    [PROFILE_OTLP] =
        {1, 2, 3, 5, 6, {0, 1, 2, 3, 4, 0, 5, 0}, {0, 1, 2, 3}, {0, 1, 2, 3}},
};

#define NOT_A_PROFILE                                                         \
    "this is not a profile of pprof, OTLP, perf script or the Firefox Profiler"
#define FLAGS 4 /* has_functions and the three after it */

/* The value of an OTLP attribute, by its key. */
enum key { KEY_OTHER, KEY_GNU, KEY_GO, KEY_HASH };

struct attribute {
    enum key key;
    struct symc_string value;
};

struct pprof_document {
    const struct pprof_layout *layout;
    const uint8_t *damage; /* the first field that is none, or NULL */
    struct protobuf tables; /* the message that has them */
    struct symc_string *strings;
    size_t nstrings;
    size_t strings_room;
    struct attribute *attributes;
    size_t nattributes;
    size_t attributes_room;
    struct profile_mappings mappings;
    struct table ids; /* of mappings: places + 1 */
    bool *has_names;  /* beside each mapping */
    size_t names_room;
    bool is_without_memory;
};

static void free_document(struct pprof_document *pprof)
{
    free(pprof->strings);
    free(pprof->attributes);
    profile_mappings_free(&pprof->mappings);
    table_free(&pprof->ids);
    free(pprof->has_names);
}

static struct symc_string pprof_string_at(const struct pprof_document *pprof,
                                          uint64_t place)
{
    return place < pprof->nstrings ? pprof->strings[place]
                                   : (struct symc_string){"", 0};
}

static struct symc_string pprof_text_of(const struct protobuf *bytes)
{
    return (struct symc_string){(const char *)bytes->at,
                                (size_t)(bytes->end - bytes->at)};
}

/* reading ------------------------------------------------------------------ */

/* pprof has fields that OTLP has not; which field is OTLP's dictionary.
 * Returns false if the message is damaged. */
static bool find_tables(const struct profile *profile,
                        struct pprof_document *pprof,
                        enum profile_format *format)
{
    struct protobuf message = protobuf_of(profile->data, profile->size);
    struct protobuf_field f;

    *format = PROFILE_OTLP;
    pprof->tables = protobuf_of(profile->data, 0);
    while (protobuf_next(&message, &f)) {
        if (f.number > 2 || !f.is_bytes) {
            *format = PROFILE_PPROF;
        }
        if (f.number == 2) {
            pprof->tables = f.bytes;
        }
    }
    if (*format == PROFILE_PPROF) {
        pprof->tables = protobuf_of(profile->data, profile->size);
    }
    pprof->layout = &layouts[*format];
    pprof->damage = message.is_damaged ? f.begin : NULL;
    return !message.is_damaged;
}

static void add_pprof_string(struct pprof_document *pprof,
                             struct symc_string string)
{
    if (array_need(&pprof->strings, &pprof->strings_room, pprof->nstrings + 1,
                   sizeof(pprof->strings[0])) != 0) {
        pprof->is_without_memory = true;
        return;
    }
    pprof->strings[pprof->nstrings++] = string;
}

static void read_strings(struct pprof_document *pprof)
{
    struct protobuf message = pprof->tables;
    struct protobuf_field f;

    while (protobuf_next(&message, &f)) {
        if (f.number == pprof->layout->strings && f.is_bytes) {
            add_pprof_string(pprof, pprof_text_of(&f.bytes));
        }
    }
}

static enum key pprof_key_of(struct symc_string name)
{
    static const struct {
        const char *name;
        enum key key;
    } keys[] = {{"process.executable.build_id.gnu", KEY_GNU},
                {"process.executable.build_id.go", KEY_GO},
                {"process.executable.build_id.htlhash", KEY_HASH},
                {"process.executable.build_id.profiling", KEY_HASH}};
    size_t i;

    for (i = 0; i < COUNT(keys); i++) {
        if (name.size == strlen(keys[i].name) &&
            memcmp(name.data, keys[i].name, name.size) == 0) {
            return keys[i].key;
        }
    }
    return KEY_OTHER;
}

/* KeyValueAndUnit, whose value is an AnyValue with a string. */
static struct attribute pprof_attribute(const struct pprof_document *pprof,
                                        struct protobuf message)
{
    struct attribute attribute = {KEY_OTHER, {"", 0}};
    struct protobuf_field f, value;

    while (protobuf_next(&message, &f)) {
        if (f.number == 1 && !f.is_bytes) {
            attribute.key = pprof_key_of(pprof_string_at(pprof, f.value));
        } else if (f.number == 2 && f.is_bytes) {
            while (protobuf_next(&f.bytes, &value)) {
                if (value.number == 1 && value.is_bytes) {
                    attribute.value = pprof_text_of(&value.bytes);
                }
            }
        }
    }
    return attribute;
}

static void read_attributes(struct pprof_document *pprof)
{
    struct protobuf message = pprof->tables;
    struct protobuf_field f;

    while (pprof->layout->attributes != 0 && protobuf_next(&message, &f)) {
        if (f.number != pprof->layout->attributes || !f.is_bytes) {
            continue;
        }
        if (array_need(&pprof->attributes, &pprof->attributes_room,
                       pprof->nattributes + 1,
                       sizeof(pprof->attributes[0])) != 0) {
            pprof->is_without_memory = true;
            return;
        }
        pprof->attributes[pprof->nattributes++] =
            pprof_attribute(pprof, f.bytes);
    }
}

/* The id of a mapping by one of its attributes: the build id is better known
 * than the profiler's hash. */
static void read_mapping_attribute(const struct pprof_document *pprof,
                                   uint64_t place, struct symc_string *build,
                                   struct symc_string *hash)
{
    const struct attribute *attribute;

    if (place >= pprof->nattributes) {
        return;
    }
    attribute = &pprof->attributes[place];
    if (attribute->key == KEY_GNU) {
        *build = attribute->value;
    } else if (attribute->key == KEY_HASH) {
        *hash = attribute->value;
    }
}

static void read_mapping_field(const struct pprof_document *pprof,
                               struct protobuf_field *f,
                               struct profile_mapping *mapping, uint64_t *id,
                               struct symc_string *build,
                               struct symc_string *hash)
{
    const struct pprof_layout *layout = pprof->layout;
    uint64_t place;

    if (f->number == layout->mapping.attributes && f->is_bytes) {
        while (protobuf_number(&f->bytes, &place)) {
            read_mapping_attribute(pprof, place, build, hash);
        }
    } else if (f->number == layout->mapping.attributes) {
        read_mapping_attribute(pprof, f->value, build, hash);
    } else if (f->number == layout->mapping.id) {
        *id = f->value;
    } else if (f->number == layout->mapping.start) {
        mapping->start = f->value;
    } else if (f->number == layout->mapping.limit) {
        mapping->limit = f->value;
    } else if (f->number == layout->mapping.offset) {
        mapping->offset = f->value;
    } else if (f->number == layout->mapping.path) {
        mapping->path = pprof_string_at(pprof, f->value);
    } else if (f->number == layout->mapping.build &&
               layout->mapping.build != 0) {
        *build = pprof_string_at(pprof, f->value);
    }
}

/* Of mappings with the same id, the first one counts. */
static size_t find_mapping(const struct pprof_document *pprof, uint64_t id)
{
    uintptr_t place;
    size_t at = 0;

    if (pprof->layout->mapping.id == 0) {
        return id < pprof->mappings.n ? (size_t)id : SIZE_MAX;
    }
    place = table_next(&pprof->ids, table_hash_number(&pprof->ids, id), &at);
    return place != 0 ? (size_t)place - 1 : SIZE_MAX;
}

static void pprof_mapping(struct profile *profile,
                          struct pprof_document *pprof,
                          struct protobuf message)
{
    struct profile_mapping mapping = {.module = PROFILE_NONE};
    struct symc_string build = {"", 0}, hash = {"", 0};
    uint64_t id = pprof->mappings.n;
    struct protobuf_field f;

    while (protobuf_next(&message, &f)) {
        read_mapping_field(pprof, &f, &mapping, &id, &build, &hash);
    }
    if (profile_is_hex(&build, 2, 64)) {
        mapping.module =
            profile_add_module(profile, "buildid-", &build, NULL, NULL);
    } else if (profile_is_hex(&hash, 16, 16)) {
        mapping.module =
            profile_add_module(profile, "hash-", &hash, NULL, NULL);
    }
    if (array_need(&pprof->has_names, &pprof->names_room,
                   pprof->mappings.n + 1, sizeof(pprof->has_names[0])) != 0 ||
        profile_mappings_add(&pprof->mappings, &mapping) != 0) {
        pprof->is_without_memory = true;
        return;
    }
    pprof->has_names[pprof->mappings.n - 1] = false;
    if (pprof->layout->mapping.id != 0 &&
        find_mapping(pprof, id) == SIZE_MAX &&
        table_add(&pprof->ids, table_hash_number(&pprof->ids, id),
                  pprof->mappings.n) != 0) {
        pprof->is_without_memory = true;
    }
}

static void read_mappings(struct profile *profile,
                          struct pprof_document *pprof)
{
    struct protobuf message = pprof->tables;
    struct protobuf_field f;

    while (protobuf_next(&message, &f)) {
        if (f.number == pprof->layout->mappings && f.is_bytes) {
            pprof_mapping(profile, pprof, f.bytes);
        }
    }
}

/* Returns the mapping of a location that wants names, or SIZE_MAX. */
static size_t read_location(const struct pprof_document *pprof,
                            struct protobuf message, uint64_t *address)
{
    const struct pprof_layout *layout = pprof->layout;
    bool has_lines = false;
    struct protobuf_field f;
    size_t mapping = layout->mapping.id == 0 ? 0 : SIZE_MAX;

    *address = 0;
    while (protobuf_next(&message, &f)) {
        if (f.number == layout->location.mapping) {
            mapping = find_mapping(pprof, f.value);
        } else if (f.number == layout->location.address) {
            *address = f.value;
        } else if (f.number == layout->location.lines) {
            has_lines = true;
        }
    }
    return has_lines || *address == 0 || mapping >= pprof->mappings.n ||
                   pprof->mappings.list[mapping].module == PROFILE_NONE
               ? SIZE_MAX
               : mapping;
}

/* Addresses that are not where the module is mapped are in its file. */
static uint64_t relative_of(const struct pprof_document *pprof, size_t mapping,
                            uint64_t address, uint64_t *reach)
{
    const struct profile_mapping *m = &pprof->mappings.list[mapping];

    *reach = PROFILE_REACHES;
    return address >= m->start && m->limit > m->start && address < m->limit
               ? profile_relative(&pprof->mappings, m, address, reach)
               : address;
}

static void read_locations(struct profile *profile,
                           struct pprof_document *pprof)
{
    struct protobuf message = pprof->tables;
    struct protobuf_field f;
    uint64_t address;
    size_t mapping;
    uint64_t reach;

    while (protobuf_next(&message, &f)) {
        if (f.number != pprof->layout->locations || !f.is_bytes) {
            continue;
        }
        mapping = read_location(pprof, f.bytes, &address);
        if (mapping != SIZE_MAX) {
            address = relative_of(pprof, mapping, address, &reach);
            profile_add_place(profile, pprof->mappings.list[mapping].module,
                              address, reach);
        }
    }
}

/* Returns false if it is damaged. */
static bool open_document(struct profile *profile,
                          struct pprof_document *pprof)
{
    struct protobuf message;
    struct protobuf_field f;

    if (!find_tables(profile, pprof, &profile->format)) {
        return false;
    }
    for (message = pprof->tables; protobuf_next(&message, &f);) {
    }
    pprof->damage = message.is_damaged ? f.begin : NULL;
    read_strings(pprof);
    read_attributes(pprof);
    read_mappings(profile, pprof);
    profile->is_without_memory |= pprof->is_without_memory;
    return !message.is_damaged && pprof->nstrings > 0 &&
           pprof->strings[0].size == 0;
}

bool pprof_read(struct profile *profile, char error[PROFILE_ERROR])
{
    struct pprof_document pprof = {0};
    bool is_read = open_document(profile, &pprof);

    if (is_read) {
        read_locations(profile, &pprof);
    }
    free_document(&pprof);
    if (pprof.damage != NULL) {
        return profile_fail(error,
                            NOT_A_PROFILE ", or is damaged: no whole field of "
                                          "a message begins at byte %zu",
                            (size_t)(pprof.damage - profile->data));
    }
    return is_read || profile_fail(error, NOT_A_PROFILE);
}

/* writing ------------------------------------------------------------------ */

#define HEAD_MAX 20 /* two varints */

static void pprof_put_two(struct profile_output *out, uint32_t field,
                          pb_wire_type_t type, uint64_t number)
{
    pb_byte_t bytes[HEAD_MAX];
    pb_ostream_t s = pb_ostream_from_buffer(bytes, sizeof(bytes));

    pb_encode_tag(&s, type, field);
    pb_encode_varint(&s, number);
    profile_put(out, bytes, s.bytes_written);
}

static void pprof_put_number(struct profile_output *out, uint32_t field,
                             uint64_t number)
{
    pprof_put_two(out, field, PB_WT_VARINT, number);
}

static void pprof_put_bytes(struct profile_output *out, uint32_t field,
                            const void *data, size_t size)
{
    pprof_put_two(out, field, PB_WT_STRING, size);
    profile_put(out, data, size);
}

/* Additions to the profile. */
struct additions {
    struct function {
        uint32_t name, file;
    } *functions;
    size_t n;
    size_t room;
    struct table table; /* places + 1 */
    uint64_t id;        /* of the first */
    bool has_failed;
};

/* The id of a function. */
static uint64_t pprof_add_function(struct additions *a, uint32_t name,
                                   uint32_t file)
{
    const uint32_t key[] = {name, file};
    uint64_t hash = table_hash((uintptr_t)a, key, sizeof(key));
    uintptr_t place;
    size_t at = 0;

    while ((place = table_next(&a->table, hash, &at)) != 0) {
        if (a->functions[place - 1].name == name &&
            a->functions[place - 1].file == file) {
            return a->id + place - 1;
        }
    }
    if (array_need(&a->functions, &a->room, a->n + 1,
                   sizeof(a->functions[0])) != 0 ||
        table_add(&a->table, hash, a->n + 1) != 0) {
        a->has_failed = true;
        return 0;
    }
    a->functions[a->n] = (struct function){name, file};
    return a->id + a->n++;
}

/* The first id, or place in the table, that no function has. */
static uint64_t free_function(const struct pprof_document *pprof)
{
    struct protobuf message = pprof->tables;
    uint64_t id, next = pprof->layout->function.id != 0;
    struct protobuf_field f, part;

    while (protobuf_next(&message, &f)) {
        if (f.number != pprof->layout->functions || !f.is_bytes) {
            continue;
        }
        if (pprof->layout->function.id == 0) {
            next++;
            continue;
        }
        for (id = 0; protobuf_next(&f.bytes, &part);) {
            id = part.number == 1 && !part.is_bytes ? part.value : id;
        }
        next = id >= next && id < UINT64_MAX / 2 ? id + 1 : next;
    }
    return next;
}

/* The innermost function comes first in both formats. */
static void pprof_put_lines(const struct profile *profile,
                            struct pprof_document *pprof, struct additions *a,
                            const struct profile_place *place,
                            struct profile_output *out)
{
    struct profile_output line = {0};
    const uint32_t *number;
    uint32_t i;

    for (i = place->count; i > 0; i--) {
        number = profile->frames + place->first + 3 * (i - 1);
        line.size = 0;
        pprof_put_number(&line, 1,
                         pprof_add_function(a, number[0], number[1]));
        pprof_put_number(&line, 2, number[2]);
        pprof_put_bytes(out, pprof->layout->location.lines, line.data,
                        line.size);
    }
    out->has_failed |= line.has_failed;
    free(line.data);
}

static void
pprof_put_location(const struct profile *profile, struct pprof_document *pprof,
                   struct additions *a, const struct profile_place *place,
                   struct protobuf message, struct profile_output *out)
{
    struct profile_output whole = {0};
    struct symc_string text = pprof_text_of(&message);

    profile_put(&whole, text.data, text.size);
    pprof_put_lines(profile, pprof, a, place, &whole);
    pprof_put_bytes(out, pprof->layout->locations, whole.data, whole.size);
    out->has_failed |= whole.has_failed;
    free(whole.data);
}

/* The last value of a field counts. */
static void pprof_put_mapping(const struct pprof_document *pprof,
                              struct protobuf message,
                              struct profile_output *out)
{
    struct profile_output whole = {0};
    struct symc_string text = pprof_text_of(&message);
    uint32_t i;

    profile_put(&whole, text.data, text.size);
    for (i = 0; i < FLAGS; i++) {
        pprof_put_number(&whole, pprof->layout->mapping.flags + i, 1);
    }
    pprof_put_bytes(out, pprof->layout->mappings, whole.data, whole.size);
    out->has_failed |= whole.has_failed;
    free(whole.data);
}

/* Which mappings have names now? */
static void note_names(const struct profile *profile,
                       struct pprof_document *pprof)
{
    struct protobuf message = pprof->tables;
    struct protobuf_field f;
    uint64_t address;
    size_t mapping, place = 0;

    while (protobuf_next(&message, &f)) {
        if (f.number != pprof->layout->locations || !f.is_bytes) {
            continue;
        }
        mapping = read_location(pprof, f.bytes, &address);
        if (mapping != SIZE_MAX && profile->places[place++].count > 0) {
            pprof->has_names[mapping] = true;
        }
    }
}

static void put_additions(const struct profile *profile,
                          const struct pprof_document *pprof,
                          const struct additions *a,
                          struct profile_output *out)
{
    struct profile_output function = {0};
    const struct pprof_layout *layout = pprof->layout;
    struct symc_string name;
    uint64_t text = pprof->nstrings - 1; /* before that of name 1 */
    size_t i;

    for (i = 0; i < a->n; i++) {
        function.size = 0;
        if (layout->function.id != 0) {
            pprof_put_number(&function, layout->function.id, a->id + i);
        }
        pprof_put_number(&function, layout->function.name,
                         text + a->functions[i].name);
        pprof_put_number(&function, layout->function.system_name,
                         text + a->functions[i].name);
        if (a->functions[i].file != 0) {
            pprof_put_number(&function, layout->function.file,
                             text + a->functions[i].file);
        }
        pprof_put_bytes(out, layout->functions, function.data, function.size);
    }
    for (i = 1; a->n > 0 && i < profile->resolver->names.count; i++) {
        name = profile_name(profile, (uint32_t)i);
        pprof_put_bytes(out, layout->strings, name.data, name.size);
    }
    out->has_failed |= function.has_failed || a->has_failed;
    free(function.data);
}

static void put_tables(const struct profile *profile,
                       struct pprof_document *pprof,
                       struct profile_output *out)
{
    struct additions a = {.id = free_function(pprof)};
    struct protobuf message = pprof->tables;
    const struct profile_place *place = profile->places;
    size_t mapping = 0;
    struct protobuf_field f;
    uint64_t address;

    while (protobuf_next(&message, &f)) {
        if (f.number == pprof->layout->locations && f.is_bytes &&
            read_location(pprof, f.bytes, &address) != SIZE_MAX &&
            place++->count > 0) {
            pprof_put_location(profile, pprof, &a, place - 1, f.bytes, out);
        } else if (f.number == pprof->layout->mappings && f.is_bytes &&
                   pprof->has_names[mapping++] &&
                   pprof->layout->mapping.flags != 0) {
            pprof_put_mapping(pprof, f.bytes, out);
        } else {
            profile_put(out, f.begin, (size_t)(message.at - f.begin));
        }
    }
    put_additions(profile, pprof, &a, out);
    free(a.functions);
    table_free(&a.table);
}

static void put_otlp(const struct profile *profile,
                     struct pprof_document *pprof, struct profile_output *out)
{
    struct protobuf message = protobuf_of(profile->data, profile->size);
    struct profile_output tables = {0};
    struct protobuf_field f;

    while (protobuf_next(&message, &f)) {
        if (f.number == 2 && f.bytes.at == pprof->tables.at &&
            profile->nframes > 0) {
            put_tables(profile, pprof, &tables);
            pprof_put_bytes(out, 2, tables.data, tables.size);
        } else {
            profile_put(out, f.begin, (size_t)(message.at - f.begin));
        }
    }
    out->has_failed |= tables.has_failed;
    free(tables.data);
}

void pprof_write(const struct profile *profile, struct profile_output *out)
{
    struct profile again = {.data = profile->data, .size = profile->size};
    struct pprof_document pprof = {0};

    open_document(&again, &pprof);
    note_names(profile, &pprof);
    if (again.is_without_memory) {
        out->has_failed = true;
    } else if (profile->format == PROFILE_OTLP) {
        put_otlp(profile, &pprof, out);
    } else {
        put_tables(profile, &pprof, out);
    }
    profile_free(&again);
    free_document(&pprof);
}
