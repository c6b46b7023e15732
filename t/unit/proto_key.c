/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/key: names, ids and kinds as they are read and written.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "proto/key.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define GUID "3249D99D0C4049318610F4E4FB0B6936"

static void name_length(void **state)
{
    char name[300];
    symcache_key_t key;

    memset(name, 'n', sizeof(name));
    assert_int_equal(symcache_name_parse(name, 0, &key), SYMCACHE_BAD_NAME);
    assert_int_equal(symcache_name_parse(name, 1, &key), SYMCACHE_OK);
    assert_int_equal(symcache_name_parse(name, 255, &key), SYMCACHE_OK);
    assert_int_equal(key.name_len, 255);
    assert_int_equal(symcache_name_parse(name, 256, &key),
                     SYMCACHE_BAD_NAME);
    name[3] = '\0';
    assert_int_equal(symcache_name_parse(name, 10, &key), SYMCACHE_BAD_NAME);
}

/*
 * Names and GUIDs are read in parts of 8 and 16 bytes: each byte in each place
 * of names of all lengths around them.  The text has no byte behind its end, so
 * a sanitizer sees a load there.
 */
static void each_byte_in_each_place(void **state)
{
    for (size_t len = 1; len <= 49; len++) {
        char *name = malloc(len);

        assert_non_null(name);
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 256; c++) {
                symcache_key_t key;
                int good = c >= 0x20 && c < 0x7f && (at > 0 || c != '.')
                           && strchr("\"*/:<>?\\|", c) == NULL;

                memset(name, 'N', len);
                name[at] = (char)c;
                assert_int_equal(symcache_name_parse(name, len, &key),
                                 good ? SYMCACHE_OK : SYMCACHE_BAD_NAME);
                if (!good) {
                    continue;
                }
                assert_int_equal(key.name[at], tolower(c));
                assert_int_equal(strspn(key.name, "n"),
                                 tolower(c) == 'n' ? len : at);
                assert_int_equal(strlen(key.name), len);
            }
        }
        free(name);
    }
}

static void each_digit_in_each_place(void **state)
{
    char *text = malloc(32), printed[SYMCACHE_ID_TEXT_MAX + 1];

    assert_non_null(text);
    for (size_t at = 0; at < 32; at++) {
        for (int c = 0; c < 256; c++) {
            symcache_key_t key = {.age = 0x1b, .id_type = SYMCACHE_ID_DEBUG};
            char digit[2] = {(char)c, '\0'};

            memcpy(text, GUID, 32);
            text[at] = (char)c;
            if (!isxdigit(c)) {
                assert_int_equal(symcache_guid_parse(text, 32, key.guid),
                                 SYMCACHE_BAD_ID);
                continue;
            }
            assert_int_equal(symcache_guid_parse(text, 32, key.guid),
                             SYMCACHE_OK);
            assert_int_equal(at % 2 ? key.guid[at / 2] & 0xf
                                    : key.guid[at / 2] >> 4,
                             strtol(digit, NULL, 16));
            assert_int_equal(symcache_id_print(printed, &key), 34);
            text[at] = (char)toupper(c);
            assert_memory_equal(printed, text, 32);
            assert_string_equal(printed + 32, "1B");
        }
    }
    free(text);
}

/* Age in decimal where hex is meant is the field's recurring bug. */
static void ids(void **state)
{
    static const struct {
        const char *text;
        symcache_status_e rc;
        uint32_t age;
    } rows[] = {
        {GUID "1", SYMCACHE_OK, 1},
        {GUID "9", SYMCACHE_OK, 9},
        {GUID "A", SYMCACHE_OK, 10},
        {GUID "a", SYMCACHE_OK, 10},
        {GUID "F", SYMCACHE_OK, 15},
        {GUID "10", SYMCACHE_OK, 16},
        {GUID "FF", SYMCACHE_OK, 255},
        {GUID "ffffffff", SYMCACHE_OK, 4294967295u},
        {GUID "0", SYMCACHE_OK, 0},
        {GUID, SYMCACHE_BAD_ID, 0},
        {GUID "01", SYMCACHE_BAD_AGE, 0},
        {GUID "100000000", SYMCACHE_BAD_ID, 0},
        {GUID "G", SYMCACHE_BAD_AGE, 0},
        {"G249D99D0C4049318610F4E4FB0B69361", SYMCACHE_BAD_ID, 0},
    };

    for (size_t i = 0; i < N(rows); i++) {
        symcache_key_t key;
        symcache_status_e rc =
            symcache_id_parse(rows[i].text, strlen(rows[i].text), &key);

        assert_int_equal(rc, rows[i].rc);
        if (rc == SYMCACHE_OK) {
            assert_int_equal(key.age, rows[i].age);
            assert_int_equal(key.guid[0], 0x32);
            assert_int_equal(key.guid[15], 0x36);
        }
    }
}

