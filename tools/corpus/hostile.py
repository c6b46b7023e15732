#!/usr/bin/env python3
"""hostile.py INPUT OUTPUT-DIR

Makes the PDBs of t/data/convert/hostile from generated/clang19-x64-O2.pdb:
each asks for more work or memory than its size deserves.
"""

import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from derive import DBI, IPI, TPI, Pdb, first_function, records

PROC, SITE, END, SITE_END = 0x1110, 0x114D, 6, 0x114E


def record(kind, body):
    body += b"\0" * (-(len(body) + 4) % 4)
    return struct.pack("<2H", len(body) + 2, kind) + body


def proc(offset=0, length=0x100, kind=0, name=b"f\0"):
    return record(PROC, struct.pack("<8IHB", 0, 0, 0, length, 0, 0, kind,
                                    offset, 1, 0) + name)


def site(inlinee, annotations=b"\3\1\4\1"):
    return record(SITE, struct.pack("<3I", 0, 0, inlinee) + annotations)


def set_symbols(p, data):
    """The symbols of the module that has the first function."""
    (at, stream, sym, _), _ = first_function(p)
    s = p.streams[stream]
    p.streams[stream] = s[:4] + data + s[sym:]
    p.patch(DBI, at + 36, "I", 4 + len(data))


def set_lines(p, data):
    (at, stream, sym, c13), _ = first_function(p)
    s = p.streams[stream]
    p.streams[stream] = s[:sym] + data + s[sym + c13:]
    p.patch(DBI, at + 44, "I", len(data))


def lines_of(p):
    (_, stream, sym, c13), _ = first_function(p)
    return p.streams[stream][sym:sym + c13]


def add_types(p, stream, recs):
    """Appends type records; returns the index of the first."""
    s = p.streams[stream]
    first, end, size = struct.unpack_from("<3I", s, 8)
    new = b"".join(recs)
    p.streams[stream] = (s[:12] + struct.pack("<2I", end + len(recs),
                                              size + len(new)) + s[20:] + new)
    return end


def an_inlinee(p):
    data = lines_of(p)
    at = 0
    while at + 8 <= len(data):
        kind, n = struct.unpack_from("<2I", data, at)
        if kind == 0xF6:
            return struct.unpack_from("<I", data, at + 12)[0]
        at += 8 + (n + 3 & ~3)
    raise ValueError("no inlinees")


def nested_sites(p):
    """20000 inlined calls inside each other."""
    n = an_inlinee(p)
    set_symbols(p, proc() + site(n) * 20000
                + record(SITE_END, b"") * 20000 + record(END, b""))


def endless_scopes(p):
    set_symbols(p, proc() * 20000)


def repeated_sites(p):
    """Each of 5000 calls has 2000 rows that go over the whole function."""
    n = an_inlinee(p)
    set_symbols(p, proc(length=0xFFFFFFF0)
                + (site(n, b"\x0b\x21" * 2000) + record(SITE_END, b"")) * 250
                + record(END, b""))


def covered_procs(p):
    """20000 functions, all over the same 20000 rows."""
    old = lines_of(p)
    rows = b"".join(struct.pack("<2I", 4 * i, 0x80000001 + i)
                    for i in range(20000))
    block = struct.pack("<3I", 0, 20000, 12 + len(rows)) + rows
    lines = struct.pack("<IHHI", 0, 1, 0, 0xFFFFFF) + block
    set_lines(p, struct.pack("<2I", 0xF2, len(lines)) + lines + old)
    set_symbols(p, b"".join(proc(offset=4 * i, length=0xFFFFFF)
                            + record(END, b"") for i in range(20000)))


def same_stream(p):
    """8000 modules that all name one stream."""
    mods = list(p.modules())
    (at, stream, sym, c13), _ = first_function(p)
    d = p.streams[DBI]
    one = bytearray(d[at:[m[0] for m in mods if m[0] > at][0]])
    first, size = p.substreams()[0]
    p.streams[DBI] = (d[:24] + struct.pack("<i", size + 8000 * len(one))
                      + d[28:first + size] + bytes(one) * 8000
                      + d[first + size:])


def same_large_stream(p):
    """The same with a stream of half a megabyte."""
    set_symbols(p, b"".join(proc(offset=16 * i, length=16) + record(END, b"")
                            for i in range(10000)))
    same_stream(p)


