/*
 * Copyright (C) the ngx_symcache authors
 */

#include "writer.h"

#include <string.h>

#include "base/array.h"
#include "base/sort.h"
#include "unstable_sort.h"
#include "undecorate.h"

/* Limits the depth of the recursion.  Compilers inline some tens deep. */
#define MAX_DEPTH 2000

/* The call locations that a function passes on to the functions inlined into
 * it: callees[first..last), ascending by address.  The root gets none. */
struct calls {
    size_t first;
    size_t last;
};

void symc_writer_init(struct symc_writer *writer)
{
    memset(writer, 0, sizeof(*writer));
    writer->files.width = 6;
    writer->functions.width = 4;
    writer->functions.hint = 2; /* the entry; hint_or is 0, the name */
    writer->functions.shift = 4;
    writer->lineless.width = 2;
    writer->calls.width = 4;
    writer->calls.hint = 3; /* the caller, or else the function */
    writer->calls.hint_or = 2;
    writer->calls.spread = 3;
}

void symc_writer_free(struct symc_writer *writer)
{
    symc_string_table_free(&writer->strings);
    symc_set_free(&writer->files);
    symc_set_free(&writer->functions);
    symc_set_free(&writer->calls);
    symc_set_free(&writer->lineless);
    symc_ranges_free(&writer->ranges);
    free(writer->symbols);
    free(writer->order);
    free(writer->inlined);
    free(writer->callees);
    symc_writer_init(writer);
}

static int insert_text(struct symc_writer *writer,
                       const struct symc_text *text, uint32_t *offset)
{
    struct symc_text t = *text;

    if (t.data == NULL) {
        *offset = SYMC_NONE;
        return 0;
    }
    if (writer->transform != NULL && writer->transform->text != NULL) {
        writer->transform->text(writer->transform->arg, &t.data, &t.size);
    }
    if (writer->transform != NULL && writer->transform->see != NULL) {
        writer->transform->see(writer->transform->arg, t.data, t.size);
    }
    return symc_string_table_insert(&writer->strings, t.data, t.size, offset);
}

static int insert_name(struct symc_writer *writer, struct symc_name *name,
                       uint32_t *offset)
{
    if (name->hash == 0) {
        symc_writer_expect(writer, name);
    }
    return symc_string_table_insert_name(&writer->strings, name, offset);
}

/* All inlined instances of one function share a record.  The memo keeps its
 * index, so that it is looked up only once. */
static int insert_function(struct symc_writer *writer, struct symc_function *f,
                           uint32_t *index)
{
    uint32_t record[4];

    if (f->memo != NULL && *f->memo != 0) {
        *index = *f->memo - 1;
        return 0;
    }
    if (insert_name(writer, &f->name, &record[0]) != 0) {
        return -1;
    }
    record[1] = SYMC_NONE;
    record[2] = f->is_inline ? SYMC_NONE : (uint32_t)f->address;
    record[3] = f->language;
    if (symc_set_insert(&writer->functions, record, index) != 0) {
        return -1;
    }
    if (f->memo != NULL) {
        *f->memo = *index + 1;
    }
    return 0;
}

/* Called only once for each file, so it is kept out of the hot code that adds
 * lines. */
static __attribute__((noinline)) int insert_file(struct symc_writer *writer,
                                                 struct symc_source *s)
{
    uint32_t name, directory, comp, sname, sdirectory, revision;

    /* the order of insertion is the order of the strings in the file */
    if (insert_text(writer, &s->name, &name) != 0 ||
        insert_text(writer, &s->directory, &directory) != 0 ||
        insert_text(writer, &s->comp_dir, &comp) != 0 ||
        insert_text(writer, &s->srcsrv_name, &sname) != 0 ||
        insert_text(writer, &s->srcsrv_directory, &sdirectory) != 0 ||
        insert_text(writer, &s->srcsrv_revision, &revision) != 0) {
        return -1;
    }
    return symc_set_insert(
        &writer->files,
        (uint32_t[]){comp, directory, name, sname, sdirectory, revision},
        &s->file);
}

static void line_bounds(const struct symc_line *line, uint32_t *start,
                        uint32_t *end)
{
    uint64_t size;

    size = line->size == SYMC_NO_SIZE ? 1 : line->size;
    *start = line->address > UINT32_MAX ? UINT32_MAX : (uint32_t)line->address;
    *end = size > UINT32_MAX - *start ? UINT32_MAX : *start + (uint32_t)size;
}

