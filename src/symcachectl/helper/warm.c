/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl warm: has the helper make every module of a list before anybody
 * asks for it, and tells which are missing, and why.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "warm_run.h"
#include "symcachectl/terminal/bar.h"
#include "symcachectl/command.h"
#include "collect_modules.h"
#include "symcachectl/terminal/printable.h"
#include "proto/version.h"

#define CONCURRENCY 16
#define CONCURRENCY_MAX 1000
#define ATTEMPTS 3
#define ATTEMPTS_MAX 1000

/* Any version is accepted, so the helper makes the newest. */
#define NEWEST "65535.65535.65535"

#define PLACES_SHOWN 8 /* for each module */

/* Without a bar, lines show that the program is alive, at growing
 * intervals. */
#define LINE_MS 2000
#define LINE_MAX_MS 60000

struct warm {
    struct settings settings;
    struct warm_modules modules;
    struct bar bar;
    uint64_t line_due; /* when the next line is due, without a bar */
    uint64_t line_ms;  /* the interval before it */
    int is_late;       /* the reason of a delay was printed */
    size_t counts[MODULE_OUTCOMES];
};

static bool warm_is_same(const cJSON *attempt, const cJSON *former,
                         const char *key)
{
    return strcmp(printable_field(attempt, key),
                  printable_field(former, key)) == 0;
}

/* Of several equal answers in a row, only the first is printed: the others
 * are for other spellings of the name. */
static bool warm_is_repeated(const cJSON *attempt, const cJSON *former)
{
    return former != NULL && warm_is_same(attempt, former, "source") &&
           warm_is_same(attempt, former, "outcome") &&
           warm_is_same(attempt, former, "detail");
}

static cJSON *warm_parse_detail(const struct warm_module *module)
{
    return module->detail != NULL ? cJSON_Parse(module->detail) : NULL;
}

/* If nothing was found, the places are the whole reason. */
static bool warm_has_found(const cJSON *attempts)
{
    const cJSON *attempt;

    cJSON_ArrayForEach(attempt, attempts)
    {
        if (strcmp(printable_field(attempt, "outcome"), "found") == 0) {
            return true;
        }
    }
    return false;
}

static void warm_print_field(const char *before, const cJSON *attempt,
                             const char *key)
{
    fputs(before, stdout);
    printable_put_field(stdout, attempt, key);
}

static void warm_print_places(const struct warm_module *module)
{
    cJSON *why = warm_parse_detail(module);
    const cJSON *attempt, *attempts, *former = NULL;
    unsigned n = 0;

    attempts = cJSON_GetObjectItemCaseSensitive(why, "attempts");
    if (cJSON_GetArraySize(attempts) == 0 || warm_has_found(attempts)) {
        fputs("    ", stdout);
        printable_put(stdout, module->reason);
        putchar('\n');
    }
    cJSON_ArrayForEach(attempt, attempts)
    {
        if (warm_is_repeated(attempt, former)) {
            continue;
        }
        former = attempt;
        if (++n > PLACES_SHOWN) {
            puts("    ...");
            break;
        }
        warm_print_field("    ", attempt, "source");
        warm_print_field(": ", attempt, "place");
        warm_print_field(": ", attempt, "outcome");
        warm_print_field(" (", attempt, "detail");
        puts(")");
    }
    cJSON_Delete(why);
}

static void warm_print_modules(const struct warm *warm,
                               enum module_outcome outcome, const char *title)
{
    const struct warm_module *module;
    size_t i;

    if (warm_modules_count(&warm->modules, outcome) == 0) {
        return;
    }
    printf("\n%s:\n", title);
    for (i = 0; i < warm->modules.count; i++) {
        module = warm->modules.items[i];
        if (module->outcome != outcome) {
            continue;
        }
        fputs("  ", stdout);
        printable_put(stdout, module->name);
        printf(" %s\n", module->id);
        if (outcome != MODULE_NOT_ASKED) {
            warm_print_places(module);
        }
    }
}