def wide_types(p):
    """Argument lists of 200 argument lists, 12 levels deep."""
    base = add_types(p, TPI, [])
    recs, below = [], 0x74
    for level in range(12):
        args = base + len(recs)
        recs.append(record(0x1201, struct.pack("<I", 200)
                           + struct.pack("<I", below) * 200))
        recs.append(record(0x1008, struct.pack("<I2BHI", 0x74, 0, 0, 200,
                                               args)))
        recs.append(record(0x1002, struct.pack("<2I", base + len(recs) - 1,
                                               0x1000C)))
        below = base + len(recs) - 1
    add_types(p, TPI, recs)
    set_symbols(p, b"".join(proc(offset=16 * i, kind=base + 34)
                            + record(END, b"") for i in range(2000)))


def type_chain(p):
    """A pointer to a pointer to a pointer, 60000 times."""
    base = add_types(p, TPI, [])
    recs = [record(0x1002, struct.pack("<2I", base + i - 1 if i else 0x74,
                                       0x1000C)) for i in range(60000)]
    args = base + len(recs)
    recs.append(record(0x1201, struct.pack("<2I", 1, args - 1)))
    recs.append(record(0x1008, struct.pack("<I2BHI", 3, 0, 0, 1, args)))
    add_types(p, TPI, recs)
    set_symbols(p, b"".join(proc(offset=16 * i, kind=args + 1)
                            + record(END, b"") for i in range(2000)))


def forward_arrays(p):
    """Arrays of classes that are declared and nowhere defined."""
    base = add_types(p, TPI, [])
    recs = []
    for i in range(8000):
        name = b"C%d\0" % i
        recs.append(record(0x1504, struct.pack("<2H3IH", 0, 0x280, 0, 0, 0, 0)
                           + name + b"U" + name))
        recs.append(record(0x1503, struct.pack("<2IH", base + 2 * i, 0x22, 40)
                           + b"\0"))
    args = base + len(recs)
    for i in range(8000):
        recs.append(record(0x1201, struct.pack("<2I", 1, base + 2 * i + 1)))
        recs.append(record(0x1008, struct.pack("<I2BHI", 3, 0, 0, 1,
                                               args + 2 * i)))
    add_types(p, TPI, recs)
    set_symbols(p, b"".join(proc(offset=16 * i, kind=args + 2 * i + 1)
                            + record(END, b"") for i in range(8000)))


def long_names(p):
    """3000 functions of one name of 60000 bytes."""
    name = b"x" * 60000 + b"\0"
    set_symbols(p, b"".join(proc(offset=16 * i, name=b"%04d" % i + name)
                            + record(END, b"") for i in range(100)))


def scopes(p):
    """An id whose scopes are ids whose scopes are ids."""
    base = add_types(p, IPI, [])
    recs = [record(0x1601, struct.pack("<2I", base + i - 1 if i else 0,
                                       0x1000) + b"s\0") for i in range(30000)]
    add_types(p, IPI, recs)
    data = lines_of(p)
    table = struct.pack("<I", 0) + b"".join(
        struct.pack("<3I", base + len(recs) - 1 - i, 0, 1)
        for i in range(2000))
    set_lines(p, struct.pack("<2I", 0xF6, len(table)) + table + data)
    set_symbols(p, proc() + b"".join(site(base + len(recs) - 1 - i)
                                     + record(SITE_END, b"")
                                     for i in range(2000)) + record(END, b""))


def publics(p):
    """60000 symbols at one address."""
    stream = struct.unpack_from("<H", p.streams[DBI], 20)[0]
    p.streams[stream] = b"".join(
        record(0x110E, struct.pack("<2IH", 2, 16, 1) + b"p%d\0" % i)
        for i in range(60000))


VARIANTS = [nested_sites, endless_scopes, repeated_sites, covered_procs,
            same_stream, same_large_stream, wide_types, type_chain,
            forward_arrays, long_names, scopes, publics]


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    for change in VARIANTS:
        p = Pdb(argv[1])
        change(p)
        p.write(os.path.join(argv[2], change.__name__.replace("_", "-")
                             + ".pdb"))


if __name__ == "__main__":
    main(sys.argv)
