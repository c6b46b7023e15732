/*
 * Copyright (C) the ngx_symcache authors
 */
#include "transcoder.h"
#include "base/array.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "secret_field.h"

#define TRANSCODER_PATHS_MAX 32 /* of "read" */
#define DEFAULT_DISK (4ull << 30)

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

static int read_transcoder_command(struct config_reader *r, const cJSON *item,
                                   const struct config_field *field, void *at)
{
    char ***command = at;
    const cJSON *arg;
    size_t n = 0;
    bool pdb = false;

    if (!cJSON_IsArray(item) || item->child == NULL) {
        return field_error(r, item,
                           "must be an array of strings such as "
                           "[\"pdb2symcache\", \"-pdb\", \"{pdb}\"]");
    }

    *command = calloc((size_t)cJSON_GetArraySize(item) + 1, sizeof(char *));
    if (*command == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (arg = item->child; arg != NULL; arg = arg->next, n++) {
        if (field_string(r, arg, field, &(*command)[n]) != 0) {
            return -1;
        }
        pdb = pdb || strstr(arg->valuestring, "{pdb}") != NULL;
    }
    if (!pdb) {
        return field_error(r, item, "has no {pdb}");
    }
    return 0;
}

static int read_transcoder_variable(struct config_reader *r, const cJSON *item,
                                    struct env_config *env)
{
    const char *name = item->string;

    if (strspn(name, LETTERS) == 0 ||
        name[strspn(name, LETTERS DIGITS)] != '\0') {
        return field_error(
            r, item,
            "is not the name of a variable: letters, digits and "
            "\"_\", not first a digit");
    }
    if (strcmp(name, "_NT_SYMCACHE_PATH") == 0 ||
        strcmp(name, "_NT_SYMBOL_PATH") == 0) {
        return field_error(r, item, "is set by symcached for each run");
    }

    env->name = strdup(name);
    if (env->name == NULL) {
        return field_error(r, item, "out of memory");
    }
    return field_secret(r, item, NULL, &env->value);
}

static int read_transcoder_env(struct config_reader *r, const cJSON *item,
                               const struct config_field *field, void *at)
{
    struct transcoder_config *transcoder = at;
    const cJSON *child, *other;

    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object of strings");
    }

    transcoder->env = calloc((size_t)cJSON_GetArraySize(item) + 1,
                             sizeof(transcoder->env[0]));
    if (transcoder->env == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        for (other = item->child; other != child; other = other->next) {
            if (strcmp(other->string, child->string) == 0) {
                return field_error(r, child, "repeated key");
            }
        }
        if (read_transcoder_variable(
                r, child, &transcoder->env[transcoder->nenv++]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_input_name(struct config_reader *r, const cJSON *item,
                           const struct config_field *field, void *at)
{
    static const char *const words[] = {"original", "fixed"};
    int value = field_word(r, item, words, COUNT(words));

    *(bool *)at = value == 1;
    return value < 0 ? -1 : 0;
}

static int read_transcoder_input(struct config_reader *r, const cJSON *item,
                                 unsigned *inputs)
{
    const char *text = field_text(r, item, "\"pdb\"");
    int format;

    if (text == NULL) {
        return -1;
    }
    format = config_format_find(text);
    if (format < 0 || !(FORMATS_ALL & 1u << format)) {
        return field_error(r, item, "must be " CONFIG_FORMAT_NAMES);
    }
    if (*inputs & 1u << format) {
        return field_error(r, item, "named twice");
    }
    *inputs |= 1u << format;
    return 0;
}

static int read_transcoder_inputs(struct config_reader *r, const cJSON *item,
                                  const struct config_field *field, void *at)
{
    unsigned *inputs = at;
    const cJSON *child;

    if (!cJSON_IsArray(item) || item->child == NULL) {
        return field_error(r, item, "must be a list of formats");
    }
    *inputs = 0;
    for (child = item->child; child != NULL; child = child->next) {
        if (read_transcoder_input(r, child, inputs) != 0) {
            return -1;
        }
    }
    return 0;
}

#define TRANSCODER_MAKES                                                      \
    "\"symcache\", \"ppdbcache\", \"cficache\", \"codecache\", "              \
    "\"sourcecache\", \"proguardcache\", \"jscache\" or \"breakpad\""

static int read_transcoder_makes(struct config_reader *r, const cJSON *item,
                                 const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, TRANSCODER_MAKES);
    symcache_kind_e *kind = at;

    if (text == NULL) {
        return -1;
    }
    return symcache_kind_parse(text, strlen(text), kind) &&
                   config_format_inputs(*kind) != 0
               ? 0
               : field_error(r, item, "must be " TRANSCODER_MAKES);
}

static const char *const profiles[] = {"strict", "wine", "none"};

const char *config_profile_name(enum transcoder_profile profile)
{
    return profiles[profile - PROFILE_STRICT];
}

static int read_profile(struct config_reader *r, const cJSON *item,
                        const struct config_field *field, void *at)
{
    enum transcoder_profile *profile = at;
    int value = field_word(r, item, profiles, COUNT(profiles));

    if (value < 0) {
        return -1;
    }
    *profile = (enum transcoder_profile)(PROFILE_STRICT + value);
    return 0;
}

static int read_transcoder_paths(struct config_reader *r, const cJSON *item,
                                 const struct config_field *field, void *at)
{
    char ***paths = at;
    const cJSON *child;
    size_t n = 0;

    if (!cJSON_IsArray(item) ||
        cJSON_GetArraySize(item) > TRANSCODER_PATHS_MAX) {
        return field_error(r, item, "must be a list of at most %d paths",
                           TRANSCODER_PATHS_MAX);
    }
    *paths = calloc((size_t)cJSON_GetArraySize(item) + 1, sizeof(char *));
    if (*paths == NULL) {
        return field_error(r, item, "out of memory");
    }
    for (child = item->child; child != NULL; child = child->next, n++) {
        if (field_path(r, child, field, &(*paths)[n]) != 0) {
            return -1;
        }
    }
    return 0;
}

#define FIELD(name, read, at, flags)                                          \
    {                                                                         \
        name, read, at, 0, 0, flags                                           \
    }

static const struct config_field transcoder_fields[] = {
    FIELD("version", field_version,
          offsetof(struct transcoder_config, version), CONFIG_REQUIRED),
    FIELD("command", read_transcoder_command,
          offsetof(struct transcoder_config, command), CONFIG_REQUIRED),
    FIELD("env", read_transcoder_env, 0, CONFIG_SECRET),
    FIELD("input_name", read_input_name,
          offsetof(struct transcoder_config, fixed_input), 0),
    FIELD("inputs", read_transcoder_inputs,
          offsetof(struct transcoder_config, inputs), 0),
    FIELD("makes", read_transcoder_makes,
          offsetof(struct transcoder_config, makes), 0),
    FIELD("profile", read_profile, offsetof(struct transcoder_config, profile),
          0),
    FIELD("network", field_bool, offsetof(struct transcoder_config, network),
          0),
    FIELD("read", read_transcoder_paths,
          offsetof(struct transcoder_config, read), 0),
    FIELD("user", field_string, offsetof(struct transcoder_config, user), 0),
    {"time", field_duration, offsetof(struct transcoder_config, time), 1,
     7 * 24 * 60 * 60, 0},
    {"memory", field_size, offsetof(struct transcoder_config, memory),
     16 << 20, 1ull << 50, 0},
    {"disk", field_size, offsetof(struct transcoder_config, disk), 1 << 20,
     1ull << 50, 0},
    {"parallel", field_count, offsetof(struct transcoder_config, parallel), 1,
     1000, 0},
};

/*
 * Our own converter locks itself before it parses, more than a profile could;
 * whatever else reads a file from strangers is confined unless the operator
 * says otherwise.
 */
static int transcoder_choose_profile(struct config_reader *r,
                                     const cJSON *item,
                                     struct transcoder_config *transcoder)
{
    const char *name = strrchr(transcoder->command[0], '/');

    if (transcoder->profile == PROFILE_DEFAULT) {
        name = name != NULL ? name + 1 : transcoder->command[0];
        transcoder->profile =
            strcmp(name, "pdb2symcache") == 0 ? PROFILE_NONE : PROFILE_STRICT;
    }
    return transcoder->profile != PROFILE_NONE ||
                   (!transcoder->network && transcoder->read == NULL &&
                    transcoder->user == NULL)
               ? 0
               : field_error(r, item,
                             "\"network\", \"read\" and \"user\" are for "
                             "the profiles \"strict\" and \"wine\"");
}

/* Chooses the inputs where none are named, and refuses those of which nothing
 * of the kind can be made. */
static int transcoder_check_inputs(struct config_reader *r, const cJSON *item,
                                   struct transcoder_config *transcoder)
{
    char names[CONFIG_FORMATS_TEXT];
    unsigned wrong;

    if (transcoder->inputs == 0) {
        transcoder->inputs = transcoder->makes == SYMCACHE_KIND_SYMCACHE
                                 ? 1u << FORMAT_PDB
                                 : config_format_inputs(transcoder->makes);
    }
    wrong = transcoder->inputs & ~config_format_inputs(transcoder->makes);
    config_formats_print(names, wrong, "\" or \"");
    return wrong == 0
               ? 0
               : field_error(r, item, "no %s is made of \"%s\"",
                             symcache_kind_text(transcoder->makes), names);
}

/* Refuses a transcoder with the same kind, major version and an input of
 * another one, as it would not be clear which of the two to run. */
static int transcoder_check_unique(struct config_reader *r, const cJSON *item,
                                   const struct store_config *store,
                                   const struct transcoder_config *transcoder)
{
    const struct transcoder_config *other;
    unsigned i;

    for (other = store->transcoders; other < transcoder; other++) {
        for (i = 0; i < FORMATS; i++) {
            if (other->version.major == transcoder->version.major &&
                other->makes == transcoder->makes &&
                (other->inputs & transcoder->inputs & 1u << i)) {
                return field_error(
                    r, item,
                    "a second transcoder for major version %u and input "
                    "\"%s\"",
                    (unsigned)transcoder->version.major,
                    config_format_name(i));
            }
        }
    }
    return 0;
}

void config_free_list(char **list)
{
    size_t i;

    for (i = 0; list != NULL && list[i] != NULL; i++) {
        free(list[i]);
    }
    free(list);
}

/* Copies argv with "--kind" and the text of a kind after the program, and with
 * the map of a script at the end.  NULL when out of memory. */
static char **transcoder_command_for(char *const *argv, symcache_kind_e kind)
{
    char **copy;
    size_t n = 0, i;

    while (argv[n] != NULL) {
        n++;
    }
    copy = calloc(n + 4, sizeof(*copy));
    if (copy == NULL) {
        return NULL;
    }
    for (i = 0; i < n + 2 + (kind == SYMCACHE_KIND_JSCACHE); i++) {
        copy[i] = strdup(i == 0       ? argv[0]
                         : i == 1     ? "--kind"
                         : i == 2     ? symcache_kind_text(kind)
                         : i == n + 2 ? "{map}"
                                      : argv[i - 2]);
        if (copy[i] == NULL) {
            config_free_list(copy);
            return NULL;
        }
    }
    return copy;
}

/* Is there a transcoder that makes a kind? */
static bool transcoder_has_kind(const struct store_config *store,
                                symcache_kind_e kind)
{
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        if (store->transcoders[i].makes == kind) {
            return true;
        }
    }
    return false;
}

/*
 * A store that has our converter makes every kind that it writes, so that a new
 * kind needs no line of configuration.  "makes", or a path before its name,
 * says that it is to make one kind only.
 */
static int transcoder_add_implied(struct config_reader *r, const cJSON *item,
                                  struct store_config *store)
{
    size_t i, named = store->ntranscoders;
    struct transcoder_config *transcoder, *of = NULL;
    int kind;

    for (i = 0; i < named; i++) {
        transcoder = &store->transcoders[i];
        if (transcoder->is_implied &&
            strcmp(transcoder->command[0], "pdb2symcache") == 0) {
            transcoder->inputs |= 1u << FORMAT_SYMBFILE;
            of = transcoder;
        }
        transcoder->is_implied = false;
    }
    for (kind = 0; of != NULL && kind < SYMCACHE_KINDS; kind++) {
        if (config_format_inputs((symcache_kind_e)kind) == 0 ||
            transcoder_has_kind(store, (symcache_kind_e)kind)) {
            continue;
        }
        transcoder = &store->transcoders[store->ntranscoders++];
        transcoder->is_implied = true;
        transcoder->makes = (symcache_kind_e)kind;
        transcoder->version =
            (symcache_version_t){kind == SYMCACHE_KIND_JSCACHE ? 2 : 1, 0, 0};
        transcoder->inputs = config_format_inputs(transcoder->makes);
        transcoder->profile = of->profile;
        transcoder->time = of->time;
        transcoder->memory = of->memory;
        transcoder->disk = of->disk;
        transcoder->parallel = of->parallel;
        transcoder->command =
            transcoder_command_for(of->command, transcoder->makes);
        if (transcoder->command == NULL) {
            return field_error(r, item, "out of memory");
        }
    }
    return 0;
}

int config_transcoders(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at)
{
    struct store_config *store = at;
    struct transcoder_config *transcoder;
    const cJSON *child;

    if (r->types == NULL) {
        return 0;
    }
    if (!cJSON_IsArray(item)) {
        return field_error(r, item, "must be an array of objects");
    }

    store->transcoders =
        calloc((size_t)cJSON_GetArraySize(item) + 1 + SYMCACHE_KINDS,
               sizeof(store->transcoders[0]));
    if (store->transcoders == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        transcoder = &store->transcoders[store->ntranscoders++];
        transcoder->makes = SYMCACHE_KIND_SYMCACHE;
        transcoder->is_implied = cJSON_GetObjectItem(child, "makes") == NULL;
        transcoder->time = r->config->limits.transcode_time;
        transcoder->memory = r->config->limits.transcode_memory;
        transcoder->disk = DEFAULT_DISK;
        if (field_object(r, child, transcoder_fields, COUNT(transcoder_fields),
                         transcoder) != 0 ||
            transcoder_check_inputs(r, child, transcoder) != 0 ||
            transcoder_choose_profile(r, child, transcoder) != 0 ||
            transcoder_check_unique(r, child, store, transcoder) != 0) {
            return -1;
        }
    }
    return transcoder_add_implied(r, item, store);
}

void config_transcoder_clear(struct transcoder_config *transcoder)
{
    size_t i;

    config_free_list(transcoder->command);
    config_free_list(transcoder->read);
    free(transcoder->user);

    for (i = 0; i < transcoder->nenv; i++) {
        free(transcoder->env[i].name);
        secret_free(transcoder->env[i].value);
    }
    free(transcoder->env);
}
