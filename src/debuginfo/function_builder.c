/*
 * Copyright (C) the ngx_symcache authors
 */
#include "function_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"

/* nesting of inlined ranges ----------------------------------------------- */

static bool builder_is_before(const struct inlined_range *a,
                              const struct inlined_range *b)
{
    return a->address < b->address ||
           (a->address == b->address && a->depth < b->depth);
}

static int append_inlinee(struct inlined_ranges *to,
                          const struct inlined_range *item)
{
    if (array_need(&to->list, &to->room, to->count + 1, sizeof(*to->list)) !=
        0) {
        return -1;
    }
    to->list[to->count++] = *item;
    return 0;
}

/* Moves an item of the heap up to its place. */
static void builder_sift_up(struct inlined_range *heap, size_t at)
{
    size_t parent;
    struct inlined_range item = heap[at];

    for (; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!builder_is_before(&item, &heap[parent])) {
            break;
        }
        heap[at] = heap[parent];
    }
    heap[at] = item;
}

/* Makes a heap of all items, as pushing one after another would. */
static int make_heap(struct function_builder *builder)
{
    size_t i;

    if (builder->has_taken) {
        if (array_need(&builder->heap.list, &builder->heap.room,
                       builder->num_inlinees,
                       sizeof(*builder->inlinees)) != 0) {
            return -1;
        }
        memcpy(builder->heap.list, builder->inlinees,
               builder->num_inlinees * sizeof(*builder->inlinees));
        builder->heap.count = builder->num_inlinees;
    }
    builder->is_heap = true;
    for (i = 1; i < builder->heap.count; i++) {
        builder_sift_up(builder->heap.list, i);
    }
    return 0;
}

/*
 * Removes and returns the least item.  The order in which equal items come out
 * affects the output, so this works like the binary heap of Rust's standard
 * library: the last item moves down to the bottom, always to the lesser child
 * or, if both are equal, to the right one, and then up to its place.
 */
static struct inlined_range builder_pop_inlinee(struct inlined_ranges *heap)
{
    size_t at = 0, child = 1, n = --heap->count;
    struct inlined_range *list = heap->list, least = list[0], last = list[n];

    if (n == 0) {
        return least;
    }
    for (; child + 1 < n; child = 2 * at + 1) {
        child += !builder_is_before(&list[child], &list[child + 1]);
        list[at] = list[child];
        at = child;
    }
    if (child + 1 == n) {
        list[at] = list[child];
        at = child;
    }
    list[at] = last;
    builder_sift_up(list, at);
    return least;
}

/* Puts the part of an item from an address on back into the heap, which will
 * return it in order.  Returns 1 if there is none. */
static int push_rest(struct function_builder *builder,
                     const struct inlined_range *item, uint64_t address)
{
    struct inlined_range rest = *item;

    if (!builder->is_heap) {
        return 1;
    }
    rest.address = address;
    rest.size = item->address + item->size - address;
    if (append_inlinee(&builder->heap, &rest) != 0) {
        return -1;
    }
    builder_sift_up(builder->heap.list, builder->heap.count - 1);
    return 0;
}

/*
 * Nests a range into the ranges that are open.  The parts that are outside of
 * every parent, or that an earlier sibling covers, are dropped.  A part beyond
 * the end of its parent is looked at again, since it may be in the next one.
 * Returns 0, 1 if that needs the heap, or -1 if memory runs out.
 */
static int nest_inlinee(struct function_builder *builder,
                        struct inlined_range *item)
{
    int rc;
    uint64_t end = item->address + item->size, parent_end;
    struct open_function *open = builder->open;

    if (end < item->address || builder->num_open < item->depth) {
        return 0;
    }
    if (item->depth < builder->num_open) {
        if (end <= open[item->depth].end) {
            return 0;
        }
        if (item->address < open[item->depth].end) {
            return push_rest(builder, item, open[item->depth].end);
        }
        builder->num_open = item->depth;
    }
    if (item->depth > 0) {
        parent_end = open[item->depth - 1].end;
        if (item->address >= parent_end) {
            return 0;
        }
        if (end > parent_end) {
            rc = push_rest(builder, item, parent_end);
            if (rc != 0) {
                return rc;
            }
            end = parent_end;
            item->size = end - item->address;
        }
    }
    if (append_inlinee(&builder->nested, item) != 0 ||
        array_need(&builder->open, &builder->open_room, builder->num_open + 1,
                   sizeof(*builder->open)) != 0) {
        return -1;
    }
    builder->open[builder->num_open++].end = end;
    return 0;
}

