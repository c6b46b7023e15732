/*
 * Copyright (C) the ngx_symcache authors
 *
 * Identifies a body by its first bytes.  The helper also does this, so it is
 * apart from the code that reads more.
 */
#include "body_kind.h"

#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "debuginfo/msfz/msfz.h"

struct body_magic {
    const char *bytes;
    size_t len;
    enum body_kind kind;
    const char *what;
};

#define MAGIC(bytes, kind, what)                                              \
    {                                                                         \
        bytes, sizeof(bytes) - 1, kind, what                                  \
    }

#define ORIGINAL(format) (enum body_kind)(BODY_ORIGINAL + (format))

static const struct body_magic body_magics[] = {
    MAGIC("Microsoft C/C++ MSF 7.00\r\n\x1a"
          "DS\0\0\0",
          ORIGINAL(FORMAT_PDB), "a PDB"),
    MAGIC("Microsoft C/C++ program database 2.00\r\n\x1a"
          "JG\0\0",
          BODY_FOREIGN, "a PDB 2.0"),
    MAGIC("MODULE ", ORIGINAL(FORMAT_BREAKPAD), "Breakpad text"),
    MAGIC(MSFZ_MAGIC, BODY_MSFZ, "a compressed PDB (MSFZ)"),
    MAGIC("MSCF\0\0\0\0", BODY_CABINET, "a cabinet"),
    MAGIC("\x1f\x8b", BODY_GZIP, "gzip data"),
    MAGIC("\x78\x01", BODY_ZLIB, "zlib data"),
    MAGIC("\x78\x5e", BODY_ZLIB, "zlib data"),
    MAGIC("\x78\x9c", BODY_ZLIB, "zlib data"),
    MAGIC("\x78\xda", BODY_ZLIB, "zlib data"),
    MAGIC("\x28\xb5\x2f\xfd", BODY_ZSTD, "zstd data"),
    MAGIC("BSJB", ORIGINAL(FORMAT_PORTABLEPDB), "a portable PDB"),
    MAGIC("MZ", ORIGINAL(FORMAT_PE), "a PE image"),
    MAGIC("\x7f"
          "ELF",
          ORIGINAL(FORMAT_ELF), "an ELF file"),
    MAGIC("\xfe\xed\xfa\xce", ORIGINAL(FORMAT_MACHO), "a Mach-O file"),
    MAGIC("\xfe\xed\xfa\xcf", ORIGINAL(FORMAT_MACHO), "a Mach-O file"),
    MAGIC("\xce\xfa\xed\xfe", ORIGINAL(FORMAT_MACHO), "a Mach-O file"),
    MAGIC("\xcf\xfa\xed\xfe", ORIGINAL(FORMAT_MACHO), "a Mach-O file"),
    MAGIC("\xca\xfe\xba\xbe", ORIGINAL(FORMAT_MACHO), "a fat Mach-O file"),
    MAGIC("\xca\xfe\xba\xbf", ORIGINAL(FORMAT_MACHO), "a fat Mach-O file"),
    MAGIC("\0asm", ORIGINAL(FORMAT_WASM), "a WebAssembly module"),
    MAGIC("symbfile", ORIGINAL(FORMAT_SYMBFILE), "a symbfile"),
    MAGIC("BCSymbolMap Version:", ORIGINAL(FORMAT_BCSYMBOLMAP),
          "a BCSymbolMap"),
    MAGIC("SYSB", ORIGINAL(FORMAT_SOURCEBUNDLE), "a source bundle"),
    MAGIC("PK\3\4", BODY_FOREIGN, "a zip archive"),
    MAGIC("SZDD\x88\xf0\x27\x33", BODY_FOREIGN, "an SZDD file"),
    MAGIC("KWAJ", BODY_FOREIGN, "a KWAJ file"),
};

static bool starts(const uint8_t *p, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len >= n && strncasecmp((const char *)p, word, n) == 0;
}

static const char *body_text(const uint8_t *p, size_t len)
{
    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
        len -= 3;
    }
    while (len > 0 && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) {
        p++;
        len--;
    }

    if (starts(p, len, "<!doctype html") || starts(p, len, "<html") ||
        starts(p, len, "<head") || starts(p, len, "<!--")) {
        return "an HTML page";
    }

    if (starts(p, len, "path:") || starts(p, len, "msg:")) {
        return "the text of a file.ptr";
    }

    return starts(p, len, "<?xml") ? "an XML document" : NULL;
}

enum body_kind body_sniff(const uint8_t *head, size_t len, const char **what)
{
    const struct body_magic *magic;
    size_t i;

    for (i = 0; i < sizeof(body_magics) / sizeof(body_magics[0]); i++) {
        magic = &body_magics[i];
        if (len >= magic->len && memcmp(head, magic->bytes, magic->len) == 0) {
            *what = magic->what;
            return magic->kind;
        }
    }

    *what = len == 0 ? "an empty file" : body_text(head, len);
    if (*what == NULL) {
        *what = BODY_UNKNOWN;
    }
    return BODY_OTHER;
}
