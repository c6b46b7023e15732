/*
 * Copyright (C) the ngx_symcache authors
 */
#include "minidump_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_order.h"
#include "base/utf8.h"
#include "report_child.h"
#include "reports/minidump/minidump.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/store/store_reader.h"

#define UNLOADED_MAX 16 /* modules of one frame that are told */

/* What was found of a module in the store. */
struct dump_symbols {
    bool is_known; /* it was looked for */
    const union derived_reader *cfi, *names;
};

struct minidump_json {
    struct minidump dump;
    int root;
    struct dump_symbols *symbols;
    cJSON *frames; /* of the thread */
    unsigned num_frames;
    bool has_more; /* frames than are walked */
};

static void minidump_add_text(cJSON *object, const char *key, const char *text)
{
    cjson_add(object, key,
              text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static void add_hex(cJSON *object, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    minidump_add_text(object, key, text);
}

/* symbols ----------------------------------------------------------------- */

static const union derived_reader *
minidump_find_file(struct minidump_json *json,
                   const struct minidump_module *module, symcache_kind_e kind)
{
    symcache_key_t key;
    const char *p, *name = module->debug_file;

    for (p = name; *p != '\0'; p++) {
        name = *p == '/' || *p == '\\' ? p + 1 : name;
    }
    if (symcache_name_parse(name, strlen(name), &key) != SYMCACHE_OK) {
        return NULL;
    }
    memcpy(key.guid, module->guid, sizeof(key.guid));
    key.age = module->age;
    key.kind = (uint8_t)kind;
    return store_reader_file(json->root, &key);
}

static struct dump_symbols *find_symbols(struct minidump_json *json,
                                         size_t module)
{
    struct dump_symbols *s = &json->symbols[module];
    const struct minidump_module *m = &json->dump.modules[module];

    if (!s->is_known && json->root != -1 && m->has_debug_id &&
        m->debug_file != NULL) {
        s->cfi = minidump_find_file(json, m, SYMCACHE_KIND_CFICACHE);
        s->names = minidump_find_file(json, m, SYMCACHE_KIND_SYMCACHE);
    }
    s->is_known = true;
    return s;
}

static const struct cficache_reader *find_cfi(void *context, size_t module)
{
    const union derived_reader *cfi = find_symbols(context, module)->cfi;

    return cfi != NULL ? &cfi->cficache : NULL;
}

static bool has_function(void *context, size_t module, uint64_t offset)
{
    const union derived_reader *names = find_symbols(context, module)->names;
    struct symc_frames frames;

    if (names == NULL || names->symcache.num_ranges == 0) {
        return true;
    }
    symc_reader_lookup(&names->symcache, offset, &frames);
    return frames.next != SYMC_NONE;
}

/* the report -------------------------------------------------------------- */

/* The address of a frame is not a return address.  Those who look names up
 * believe it of the first one only if it is said of that, too. */
static void mark_exact(cJSON *frame)
{
    if (cjson_get(frame, "adjust_instruction_addr") == NULL) {
        cjson_add(frame, "adjust_instruction_addr", cJSON_CreateFalse());
    }
}

/* Finds the modules that were at an address before, by name and offset. */
static size_t
find_unloaded(const struct minidump *dump, uint64_t address,
              const struct minidump_unloaded *found[UNLOADED_MAX])
{
    const struct minidump_unloaded *unloaded;
    size_t i, at, n = 0;
    int order;

    for (i = 0; i < dump->num_unloaded && n < UNLOADED_MAX; i++) {
        unloaded = &dump->unloaded[i];
        if (address < unloaded->base ||
            address - unloaded->base >= unloaded->size) {
            continue;
        }
        for (at = n; at > 0; at--) {
            order = strcmp(found[at - 1]->code_file, unloaded->code_file);
            if (order < 0 ||
                (order == 0 && found[at - 1]->base >= unloaded->base)) {
                break;
            }
            found[at] = found[at - 1];
        }
        found[at] = unloaded;
        n++;
    }
    return n;
}

/* As minidump-stackwalk tells of them. */
static cJSON *json_describe_unloaded(const struct minidump *dump,
                                     uint64_t address)
{
    const struct minidump_unloaded *found[UNLOADED_MAX];
    size_t i, n = find_unloaded(dump, address, found);
    cJSON *list = n > 0 ? cJSON_CreateArray() : cJSON_CreateNull();
    cJSON *object, *offsets = NULL;
    char text[24];

    for (i = 0; i < n; i++) {
        if (i == 0 ||
            strcmp(found[i - 1]->code_file, found[i]->code_file) != 0) {
            object = cJSON_CreateObject();
            offsets = cJSON_CreateArray();
            minidump_add_text(object, "module", found[i]->code_file);
            cjson_add(object, "offsets", offsets);
            cjson_append(list, object);
        } else if (found[i - 1]->base == found[i]->base) {
            continue;
        }
        snprintf(text, sizeof(text), "0x%0*llx",
                 2 * (int)stackwalk_cpus[dump->cpu].word,
                 (unsigned long long)(address - found[i]->base));
        cjson_append(offsets, cJSON_CreateString(text));
    }
    return list;
}

static void on_frame(void *context, const struct stackwalk_frame *frame)
{
    static const char *const trusts[] = {"context", "cfi", "fp", "scan"};
    struct minidump_json *json = context;
    cJSON *object;

    if (json->num_frames >= MINIDUMP_FRAMES) {
        json->has_more = true;
        return;
    }
    json->num_frames++;
    object = cJSON_CreateObject();
    add_hex(object, "instruction_addr", frame->address);
    add_hex(object, "lookup", frame->lookup);
    minidump_add_text(object, "trust", trusts[frame->trust]);
    if (frame->module != STACKWALK_NO_MODULE) {
        minidump_add_text(object, "package",
                          json->dump.modules[frame->module].code_file);
        cjson_add_number(object, "module", (double)frame->module);
    } else {
        cjson_add(object, "unloaded",
                  json_describe_unloaded(&json->dump, frame->lookup));
    }
    cjson_append(json->frames, object);
    if (frame->is_interrupted) {
        mark_exact(object);
        mark_exact(json->frames->child);
    }
}

static cJSON *json_registers_of(const struct minidump *dump,
                                const struct stackwalk_registers *registers)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[dump->cpu];
    cJSON *object = cJSON_CreateObject();
    unsigned i;

    for (i = 0; i < cpu->num_registers; i++) {
        add_hex(object, cpu->names[i], registers->values[i]);
    }
    return object;
}

/* A text in which U+FFFD stands for bytes that are not UTF-8. */
static cJSON *json_readable_text(const struct minidump_bytes *text)
{
    const uint8_t *p = text->data;
    size_t n, left = text->size;
    char *copy = malloc(3 * left + 1), *end = copy;
    uint32_t c;
    int taken;
    cJSON *value;

    if (copy == NULL) {
        command_no_memory();
    }
    for (; left > 0; p += n, left -= n) {
        taken = utf8_decode(p, left, &c);
        n = (size_t)(taken > 0 ? taken : -taken);
        end += c != 0 ? utf8_encode(end, c) : 0;
    }
    *end = '\0';
    value = cJSON_CreateString(copy);
    free(copy);
    return value;
}

/* Frames that the process has found itself. */
static cJSON *json_own_frames(struct minidump_json *json,
                              const struct minidump_thread *thread)
{
    cJSON *list = cJSON_CreateArray(), *object;
    struct minidump_own_frame frame;
    uint32_t i;

    for (i = 0; i < thread->num_own_frames; i++) {
        if (json->num_frames >= MINIDUMP_FRAMES) {
            json->has_more = true;
            break;
        }
        json->num_frames++;
        frame = minidump_own_frame(&json->dump, thread, i);
        object = cJSON_CreateObject();
        add_hex(object, "instruction_addr", frame.address);
        minidump_add_text(object, "trust", "prewalked");
        cjson_add(object, "function", json_readable_text(&frame.function));
        cjson_append(list, object);
    }
    return list;
}

static cJSON *json_walk_thread(struct minidump_json *json,
                               struct stackwalk *walk, size_t thread)
{
    const struct minidump_thread *t = &json->dump.threads[thread];
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    cJSON *object = cJSON_CreateObject();
    char error[MINIDUMP_REASON];

    cjson_add_number(object, "thread_id", t->id);
    if (minidump_last_error(&json->dump, thread, error)) {
        minidump_add_text(object, "last_error", error);
    }
    if (t->name != NULL) {
        minidump_add_text(object, "thread_name", t->name);
    }
    if (json->dump.requesting != SIZE_MAX) {
        cjson_add(object, "is_requesting",
                  cJSON_CreateBool(thread == json->dump.requesting));
    }
    json->frames = cJSON_CreateArray();
    if (minidump_thread(&json->dump, thread, &registers, &stack)) {
        walk->stack = stack.data != NULL ? &stack : NULL;
        json->has_more |= !stackwalk_run(walk, &registers, on_frame, json);
        cjson_add(object, "registers",
                  json_registers_of(&json->dump, &registers));
    }
    cjson_add(object, "frames", json->frames);
    if (t->num_own_frames > 0) {
        cjson_add(object, "prewalked", json_own_frames(json, t));
    }
    return object;
}

static cJSON *json_describe_module(const struct minidump *dump,
                                   const struct minidump_module *module)
{
    cJSON *object = cJSON_CreateObject();
    const char *type = "unknown";

    if (dump->os == MINIDUMP_WINDOWS) {
        type = "pe";
    } else if (dump->os == MINIDUMP_MACOS || dump->os == MINIDUMP_IOS) {
        type = "macho";
    } else if (dump->os == MINIDUMP_LINUX || dump->os == MINIDUMP_ANDROID ||
               dump->os == MINIDUMP_SOLARIS) {
        type = "elf";
    }
    minidump_add_text(object, "type", type);
    minidump_add_text(object, "code_file", module->code_file);
    if (module->code_id != NULL) {
        minidump_add_text(object, "code_id", module->code_id);
    }
    if (module->debug_file != NULL && module->debug_file[0] != '\0') {
        minidump_add_text(object, "debug_file", module->debug_file);
    }
    if (module->has_debug_id) {
        minidump_add_text(object, "debug_id", module->debug_id);
    }
    add_hex(object, "image_addr", module->base);
    cjson_add_number(object, "image_size", module->size);
    cjson_add_number(object, "number", module->number);
    if (module->version[0] != '\0') {
        minidump_add_text(object, "version", module->version);
    }
    return object;
}

/* The further members of minidump-stackwalk's JSON. */
static cJSON *json_describe_more(const struct minidump *dump)
{
    cJSON *object = cJSON_CreateObject(), *list = cJSON_CreateArray(), *u;
    cJSON *overlapping = cJSON_CreateArray();
    char code_id[24], os[24];
    size_t i;

    cjson_add_number(
        object, "word",
        dump->cpu == STACKWALK_UNKNOWN ? 8 : stackwalk_cpus[dump->cpu].word);
    cjson_add_number(object, "cpu_count", dump->num_cpus);
    if (dump->has_process) {
        cjson_add_number(object, "pid", dump->process);
    }
    if (dump->uptime >= 0) {
        cjson_add_number(object, "uptime", (double)dump->uptime);
    }
    if (dump->requesting != SIZE_MAX) {
        cjson_add_number(object, "crashing_thread", (double)dump->requesting);
    }
    if (dump->has_exception) {
        minidump_add_text(object, "reason", dump->reason);
        add_hex(object, "address", dump->crash_address);
    }
    if (dump->cpu_info[0] != '\0') {
        minidump_add_text(object, "cpu_info", dump->cpu_info);
    }
    for (i = 0; i < dump->num_unloaded; i++) {
        u = cJSON_CreateObject();
        add_hex(u, "image_addr", dump->unloaded[i].base);
        cjson_add_number(u, "image_size", dump->unloaded[i].size);
        snprintf(code_id, sizeof(code_id), "%08x%x", dump->unloaded[i].time,
                 dump->unloaded[i].size);
        minidump_add_text(u, "code_id", code_id);
        minidump_add_text(u, "code_file", dump->unloaded[i].code_file);
        cjson_append(list, u);
    }
    cjson_add(object, "unloaded", list);
    for (i = 0; i < dump->num_overlapping; i++) {
        cjson_append(overlapping,
                     json_describe_module(
                         dump, &dump->modules[dump->num_modules + i]));
    }
    cjson_add(object, "overlapping", overlapping);
    if (minidump_os_name(dump->os)[0] == '\0') {
        snprintf(os, sizeof(os), "0x0x%06x", dump->platform);
        minidump_add_text(object, "os", os); /* as the crate writes it */
    }
    return object;
}

static cJSON *report_walk(struct minidump_json *json)
{
    const struct minidump *dump = &json->dump;
    struct stackwalk_symbols symbols = {find_cfi, has_function, json};
    struct stackwalk walk = minidump_walk(dump, &symbols);
    cJSON *object = cJSON_CreateObject(), *system = cJSON_CreateObject();
    cJSON *threads = cJSON_CreateArray(), *modules = cJSON_CreateArray();
    char reason[MINIDUMP_REASON + 32] = "";
    size_t i;

    walk.is_corrected = walk.keeps_sp = true;
    if (dump->has_exception) {
        snprintf(reason, sizeof(reason), "%s / 0x%llx", dump->reason,
                 (unsigned long long)dump->crash_address);
    }
    cjson_add_number(object, "timestamp", dump->time);
    minidump_add_text(system, "os_name", minidump_os_name(dump->os));
    minidump_add_text(system, "os_version", dump->os_version);
    minidump_add_text(system, "os_build", dump->os_build);
    minidump_add_text(system, "cpu_arch",
                      dump->cpu_name != NULL ? dump->cpu_name : "unknown");
    minidump_add_text(system, "device_model", "");
    cjson_add(object, "system_info", system);
    cjson_add(object, "crashed", cJSON_CreateBool(dump->has_exception));
    minidump_add_text(object, "crash_reason", reason);
    minidump_add_text(object, "assertion", "");
    for (i = 0; i < dump->num_threads; i++) {
        cjson_append(threads, json_walk_thread(json, &walk, i));
    }
    for (i = 0; i < dump->num_modules; i++) {
        cjson_append(modules, json_describe_module(dump, &dump->modules[i]));
    }
    cjson_add(object, "stacktraces", threads);
    cjson_add(object, "modules", modules);
    cjson_add(object, "socorro", json_describe_more(dump));
    if (dump->cut != NULL || json->has_more) {
        minidump_add_text(object, "left_out",
                          dump->cut != NULL ? dump->cut : "frames");
    }
    return object;
}

struct minidump_json_arguments {
    const char *file;
    const char *root;
    int fd;
};

static bool is_core(const uint8_t *data, size_t size)
{
    return size >= 18 && memcmp(data, "\177ELF", 4) == 0 &&
           byte_order_16(data + 16, data[5] == 2) == 4 /* ET_CORE */;
}

/* Enters the sandbox and walks.  Returns NULL with *code set. */
static cJSON *walk_file(const struct minidump_json_arguments *arguments,
                        int *code)
{
    static atomic_bool is_cut;
    static struct minidump_json json;
    const char *file = arguments->file, *error;
    char text[160];
    cJSON *object;
    struct stat st;
    size_t size;
    void *data;

    if (fstat(arguments->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        *code = command_fail(COMMAND_IO, file, "is not a regular file");
        return NULL;
    }
    size = (size_t)st.st_size + (st.st_size == 0);
    data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, arguments->fd, 0);
    if (data == MAP_FAILED) {
        *code = command_fail(COMMAND_IO, file, strerror(errno));
        return NULL;
    }
    json.root = store_reader_enter(arguments->root, code);
    if (*code != COMMAND_OK) {
        return NULL;
    }
    store_reader_tell_cut(data, size, &is_cut);
    error = minidump_read(&json.dump, data, (size_t)st.st_size);
    if (error != NULL) {
        snprintf(text, sizeof(text), "%s minidump: %s",
                 strcmp(error, "Header mismatch") == 0
                     ? "is not a"
                     : "cannot be read as a",
                 is_core(data, (size_t)st.st_size)
                     ? "it is an ELF core, which a debugger reads"
                     : error);
        *code = command_fail(COMMAND_FOREIGN, file, text);
        return NULL;
    }
    json.symbols = calloc(json.dump.num_modules + 1, sizeof(*json.symbols));
    if (json.symbols == NULL) {
        command_no_memory();
    }
    object = report_walk(&json);
    if (atomic_load(&is_cut)) {
        cJSON_Delete(object);
        *code =
            command_fail(COMMAND_IO, file, "was cut short while it was read");
        return NULL;
    }
    return object;
}

/* In the child. */
static int walk_in_child(void *arg, FILE *out)
{
    int code;
    cJSON *object = walk_file(arg, &code);
    char *text;

    if (object == NULL) {
        return code;
    }
    text = cjson_print(object);
    fputs(text, out);
    return COMMAND_OK;
}

cJSON *minidump_json(const char *file, const char *root, bool stays, int *code)
{
    struct minidump_json_arguments arguments = {
        .file = file,
        .root = root,
        .fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
    };
    cJSON *object;

    if (arguments.fd == -1) {
        *code = command_fail(COMMAND_IO, file, strerror(errno));
        return NULL;
    }
    object = stays ? walk_file(&arguments, code)
                   : report_child_read(file, walk_in_child, &arguments, code);
    close(arguments.fd);
    return object;
}