/* Puts the numbers of the items, in the low halves of b->keys, in order.
 * Returns 1, 0 if items are equal or too far away, or -1 if memory runs out.
 */
static int sort_items(struct function_builder *builder)
{
    size_t i, n = builder->num_inlinees;
    uint64_t distance;
    const struct inlined_range *list = builder->inlinees;

    if (array_need(&builder->keys, &builder->key_room, 2 * n,
                   sizeof(*builder->keys)) != 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        distance = list[i].address - builder->root.address;
        if (distance > UINT32_MAX || i > UINT32_MAX) {
            return 0;
        }
        builder->keys[i] = distance << 32 | i;
    }
    sort_keys(builder->keys, builder->keys + n, n);
    for (i = 1; i < n; i++) {
        if (!builder_is_before(&list[(uint32_t)builder->keys[i - 1]],
                               &list[(uint32_t)builder->keys[i]])) {
            return 0;
        }
    }
    return 1;
}

/* Nests all items without a heap.  Returns 0, 1 if that cannot be, or -1 if
 * memory runs out. */
static int nest_sorted(struct function_builder *builder)
{
    int rc;
    size_t i;
    struct inlined_range item;

    rc = sort_items(builder);
    if (rc <= 0) {
        return rc < 0 ? -1 : 1;
    }
    for (i = 0, rc = 0; rc == 0 && i < builder->num_inlinees; i++) {
        item = builder->inlinees[(uint32_t)builder->keys[i]];
        rc = nest_inlinee(builder, &item);
    }
    return rc;
}

/* Takes items in order: a heap is only needed where they are equal, or come
 * back in parts. */
static int nest_all(struct function_builder *builder, struct failure *failure)
{
    int rc;
    struct inlined_range item;

    if (builder->num_inlinees == 0) {
        return 0;
    }
    builder->num_open = 0;
    builder->is_heap = false;
    rc = nest_sorted(builder);
    if (rc <= 0) {
        return rc < 0 ? failure_memory(failure) : 0;
    }
    builder->num_open = builder->nested.count = 0;
    if (make_heap(builder) != 0) {
        return failure_memory(failure);
    }
    while (builder->heap.count > 0) {
        if (builder->work-- == 0) {
            builder->work = 0;
            return failure_work(failure);
        }
        item = builder_pop_inlinee(&builder->heap);
        if (nest_inlinee(builder, &item) != 0) {
            return failure_memory(failure);
        }
    }
    return 0;
}

/* splitting lines where inlined code begins and ends ---------------------- */

