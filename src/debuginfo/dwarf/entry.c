/*
 * Copyright (C) the ngx_symcache authors
 */
#include "entry.h"

#include "unit.h"

/* Real chains of references have up to three links.  A circle ends here, too.
 */
#define MAX_REFERENCES 100

/* Link-time optimization may lead to a language this many links away. */
#define MAX_ORIGINS 16

/* Sets that nothing is there, which is all that will be looked at then: there
 * are millions of entries. */
static void entry_clear(struct dwarf_entry *entry)
{
    entry->low_pc.kind = entry->high_pc.kind = DWARF_NO_VALUE;
    entry->call_file.kind = entry->call_line.kind = DWARF_NO_VALUE;
    entry->name.kind = entry->linkage_name.kind = DWARF_NO_VALUE;
    entry->reference.kind = entry->origin.kind = DWARF_NO_VALUE;
    entry->call_line.number = 0;
}

static void entry_take(struct dwarf_entry *entry, unsigned name,
                       const struct dwarf_value *v)
{
    switch (name) {
    case DW_AT_low_pc:
        entry->low_pc = *v;
        break;
    case DW_AT_high_pc:
        entry->high_pc = *v;
        break;
    case DW_AT_call_file:
        entry->call_file = *v;
        break;
    case DW_AT_call_line:
        entry->call_line = *v;
        break;
    case DW_AT_name:
        entry->name = *v;
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        if (entry->linkage_name.kind == DWARF_NO_VALUE) {
            entry->linkage_name = *v;
        }
        break;
    case DW_AT_abstract_origin:
        if (entry->origin.kind == DWARF_NO_VALUE) {
            entry->origin = *v;
        }
        entry->reference = *v;
        break;
    case DW_AT_specification:
        entry->reference = *v;
        break;
    default:
        break;
    }
}

static bool entry_is_range_list(unsigned name, const struct dwarf_value *v)
{
    switch (name) {
    case DW_AT_ranges:
    case DW_AT_start_scope:
        return v->kind == DWARF_OFFSET || v->kind == DWARF_RANGES_INDEX;
    case DW_AT_rnglists_base:
        return v->kind == DWARF_RANGES_INDEX;
    default:
        return false;
    }
}

int dwarf_entry_read(struct dwarf_reader *d, const struct dwarf_unit *u,
                     const struct dwarf_abbrev *abbrev, struct cursor *c,
                     struct dwarf_entry *entry, struct dwarf_ranges *ranges)
{
    size_t i;
    struct dwarf_value v;
    const struct dwarf_attribute *a;

    entry_clear(entry);
    /* some forms take no bytes of the entry */
    if (dwarf_charge(d, abbrev->num_attributes) != 0) {
        return -1;
    }
    for (i = 0; i < abbrev->num_attributes && !c->failed; i++) {
        a = &d->abbrevs.attributes[abbrev->first_attribute + i];
        if (a->unused > 0) {
            cursor_skip(c, a->unused_size);
            i += a->unused - 1u;
            continue;
        }
        v = dwarf_attribute_read(&d->abbrevs, a, &u->encoding, c);
        entry_take(entry, a->name, &v);
        if (ranges != NULL && entry_is_range_list(a->name, &v) &&
            dwarf_ranges_read(d, u, &v, ranges) != 0) {
            return -1;
        }
    }
    return 0;
}

/*
 * Reads the entry that a reference leads to.  *reader and *unit are those of
 * the reference, and become those of the entry.  Returns 1, 0 if the reference
 * leads to no entry, -1 if it is damaged, or -2 with failure set.
 */
static int entry_follow(struct dwarf_reader **reader, struct dwarf_unit **unit,
                        const struct dwarf_value *reference,
                        struct dwarf_entry *entry)
{
    uint64_t code, offset = reference->number;
    struct cursor c;
    struct dwarf_reader *d = *reader;
    struct dwarf_unit *u = *unit;
    const struct dwarf_abbrev *abbrev;

    if (reference->kind == DWARF_UNIT_REF) {
        if (offset < u->entries - u->start || offset >= u->end - u->start) {
            return -1;
        }
        offset += u->start;
    } else if (reference->kind == DWARF_INFO_REF ||
               (reference->kind == DWARF_SUP_REF &&
                d->supplementary != NULL)) {
        d = reference->kind == DWARF_SUP_REF ? d->supplementary : d;
        u = dwarf_unit_find(d, offset);
        if (u == NULL) {
            return -1;
        }
    } else {
        return 0;
    }
    if (dwarf_charge(d, 1) != 0 || dwarf_unit_load(d, u, NULL) != 0) {
        return -2;
    }
    if (u->state != DWARF_UNIT_READY) {
        return -1;
    }
    c = dwarf_cursor(d, DWARF_INFO, offset);
    c.end = c.at + (u->end - offset);
    code = cursor_uleb(&c);
    if (code == 0) {
        return c.failed ? -1 : 0;
    }
    abbrev = dwarf_abbrevs_get(&d->abbrevs, dwarf_unit_table(d, u), code);
    if (abbrev == NULL) {
        return -1;
    }
    if (dwarf_entry_read(d, u, abbrev, &c, entry, NULL) != 0) {
        return -2;
    }
    *reader = d;
    *unit = u;
    return c.failed ? -1 : 1;
}

static int entry_find_string(struct dwarf_reader *d,
                             const struct dwarf_unit *u,
                             const struct dwarf_value *value,
                             const char **text, size_t *size)
{
    return dwarf_string(d, u, value, text, size) ? 1
           : d->failure->code != FAILURE_NONE    ? -1
                                                 : 0;
}

int dwarf_entry_name(struct dwarf_reader *d, struct dwarf_unit *u,
                     const struct dwarf_entry *entry, const char **name,
                     size_t *size)
{
    int rc;
    unsigned i;
    struct dwarf_entry e;
    const struct dwarf_entry *at = entry;

    for (i = 0; i < MAX_REFERENCES; i++, at = &e) {
        /* a name that cannot be read hides all others */
        if (at->linkage_name.kind != DWARF_NO_VALUE) {
            return entry_find_string(d, u, &at->linkage_name, name, size);
        }
        if (at->name.kind != DWARF_NO_VALUE) {
            return entry_find_string(d, u, &at->name, name, size);
        }
        if (at->reference.kind == DWARF_NO_VALUE) {
            return 0;
        }
        rc = entry_follow(&d, &u, &at->reference, &e);
        if (rc <= 0) {
            return rc == -2 ? -1 : 0;
        }
    }
    return 0;
}

int dwarf_entry_language(struct dwarf_reader *d, struct dwarf_unit *u,
                         const struct dwarf_entry *entry, uint8_t *language)
{
    int rc, found = 0;
    unsigned i;
    struct dwarf_entry e;
    struct dwarf_unit *before = u;
    const struct dwarf_entry *at = entry;

    for (i = 0; i < MAX_ORIGINS && at->origin.kind != DWARF_NO_VALUE &&
                at->origin.kind != DWARF_SUP_REF;
         i++, at = &e, before = u) {
        rc = entry_follow(&d, &u, &at->origin, &e);
        if (rc < 0) {
            return rc == -2 ? -1 : 0;
        }
        if (rc == 0) {
            break;
        }
        if (u != before && u->has_language) {
            *language = u->language;
            found = 1;
        }
    }
    return found;
}
