
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "kind.h"

#include <string.h>
#include "key.h"

#define SYMCACHE_KIND_TEXT(text)  text, sizeof(text) - 1

#define SYMCACHE_DEBUG  (1u << SYMCACHE_ID_DEBUG)
#define SYMCACHE_PE     (1u << SYMCACHE_ID_PE)
#define SYMCACHE_BUILD  (1u << SYMCACHE_ID_BUILD)
#define SYMCACHE_HASH   (1u << SYMCACHE_ID_HASH)

#define SYMCACHE_NO_SLOTS  { SYMCACHE_KINDS }

/*
 * In the order of symcache_kind_e: text, ids, end of an original, slots, needs,
 * debuginfo.
 */

const symcache_kind_t  symcache_kinds[SYMCACHE_KINDS] = {
    { SYMCACHE_KIND_TEXT("symcache"),
      SYMCACHE_DEBUG | SYMCACHE_PE | SYMCACHE_HASH, NULL,
      { SYMCACHE_KIND_DEBUGINFO, SYMCACHE_KIND_SYM, SYMCACHE_KIND_EXECUTABLE,
        SYMCACHE_KIND_SYMBFILE, SYMCACHE_KINDS },
      SYMCACHE_HAS_DEBUG | SYMCACHE_HAS_SYMBOLS, 1 },
    { SYMCACHE_KIND_TEXT("ppdbcache"), SYMCACHE_DEBUG, NULL,
      { SYMCACHE_KIND_DEBUGINFO, SYMCACHE_KINDS }, SYMCACHE_HAS_DEBUG, 1 },
    { SYMCACHE_KIND_TEXT("cficache"), SYMCACHE_DEBUG | SYMCACHE_PE, NULL,
      { SYMCACHE_KIND_EXECUTABLE, SYMCACHE_KIND_SYM, SYMCACHE_KIND_DEBUGINFO,
        SYMCACHE_KINDS },
      SYMCACHE_HAS_UNWIND, 1 },
    { SYMCACHE_KIND_TEXT("sym"), SYMCACHE_DEBUG, ".sym",
      SYMCACHE_NO_SLOTS, 0, 1 },
    { SYMCACHE_KIND_TEXT("debuginfo"), SYMCACHE_DEBUG | SYMCACHE_BUILD, "",
      SYMCACHE_NO_SLOTS, 0, 1 },
    { SYMCACHE_KIND_TEXT("executable"), SYMCACHE_PE | SYMCACHE_BUILD,
      ".executable", SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("sourcebundle"), SYMCACHE_DEBUG | SYMCACHE_HASH,
      ".sourcebundle", SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("source"), SYMCACHE_BUILD | SYMCACHE_HASH, ".source",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("section"), SYMCACHE_BUILD, ".section",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("symbfile"), SYMCACHE_HASH, ".symbfile",
      SYMCACHE_NO_SLOTS, 0, 1 },
    { SYMCACHE_KIND_TEXT("jscache"), SYMCACHE_HASH, NULL,
      { SYMCACHE_KIND_SOURCE, SYMCACHE_KINDS }, 0, 0 },
    { SYMCACHE_KIND_TEXT("msfz"), SYMCACHE_DEBUG, ".msfz",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("uuidmap"), SYMCACHE_DEBUG, ".uuidmap",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("bcsymbolmap"), SYMCACHE_DEBUG, ".bcsymbolmap",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("il2cpp"), SYMCACHE_DEBUG | SYMCACHE_BUILD, ".il2cpp",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("dwp"), SYMCACHE_DEBUG | SYMCACHE_BUILD, ".dwp",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("sourcecache"), SYMCACHE_DEBUG | SYMCACHE_HASH, NULL,
      { SYMCACHE_KIND_SOURCEBUNDLE, SYMCACHE_KIND_DEBUGINFO, SYMCACHE_KINDS },
      SYMCACHE_HAS_SOURCES | SYMCACHE_HAS_LINKS, 0 },
    { SYMCACHE_KIND_TEXT("breakpad"), SYMCACHE_DEBUG, ".breakpad",
      { SYMCACHE_KIND_DEBUGINFO, SYMCACHE_KIND_EXECUTABLE, SYMCACHE_KINDS },
      SYMCACHE_HAS_DEBUG | SYMCACHE_HAS_SYMBOLS, 1 },
    { SYMCACHE_KIND_TEXT("mapping"), SYMCACHE_DEBUG, ".mapping",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("proguardcache"), SYMCACHE_DEBUG, NULL,
      { SYMCACHE_KIND_MAPPING, SYMCACHE_KINDS }, SYMCACHE_HAS_DEBUG, 0 },
    { SYMCACHE_KIND_TEXT("file"), SYMCACHE_HASH, ".file",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("codecache"), SYMCACHE_DEBUG | SYMCACHE_PE, NULL,
      { SYMCACHE_KIND_EXECUTABLE, SYMCACHE_KIND_DEBUGINFO, SYMCACHE_KINDS },
      SYMCACHE_HAS_CODE, 1 },
    { SYMCACHE_KIND_TEXT("cabinet"), SYMCACHE_DEBUG | SYMCACHE_PE, ".cabinet",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("gzip"), SYMCACHE_DEBUG | SYMCACHE_PE, ".gzip",
      SYMCACHE_NO_SLOTS, 0, 0 },
    { SYMCACHE_KIND_TEXT("symgzip"), SYMCACHE_DEBUG, ".symgzip",
      SYMCACHE_NO_SLOTS, 0, 0 }
};

