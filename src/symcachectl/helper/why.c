/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl why: which files of a module exist, what is remembered against
 * it, and where the helper has looked for it.
 */
#include <stdbool.h>
#include <string.h>

#include "json_request.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/operands.h"
#include "symcachectl/terminal/printable.h"
#include "symcachectl/terminal/text_table.h"

/* What a client reads whose request is asked about; or 0.0.0. */
static symcache_version_t why_version;

/* Can one of these, files or transcoders, answer that client? */
static bool why_has_version(const cJSON *items)
{
    static const symcache_version_t min;
    symcache_version_t version;
    const cJSON *item;

    cJSON_ArrayForEach(item, items)
    {
        const char *text = printable_field(item, "version");

        if (symcache_version_parse(text, strlen(text), &version) &&
            symcache_version_serves(&version, &why_version, &min)) {
            return true;
        }
    }
    return false;
}

static bool why_is_too_new(const cJSON *answer)
{
    const cJSON *files = cjson_get(answer, "files");
    const cJSON *transcoders = cjson_get(answer, "transcoders");

    return why_version.major != 0 &&
           cJSON_GetArraySize(files) + cJSON_GetArraySize(transcoders) > 0 &&
           !why_has_version(files) && !why_has_version(transcoders);
}

static void why_put_time(double seconds)
{
    char text[PRINTABLE_TIME_MAX];

    printable_time(text, seconds);
    fputs(text, stdout);
}

static void why_print_file(const cJSON *file)
{
    const cJSON *checked = cjson_get(file, "checked");

    fputs("  cached: ", stdout);
    printable_put_field(stdout, file, "path");
    if (printable_field(file, "source")[0] != '\0') {
        fputs(", from ", stdout);
        printable_put_field(stdout, file, "source");
    }
    if (cJSON_IsTrue(cjson_get(file, "publics_only"))) {
        fputs(", public symbols only", stdout);
    }
    if (cJSON_IsNumber(checked)) {
        fputs(", better sources asked at ", stdout);
        why_put_time(checked->valuedouble);
    }
    putchar('\n');
}

/* Prints the names for which a miss holds, if there are several. */
static void why_print_variants(const cJSON *variants)
{
    const char *before = "    looked for as ";
    const cJSON *name;

    if (cJSON_GetArraySize(variants) < 2) {
        return;
    }
    cJSON_ArrayForEach(name, variants)
    {
        fputs(before, stdout);
        printable_put(stdout, cJSON_GetStringValue(name));
        before = ", ";
    }
    putchar('\n');
}

/* Does a reason list the places of the attempts, which are printed below? */
static bool why_is_list(const char *reason, const cJSON *attempts)
{
    const cJSON *attempt;

    cJSON_ArrayForEach(attempt, attempts)
    {
        const char *place = printable_field(attempt, "place");

        if (place[0] != '\0' && strstr(reason, place) != NULL) {
            return true;
        }
    }
    return false;
}

/* Prints what is known against making a version, or of an original against
 * fetching it. */
static void why_print_miss(const cJSON *transcoder, const cJSON *attempts,
                           bool is_original)
{
    if (is_original) {
        fputs("  not fetched: ", stdout);
    } else {
        fputs("  version ", stdout);
        printable_put_field(stdout, transcoder, "version");
        fputs(" is not made: ", stdout);
    }
    printable_put_field(stdout, transcoder, "blocked");
    if (cJSON_IsString(cjson_get(transcoder, "hints"))) {
        fputs(" for the hints ", stdout);
        printable_put_field(stdout, transcoder, "hints");
    }
    if (!why_is_list(printable_field(transcoder, "reason"), attempts)) {
        fputs(": ", stdout);
        printable_put_field(stdout, transcoder, "reason");
    }
    fputs("; known since ", stdout);
    why_put_time(printable_number(transcoder, "since"));
    printf(", for another %.0f s\n", printable_number(transcoder, "retry_in"));
    why_print_variants(cjson_get(transcoder, "spellings"));
}

static void why_print_transcoder(const cJSON *transcoder,
                                 const cJSON *attempts, bool is_original)
{
    if (cJSON_IsNumber(cjson_get(transcoder, "not_run_for"))) {
        fputs("  the transcoder of version ", stdout);
        printable_put_field(stdout, transcoder, "version");
        printf(" is left alone for another %.0f s, it failed: ",
               printable_number(transcoder, "not_run_for"));
        printable_put_field(stdout, transcoder, "failure");
        putchar('\n');
    }
    if (cJSON_IsString(cjson_get(transcoder, "blocked"))) {
        why_print_miss(transcoder, attempts, is_original);
    }
    if (cJSON_IsObject(cjson_get(transcoder, "hinted"))) {
        why_print_miss(cjson_get(transcoder, "hinted"), attempts,
                       is_original);
    }
}

