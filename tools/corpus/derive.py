#!/usr/bin/env python3
"""derive.py INPUT-DIR OUTPUT-DIR

Makes the PDBs of t/data/convert whose origin is "derived": variants that no
compiler at hand writes, by changing streams of the generated ones.
"""

import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import msf

INFO, TPI, DBI, IPI = 1, 2, 3, 4
OMAP_TO, OMAP_FROM, SECTIONS, ORIGINAL = 3, 4, 5, 10


class Pdb:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bs, self.streams = msf.read(f.read())
        self.order = None

    def dbi(self):
        return bytearray(self.streams[DBI])

    def write(self, path):
        with open(path, "wb") as f:
            f.write(msf.write(self.streams, self.bs, self.order))

    def patch(self, stream, offset, form, *values):
        s = bytearray(self.streams[stream])
        struct.pack_into("<" + form, s, offset, *values)
        self.streams[stream] = bytes(s)

    def add(self, data):
        self.streams.append(data)
        return len(self.streams) - 1

    def substreams(self):
        """(offset, size) of: modules, contributions, map, files, types,
        edit-and-continue, optional header."""
        d = self.streams[DBI]
        sizes = list(struct.unpack_from("<5i", d, 24))
        optional, ec = struct.unpack_from("<2i", d, 48)
        out, at = [], 64
        for size in sizes + [ec, optional]:
            out.append((at, size))
            at = at + size & 0xFFFFFFFF
        return out

    def optional(self, slot, stream):
        """Sets a slot of the optional debug header, lengthened if needed."""
        at, size = self.substreams()[6]
        d = self.dbi()
        while size < 2 * (slot + 1):
            d += b"\xff\xff"
            size += 2
        struct.pack_into("<i", d, 48, size)
        struct.pack_into("<H", d, at + 2 * slot, stream)
        self.streams[DBI] = bytes(d)

    def get_optional(self, slot):
        at, size = self.substreams()[6]
        return struct.unpack_from("<H", self.streams[DBI], at + 2 * slot)[0]

    def modules(self):
        """(offset of the record in DBI, stream, symbol bytes, C13 bytes)"""
        d = self.streams[DBI]
        at, size = self.substreams()[0]
        end = at + size
        while at < end:
            stream, sym, _, c13 = struct.unpack_from("<HIII", d, at + 34)
            n = d.index(b"\0", d.index(b"\0", at + 64) + 1) + 1
            yield at, stream, sym, c13
            at = (n + 3) & ~3

    def procedures(self):
        """(stream, offset, record) of each, as they were when their module
        was come to."""
        for _, stream, size, _ in self.modules():
            if stream == 0xFFFF:
                continue
            for at, kind, rec in records(self.streams[stream][:size], 4):
                if kind in (0x110F, 0x1110, 0x1147):
                    yield stream, at, rec

    def module_symbols(self, record, change):
        """change(symbols) -> symbols of one module."""
        at, stream, sym, _ = record
        s = self.streams[stream]
        new = change(s[:sym])
        self.streams[stream] = new + s[sym:]
        self.patch(DBI, at + 36, "I", len(new))

    def rename_stream(self, old, new):
        """Same length."""
        s = self.streams[INFO]
        self.streams[INFO] = s.replace(old, new)

    def named(self, name, stream):
        """One more named stream."""
        s = self.streams[INFO]
        n = struct.unpack_from("<I", s, 28)[0]
        names, rest = s[32:32 + n], s[32 + n:]
        count, capacity, present = struct.unpack_from("<3I", rest)
        words = list(struct.unpack_from("<%dI" % present, rest, 12))
        after = rest[12 + 4 * present:]
        deleted = struct.unpack_from("<I", after)[0]
        pairs = after[4 + 4 * deleted:]
        last = max(i for i in range(32 * present)
                   if words[i // 32] >> (i % 32) & 1)
        if last + 1 >= 32 * present:
            words.append(0)
        words[(last + 1) // 32] |= 1 << ((last + 1) % 32)
        capacity = max(capacity, last + 2)
        pairs = (pairs[:8 * count] + struct.pack("<2I", n, stream)
                 + pairs[8 * count:])
        self.streams[INFO] = (
            s[:28] + struct.pack("<I", n + len(name) + 1) + names + name
            + b"\0" + struct.pack("<3I", count + 1, capacity, len(words))
            + struct.pack("<%dI" % len(words), *words)
            + after[:4 + 4 * deleted] + pairs)


def records(data, start):
    at = start
    while at + 4 <= len(data):
        n, kind = struct.unpack_from("<2H", data, at)
        yield at, kind, data[at:at + 2 + n]
        at += 2 + n


def scatter(blocks):
    blocks = list(blocks)
    random.Random(7).shuffle(blocks)
    return blocks


def blocks(n):
    def change(p):
        p.bs = n
        p.order = scatter
    return change


def wide_directory(p):
    """A directory whose block map takes more than one block."""
    p.bs = 512
    p.add(b"\0" * 9000000)


def nil_streams(p):
    for _ in range(20):
        p.add(None)
        p.add(b"")


def old_directory(p):
    p.streams[0] = b"\1" * 100


def info_age(p):
    p.patch(INFO, 8, "I", 77)


def dbi_age_zero(p):
    p.patch(INFO, 8, "I", 5)
    p.patch(DBI, 8, "I", 0)


def big_age(p):
    p.patch(DBI, 8, "I", 0xFEDCBA98)


def machine(n):
    def change(p):
        p.patch(DBI, 58, "H", n)
    return change


def no_names(p):
    p.rename_stream(b"/names\0", b"/nomes\0")


def no_sections(p):
    """Sections made up from the section map."""
    p.optional(SECTIONS, 0xFFFF)


def no_sections_no_map(p):
    p.optional(SECTIONS, 0xFFFF)
    at, size = p.substreams()[2]
    d = p.dbi()
    struct.pack_into("<i", d, 32, 0)
    del d[at:at + size]
    p.streams[DBI] = bytes(d)


def omap(p):
    """Code cut into pieces of 96 bytes and laid out in another order."""
    sections = p.streams[p.get_optional(SECTIONS)]
    size, rva = struct.unpack_from("<2I", sections, 8)
    pieces = list(range(0, size, 96))
    order = scatter(pieces)
    place = {}
    at = rva
    for piece in order:
        place[piece] = at
        at += min(96, size - piece)
    dropped = set(order[::11])
    to = [(rva + q, 0 if q in dropped else place[q]) for q in pieces]
    to.append((rva + size, rva + size))
    back = sorted((b, a) for a, b in to if b)
    p.optional(OMAP_FROM, p.add(struct.pack("<%dI" % (2 * len(to)),
                                *[x for e in to for x in e])))
    p.optional(OMAP_TO, p.add(struct.pack("<%dI" % (2 * len(back)),
                              *[x for e in back for x in e])))
    p.optional(ORIGINAL, p.add(sections))


def omap_disorder(p):
    """The same with tables out of order, and pieces that are told twice."""
    omap(p)
    for slot in (OMAP_TO, OMAP_FROM):
        stream = p.get_optional(slot)
        data = p.streams[stream]
        table = [data[i:i + 8] for i in range(0, len(data), 8)]
        table = scatter(table[:5] + table[3:9] + table[5:])
        p.streams[stream] = b"".join(table)


def publics_only(p):
    """What /PDBSTRIPPED leaves: no module streams."""
    for at, stream, _, _ in list(p.modules()):
        if stream != 0xFFFF:
            p.streams[stream] = None
            p.patch(DBI, at + 34, "H", 0xFFFF)
            p.patch(DBI, at + 36, "3I", 0, 0, 0)
    p.patch(DBI, 56, "H", 2)


def no_publics(p):
    p.patch(DBI, 20, "H", 0xFFFF)


def no_lines(p):
    for at, stream, sym, c13 in list(p.modules()):
        if stream != 0xFFFF:
            p.patch(DBI, at + 44, "I", 0)


def first_function(p):
    for m in p.modules():
        if m[1] == 0xFFFF or m[2] < 4:
            continue
        for at, kind, rec in records(p.streams[m[1]][:m[2]], 4):
            if kind in (0x110F, 0x1110, 0x1146, 0x1147):
                return m, at
    raise ValueError("no function")


def separated(p):
    """Every function has a cold part in an S_SEPCODE after its end."""
    def change(data):
        out, proc, depth = bytearray(data[:4]), None, 0
        for at, kind, rec in records(data, 4):
            out += rec
            if kind in (0x110F, 0x1110, 0x1146, 0x1147):
                proc, depth = rec, 1
            elif kind in (0x114D, 0x1103):
                depth += 1
            elif kind in (6, 0x114E, 0x114F) and depth:
                depth -= 1
                if depth == 0 and proc:
                    offset, section = struct.unpack_from("<IH", proc, 32)
                    for parent in (offset, offset + 1):
                        cold = struct.pack("<2H6I2H", 30, 0x1132, 0, 0, 8, 0,
                                           offset + 0x8000, parent, section,
                                           section)
                        out += cold
                        out += struct.pack("<2H", 2, 6)
                    proc = None
        return bytes(out)
    for m in list(p.modules()):
        if m[1] != 0xFFFF and m[2] > 4:
            p.module_symbols(m, change)


def kinds(p):
    """Functions of every record kind; sites of the second form."""
    names = [0x1110, 0x110F, 0x1147, 0x1155, 0x1156]

    def change(data):
        out, i = bytearray(data[:4]), 0
        for at, kind, rec in records(data, 4):
            if kind in (0x110F, 0x1110, 0x1146, 0x1147):
                rec = rec[:2] + struct.pack("<H", names[i % 5]) + rec[4:]
                i += 1
            elif kind == 0x114D and i % 2:
                body = rec[4:16] + struct.pack("<I", 3) + rec[16:]
                rec = struct.pack("<2H", len(body) + 2, 0x115D) + body
            out += rec
        return bytes(out)
    for m in list(p.modules()):
        if m[1] != 0xFFFF and m[2] > 4:
            p.module_symbols(m, change)


def zero_length(p):
    m, at = first_function(p)
    p.patch(m[1], at + 16, "I", 0)


def overlapping(p):
    """Every second function is four times as long as it is."""
    for m in p.modules():
        if m[1] == 0xFFFF:
            continue
        i = 0
        for at, kind, rec in records(p.streams[m[1]][:m[2]], 4):
            if kind in (0x110F, 0x1110, 0x1147):
                i += 1
                n = struct.unpack_from("<I", rec, 16)[0]
                if i % 2:
                    p.patch(m[1], at + 16, "I", 4 * n)


def same_address(p):
    """All functions of a module start where the first one does."""
    for m in p.modules():
        first = None
        if m[1] == 0xFFFF:
            continue
        for at, kind, rec in records(p.streams[m[1]][:m[2]], 4):
            if kind in (0x110F, 0x1110, 0x1147):
                offset = struct.unpack_from("<I", rec, 32)[0]
                if first is None:
                    first = offset
                p.patch(m[1], at + 32, "I", first)


def bad_section(p):
    """Functions in section 0 and beyond the last one."""
    for i, (stream, at, _) in enumerate(p.procedures(), 1):
        if i % 3:
            p.patch(stream, at + 36, "H", 0 if i % 3 == 1 else 99)


def bad_types(p):
    """Functions whose type does not exist or is no function type."""
    for i, (stream, at, _) in enumerate(p.procedures(), 1):
        p.patch(stream, at + 28, "I",
                (0, 0x74, 0x00FFFFFF, 0x1000, 0x80000001)[i % 5])


def member_types(p):
    """Functions whose arguments are parts of classes, sound and damaged."""
    name, short = b'a"\\\n\x01\xc2\x85\xe9\0', b"\3old"
    index = struct.pack("<I", 0x1001)
    attr, new = b"\3\0" + index, b"\x13\0" + index + b"\x20\0\0\0"
    parts = [(0x1400, attr + b"\x10\0"), (0x151A, attr + b"\2\x80\0\x90"),
             (0x1401, attr + index + b"\4\0\4\x80\1\2\3\4"),
             (0x1402, attr + index + b"\4\0\5\0"), (0x1409, b"\0\0" + index),
             (0x150D, attr + b"\x0a\x80" + b"\xff" * 8 + name),
             (0x1405, attr + b"\0\x80\7" + short), (0x150E, attr + name),
             (0x1406, attr + short), (0x150F, attr + name),
             (0x1407, attr + short), (0x1510, attr + name),
             (0x1408, attr + short), (0x1512, attr + name),
             (0x140D, attr + short), (0x1511, attr + name),
             (0x1511, new + name), (0x140B, new + short),
             (0x0403, b"\3\0\0\x80\7" + short)]
    numbers = [b"\5\0", b"\0\x80\xfe", b"\1\x80\xfe\xff", b"\2\x80\xfe\xff",
               b"\3\x80\xfe\xff\xff\xff", b"\4\x80\xfe\xff\xff\xff",
               b"\x09\x80" + b"\xfe" * 8, b"\x0a\x80" + b"\xfe" * 8]
    parts += [(0x1502, b"\3\0" + n + name) for n in numbers]

    def padded(kind, body):
        n = -len(body) % 4
        return (struct.pack("<H", kind) + body
                + bytes(0xF0 | n - i for i in range(n)))

    fields = b"".join(padded(*part) for part in parts)
    sound = parts + [
        (0x1203, fields[:-3]), (0x1203, fields + b"\4\x14" + index),
        (0x1203, b""), (0x1205, index + b"\3\2"), (0x1206, b""),
        (0x1206, b"\3\0\0\0" + index + b"\x13\0\0\0" + index * 2)]
    damaged = [(0x1203, fields[:60] + b"\x02\x10" + index), (0x1400, b"\3\0"),
               (0x1203, fields[:61]), (0x1206, index), (0x1502, b"\3\0\5\x80"),
               (0x150D, attr + b"\4\0" + b"no end"), (0x1512, attr)]
    s = p.streams[TPI]
    end, size = struct.unpack_from("<2I", s, 12)
    new = b""

    def add(kind, body):
        nonlocal new, end
        new += struct.pack("<2H", len(body) + 2, kind) + body
        end += 1
        return end - 1

    lists = []
    for group in [[part] for part in damaged] + [sound]:
        args = [add(kind, body) for kind, body in group]
        # pointers to them, and const ones, too
        args += [add(0x1002, struct.pack("<2I", a, 0x1000C)) for a in args]
        args += [add(0x1001, struct.pack("<I2H", a, 1, 0))
                 for a in args[:len(group)]]
        lists.append(add(0x1201, struct.pack("<I%dI" % len(args), len(args),
                                             *args)))
    kinds = [add(0x1008, struct.pack("<I2BHI", 3, 0, 0, 1, n)) for n in lists]
    p.streams[TPI] = (s[:12] + struct.pack("<2I", end, size + len(new))
                      + s[20:] + new)
    for i, (stream, at, _) in enumerate(p.procedures()):
        p.patch(stream, at + 28, "I", kinds[i % len(kinds)])


def bad_utf8(p):
    """Names with bytes that are not UTF-8."""
    for stream, at, rec in p.procedures():
        if len(rec) > 44:
            p.patch(stream, at + 40, "2B", 0xE9, 0xFF)


def srcsrv(vcs):
    def change(p):
        paths = sorted({n for n in names_of(p) if b".h" in n or b".c" in n})
        text = ["SRCSRV: ini ------------------------------------------------",
                "VERSION=1", "VERCTRL=" + vcs,
                "SRCSRV: variables ------------------------------------------",
                "SRCSRVTRG=%targ%\\%var1%", "SRCSRVCMD=fetch %var3%#%var4%",
                "SRCSRV: source files " + "-" * 39]
        for i, n in enumerate(paths):
            text.append("%s*depot*//depot/main/dir %d/%s*%d"
                        % (n.decode("utf8"), i % 3,
                           n.decode("utf8").replace("\\", "/").split("/")[-1],
                           100 + i))
        text.append("SRCSRV: end " + "-" * 48)
        p.named(b"srcsrv", p.add("\r\n".join(text).encode("utf8") + b"\r\n"))
    return change


def names_of(p):
    for s in p.streams:
        if s and s[:4] == b"\xfe\xef\xfe\xef":
            n = struct.unpack_from("<I", s, 8)[0]
            return s[12:12 + n].split(b"\0")
    return []


def twin_module(p):
    """Two modules that name the same stream."""
    mods = [m for m in p.modules() if m[1] != 0xFFFF and m[2] > 4]
    if len(mods) > 1:
        p.patch(DBI, mods[-1][0] + 34, "HIII", mods[0][1], mods[0][2], 0,
                mods[0][3])


def truncated_types(p):
    s = p.streams[TPI]
    first = struct.unpack_from("<I", s, 8)[0]
    count, at = 0, 56
    while count < 40:
        at += 2 + struct.unpack_from("<H", s, at)[0]
        count += 1
    p.streams[TPI] = (s[:12] + struct.pack("<2I", first + count, at - 56)
                      + s[20:at])


def ends_early(p):
    """Headers that end before the last records, functions that refer to one
    behind all, and an array with bytes behind its padding."""
    id_scopes(p)
    ids, s = p.streams[IPI], bytearray(p.streams[TPI])
    first, end = struct.unpack_from("<2I", s, 8)
    recs = list(records(s, 56))
    p.patch(IPI, 12, "I", struct.unpack_from("<I", ids, 12)[0] - 9)
    i = 0
    for at, kind, rec in recs:
        if kind == 0x1201 and len(rec) > 8:
            i += 1
            if i % 3 == 0:
                struct.pack_into("<I", s, at + 8, end + i % 2)
        elif kind == 0x1503 and i % 2:
            s[at + len(rec) - 1] = 0xFF
    for n, (at, kind, _) in enumerate(recs):
        if kind == 0x1008 and n % 4 == 0:
            struct.pack_into("<I", s, at + 12, end)
    p.streams[TPI] = bytes(s)


def starts_late(p):
    """Types begin at a higher number than those that are referred to."""
    p.patch(TPI, 8, "I", 0x1008)


def no_ipi(p):
    p.streams[IPI] = None


def id_scopes(p):
    """Functions in scopes that are none: sources of types, build info."""
    s = bytearray(p.streams[IPI])
    first = struct.unpack_from("<I", s, 8)[0]
    recs = list(records(s, 56))
    last = {kind: first + i for i, (_, kind, _) in enumerate(recs)}
    for n, at in enumerate(at for at, kind, _ in recs if kind == 0x1601):
        owner = struct.unpack_from("<I", s, at + 4)[0]
        if owner == 0:
            struct.pack_into("<I", s, at + 4, last[(0x1606, 0x1603)[n % 2]])
        else:
            at = recs[owner - first][0]
            struct.pack_into("<H3IH", s, at + 2, 0x1607, 0x1002, 0x20, 78, 4)
    p.streams[IPI] = bytes(s)


def bad_lengths(p):
    """Type records that are longer than their stream."""
    s = bytearray(p.streams[TPI])
    for i, (at, _, _) in enumerate(list(records(s, 56))):
        if i in (27, 57):
            struct.pack_into("<H", s, at, 0xFFF0)
    p.streams[TPI] = bytes(s)


def wrapped_sizes(p):
    """Two substreams of 2 GiB more: their sum is as before."""
    for at in (32, 40):
        size = struct.unpack_from("<I", p.streams[DBI], at)[0]
        p.patch(DBI, at, "I", size ^ 0x80000000)


def checksum_padding(cut):
    """One byte more of each module's last checksum, and less padding."""
    def change(p):
        for at, stream, sym, c13 in p.modules():
            if stream == 0xFFFF or not c13:
                continue
            s = p.streams[stream]
            end, a = sym + c13, sym
            while a < end:
                kind, n = struct.unpack_from("<2I", s, a)
                if kind == 0xF4:
                    data = bytearray(s[a + 8:a + 8 + n])
                    last = b = 0
                    while b < n:
                        last, b = b, b + 6 + data[b + 4] + 3 & ~3
                    data[last + 4] += 1
                    data = bytes(data[:n - cut])
                    s = (s[:a + 4] + struct.pack("<I", len(data)) + data
                         + s[a + 8 + n:])
                    p.streams[stream] = s
                    p.patch(DBI, at + 44, "I", c13 - cut)
                    break
                a += 8 + n
    return change


VARIANTS = [
    ("blocks512", "clang19-x64-O2", blocks(512)),
    ("blocks1024", "clang19-x86-O2", blocks(1024)),
    ("blocks2048", "clang19-arm64-O2", blocks(2048)),
    ("blocks4096", "modules", blocks(4096)),
    ("wide-directory", "clang19-x64-O2", wide_directory),
    ("nil-streams", "clang19-x64-O2", nil_streams),
    ("old-directory", "clang19-x64-O2", old_directory),
    ("info-age", "clang19-x64-O2", info_age),
    ("dbi-age-zero", "clang19-x64-O2", dbi_age_zero),
    ("big-age", "clang19-x64-O2", big_age),
    ("machine-ppc", "clang19-x64-O2", machine(0x1F0)),
    ("machine-unknown", "clang19-x64-O2", machine(0x1234)),
    ("machine-zero", "clang19-x64-O2", machine(0)),
    ("no-names", "clang19-x64-O2", no_names),
    ("no-sections", "clang19-x64-O2", no_sections),
    ("no-sections-no-map", "clang19-x64-O2", no_sections_no_map),
    ("omap", "clang19-x64-O2", omap),
    ("omap-x86", "clang19-x86-O0", omap),
    ("omap-disorder", "clang19-x64-O2", omap_disorder),
    ("publics-only", "clang19-x86-O2", publics_only),
    ("no-publics", "clang19-x64-O2", no_publics),
    ("no-lines", "clang19-x64-O2", no_lines),
    ("separated", "clang19-x64-O2", separated),
    ("kinds", "clang19-x64-O2", kinds),
    ("zero-length", "clang19-x64-O2", zero_length),
    ("overlapping", "clang19-x64-O2", overlapping),
    ("same-address", "clang19-x64-O2", same_address),
    ("bad-section", "clang19-x64-O2", bad_section),
    ("bad-types", "clang19-x64-O2", bad_types),
    ("member-types", "clang19-x64-O2", member_types),
    ("bad-utf8", "clang19-x64-O2", bad_utf8),
    ("srcsrv-perforce", "clang19-x64-O2", srcsrv("Perforce")),
    ("srcsrv-other", "clang19-x64-O2", srcsrv("git")),
    ("twin-module", "modules", twin_module),
    ("truncated-types", "clang19-x64-O2", truncated_types),
    ("ends-early", "clang19-x64-O2", ends_early),
    ("starts-late", "clang19-x64-O2", starts_late),
    ("no-ipi", "clang19-x64-O2", no_ipi),
    ("id-scopes", "clang19-x64-O2", id_scopes),
    ("bad-lengths", "clang19-x64-O2", bad_lengths),
    ("wrapped-sizes", "clang19-x64-O2", wrapped_sizes),
    ("checksum-padding", "clang19-x64-O2", checksum_padding(0)),
    ("checksum-cut", "clang19-x64-O2", checksum_padding(1)),
]


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    for name, source, change in VARIANTS:
        p = Pdb(os.path.join(argv[1], source + ".pdb"))
        change(p)
        p.write(os.path.join(argv[2], name + ".pdb"))


if __name__ == "__main__":
    main(sys.argv)