/* Sorts the ranges on the stack, from index first on, by their start. */
static int sort_inlined(struct symc_writer *writer, size_t first)
{
    size_t i, n;
    struct symc_sort_item *ties;
    struct symc_range *ranges;

    n = writer->num_inlined - first;
    if (n < 2) {
        return 0;
    }
    ranges = writer->inlined + first;
    for (i = 1; i < n && ranges[i - 1].start <= ranges[i].start; i++) {
    }
    if (i >= n) {
        return 0;
    }
    ties = malloc(n * sizeof(*ties));
    if (ties == NULL) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        ties[i].key = ranges[i].start;
        ties[i].value = ranges[i].end;
    }
    symc_sort_unstable(ties, n);
    for (i = 0; i < n; i++) {
        ranges[i].start = (uint32_t)ties[i].key;
        ranges[i].end = (uint32_t)ties[i].value;
    }
    free(ties);
    return 0;
}

/* Pushes the ranges of all lines of the functions that are inlined directly
 * into f onto the stack. */
static int push_inlined(struct symc_writer *writer,
                        const struct symc_tree *tree,
                        const struct symc_function *f)
{
    size_t i, first;
    uint32_t child;
    struct symc_range *range;
    const struct symc_function *c;

    first = writer->num_inlined;
    for (child = f->first_child; child != SYMC_NONE; child = c->next) {
        c = &tree->nodes[child];
        if (array_need(&writer->inlined, &writer->inlined_room,
                       writer->num_inlined + c->num_lines,
                       sizeof(*writer->inlined)) != 0) {
            return -1;
        }
        for (i = 0; i < c->num_lines; i++) {
            range = &writer->inlined[writer->num_inlined++];
            line_bounds(&tree->lines[c->first_line + i], &range->start,
                        &range->end);
        }
    }
    return sort_inlined(writer, first);
}

/* Returns the last call at or before an address, or the first call if all are
 * after it. */
