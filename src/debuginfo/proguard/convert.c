/*
 * Copyright (C) the ngx_symcache authors
 *
 * What records mean together: a comment belongs to the class or method directly
 * above it, and neighbours with the same lines are calls that were inlined.
 */
#include "proguard.h"

#include "comment.h"
#include "debuginfo/scratch.h"
#include "derived/proguardcache/proguardcache.h"
#include "record.h"

struct proguard_convert {
    struct proguardcache_writer writer;
    struct proguard_comment comment;
    struct proguard_record last; /* what comments belong to, or of kind BAD */
    bool has_class;
    bool is_void; /* a method stands in front of all classes */
};

static uint32_t cut_line_number(uint64_t line)
{
    return (uint32_t)line;
}

/* Puts a pair of lines in order. */
static void put_lines(uint64_t start, uint64_t end, uint32_t lines[2])
{
    lines[0] = cut_line_number(start <= end ? start : end);
    lines[1] = cut_line_number(start <= end ? end : start);
}

static struct symc_text text_of(const struct proguard_text *text)
{
    struct symc_text out = {text->data, (uint32_t)text->size};

    return out;
}

static enum symc_status add_method(struct proguard_convert *convert,
                                   const struct proguard_record *r)
{
    struct proguardcache_method method = {
        .name = text_of(&r->original),
        .renamed = text_of(&r->renamed),
        .arguments = text_of(&r->arguments),
        .class = text_of(&r->class),
        .lines = {PROGUARDCACHE_NONE, PROGUARDCACHE_NONE},
        .originals = {PROGUARDCACHE_NONE, PROGUARDCACHE_NONE},
    };

    if (r->has_range) {
        put_lines(r->start, r->end, method.lines);
    }
    if (r->has_original_end) {
        put_lines(r->original_start, r->original_end, method.originals);
    } else if (r->has_original) {
        method.originals[0] = cut_line_number(r->original_start);
    } else {
        method.originals[0] = method.lines[0];
        method.originals[1] = method.lines[1];
    }
    return proguardcache_writer_method(&convert->writer, &method);
}

/* Was a method inlined into the next one?  Then it is not found by its
 * parameters. */
static bool is_inlined(const struct proguard_record *method,
                       const struct proguard_record *next)
{
    return next->kind == PROGUARD_METHOD &&
           (method->has_range || method->has_original) &&
           (next->has_range || next->has_original) &&
           method->has_range == next->has_range &&
           method->start == next->start && method->end == next->end;
}

static enum symc_status comment_class(struct proguard_convert *convert)
{
    switch (convert->comment.id) {
    case PROGUARD_SOURCE_FILE:
        return proguardcache_writer_file(&convert->writer,
                                         text_of(&convert->comment.file));
    case PROGUARD_SYNTHESIZED:
        proguardcache_writer_synthesized_class(&convert->writer);
        return SYMC_OK;
    default:
        return SYMC_OK;
    }
}

static enum symc_status comment_method(struct proguard_convert *convert)
{
    struct proguard_comment *comment = &convert->comment;

    switch (comment->id) {
    case PROGUARD_SYNTHESIZED:
        return proguardcache_writer_mark(&convert->writer,
                                         PROGUARDCACHE_SYNTHESIZED);
    case PROGUARD_OUTLINE:
        return proguardcache_writer_mark(&convert->writer,
                                         PROGUARDCACHE_OUTLINE);
    case PROGUARD_OUTLINE_CALLSITE:
        return proguardcache_writer_pairs(&convert->writer, comment->pairs,
                                          comment->num_pairs);
    case PROGUARD_REWRITE_FRAME:
        return proguardcache_writer_rule(
            &convert->writer, text_of(&comment->descriptor), comment->removed);
    default:
        return SYMC_OK;
    }
}

static enum symc_status add_comment(struct proguard_convert *convert,
                                    const struct proguard_record *r)
{
    if (convert->last.kind != PROGUARD_CLASS &&
        convert->last.kind != PROGUARD_METHOD) {
        return SYMC_OK;
    }
    if (proguard_comment_read(&convert->comment, &r->json) != 0) {
        return SYMC_NO_MEMORY;
    }
    return convert->last.kind == PROGUARD_CLASS ? comment_class(convert)
                                                : comment_method(convert);
}

static enum symc_status add_record(struct proguard_convert *convert,
                                   const struct proguard_record *r)
{
    switch (r->kind) {
    case PROGUARD_BAD:
        return SYMC_OK;
    case PROGUARD_COMMENT:
        return add_comment(convert, r);
    default:
        break;
    }
    if (convert->last.kind == PROGUARD_METHOD &&
        is_inlined(&convert->last, r)) {
        proguardcache_writer_inlined(&convert->writer);
    }
    convert->last = *r;
    switch (r->kind) {
    case PROGUARD_CLASS:
        convert->has_class = true;
        return proguardcache_writer_class(
            &convert->writer, text_of(&r->original), text_of(&r->renamed));
    case PROGUARD_METHOD:
        convert->is_void = !convert->has_class;
        return convert->is_void ? SYMC_OK : add_method(convert, r);
    default:
        return SYMC_OK;
    }
}

static enum symc_status read_records(struct proguard_convert *convert,
                                     const uint8_t *data, size_t size)
{
    struct proguard_records records = {.at = (const char *)data,
                                       .end = (const char *)data + size};
    struct proguard_record record;
    enum symc_status status = SYMC_OK;

    while (status == SYMC_OK && !convert->is_void &&
           proguard_next(&records, &record)) {
        status = add_record(convert, &record);
    }
    return status;
}

int proguard_convert(const uint8_t *data, size_t size,
                     const struct symc_sink *sink, struct failure *failure)
{
    struct proguard_convert convert = {.last = {.kind = PROGUARD_BAD}};
    enum symc_status status;

    if (size > UINT32_MAX) {
        return failure_set(failure, FAILURE_LIMIT,
                           "is a mapping of %zu bytes, of at most 4 GiB", size);
    }
    convert.writer.allocate = scratch_allocate;
    convert.writer.release = scratch_free;
    status = read_records(&convert, data, size);
    if (status == SYMC_OK) {
        status = proguardcache_writer_finish(&convert.writer, sink);
    }
    proguardcache_writer_free(&convert.writer);
    proguard_comment_free(&convert.comment);
    return failure_writer(failure, status);
}

static int convert_proguard(const uint8_t *data, size_t size,
                            const struct symc_sink *sink,
                            struct debuginfo_result *result,
                            struct failure *failure)
{
    return proguard_sniff(data, size)
               ? proguard_convert(data, size, sink, failure)
               : failure_set(failure, FAILURE_NOT_PDB,
                             "is not a mapping of ProGuard or R8: its first "
                             "lines have no class with a member");
}

static const struct debuginfo_maker makes[] = {
    {.output = SYMCACHE_KIND_PROGUARDCACHE, .convert = convert_proguard},
};

const struct debuginfo_format proguard_format = {
    .sniff = proguard_sniff,
    .makes = makes,
    .num_makes = 1,
};
