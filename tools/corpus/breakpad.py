#!/usr/bin/env python3
"""Breakpad files that no tool writes, but that have a meaning.

usage: breakpad.py odd DIR           those of t/data/convert/breakpad
       breakpad.py random SEED FILE  records at random

Each odd file is named after the rule of the reference that it shows; what it
becomes is in t/convert/manifest.tsv.
"""

import os
import random
import sys

ID = "000102030405060708090A0B0C0D0E0F"
MODULE = "MODULE Linux x86_64 %s0 test.so\n" % ID
FILES = "FILE 0 /src/a.c\nFILE 1 C:\\src\\b.h\nFILE 2 c.c\n"
ORIGINS = "INLINE_ORIGIN 0 inl\nINLINE_ORIGIN 1 deeper\n"

# name -> records behind MODULE, FILE and INLINE_ORIGIN records
ODD = {
    "lines-unordered": """FUNC 1000 40 0 f
1020 10 3 0
1000 10 1 0
1000 10 9 0
1010 10 2 1
""",
    "lines-overlapping": "FUNC 1000 40 0 f\n1000 20 1 0\n1010 20 2 0\n",
    "lines-outside": "FUNC 1000 10 0 f\nff0 10 1 0\n1000 30 2 0\n"
                     "1040 8 3 0\n",
    "lines-hidden": "FUNC 1000 40 0 f\n1000 90 9 0\n1010 10 2 1\n",
    "lines-like-words": "FUNC 1000 20 0 f\nFACE 10 5 0\n1000 4 6 0\n",
    "line-numbers": """FUNC 1000 40 0 f
1000 10 -5 0
1010 10 4294967297 0
1020 10 4294967295 0
1030 0 7 0
""",
    "line-too-large": "FUNC 1000 40 0 f\n1000 10 18446744073709551616 0\n",
    "line-endless": "FUNC 1000 20 0 f\n1000 ffffffffffffffff 1 0\n",
    "line-five-fields": "FUNC 1000 20 0 f\n1000 20 1 0 99\n",
    "line-of-blanks": "FUNC 1000 20 0 f\n   \n1000 20 1 0\n",
    "file-missing": "FUNC 1000 20 0 f\n1000 20 1 7\n",
    "file-late": "FUNC 1000 20 0 f\n1000 20 1 3\nPUBLIC 2000 0 p\n"
                 "FILE 3 late.c\n",
    "file-in-function": "FUNC 1000 20 0 f\nFILE 3 late.c\n1000 20 1 3\n",
    "file-negative": "FUNC 1000 20 0 f\n1000 10 5 -1\n",
    "functions-overlapping": "FUNC 1000 20 0 f\n1000 20 1 0\n"
                             "FUNC 1010 20 0 g\n1010 20 2 0\n",
    "functions-folded": "FUNC 1000 20 0 f\n1000 20 1 0\nFUNC 1000 20 0 g\n"
                        "FUNC m 1000 20 0 h\n1000 10 2 0\n",
    "function-empty": "FUNC 1000 0 0 z\n1000 10 5 0\nFUNC 2000 10 0 y\n"
                      "2000 10 1 0\n",
    "function-nameless": "FUNC 1000 20 0\nFUNC 2000 10 0 \nPUBLIC 3000 0\n",
    "function-endless": "FUNC 1000 ffffffffffffffff 0 f\n1000 20 1 0\n",
    "function-bad-flag": "FUNC mf00 20 0 q\n",
    "function-bad-address": "FUNC 11112222333344445 1 0 p\n",
    "addresses-above-32-bits": """FUNC 100000000 40 0 f
100000000 40 1 0
FUNC fffffff0 20 0 g
fffffff0 8 2 0
fffffff8 20 3 1
100000004 8 4 2
PUBLIC 100000010 0 p
PUBLIC ffffffffffffffff 0 q
""",
    "publics": """FUNC 1000 40 0 f
1000 40 1 0
PUBLIC 1010 0 inside
PUBLIC 1000 0 start
PUBLIC m 1040 0 end
PUBLIC 1040 0 twin
PUBLIC zz 0 bad
PUBLIC 800 0 before
""",
    "public-first": "PUBLIC 3000 0 p\nFUNC 1000 20 0 f\n1000 20 1 0\n",
    "inline-nested": """FUNC 1000 40 0 f
INLINE 0 12 0 0 1008 20
INLINE 1 3 1 1 1010 8 1020 4
1000 8 10 0
1008 8 2 1
1010 8 7 2
1018 8 4 1
1020 4 8 2
1024 1c 13 0
""",
    "inline-late-origin": "FUNC 1000 40 0 f\nINLINE 0 12 0 5 1010 10\n"
                          "1000 40 10 0\nINLINE_ORIGIN 5 late\n",
    "inline-renamed-origin": "FUNC 1000 40 0 f\nINLINE 0 5 0 0 1010 8\n"
                             "INLINE_ORIGIN 0 other\nINLINE 0 6 0 0 1020 8\n"
                             "1000 40 1 0\n",
    "inline-over-parents": """FUNC 1000 40 0 a
INLINE 0 10 0 0 1000 8
INLINE 0 15 0 0 1008 5
INLINE 1 20 0 1 1000 d
1000 d 30 0
100d 33 16 0
""",
    "inline-gap": "FUNC 2000 40 0 f\nINLINE 0 5 0 0 2010 8\n2000 10 1 0\n"
                  "2010 8 2 0\n2030 8 3 0\n",
    "inline-without-lines": "FUNC 2000 40 0 f\nINLINE 0 5 0 0 2010 8\n",
    "inline-without-parent": "FUNC 1000 40 0 f\nINLINE 1 5 0 0 1010 10\n"
                             "1000 40 1 0\n",
    "inline-siblings": """FUNC 1000 40 0 f
INLINE 0 5 0 0 1010 10
INLINE 0 6 0 1 1010 10
INLINE 0 7 0 0 1010 18
1000 40 1 0
""",
    "inline-empty": "FUNC 1000 40 0 f\nINLINE 0 5 0 0 1010 0\n"
                    "INLINE 1 5 0 1 1010 4\n1000 40 1 0\n",
    "inline-beyond-end": """FUNC 1000 40 0 f
INLINE 0 5 0 0 ff0 20
INLINE 0 6 0 0 1030 40
INLINE 0 7 0 0 1040 8
1000 60 1 0
""",
    "inline-depth-wraps": "FUNC 1000 40 0 f\n"
                          "INLINE 4294967296 5 0 0 1010 10\n1000 40 1 0\n",
    "inline-odd-ranges": "FUNC 1000 40 0 f\nINLINE 0 5 0 0 1010\n",
    "origin-nameless": "INLINE_ORIGIN 2\nFUNC 1000 40 0 f\n",
    "stack-ends": """FUNC 1000 20 0 f
1000 20 1 0
STACK WIN 4 1 2 3
STACK CFI INIT 1000 10 .cfa: $rsp 8 +
PUBLIC 2000 0 unseen
""",
    "unknown-outside": "BOGUS 1 2\nFUNC 1000 20 0 f\n1000 20 1 0\n",
    "unknown-inside": "FUNC 1000 20 0 f\nBOGUS 1 2\n1000 20 1 0\n",
    "leading-blanks": " FUNC 1000 20 0 f\nFUNC 1000 20 0 g\n  1000 20 1 0\n",
    "tabs": "FUNC  1000\t20   0   f g  h  \n1000  20\t 1 \t0  \n",
    "unicode-blanks": "FUNC 1000 20 0 f\u00a0\u3000\n"
                      "PUBLIC 2000 0 \u00a0p\u2003\n",
    "crlf": "FUNC 1000 20 0 f\r\n1000 20 1 0\r\nPUBLIC 2000 0 p\r\n",
    "cr-at-end": "FUNC 1000 20 0 f\n1000 20 1 0\n\r",
    "no-lf-at-end": "FUNC 1000 20 0 f\n1000 20 1 0",
    "utf8-names": "FUNC 1000 20 0 gr\u00fc\u00dfe\n1000 20 1 0\n",
    "long-name": "FUNC 1000 20 0 %s\n1000 20 1 0\n" % ("n" * 70000),
    "numbers-sparse": "FUNC 1000 20 0 f\n1000 20 1 18446744073709551615\n",
}