static void warm_print_summary(const struct warm *warm)
{
    printf("%zu module%s: %zu cached, %zu missing, %zu failed",
           warm->modules.count, warm->modules.count == 1 ? "" : "s",
           warm_modules_count(&warm->modules, MODULE_CACHED),
           warm_modules_count(&warm->modules, MODULE_MISSING),
           warm_modules_count(&warm->modules, MODULE_FAILED));
    if (warm_modules_count(&warm->modules, MODULE_NOT_ASKED) > 0) {
        printf(", %zu without an answer",
               warm_modules_count(&warm->modules, MODULE_NOT_ASKED));
    }
    putchar('\n');
    warm_print_modules(warm, MODULE_MISSING, "missing");
    warm_print_modules(warm, MODULE_FAILED, "failed, may be there later");
}

static void warm_print_json(const struct warm_module *module)
{
    cJSON *object = cJSON_CreateObject(), *why;

    cJSON_AddStringToObject(object, "pdb", module->name);
    cJSON_AddStringToObject(object, "id", module->id);
    cJSON_AddStringToObject(object, "outcome",
                            warm_modules_outcome(module->outcome));
    if (module->outcome == MODULE_CACHED) {
        cJSON_AddStringToObject(object, "version", module->version);
    } else if (module->reason != NULL) {
        cJSON_AddStringToObject(object, "reason", module->reason);
    }
    why = warm_parse_detail(module);
    if (why != NULL) {
        cJSON_AddItemToObject(
            object, "attempts",
            cJSON_DetachItemFromObjectCaseSensitive(why, "attempts"));
        cJSON_Delete(why);
    }
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static void warm_print_json_summary(const struct warm *warm, unsigned bad)
{
    cJSON *object = cJSON_CreateObject();
    size_t n;
    int i;

    for (n = 0; n < warm->modules.count; n++) {
        if (warm->modules.items[n]->outcome == MODULE_NOT_ASKED) {
            warm_print_json(warm->modules.items[n]);
        }
    }
    cJSON_AddNumberToObject(object, "modules", (double)warm->modules.count);
    for (i = MODULE_NOT_ASKED; i < MODULE_OUTCOMES; i++) {
        cJSON_AddNumberToObject(object,
                                warm_modules_outcome((enum module_outcome)i),
                                (double)warm_modules_count(
                                    &warm->modules, (enum module_outcome)i));
    }
    cJSON_AddNumberToObject(object, "repeated",
                            (double)warm->modules.repeated);
    cJSON_AddNumberToObject(object, "left out", bad);
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static void warm_on_done(void *arg, struct warm_module *module)
{
    struct warm *warm = arg;

    warm->counts[module->outcome]++;
    if (warm->settings.is_json) {
        bar_clear(&warm->bar);
        warm_print_json(module);
        fflush(stdout);
    }
}

/* The delay of the first module also shows how long the others will wait. */
static void warm_on_later(void *arg, const struct warm_module *module,
                          unsigned seconds)
{
    struct warm *warm = arg;
    char text[1400], after[64];

    if (warm->bar.is_shown || warm->is_late) {
        return;
    }
    warm->is_late = 1;
    snprintf(text, sizeof(text), "%s %s: %s", module->name, module->id,
             module->reason);
    snprintf(after, sizeof(after), "; asked again in %u s", seconds);
    bar_line("symcachectl warm: ", text, after);
}

static void warm_print_line(struct warm *warm, size_t done, const char *text)
{
    if (bar_clock() < warm->line_due) {
        return;
    }
    fprintf(stderr, "symcachectl warm: %zu of %zu known: %s\n", done,
            warm->modules.count, text);
    warm->line_ms =
        warm->line_ms * 2 < LINE_MAX_MS ? warm->line_ms * 2 : LINE_MAX_MS;
    warm->line_due = bar_clock() + warm->line_ms;
}

static void warm_on_progress(void *arg, size_t running, size_t waiting)
{
    struct warm *warm = arg;
    size_t done = warm->counts[MODULE_CACHED] + warm->counts[MODULE_MISSING] +
                  warm->counts[MODULE_FAILED];
    char text[160];

    snprintf(text, sizeof(text),
             "%zu cached, %zu missing, %zu failed, %zu asked now, %zu later",
             warm->counts[MODULE_CACHED], warm->counts[MODULE_MISSING],
             warm->counts[MODULE_FAILED], running, waiting);
    if (warm->bar.is_shown) {
        bar_draw(&warm->bar, done, warm->modules.count, text);
    } else {
        warm_print_line(warm, done, text);
    }
}

/* Asks for all collected modules, and reports.  Returns an exit code. */
static int ask_warm(struct warm *w, symcache_kind_e kind, const char *version,
                    unsigned concurrency, unsigned attempts, unsigned bad)
{
    struct warm_run warm = {.client = client_new(&w->settings),
                            .store = settings_store(&w->settings),
                            .kind = kind,
                            .version = version,
                            .concurrency = concurrency,
                            .attempts = attempts,
                            .modules = &w->modules,
                            .done = warm_on_done,
                            .later = warm_on_later,
                            .progress = warm_on_progress,
                            .arg = w};
    int code;

    if (warm.client == NULL) {
        return COMMAND_IO;
    }
    bar_init(&w->bar);
    w->line_ms = LINE_MS;
    w->line_due = bar_clock() + LINE_MS;
    code = warm_run_run(&warm);
    bar_clear(&w->bar);
    if (w->settings.is_json) {
        warm_print_json_summary(w, bad);
    } else {
        warm_print_summary(w);
        if (bad > 0) {
            printf("\n%u lines or files name no module\n", bad);
        }
    }
    client_free(warm.client);
    if (code == COMMAND_OK &&
        (bad > 0 ||
         warm_modules_count(&w->modules, MODULE_CACHED) < w->modules.count)) {
        code = COMMAND_NOT_FOUND;
    }
    return code;
}

int warm_command(int argc, char **argv)
{
    static struct warm warm;
    struct collect_modules gather = {.modules = &warm.modules};
    const char *version = NEWEST, *concurrency = NULL, *attempts = NULL;
    const char *kind_text = symcache_kind_text(SYMCACHE_KIND_SYMCACHE);
    symcache_kind_e kind;
    unsigned n = CONCURRENCY, tries = ATTEMPTS;
    symcache_version_t parsed;
    const struct option_spec specs[] = {CLIENT_OPTIONS(warm.settings),
                                        {"--kind", NULL, &kind_text},
                                        {"--version", NULL, &version},
                                        {"--concurrency", NULL, &concurrency},
                                        {"--attempts", NULL, &attempts}};
    int i, code;

    argc = options_parse("warm", specs, COUNT(specs), argc, argv);
    if (argc < 0 ||
        options_number("warm", "--concurrency", concurrency, 1,
                       CONCURRENCY_MAX, &n) != COMMAND_OK ||
        options_number("warm", "--attempts", attempts, 1, ATTEMPTS_MAX,
                       &tries) != COMMAND_OK) {
        return COMMAND_USAGE;
    }
    if (!symcache_version_parse(version, strlen(version), &parsed)) {
        return command_usage("warm", "--version is one as 3.1.0", version);
    }
    if (!symcache_kind_parse(kind_text, strlen(kind_text), &kind) ||
        !symcache_kind_supported(kind)) {
        return command_usage("warm", "--kind is one as ppdbcache", kind_text);
    }
    gather.portable = kind != SYMCACHE_KIND_SYMCACHE;
    code = argc == 0 ? collect_modules(&gather, "-") : COMMAND_OK;
    for (i = 0; i < argc && code == COMMAND_OK; i++) {
        code = collect_modules(&gather, argv[i]);
    }
    if (code == COMMAND_OK) {
        code = ask_warm(&warm, kind, version, n, tries, gather.bad);
    }
    return command_finish(code);
}
