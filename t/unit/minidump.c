/*
 * Copyright (C) the ngx_symcache authors
 *
 * Dumps and the walks of their stacks.  What is expected was computed with the
 * "minidump" crates, version 0.26.1 (t/data/minidump/README.md); Symbolicator
 * 26.8.0 answered the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <glob.h>

#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/cfi.h"
#include "debuginfo/format.h"
#include "reports/minidump/minidump.h"
#include "reports/minidump/reason_names.h"

#define CASES "t/data/minidump/cases/"
#define FRAMES 256 /* that are expected of a thread, at most */

struct file {
    uint8_t *data;
    size_t size;
};

/* What a case has of a module: the file is called as its debug id. */
struct symbols {
    bool has_cfi, has_names;
    struct file cfi, names;
    struct cficache_reader cfi_reader;
    struct symc_reader reader;
};

struct frames {
    const struct minidump *dump;
    const cJSON *expected;
    const char *name;
    int next;
};

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    file->data = realloc(file->data, file->size + size);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

static bool read_file(const char *folder, const char *name, struct file *file)
{
    char path[512];
    uint8_t buf[4096];
    size_t n;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "rb");
    memset(file, 0, sizeof(*file));
    if (f == NULL) {
        return false;
    }
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
        append(file, buf, n);
    }
    fclose(f);
    append(file, "", 1);
    file->size--;
    return true;
}

/* Of the makers of Breakpad's format, the one of an output. */
static const struct debuginfo_maker *maker(symcache_kind_e output)
{
    unsigned i = 0;

    while (breakpad_format.makes[i].output != output) {
        i++;
    }
    return &breakpad_format.makes[i];
}

/* Converts the case's file of symbols; one that is refused gives none. */
static void load_symbols(const char *folder, const char *debug_id,
                         struct symbols *s)
{
    char name[64], error[200];
    struct file text;
    struct failure failure = {0};
    struct debuginfo_result result = {0};
    struct symc_sink cfi = {append, &s->cfi}, names = {append, &s->names};

    memset(s, 0, sizeof(*s));
    snprintf(name, sizeof(name), "%s.sym", debug_id);
    if (!read_file(folder, name, &text)) {
        return;
    }
    s->has_cfi =
        cfi_convert(maker(SYMCACHE_KIND_CFICACHE)->read_cfi, false, text.data,
                    text.size, &cfi, &result, &failure) == 0 &&
        cficache_reader_open(&s->cfi_reader, s->cfi.data, s->cfi.size, error,
                             sizeof(error)) == SYMC_OPENED;
    memset(&failure, 0, sizeof(failure));
    s->has_names = maker(SYMCACHE_KIND_SYMCACHE)
                           ->convert(text.data, text.size, &names, &result,
                                     &failure) == 0 &&
                   symc_reader_open(&s->reader, s->names.data, s->names.size,
                                    error, sizeof(error)) == SYMC_OPENED &&
                   s->reader.num_ranges > 0;
    free(text.data);
}

static const struct cficache_reader *find_cfi(void *context, size_t module)
{
    const struct symbols *s = (struct symbols *)context + module;

    return s->has_cfi ? &s->cfi_reader : NULL;
}

static bool has_function(void *context, size_t module, uint64_t offset)
{
    const struct symbols *s = (struct symbols *)context + module;
    struct symc_frames frames;

    if (!s->has_names) {
        return true;
    }
    symc_reader_lookup(&s->reader, offset, &frames);
    return frames.next != SYMC_NONE;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void expect_text(const char *name, const cJSON *expected,
                        const char *text)
{
    const char *wanted = cJSON_IsString(expected) ? expected->valuestring : "";

    text = text == NULL ? "" : text;
    if (strcmp(wanted, text) != 0) {
        fail_msg("%s: expected %s, got %s", name, wanted, text);
    }
}

static void expect_number(const char *name, const cJSON *expected,
                          uint64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)number);
    expect_text(name, expected, text);
}

static void expect_registers(const char *name, const cJSON *expected,
                             const struct minidump *dump,
                             const struct stackwalk_registers *registers)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[dump->cpu];
    const cJSON *value;
    char text[400];
    unsigned i, count = 0;

    for (i = 0; i < cpu->num_registers; i++) {
        value = get(expected, cpu->names[i]);
        snprintf(text, sizeof(text), "%s, %s", name, cpu->names[i]);
        if ((registers->known >> i & 1) != 0) {
            expect_number(text, value, registers->values[i]);
            count++;
        } else if (value != NULL) {
            fail_msg("%s: expected, but not known", text);
        }
    }
    assert_int_equal(count, cJSON_GetArraySize(expected));
}

static void on_frame(void *context, const struct stackwalk_frame *frame)
{
    static const char *const trusts[] = {"context", "cfi", "fp", "scan"};
    struct frames *f = context;
    const cJSON *wanted = cJSON_GetArrayItem(f->expected, f->next);
    char name[200];

    snprintf(name, sizeof(name), "%s, frame %d", f->name, f->next);
    f->next++;
    if (f->next > FRAMES) {
        return;
    }
    if (wanted == NULL) {
        fail_msg("%s at 0x%llx by %s: one too many", name,
                 (unsigned long long)frame->address, trusts[frame->trust]);
    }
    expect_text(name, get(wanted, "trust"), trusts[frame->trust]);
    expect_number(name, get(wanted, "address"), frame->address);
    expect_text(name, get(wanted, "module"),
                frame->module == STACKWALK_NO_MODULE
                    ? NULL
                    : f->dump->modules[frame->module].code_file);
    expect_registers(name, get(wanted, "registers"), f->dump,
                     &frame->registers);
}