static int builder_add_piece(struct line_pieces *to,
                             const struct symc_line *line, uint32_t owner)
{
    if (to->count >= SYMC_NONE ||
        array_need(&to->list, &to->room, to->count + 1, sizeof(*to->list)) !=
            0) {
        return -1;
    }
    to->list[to->count].line = *line;
    to->list[to->count++].owner = owner;
    return 0;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line_piece *a = left, *b = right;

    if (a->line.address != b->line.address) {
        return a->line.address < b->line.address ? -1 : 1;
    }
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* Sorts lines by address; those at the same address stay in their order, for
 * which each is a piece with its number for a while. */
static int sort_lines(struct function_builder *builder)
{
    size_t i = 1, n = builder->num_lines;

    while (i < n &&
           builder->lines[i].address >= builder->lines[i - 1].address) {
        i++;
    }
    if (i >= n) {
        return 0;
    }
    for (i = 0; i < n; i++) {
        if (builder_add_piece(&builder->pieces, &builder->lines[i],
                              (uint32_t)i) != 0) {
            return -1;
        }
    }
    qsort(builder->pieces.list, n, sizeof(*builder->pieces.list),
          compare_lines);
    for (i = 0; i < n; i++) {
        builder->lines[i] = builder->pieces.list[i].line;
    }
    builder->pieces.count = 0;
    return 0;
}

static uint64_t builder_end_of(uint64_t address, uint64_t size)
{
    return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

static int open_node(struct function_builder *builder,
                     const struct symc_function *f)
{
    if (builder->num_nodes >= SYMC_NONE ||
        array_need(&builder->nodes, &builder->node_room,
                   builder->num_nodes + 1, sizeof(*builder->nodes)) != 0 ||
        array_need(&builder->open, &builder->open_room, builder->num_open + 1,
                   sizeof(*builder->open)) != 0) {
        return -1;
    }
    builder->nodes[builder->num_nodes] = *f;
    builder->open[builder->num_open].end = builder_end_of(f->address, f->size);
    builder->open[builder->num_open++].node = (uint32_t)builder->num_nodes++;
    return 0;
}

/* Closes the innermost function and makes it a child of its parent. */
static void close_node(struct function_builder *builder)
{
    uint32_t child = builder->open[--builder->num_open].node;
    struct symc_function *parent =
        &builder->nodes[builder->open[builder->num_open - 1].node];

    if (parent->first_child == SYMC_NONE) {
        parent->first_child = child;
    } else {
        builder->nodes[parent->last_child].next = child;
    }
    parent->last_child = child;
}

/* Closes functions that have ended at an address, and then those that are
 * nested deeper than depth.  The root stays open. */
static void close_nodes(struct function_builder *builder, uint64_t address,
                        uint32_t depth)
{
    while (builder->num_open > 1 &&
           builder->open[builder->num_open - 1].end <= address) {
        close_node(builder);
    }
    while (builder->num_open > 1 && builder->num_open - 1 > depth) {
        close_node(builder);
    }
}

/* Opens an inlined function.  Its code is also a line of its caller: the one
 * of the call. */
static int open_inlinee(struct function_builder *builder,
                        const struct inlined_range *item,
                        struct inlinee_name *names)
{
    struct symc_function f = {.address = item->address,
                              .size = item->size,
                              .name = names[item->name].name,
                              .memo = &names[item->name].memo,
                              .language = names[item->name].language,
                              .first_child = SYMC_NONE,
                              .last_child = SYMC_NONE,
                              .next = SYMC_NONE,
                              .is_inline = true};
    struct symc_line call = {item->address, item->line, item->source,
                             item->size};

    return builder_add_piece(&builder->pieces, &call,
                             builder->open[builder->num_open - 1].node) != 0 ||
                   open_node(builder, &f) != 0
               ? -1
               : 0;
}

/*
 * Adds the piece of a line that ends where the innermost open function ends or
 * the next inlined one begins.  Returns 1 if something of the line is left,
 * which *line then becomes, 0 if not, or -1 if memory runs out.
 */
static int cut_line(struct function_builder *builder, struct symc_line *line,
                    const struct inlined_range *next)
{
    const struct open_function *open = &builder->open[builder->num_open - 1];
    struct symc_line piece = *line;
    uint64_t end, cut = open->end;

    if (line->size == SYMC_NO_SIZE) {
        return builder_add_piece(&builder->pieces, &piece, open->node);
    }
    if (next != NULL && next->address < cut) {
        cut = next->address;
    }
    end = builder_end_of(line->address, line->size);
    if (cut < end) {
        piece.size = cut - line->address;
        line->address = cut;
        line->size = end - cut;
    }
    return builder_add_piece(&builder->pieces, &piece, open->node) != 0
               ? -1
               : cut < end;
}

/* Builds the tree by going through inlined ranges and lines together, in
 * address order. */
static int build_function(struct function_builder *builder,
                          struct inlinee_name *names)
{
    int rc;
    size_t i = 0, l = 0;
    uint64_t end =
        builder->root.address + builder->root.size; /* may wrap, to no lines */
    const struct inlined_range *next;
    struct symc_line *line;

    builder->num_open = builder->num_nodes = 0;
    rc = open_node(builder, &builder->root);
    while (rc >= 0 && (i < builder->nested.count || l < builder->num_lines)) {
        next = i < builder->nested.count ? &builder->nested.list[i] : NULL;
        line = l < builder->num_lines ? &builder->lines[l] : NULL;
        if (next != NULL && (line == NULL || next->address <= line->address)) {
            close_nodes(builder, next->address, next->depth);
            if (next->address >= end) {
                break;
            }
            rc = open_inlinee(builder, next, names);
            i++;
        } else {
            close_nodes(builder, line->address, UINT32_MAX);
            if (line->address >= end) {
                break;
            }
            rc = cut_line(builder, line, next);
            l += rc == 0;
        }
    }
    close_nodes(builder, 0, 0);
    return rc < 0 ? -1 : 0;
}

/* Groups the pieces by node; within a node they stay in their order. */
static int sort_pieces(struct function_builder *builder)
{
    size_t i;
    uint32_t n = 0;
    struct symc_function *node;

    if (array_need(&builder->sorted, &builder->sorted_room,
                   builder->pieces.count, sizeof(*builder->sorted)) != 0) {
        return -1;
    }
    for (i = 0; i < builder->pieces.count; i++) {
        builder->nodes[builder->pieces.list[i].owner].num_lines++;
    }
    for (i = 0; i < builder->num_nodes; i++) {
        builder->nodes[i].first_line = n;
        n += builder->nodes[i].num_lines;
        builder->nodes[i].num_lines = 0;
    }
    for (i = 0; i < builder->pieces.count; i++) {
        node = &builder->nodes[builder->pieces.list[i].owner];
        builder->sorted[node->first_line + node->num_lines++] =
            builder->pieces.list[i].line;
    }
    return 0;
}

/* Does what build_function() and sort_pieces() do, for a function without
 * calls that are inlined, whose lines stay where they are. */
static int build_plain(struct function_builder *builder)
{
    size_t i;
    uint64_t end =
        builder->root.address + builder->root.size; /* may wrap, to no lines */
    struct symc_line *line;

    builder->num_open = builder->num_nodes = 0;
    if (open_node(builder, &builder->root) != 0) {
        return -1;
    }
    for (i = 0; i < builder->num_lines; i++) {
        line = &builder->lines[i];
        if (line->address >= end) {
            break;
        }
        if (line->size > end - line->address && line->size != SYMC_NO_SIZE) {
            line->size = end - line->address;
            i++; /* the rest of it would be next, and after the end */
            break;
        }
    }
    builder->nodes[0].first_line = 0;
    builder->nodes[0].num_lines = (uint32_t)i;
    return 0;
}

static int build_tree(struct function_builder *builder,
                      struct inlinee_name *names)
{
    if (builder->nested.count == 0) {
        return build_plain(builder);
    }
    return build_function(builder, names) != 0 ? -1 : sort_pieces(builder);
}

/* the builder ------------------------------------------------------------- */

void function_builder_begin(struct function_builder *builder, uint64_t address,
                            uint64_t size, const struct symc_name *name)
{
    memset(&builder->root, 0, sizeof(builder->root));
    builder->root.address = address;
    builder->root.size = size;
    builder->root.name = *name;
    builder->root.first_child = builder->root.last_child = builder->root.next =
        SYMC_NONE;
    builder->has_taken = false;
    builder->heap.count = builder->nested.count = 0;
    builder->added.count = builder->pieces.count = 0;
}

int function_builder_inlined_range(struct function_builder *builder,
                                   const struct inlined_range *inlinee)
{
    return inlinee->address < builder->root.address
               ? 0
               : append_inlinee(&builder->heap, inlinee);
}

int function_builder_line(struct function_builder *builder,
                          const struct symc_line *line)
{
    if (line->address < builder->root.address) {
        return 0;
    }
    if (builder->added.count >= SYMC_NONE ||
        array_need(&builder->added.list, &builder->added.room,
                   builder->added.count + 1, sizeof(*line)) != 0) {
        return -1;
    }
    builder->added.list[builder->added.count++] = *line;
    return 0;
}

void function_builder_take(struct function_builder *builder,
                           const struct inlined_range *inlinees,
                           size_t num_inlinees, struct symc_line *lines,
                           size_t num_lines)
{
    builder->has_taken = true;
    builder->inlinees = inlinees;
    builder->num_inlinees = num_inlinees;
    builder->lines = lines;
    builder->num_lines = num_lines;
}

int function_builder_end(struct function_builder *builder,
                         struct symc_writer *writer,
                         struct inlinee_name *names,
                         struct symc_source *sources, struct failure *failure)
{
    struct symc_tree tree;

    if (builder->root.size == 0 || builder->root.address > UINT32_MAX) {
        return 0; /* the writer would leave it out */
    }
    if (!builder->has_taken) {
        builder->inlinees = builder->heap.list;
        builder->num_inlinees = builder->heap.count;
        builder->lines = builder->added.list;
        builder->num_lines = builder->added.count;
    }
    if (nest_all(builder, failure) != 0) {
        return -1;
    }
    if (sort_lines(builder) != 0 || build_tree(builder, names) != 0) {
        return failure_memory(failure);
    }
    tree.nodes = builder->nodes;
    tree.lines = builder->nested.count == 0 ? builder->lines : builder->sorted;
    tree.sources = sources;
    return failure_writer(failure, symc_writer_function(writer, &tree, 0));
}

void function_builder_free(struct function_builder *builder)
{
    free(builder->heap.list);
    free(builder->keys);
    free(builder->nested.list);
    free(builder->added.list);
    free(builder->pieces.list);
    free(builder->open);
    free(builder->nodes);
    free(builder->sorted);
    memset(builder, 0, sizeof(*builder));
}