# name -> whole file
WHOLE = {
    "module-only": MODULE,
    "module-nameless": "MODULE windows x86 %s1a\n" % ID,
    "module-lower-id": "MODULE mac ARM64 %s0 t\n" % ID.lower(),
    "module-hyphens": "MODULE mac arm64 00010203-0405-0607-0809-0a0b0c0d0e0f"
                      " t\n",
    "module-unknown-arch": "MODULE Linux z80 %s0 t\n" % ID,
    "module-short-id": "MODULE Linux x86 00010203 t\n",
    "module-long-age": "MODULE Linux x86 %s123456789 t\n" % ID,
    "module-long": "MODULE Linux x86_64 %s0 %s\nFUNC 1000 20 0 f\n"
                   % (ID, "n" * 400),
    "module-cut-character": "MODULE Linux x86_64 %s0 %s\nFUNC 1 2 0 f\n"
                            % (ID, "n" * 266 + "\u00e9" * 40),
    "file-paths": MODULE + "".join(
        "FILE %d %s\n" % f for f in enumerate((
            "C:\\a\\..\\c.c", "/x/./y//z.c", "dir/", "/r.c", "/", "\\\\",
            "hg:host/repo:dom/a.cpp:abc", "twice.c", "with blanks/a b.c")))
        + "FILE 7 again.c\nFILE zz bad.c\nFILE 18446744073709551615 big.c\n"
        + "FUNC 1000 a0 0 f\n"
        + "".join("%x 10 1 %d\n" % (0x1000 + 16 * i, i) for i in range(9))
        + "1090 10 1 18446744073709551615\n",
    "file-after-blank": MODULE + "\nFILE 0 a.c\nFUNC 1000 20 0 f\n"
                        "1000 20 1 0\n",
    "inline-equal": MODULE + FILES + "".join(
        "INLINE_ORIGIN %d n%d\n" % (i, i) for i in range(20))
        + "FUNC 1000 200 0 f\n" + "".join(
            "INLINE %d %d 0 %d %x %x\n"
            % (i % 3, i + 1, i, 0x1000 + 16 * (i * 7 % 11),
               16 + 8 * (i * 3 % 9)) for i in range(20))
        + "1000 80 1 0\n1080 100 2 0\n",
    "bad-utf8-file": MODULE + "FILE 0 a\udcff.c\nFILE 1 b.c\n"
                     "FUNC 1000 20 0 f\n1000 10 1 0\n1010 10 2 1\n",
    "bad-utf8-function": MODULE + "FUNC 1000 20 0 f\udcff\n",
    "bad-utf8-public": MODULE + "PUBLIC 1000 0 f\udcff\nPUBLIC 2000 0 g\n",
    "bad-utf8-at-top": MODULE + "INFO \udcff\n" + "PUBLIC 1000 0 f\n" * 20,
}