static void expect_threads(const char *name, const cJSON *expected,
                           const struct minidump *dump,
                           struct stackwalk *walk)
{
    const cJSON *thread;
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    struct frames frames = {.dump = dump, .name = name};
    size_t i;

    assert_int_equal(dump->num_threads, cJSON_GetArraySize(expected));
    for (i = 0; i < dump->num_threads; i++) {
        thread = cJSON_GetArrayItem(expected, (int)i);
        assert_int_equal(dump->threads[i].id,
                         get(thread, "thread_id")->valueint);
        expect_text(name, get(thread, "name"), dump->threads[i].name);
        frames.expected = get(thread, "frames");
        frames.next = 0;
        if (minidump_thread(dump, i, &registers, &stack)) {
            walk->stack = &stack;
            stackwalk_run(walk, &registers, on_frame, &frames);
        }
        assert_int_equal(frames.next < FRAMES ? frames.next : FRAMES,
                         cJSON_GetArraySize(frames.expected));
    }
}

static void expect_modules(const char *name, const cJSON *expected,
                           const struct minidump *dump)
{
    const cJSON *module;
    const struct minidump_module *m;
    size_t i;

    assert_int_equal(dump->num_modules, cJSON_GetArraySize(expected));
    for (i = 0; i < dump->num_modules; i++) {
        module = cJSON_GetArrayItem(expected, (int)i);
        m = &dump->modules[i];
        expect_number(name, get(module, "base"), m->base);
        assert_int_equal(m->size, get(module, "size")->valuedouble);
        expect_text(name, get(module, "code_file"), m->code_file);
        expect_text(name, get(module, "code_id"), m->code_id);
        expect_text(name, get(module, "debug_id"), m->debug_id);
        expect_text(name, get(module, "debug_file"), m->debug_file);
    }
}

static void expect_dump(const char *name, const cJSON *expected,
                        const struct minidump *dump)
{
    char reason[MINIDUMP_REASON + 32] = "";
    const cJSON *requesting = get(expected, "requesting_thread");

    if (dump->has_exception) {
        snprintf(reason, sizeof(reason), "%s / 0x%llx", dump->reason,
                 (unsigned long long)dump->crash_address);
    }
    expect_text(name, get(expected, "crash_reason"), reason);
    assert_int_equal(dump->has_exception,
                     cJSON_IsTrue(get(expected, "crashed")));
    assert_int_equal(dump->time, get(expected, "timestamp")->valueint);
    expect_text(name, get(expected, "os_version"), dump->os_version);
    expect_text(name, get(expected, "os_build"), dump->os_build);
    if (cJSON_IsNumber(requesting)) {
        assert_int_equal(dump->requesting, requesting->valueint);
    } else {
        assert_true(dump->requesting == SIZE_MAX);
    }
}

static void expect_walks(const char *folder, const cJSON *expected,
                         const struct minidump *dump)
{
    size_t i;
    struct symbols *symbols = calloc(dump->num_modules + 1, sizeof(*symbols));
    struct stackwalk_symbols provider = {find_cfi, has_function, symbols};
    struct stackwalk walk = minidump_walk(dump, &provider);

    for (i = 0; i < dump->num_modules; i++) {
        load_symbols(folder, dump->modules[i].debug_id, &symbols[i]);
    }
    expect_threads(strrchr(folder, '/') + 1, expected, dump, &walk);
    for (i = 0; i < dump->num_modules; i++) {
        free(symbols[i].cfi.data);
        free(symbols[i].names.data);
    }
    free(symbols);
}

static void try_case(const char *folder)
{
    struct file data, text;
    struct minidump dump;
    const char *error, *name = strrchr(folder, '/') + 1;
    cJSON *expected;

    assert_true(read_file(folder, "dump.dmp", &data));
    assert_true(read_file(folder, "expected.json", &text));
    expected = cJSON_Parse((char *)text.data);
    error = minidump_read(&dump, data.data, data.size);
    expect_text(name, get(expected, "error"), error);
    if (error == NULL) {
        expect_dump(name, expected, &dump);
        expect_modules(name, get(expected, "modules"), &dump);
        expect_walks(folder, get(expected, "threads"), &dump);
    }
    minidump_free(&dump);
    cJSON_Delete(expected);
    free(data.data);
    free(text.data);
}

static void cases_test(void **state)
{
    const char *pattern = getenv("CASES");
    glob_t found;
    size_t i;

    assert_int_equal(glob(pattern != NULL ? pattern : CASES "*", 0, NULL,
                          &found),
                     0);
    for (i = 0; i < found.gl_pathc; i++) {
        print_message("# %s\n", found.gl_pathv[i]);
        try_case(found.gl_pathv[i]);
    }
    globfree(&found);
}

/* They are in order, so that each is found. */
static void names_test(void **state)
{
#define NAME(table, code, name)                                               \
    assert_non_null(reason_names_find(NAMES_##table, code));                  \
    assert_string_equal(reason_names_find(NAMES_##table, code), #name);
#include "reports/minidump/reason_names.inc"
#undef NAME
    assert_null(reason_names_find(NAMES_SIGSEGV, 0x45));
    assert_null(reason_names_find(NAMES_NTSTATUS, UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_test),
                                       cmocka_unit_test(cases_test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