int
symcache_kind_parse(const char *p, size_t len, symcache_kind_e *kind)
{
    int  i;

    for (i = 0; i < SYMCACHE_KINDS; i++) {

        if (symcache_kinds[i].len == len
            && memcmp(symcache_kinds[i].text, p, len) == 0)
        {
            *kind = (symcache_kind_e) i;
            return 1;
        }
    }

    return 0;
}

const char *
symcache_kind_text(symcache_kind_e kind)
{
    return symcache_kinds[kind].text;
}

int
symcache_kind_supported(symcache_kind_e kind)
{
    return symcache_kinds[kind].ids != 0;
}

int
symcache_id_supported(symcache_id_e type)
{
    int  kind;

    for (kind = 0; kind < SYMCACHE_KINDS; kind++) {
        if (symcache_kinds[kind].ids & 1u << type) {
            return 1;
        }
    }

    return 0;
}

int
symcache_key_supported(const symcache_key_t *key)
{
    return (symcache_kinds[key->kind].ids & 1u << key->id_type) != 0;
}

int
symcache_key_is_url(const symcache_key_t *key)
{
    return key->kind == SYMCACHE_KIND_SOURCE
           && key->id_type == SYMCACHE_ID_HASH;
}

int
symcache_key_is_bundle(const symcache_key_t *key)
{
    return key->id_type == SYMCACHE_ID_HASH
           && (key->kind == SYMCACHE_KIND_SOURCEBUNDLE
               || key->kind == SYMCACHE_KIND_SOURCECACHE);
}

int
symcache_key_is_download(const symcache_key_t *key)
{
    return symcache_kinds[key->kind].end != NULL && !symcache_key_is_url(key);
}

int
symcache_kind_is_original(symcache_kind_e kind)
{
    return symcache_kinds[kind].end != NULL
           && symcache_kinds[kind].slots[0] == SYMCACHE_KINDS;
}

int
symcache_kind_is_auxiliary(symcache_kind_e kind)
{
    return kind == SYMCACHE_KIND_UUIDMAP || kind == SYMCACHE_KIND_BCSYMBOLMAP
           || kind == SYMCACHE_KIND_IL2CPP || kind == SYMCACHE_KIND_DWP;
}

int
symcache_kind_is_packed(symcache_kind_e kind)
{
    return kind == SYMCACHE_KIND_CABINET || kind == SYMCACHE_KIND_GZIP
           || kind == SYMCACHE_KIND_SYMGZIP;
}

symcache_kind_e
symcache_key_unpacked(const symcache_key_t *key)
{
    if (!symcache_kind_is_packed((symcache_kind_e) key->kind)) {
        return (symcache_kind_e) key->kind;
    }

    if (key->kind == SYMCACHE_KIND_SYMGZIP) {
        return SYMCACHE_KIND_SYM;
    }

    return key->id_type == SYMCACHE_ID_DEBUG ? SYMCACHE_KIND_DEBUGINFO
                                             : SYMCACHE_KIND_EXECUTABLE;
}

int
symcache_kind_is_debuginfo(symcache_kind_e kind)
{
    return symcache_kinds[kind].debuginfo;
}