/* Every type of id: as it is read, and the one form in which it is written. */
static void types_of_ids(void **state)
{
#define B20 "93ac61ec5a8eb1396f9fbd350e3169a558528a40"
#define B16 "0123456789abcdef0123456789abcdef"
#define B64 B16 B16 B16 B16
    static const struct {
        const char *text;
        symcache_status_e rc;
        symcache_id_e type;
        const char *printed;
    } rows[] = {
        {GUID "1", SYMCACHE_OK, SYMCACHE_ID_DEBUG, GUID "1"},
        {"3249d99d0c4049318610f4e4fb0b6936ffffffff", SYMCACHE_OK,
         SYMCACHE_ID_DEBUG, GUID "FFFFFFFF"},
        /* as symbol servers have them */
        {"5AB380779000", SYMCACHE_OK, SYMCACHE_ID_PE, "5AB380779000"},
        {"5ab380779000", SYMCACHE_OK, SYMCACHE_ID_PE, "5AB380779000"},
        {"542D574EC2000", SYMCACHE_OK, SYMCACHE_ID_PE, "542D574Ec2000"},
        {"00000000FFFFFFFF", SYMCACHE_OK, SYMCACHE_ID_PE,
         "00000000ffffffff"},
        {"000000010", SYMCACHE_OK, SYMCACHE_ID_PE, "000000010"},
        {"5AB3807709000", SYMCACHE_BAD_ID, 0, 0},
        {"5AB38077", SYMCACHE_BAD_ID, 0, 0},
        {"5AB38077100000000", SYMCACHE_BAD_ID, 0, 0},
        {"5AB3807x9000", SYMCACHE_BAD_ID, 0, 0},
        {"5AB380779g", SYMCACHE_BAD_ID, 0, 0},
        /* 40 digits without the prefix are a debug id, by whatever means */
        {"buildid-" B20, SYMCACHE_OK, SYMCACHE_ID_BUILD, "buildid-" B20},
        {"buildid-93AC61EC5A8EB1396F9FBD350E3169A558528A40", SYMCACHE_OK,
         SYMCACHE_ID_BUILD, "buildid-" B20},
        {B20, SYMCACHE_OK, SYMCACHE_ID_DEBUG,
         "93AC61EC5A8EB1396F9FBD350E3169A558528A40"},
        {"buildid-01", SYMCACHE_OK, SYMCACHE_ID_BUILD, "buildid-01"},
        {"buildid-" B64, SYMCACHE_OK, SYMCACHE_ID_BUILD, "buildid-" B64},
        {"buildid-" B64 "00", SYMCACHE_BAD_ID, 0, 0},
        {"buildid-012", SYMCACHE_BAD_ID, 0, 0},
        {"buildid-0g", SYMCACHE_BAD_ID, 0, 0},
        {"buildid-", SYMCACHE_BAD_ID, 0, 0},
        {"BUILDID-01", SYMCACHE_BAD_ID, 0, 0},
        {"hash-" B16, SYMCACHE_OK, SYMCACHE_ID_HASH, "hash-" B16},
        {"hash-0123456789ABCDEF0123456789ABCDEF", SYMCACHE_OK,
         SYMCACHE_ID_HASH, "hash-" B16},
        {"hash-" B20, SYMCACHE_OK, SYMCACHE_ID_HASH, "hash-" B20},
        {"hash-" B16 B16, SYMCACHE_OK, SYMCACHE_ID_HASH, "hash-" B16 B16},
        {"hash-" B16 B16 "00", SYMCACHE_BAD_ID, 0, 0},
        {"hash-" B16 "0", SYMCACHE_BAD_ID, 0, 0},
        {"hash-0123456789abcdef0123456789abcd", SYMCACHE_BAD_ID, 0, 0},
        {"hash-0123456789abcdef0123456789abcdeg", SYMCACHE_BAD_ID, 0, 0},
        {"hash-", SYMCACHE_BAD_ID, 0, 0},
        {"HASH-" B16, SYMCACHE_BAD_ID, 0, 0},
        {"", SYMCACHE_BAD_ID, 0, 0},
    };

    for (size_t i = 0; i < N(rows); i++) {
        char text[SYMCACHE_ID_TEXT_MAX + 1];
        symcache_key_t key, again;
        size_t len = strlen(rows[i].text);

        symcache_name_parse("a", 1, &key);
        symcache_name_parse("a", 1, &again);
        assert_int_equal(symcache_id_parse(rows[i].text, len, &key),
                         rows[i].rc);
        if (rows[i].rc != SYMCACHE_OK) {
            continue;
        }
        assert_int_equal(key.id_type, rows[i].type);
        assert_int_equal(symcache_debug_id_parse(rows[i].text, len, &again) ==
                             SYMCACHE_OK,
                         rows[i].type == SYMCACHE_ID_DEBUG);
        assert_int_equal(symcache_id_print(text, &key),
                         strlen(rows[i].printed));
        assert_string_equal(text, rows[i].printed);
        assert_int_equal(symcache_id_parse(text, strlen(text), &again),
                         SYMCACHE_OK);
        assert_true(symcache_key_equal(&key, &again));
    }
}