static void print_attempts(const cJSON *attempts)
{
    static const char *const heads[] = {"TIME", "SOURCE", "ANSWER", "PLACE",
                                        "DETAIL"};
    char text[PRINTABLE_TIME_MAX];
    struct text_table table;
    const cJSON *attempt;

    if (cJSON_GetArraySize(attempts) == 0) {
        return;
    }
    putchar('\n');
    text_table_init(&table, 5, heads);
    cJSON_ArrayForEach(attempt, attempts)
    {
        printable_time(text, printable_number(attempt, "time"));
        text_table_text(&table, text);
        text_table_text(&table, printable_field(attempt, "source"));
        text_table_text(&table, printable_field(attempt, "outcome"));
        text_table_text(&table, printable_field(attempt, "place"));
        text_table_text(&table, printable_field(attempt, "detail"));
    }
    text_table_print(&table, stdout, "  ");
}

static void print_why(const cJSON *answer)
{
    const char *text = printable_field(answer, "kind");
    symcache_kind_e kind;
    bool is_original =
        symcache_kind_parse(text, strlen(text), &kind) &&
        symcache_kind_is_original(kind);
    const cJSON *item;

    printable_put_field(stdout, answer, "pdb");
    putchar(' ');
    printable_put_field(stdout, answer, "id");
    fputs(", store ", stdout);
    printable_put_field(stdout, answer, "store");
    putchar('\n');
    cJSON_ArrayForEach(item, cjson_get(answer, "files"))
    {
        why_print_file(item);
    }
    if (cJSON_GetArraySize(cjson_get(answer, "files")) == 0) {
        puts("  not cached");
    }
    cJSON_ArrayForEach(item, cjson_get(answer, "transcoders"))
    {
        why_print_transcoder(item, cjson_get(answer, "attempts"), is_original);
    }
    fputs("  next: ", stdout);
    if (why_is_too_new(answer)) {
        printf("404 for this client, which reads versions up to %u: this "
               "store has and makes newer ones only\n",
               why_version.major);
    } else {
        printable_put_field(stdout, answer, "next");
        putchar('\n');
    }
    print_attempts(cjson_get(answer, "attempts"));
}

static int judge_why(const cJSON *answer)
{
    return cJSON_GetArraySize(cjson_get(answer, "files")) > 0 &&
                   !why_is_too_new(answer)
               ? COMMAND_OK
               : COMMAND_NOT_FOUND;
}

/* Is the kind one that debuggers ask for by the build id that was read from a
 * file? */
static bool is_of_file(const char *kind)
{
    return kind != NULL && (strcmp(kind, "debuginfo") == 0 ||
                            strcmp(kind, "executable") == 0);
}

/* The kind of the original that is meant by an id of each type. */
static const symcache_kind_e kind_of_id[] = {
    [SYMCACHE_ID_DEBUG] = SYMCACHE_KIND_SYMCACHE,
    [SYMCACHE_ID_PE] = SYMCACHE_KIND_EXECUTABLE,
    [SYMCACHE_ID_BUILD] = SYMCACHE_KIND_DEBUGINFO,
    [SYMCACHE_ID_HASH] = SYMCACHE_KIND_SOURCE};

int why_command(int argc, char **argv)
{
    struct settings settings = {0};
    const char *kind = NULL;
    const struct option_spec specs[] = {CLIENT_PEERS_OPTIONS(settings),
                                        {"--kind", NULL, &kind}};
    struct identity identity;
    char path[CLIENT_PATH_MAX];

    argc = options_parse("why", specs, COUNT(specs), argc, argv);
    if (argc < 0 || operands_original("why", argc, argv, &identity) != 0) {
        return COMMAND_USAGE;
    }
    if (kind == NULL) {
        kind = identity.kind;
    }
    if (is_of_file(kind) && identity.code_id[0] != '\0') {
        client_path(path, "why", settings_store(&settings), SYMCACHE_NAME_NONE,
                    identity.code_id);
    } else {
        client_path(path, "why", settings_store(&settings), identity.name,
                    identity.id);
    }
    if (kind == NULL &&
        operands_is_mapping(identity.name, strlen(identity.name))) {
        kind = symcache_kind_text(SYMCACHE_KIND_PROGUARDCACHE);
    } else if (kind == NULL && identity.key.id_type == SYMCACHE_ID_HASH &&
        strcmp(identity.name, SYMCACHE_NAME_NONE) == 0) {
        kind = symcache_kind_text(SYMCACHE_KIND_SYMCACHE); /* of a profiler */
    } else if (kind == NULL && identity.key.id_type != SYMCACHE_ID_DEBUG) {
        kind = symcache_kind_text(kind_of_id[identity.key.id_type]);
    } else if (kind == NULL && identity.key.age == UINT32_MAX) {
        kind = symcache_kind_text(SYMCACHE_KIND_PPDBCACHE); /* as .NET says */
    }
    if (kind != NULL) {
        client_query(path, "kind", kind);
    } else {
        why_version = identity.version;
    }
    return json_request_show(&settings, "GET", path, CLIENT_SECONDS, print_why,
                             judge_why);
}
