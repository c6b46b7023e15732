#!/usr/bin/env python3
"""hostile.py INPUT OUTPUT-DIR

Makes the PDBs of t/data/convert/hostile from generated/clang19-x64-O2.pdb:
each asks for more work or memory than its size deserves.
"""

import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from derive import DBI, IPI, TPI, Pdb, first_function, scatter

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


def subsection(kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<2I", kind, len(body)) + body


def subsections(data):
    at = 0
    while at + 8 <= len(data):
        kind, n = struct.unpack_from("<2I", data, at)
        yield kind, data[at + 8:at + 8 + n]
        at += 8 + (n + 3 & ~3)


def without(data, *kinds):
    return b"".join(subsection(k, body) for k, body in subsections(data)
                    if k not in kinds)


def an_inlinee(p):
    for kind, body in subsections(lines_of(p)):
        if kind == 0xF6:
            return struct.unpack_from("<I", body, 4)[0]
    raise ValueError("no inlinees")


def line_block(rows, file=0):
    """Rows of (offset, line), one block of one file."""
    data = b"".join(struct.pack("<2I", offset, 0x80000000 | line)
                    for offset, line in rows)
    return struct.pack("<3I", file, len(rows), 12 + len(data)) + data


def line_section(offset, size, blocks):
    return subsection(0xF2, struct.pack("<IHHI", offset, 1, 0, size) + blocks)


def set_names(p, text):
    """Replaces the text of /names; what refers to it is damaged then."""
    for i, s in enumerate(p.streams):
        if s and s[:4] == b"\xfe\xef\xfe\xef":
            p.streams[i] = s[:8] + struct.pack("<I", len(text)) + text


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
    old = without(lines_of(p), 0xF2)
    set_lines(p, line_section(0, 0xFFFFFF, line_block(
        [(4 * i, 1 + i) for i in range(20000)])) + old)
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


def module_of_exports(p, count):
    """As many modules with names of their own and the first one's stream."""
    mods = list(p.modules())
    (at, _, _, _), _ = first_function(p)
    d = p.streams[DBI]
    fixed = d[at:at + 64]
    new = b""
    for i in range(count):
        one = fixed + b"m%05d\0" % i + b"o\0"
        new += one + b"\0" * (-len(one) % 4)
    first, size = p.substreams()[0]
    p.streams[DBI] = (d[:24] + struct.pack("<i", size + len(new))
                      + d[28:first + size] + new + d[first + size:])


def shared_exports(p):
    """2000 modules that export the same 50000 ids, each asked for one."""
    text = b"\0" + b"".join(b"m%05d\0" % i for i in range(2000))
    set_names(p, text)
    imports = b"".join(struct.pack("<3I", 1 + 7 * i, 1, 0x1000)
                       for i in range(2000))
    exports = b"".join(struct.pack("<2I", 0x1000 + i, 0x1000)
                       for i in range(50000))
    table = struct.pack("<I", 0) + b"".join(
        struct.pack("<3I", 0x80000000 | i << 20, 0, 1) for i in range(2000))
    set_lines(p, without(lines_of(p), 0xF2, 0xF6) + subsection(0xF6, table)
              + subsection(0xF7, imports) + subsection(0xF8, exports))
    set_symbols(p, proc() + b"".join(
        site(0x80000000 | i << 20) + record(SITE_END, b"")
        for i in range(2000)) + record(END, b""))
    module_of_exports(p, 2000)


def import_tails(p):
    """2000 imports from modules whose names are tails of one long name."""
    set_names(p, b"\0" + b"n" * 60000 + b"\0")
    imports = b"".join(struct.pack("<3I", 1 + i, 1, 0x1000)
                       for i in range(2000))
    table = struct.pack("<I", 0) + b"".join(
        struct.pack("<3I", 0x80000000 | i << 20, 0, 1) for i in range(2000))
    set_lines(p, without(lines_of(p), 0xF2, 0xF6) + subsection(0xF6, table)
              + subsection(0xF7, imports))
    set_symbols(p, proc() + b"".join(
        site(0x80000000 | i << 20) + record(SITE_END, b"")
        for i in range(2000)) * 5 + record(END, b""))


def last_import(p):
    """40000 references to the last of 2048 imports."""
    set_names(p, b"\0m\0")
    imports = struct.pack("<3I", 1, 1, 0x1000) * 2048
    ident = 0x80000000 | 2047 << 20
    table = struct.pack("<4I", 0, ident, 0, 1)
    set_lines(p, without(lines_of(p), 0xF2, 0xF6) + subsection(0xF6, table)
              + subsection(0xF7, imports))
    set_symbols(p, proc() + (site(ident) + record(SITE_END, b"")) * 40000
                + record(END, b""))


def path_tails(p):
    """60000 source files whose paths are tails of one long path."""
    count = 60000
    set_names(p, b"\0" + b"p" * count + b"\0")
    sums = b"".join(struct.pack("<I4B", 1 + i, 0, 0, 0, 0)
                    for i in range(count))
    blocks = b"".join(line_block([(4 * i, 1)], 8 * i) for i in range(count))
    set_lines(p, subsection(0xF4, sums)
              + line_section(0, 4 * count, blocks))
    set_symbols(p, proc(length=4 * count) + record(END, b""))


def endless_path(p):
    """20000 inlined calls in files whose paths never end."""
    set_names(p, b"\0" + b"p" * 400000)
    n = an_inlinee(p)
    sums = b"".join(struct.pack("<I4B", 1 + i, 0, 0, 0, 0)
                    for i in range(20000))
    set_lines(p, without(lines_of(p), 0xF2, 0xF4) + subsection(0xF4, sums))
    calls = b"".join(site(n, b"\5" + struct.pack(">I", 0xC0000000 | 8 * i)
                          + b"\3\1\4\1") + record(SITE_END, b"")
                     for i in range(20000))
    set_symbols(p, proc() + calls + record(END, b""))


def separated_names(p):
    """A function of a long name that is separated into 30000 parts."""
    part = record(0x1132, struct.pack("<6I2H", 0, 0, 16, 0, 0, 0, 1, 1))
    set_symbols(p, proc(name=b"x" * 60000 + b"\0") + record(END, b"")
                + (part + record(END, b"")) * 30000)


def long_types(p):
    """4000 functions whose 16 arguments have a name of 60000 bytes."""
    base = add_types(p, TPI, [])
    recs = [record(0x1504, struct.pack("<2H3IH", 0, 0, 0, 0, 0, 8)
                   + b"T" * 60000 + b"\0"),
            record(0x1201, struct.pack("<17I", 16, *[base] * 16)),
            record(0x1008, struct.pack("<I2BHI", 3, 0, 0, 16, base + 1))]
    add_types(p, TPI, recs)
    set_symbols(p, b"".join(proc(offset=16 * i, kind=base + 2,
                                 name=b"f%d\0" % i) + record(END, b"")
                            for i in range(4000)))


def scattered_types(p):
    """A pointer to a record of 60000 bytes in blocks all over the file."""
    p.bs, p.order = 512, scatter
    base = add_types(p, TPI, [])
    recs = [record(0x1201, struct.pack("<I", 14000)
                   + struct.pack("<I", 0x74) * 14000),
            record(0x1002, struct.pack("<2I", base, 0x1000C)),
            record(0x1201, struct.pack("<201I", 200, *[base + 1] * 200)),
            record(0x1008, struct.pack("<I2BHI", 3, 0, 0, 200, base + 2))]
    add_types(p, TPI, recs)
    set_symbols(p, b"".join(proc(offset=16 * i, kind=base + 3)
                            + record(END, b"") for i in range(4000)))


def forward_spans(p):
    """Arrays of classes, each declared just before it is defined, looked at
    from the last to the first."""
    count = 8000
    base = add_types(p, TPI, [])
    recs = []
    for i in range(count):
        for prop, size in ((0x280, 0), (0x200, 8)):
            recs.append(record(0x1505, struct.pack("<2H3IH", 0, prop, 0, 0, 0,
                                                   size)
                               + b"C%d\0U%d\0" % (i, i)))
        recs.append(record(0x1601, b""))
    arrays = base + len(recs)
    for i in range(count):
        recs.append(record(0x1503, struct.pack("<2IH", base + 3 * i, 0x22, 40)
                           + b"\0"))
    lists = base + len(recs)
    for i in range(count):
        recs.append(record(0x1201, struct.pack("<2I", 1, arrays + i)))
        recs.append(record(0x1008, struct.pack("<I2BHI", 3, 0, 0, 1,
                                               lists + 2 * i)))
    add_types(p, TPI, recs)
    set_symbols(p, b"".join(proc(offset=16 * i, kind=lists + 2 * i + 1)
                            + record(END, b"")
                            for i in reversed(range(count))))


def omap_pieces(p):
    """100000 pieces of code in an order of their own, and symbols there."""
    pieces = list(range(100000))
    back = struct.pack("<%dI" % (2 * len(pieces)), *[
        v for i in pieces for v in (16 * i, 0x1000 + 16 * (i * 7919 % 100000))])
    p.optional(3, p.add(back))
    p.optional(4, p.add(back))
    p.optional(10, p.get_optional(5))
    set_symbols(p, b"".join(proc(offset=16 * i, length=0x7FFFFFFF)
                            + record(END, b"") for i in range(20000)))


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
            same_stream, same_large_stream, shared_exports, import_tails,
            last_import, path_tails, endless_path, separated_names,
            long_types, scattered_types, forward_spans, omap_pieces,
            wide_types, type_chain, forward_arrays, long_names, scopes,
            publics]


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