static void texts_of_kinds(void **state)
{
    static const char *texts[] = {"symcache", "ppdbcache",  "cficache",
                                  "sym",      "debuginfo",  "executable",
                                  "sourcebundle", "source", "section",
                                  "symbfile", "jscache", "msfz", "uuidmap",
                                  "bcsymbolmap", "il2cpp", "dwp",
                                  "sourcecache", "breakpad", "mapping",
                                  "proguardcache", "file", "codecache",
                                  "cabinet", "gzip", "symgzip"};
    symcache_kind_e kind;

    assert_int_equal(N(texts), SYMCACHE_KINDS);
    for (int k = 0; k < SYMCACHE_KINDS; k++) {
        assert_string_equal(symcache_kind_text((symcache_kind_e)k), texts[k]);
        assert_true(strlen(texts[k]) <= SYMCACHE_KIND_TEXT_MAX);
        assert_true(symcache_kind_parse(texts[k], strlen(texts[k]), &kind));
        assert_int_equal(kind, k);
        assert_false(
            symcache_kind_parse(texts[k], strlen(texts[k]) - 1, &kind));
    }
    assert_false(symcache_kind_parse("", 0, &kind));
    assert_false(symcache_kind_parse("SYMCACHE", 8, &kind));
    assert_false(symcache_kind_parse("absent", 6, &kind));
}