static size_t find_call(const struct symc_writer *writer,
                        const struct calls *calls, uint32_t address)
{
    size_t low, high, mid;

    low = calls->first;
    high = calls->last;
    while (high - low > 1) {
        mid = low + (high - low) / 2;
        if (writer->callees[mid].address <= address) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

static int push_callee(struct symc_writer *writer, uint32_t address,
                       struct symc_location location)
{
    uint32_t index;

    if (symc_set_insert(&writer->calls,
                        (uint32_t[]){location.file, location.line,
                                     location.function, location.inlined_into},
                        &index) != 0 ||
        array_need(&writer->callees, &writer->callee_room,
                   writer->num_callees + 1, sizeof(*writer->callees)) != 0) {
        return -1;
    }
    writer->callees[writer->num_callees].address = address;
    writer->callees[writer->num_callees].location = index;
    writer->num_callees++;
    return 0;
}

/*
 * Adds one line.  The parts of it that are the function's own code go to the
 * ranges; for each part that is inlined code, the line is a call location.
 * *inl is the index of the next inlined range; *cur becomes the address up to
 * which code is done.
 */
static inline __attribute__((always_inline)) int
add_line(struct symc_writer *writer, uint32_t start, uint32_t end,
         struct symc_location location, size_t *inl, size_t last_inl,
         uint32_t *cur)
{
    const struct symc_range *next;

    *cur = start;
    while (*cur < end) {
        next = *inl < last_inl ? &writer->inlined[*inl] : NULL;
        if (next == NULL || next->start > *cur) {
            if (symc_ranges_put(&writer->ranges, *cur, location) != 0) {
                return -1;
            }
        }
        if (next != NULL && next->start < end) {
            if (push_callee(writer, next->start, location) != 0) {
                return -1;
            }
            *cur = next->end;
            (*inl)++;
        } else {
            *cur = end;
        }
    }
    return 0;
}

static struct symc_source *other_source(const struct symc_writer *writer,
                                        struct symc_source *source,
                                        uint32_t *line)
{
    struct symc_source *other =
        writer->transform->line(writer->transform->arg, source, line);

    return other != NULL ? other : source;
}

/* A function without lines, of which only inlined calls have some: they are
 * called from no known place in it.  Of functions that the linker has folded
 * into one the first gives the name, and so it gives the calls. */
static int add_calls_only(struct symc_writer *writer,
                          const struct symc_function *f, uint32_t function,
                          size_t inl)
{
    struct symc_location location = {.file = SYMC_NONE,
                                     .function = function,
                                     .inlined_into = SYMC_NONE};
    uint64_t end = f->address + f->size;
    size_t known = writer->lineless.count;
    uint32_t cur;

    if (!writer->has_calls_without_lines || f->is_inline) {
        return 0;
    }
    if (symc_set_insert(&writer->lineless,
                        (uint32_t[]){(uint32_t)f->address, 0}, &cur) != 0) {
        return -1;
    }
    if (writer->lineless.count == known || inl == writer->num_inlined) {
        return 0;
    }
    return add_line(writer, (uint32_t)f->address,
                    end < f->address || end > UINT32_MAX ? UINT32_MAX
                                                         : (uint32_t)end,
                    location, &inl, writer->num_inlined, &cur);
}

static int add_lines(struct symc_writer *writer, const struct symc_tree *tree,
                     const struct symc_function *f, uint32_t function,
                     const struct calls *calls, size_t inl)
{
    size_t last_inl, call;
    uint32_t i, start, end, cur, line, into;
    struct symc_source *source;
    struct symc_location location;
    const struct symc_line *lines;

    last_inl = writer->num_inlined;
    if (f->num_lines == 0) {
        return add_calls_only(writer, f, function, inl);
    }
    lines = tree->lines + f->first_line;
    line_bounds(&lines[0], &start, &end);
    call = find_call(writer, calls, start);
    into = SYMC_NONE;
    for (i = 0; i < f->num_lines;) {
        line_bounds(&lines[i], &start, &end);
        if (calls->last > calls->first) {
            while (call + 1 < calls->last &&
                   writer->callees[call + 1].address <= start) {
                call++;
            }
            into = writer->callees[call].location;
        }
        source = &tree->sources[lines[i].source];
        line = lines[i].line;
        if (writer->transform != NULL && writer->transform->line != NULL) {
            source = other_source(writer, source, &line);
        }
        if (source->file == SYMC_NONE && insert_file(writer, source) != 0) {
            return -1;
        }
        /* made in one step: a copy of what was just written in parts would
         * wait for these */
        location = (struct symc_location){source->file, line, function, into};
        if (add_line(writer, start, end, location, &inl, last_inl, &cur) !=
            0) {
            return -1;
        }
        i++;
        while (i < f->num_lines && (uint32_t)lines[i].address < cur) {
            i++;
        }
    }
    return 0;
}

static int put_function_only(struct symc_writer *writer, uint32_t address,
                             uint32_t function)
{
    return symc_ranges_put(
        &writer->ranges, address,
        (struct symc_location){SYMC_NONE, 0, function, SYMC_NONE});
}

static int end_function(struct symc_writer *writer,
                        const struct symc_function *f)
{
    uint32_t end;

    end = f->size > UINT64_MAX - f->address ? UINT32_MAX
                                            : (uint32_t)(f->address + f->size);
    if (!writer->has_end || end > writer->last_end) {
        writer->has_end = 1;
        writer->last_end = end;
    }
    return symc_ranges_gap(&writer->ranges, end);
}

static int add_function(struct symc_writer *writer,
                        const struct symc_tree *tree, struct symc_function *f,
                        const struct calls *calls, unsigned depth)
{
    int rc;
    size_t inlined;
    uint32_t index, child;
    struct calls callees;

    if (f->size == 0 || f->address > UINT32_MAX) {
        return SYMC_OK;
    }
    if (depth > MAX_DEPTH) {
        return SYMC_TOO_DEEP;
    }
    inlined = writer->num_inlined;
    callees.first = writer->num_callees;
    if (insert_function(writer, f, &index) != 0 ||
        push_inlined(writer, tree, f) != 0 ||
        add_lines(writer, tree, f, index, calls, inlined) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->num_inlined = inlined;
    callees.last = writer->num_callees;
    if (!f->is_inline &&
        put_function_only(writer, (uint32_t)f->address, index) != 0) {
        return SYMC_NO_MEMORY;
    }
    if (callees.last > callees.first) {
        for (child = f->first_child; child != SYMC_NONE;
             child = tree->nodes[child].next) {
            rc = add_function(writer, tree, &tree->nodes[child], &callees,
                              depth + 1);
            if (rc != SYMC_OK) {
                return rc;
            }
        }
    }
    writer->num_callees = callees.first;
    return end_function(writer, f) != 0 ? SYMC_NO_MEMORY : SYMC_OK;
}

/* Sorts the linked list of a node's children by address, stably. */
static int sort_children(const struct symc_tree *tree, uint32_t root)
{
    size_t i, n;
    uint32_t child, *link;
    uint64_t *keys;
    uint64_t before;
    int sorted;

    n = 0;
    sorted = 1;
    before = 0;
    for (child = tree->nodes[root].first_child; child != SYMC_NONE;
         child = tree->nodes[child].next) {
        sorted &= tree->nodes[child].address >= before;
        before = tree->nodes[child].address;
        n++;
    }
    if (sorted) {
        return 0;
    }
    /* children are numbered in the order in which they were linked */
    keys = malloc(2 * n * sizeof(*keys));
    if (keys == NULL) {
        return -1;
    }
    i = 0;
    for (child = tree->nodes[root].first_child; child != SYMC_NONE;
         child = tree->nodes[child].next) {
        keys[i++] = tree->nodes[child].address << 32 | child;
    }
    sort_keys(keys, keys + n, n);
    link = &tree->nodes[root].first_child;
    for (i = 0; i < n; i++) {
        *link = (uint32_t)keys[i];
        link = &tree->nodes[*link].next;
    }
    *link = SYMC_NONE;
    tree->nodes[root].last_child = (uint32_t)keys[n - 1];
    free(keys);
    return 0;
}

enum symc_status symc_writer_function(struct symc_writer *writer,
                                      const struct symc_tree *tree,
                                      uint32_t root)
{
    int rc;
    static const struct calls none = {0, 0};

    if (sort_children(tree, root) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->num_inlined = writer->num_callees = 0;
    rc = add_function(writer, tree, &tree->nodes[root], &none, 0);
    if (rc == SYMC_OK && symc_ranges_close(&writer->ranges) != 0) {
        rc = SYMC_NO_MEMORY;
    }
    return (enum symc_status)rc;
}

void symc_writer_undecorate(const struct symc_writer *writer,
                            const char **name, uint32_t *size)
{
    size_t n = *size;

    if (writer->undecorates &&
        (writer->kept == NULL || n < strlen(writer->kept) ||
         memcmp(*name, writer->kept, strlen(writer->kept)) != 0)) {
        symc_undecorate(name, &n);
        *size = (uint32_t)n;
    }
}

void symc_writer_expect(const struct symc_writer *writer,
                        struct symc_name *name)
{
    if (writer->transform != NULL && writer->transform->text != NULL) {
        writer->transform->text(writer->transform->arg, &name->data,
                                &name->size);
    }
    symc_writer_undecorate(writer, &name->data, &name->size);
    symc_string_table_expect(&writer->strings, name);
}

enum symc_status symc_writer_string(struct symc_writer *writer,
                                    const char *text, size_t size)
{
    uint32_t offset;

    return symc_string_table_insert(&writer->strings, text, size, &offset) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

enum symc_status symc_writer_symbol(struct symc_writer *writer,
                                    uint64_t address, uint64_t size,
                                    struct symc_name *name)
{
    struct symc_symbol *symbol;

    if (writer->num_symbols >= SYMC_NONE ||
        array_need(&writer->symbols, &writer->symbol_room,
                   writer->num_symbols + 1, sizeof(*writer->symbols)) != 0) {
        return SYMC_NO_MEMORY;
    }
    symbol = &writer->symbols[writer->num_symbols];
    if (insert_name(writer, name, &symbol->name) != 0) {
        return SYMC_NO_MEMORY;
    }
    symbol->address = (uint32_t)address;
    writer->num_symbols++;
    if (size != 0 &&
        symc_ranges_gap(&writer->ranges, (uint32_t)(address + size)) != 0) {
        return SYMC_NO_MEMORY;
    }
    /* after the last function, nothing says where a symbol ends */
    if (!writer->has_end || symbol->address >= writer->last_end) {
        writer->is_open = 1;
    }
    return SYMC_OK;
}

void symc_writer_take_room(struct symc_writer *writer, void *array,
                           size_t size)
{
    free(writer->symbols);
    writer->symbols = array;
    writer->symbol_room = size / sizeof(*writer->symbols);
    writer->has_used_room = true;
}

void symc_writer_order(struct symc_writer *writer, uint64_t *order, size_t n)
{
    free(writer->order);
    writer->order = order;
    writer->num_order = n;
}