def write(path, text):
    with open(path, "wb") as f:
        f.write(text.encode("utf-8", "surrogateescape"))


def random_inline(rng, start):
    ranges = "".join(" %x %x" % (start + rng.randrange(0x60),
                                 rng.randrange(0x30))
                     for _ in range(rng.randrange(1, 4)))
    return "INLINE %d %d %d %d%s\n" % (
        rng.randrange(4), rng.randrange(9), rng.randrange(5),
        rng.randrange(5), ranges)


def random_function(rng, base):
    start = base + rng.randrange(0x60)
    size = rng.randrange(1, 0x80)
    if rng.random() < 0.1:
        size = rng.choice((0, 0xFFFFFFFF0, 0xFFFFFFFFFFFFFFFF))
    yield "FUNC %s%x %x 0 f%d\n" % (rng.choice(("", "m ")), start, size,
                                    rng.randrange(5))
    for _ in range(rng.randrange(10)):
        yield random_inline(rng, start)
    for _ in range(rng.randrange(12)):
        size = rng.randrange(0x18)
        if rng.random() < 0.05:
            size = 0xFFFFFFFFFFFFFFFF
        yield "%x %x %d %d\n" % (start + rng.randrange(0x90), size,
                                 rng.choice((-3, 5, 2**32 + 1)),
                                 rng.randrange(6))
    if rng.random() < 0.2:
        yield "INLINE_ORIGIN %d r%d\n" % (rng.randrange(4), rng.randrange(4))
    for _ in range(rng.randrange(3)):
        yield "PUBLIC %x 0 p%d\n" % (base + rng.randrange(0x100),
                                     rng.randrange(9))


def random_file(rng):
    base = rng.choice((0x1000, 0x1000, 0xFFFFFFF0, 0x100000000))
    text = MODULE
    for i in range(rng.randrange(5)):
        text += "FILE %d %s\n" % (rng.choice((i, 7 * i, rng.randrange(4))),
                                  rng.choice(("/a/b.c", "x\\y.c", "d/", "/")))
    for i in range(rng.randrange(5)):
        text += "INLINE_ORIGIN %d o%d\n" % (rng.choice((i, 3 * i)), i % 3)
    for _ in range(rng.randrange(1, 5)):
        text += "".join(random_function(rng, base))
    if rng.random() < 0.2:
        at = rng.randrange(len(MODULE), len(text))
        text = text[:at] + rng.choice(" \n\r0fm\udcff-") + text[at + 1:]
    return text


def main(argv):
    if len(argv) == 3 and argv[1] == "odd":
        whole = {n: MODULE + FILES + ORIGINS + t for n, t in ODD.items()}
        whole.update(WHOLE)
        for name, text in whole.items():
            write(os.path.join(argv[2], name + ".sym"), text)
    elif len(argv) == 4 and argv[1] == "random":
        write(argv[3], random_file(random.Random(int(argv[2]))))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