/* The text of a whole key, and what makes two of them one. */
static void texts_of_keys(void **state)
{
    static const struct {
        symcache_kind_e kind;
        const char *name;
        const char *id;
        const char *text;
        int supported;
    } rows[] = {
        {SYMCACHE_KIND_SYMCACHE, "Crash.pdb", GUID "1", "crash.pdb/" GUID "1",
         1},
        {SYMCACHE_KIND_SYMCACHE, "crash.pdb", GUID "2", "crash.pdb/" GUID "2",
         1},
        {SYMCACHE_KIND_SYMCACHE, "other.pdb", GUID "1", "other.pdb/" GUID "1",
         1},
        {SYMCACHE_KIND_PPDBCACHE, "crash.pdb", GUID "1",
         "ppdbcache:crash.pdb/" GUID "1", 1},
        {SYMCACHE_KIND_DEBUGINFO, "crash.pdb", GUID "1",
         "debuginfo:crash.pdb/" GUID "1", 1},
        {SYMCACHE_KIND_SYMCACHE, "_", "buildid-" B20, "_/buildid-" B20, 0},
        {SYMCACHE_KIND_SYMCACHE, "_", "buildid-" B20 "00",
         "_/buildid-" B20 "00", 0},
        /* the same bytes under another type of id */
        {SYMCACHE_KIND_SOURCE, "a.example", "buildid-" B20,
         "source:a.example/buildid-" B20, 1},
        {SYMCACHE_KIND_SOURCE, "a.example", "hash-" B20,
         "source:a.example/hash-" B20, 1},
        {SYMCACHE_KIND_SOURCE, "a.example", "hash-" B16,
         "source:a.example/hash-" B16, 1},
        {SYMCACHE_KIND_SYMCACHE, "a.example", "hash-" B16,
         "a.example/hash-" B16, 1},
        {SYMCACHE_KIND_PPDBCACHE, "a.example", "hash-" B16,
         "ppdbcache:a.example/hash-" B16, 0},
        {SYMCACHE_KIND_SYMBFILE, "_", "hash-" B16, "symbfile:_/hash-" B16, 1},
        {SYMCACHE_KIND_SECTION, "a.example", "hash-" B16,
         "section:a.example/hash-" B16, 0},
        {SYMCACHE_KIND_EXECUTABLE, "a.exe", "5AB380779000",
         "executable:a.exe/5AB380779000", 1},
        {SYMCACHE_KIND_EXECUTABLE, "a.exe", "5AB380779001",
         "executable:a.exe/5AB380779001", 1},
    };
    symcache_key_t keys[N(rows)];

    for (size_t i = 0; i < N(rows); i++) {
        char text[SYMCACHE_KEY_TEXT_MAX + 1];
        symcache_key_t key;

        memset(&key, (int)i, sizeof(key));
        assert_int_equal(symcache_name_parse(rows[i].name,
                                             strlen(rows[i].name), &key),
                         SYMCACHE_OK);
        assert_int_equal(
            symcache_id_parse(rows[i].id, strlen(rows[i].id), &key),
            SYMCACHE_OK);
        key.kind = (uint8_t)rows[i].kind;
        assert_int_equal(symcache_key_print(text, &key),
                         strlen(rows[i].text));
        assert_string_equal(text, rows[i].text);
        assert_int_equal(symcache_key_supported(&key), rows[i].supported);

        memset(&keys[i], 0xaa, sizeof(keys[i]));
        symcache_key_copy(&keys[i], &key);
        for (size_t j = 0; j <= i; j++) {
            assert_int_equal(symcache_key_equal(&keys[j], &key), i == j);
        }
    }
    assert_true(symcache_key_same_module(&keys[0], &keys[3]));
    assert_false(symcache_key_same_module(&keys[0], &keys[1]));
}

static void every_status_has_a_text(void **state)
{
    for (int s = SYMCACHE_OK; s <= SYMCACHE_BAD_AGE; s++) {
        assert_string_not_equal(symcache_status_text((symcache_status_e)s),
                                "unknown");
    }
}

/* Sentry's services write debug ids so: see the reader's comment. */
static void debug_id_written(void **state)
{
    static const struct {
        const char *text;
        uint32_t age;
    } ids[] = {
        {"3249d99d-0c40-4931-8610-f4e4fb0b6936", 0},
        {"3249d99d-0c40-4931-8610-f4e4fb0b6936-1", 1},
        {"00000000-0000-0000-0000-000000000000-10", 16},
        {"ffffffff-ffff-ffff-ffff-ffffffffffff-ffffffff", UINT32_MAX},
    };
    char text[SYMCACHE_DEBUG_TEXT_MAX + 1];
    uint8_t guid[16];
    uint32_t age;

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        assert_true(symcache_debug_id_read(ids[i].text, strlen(ids[i].text),
                                           guid, &age));
        assert_int_equal(age, ids[i].age);
        assert_int_equal(symcache_debug_id_write(text, guid, age),
                         strlen(ids[i].text));
        assert_string_equal(text, ids[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_id_written),
        cmocka_unit_test(name_length),
        cmocka_unit_test(each_byte_in_each_place),
        cmocka_unit_test(each_digit_in_each_place),
        cmocka_unit_test(ids),
        cmocka_unit_test(types_of_ids),
        cmocka_unit_test(texts_of_kinds),
        cmocka_unit_test(texts_of_keys),
        cmocka_unit_test(every_status_has_a_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
