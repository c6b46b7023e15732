#!/usr/bin/env python3
"""manifest.py ROOT CACHE > t/convert/manifest.tsv

Describes every input of t/convert/identity.t.  ROOT is the source tree,
CACHE the folder where tools/corpus/fetch has put the registry packages.
Kinds are read off the file; the digest and size at the end are those of the
reference's output (or "refused").  Needs the reference: see reference.py.
"""

import hashlib
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import msf
import reference
from derive import Pdb, records

MACHINES = {0x14C: "x86", 0x8664: "x64", 0xAA64: "arm64", 0xA641: "arm64ec",
            0x1C4: "arm", 0x1F0: "ppc", 0xC0EE: "dotnet"}
PROCS = (0x110F, 0x1110, 0x1146, 0x1147, 0x1155, 0x1156)
LINKERS = {"Microsoft (R) Optimizing Compiler": "msvc", "clang": "clang",
           "rustc": "rust", "Microsoft (R) CVTRES": None}


def subsections(data):
    at = 0
    while at + 8 <= len(data):
        kind, n = struct.unpack_from("<2I", data, at)
        yield kind, data[at + 8:at + 8 + n]
        at += 8 + (n + 3 & ~3)


def sym_kinds(data):
    """Of a Breakpad file: its system, architecture and kinds of records."""
    words = data.split(b"\n")[0].split()
    out = ["breakpad"] + [w.decode().lower() for w in words[1:3]]
    lines = data.split(b"\n")
    for start in ("FUNC", "FUNC m", "INLINE", "PUBLIC", "STACK CFI",
                  "STACK WIN"):
        if any(line.startswith(start.encode() + b" ") for line in lines):
            out.append("sym-" + start.lower().replace(" ", "-"))
    if b"\r\n" in data:
        out.append("sym-crlf")
    if any(b > 127 for b in data):
        out.append("sym-utf8")
    return out


def elf_kinds(data):
    """Of an ELF file: its size, byte order, type and parts."""
    order = "<" if data[5] == 1 else ">"
    kind, machine = struct.unpack_from(order + "2H", data, 16)
    out = ["elf", "elf-64" if data[4] == 2 else "elf-32",
           "elf-little" if data[5] == 1 else "elf-big",
           "elf-" + {1: "object", 2: "program", 3: "library"}[kind],
           {3: "x86", 62: "x64", 183: "arm64", 40: "arm"}.get(
               machine, "machine-%x" % machine)]
    for mark, what in ((b".zdebug_info\0", "elf-zdebug"),
                       (b".debug_types\0", "elf-types"),
                       (b".symtab\0", "elf-symtab")):
        if mark in data:
            out.append(what)
    return out


def macho_kinds(data):
    """Of a Mach-O file: its size, type and processor."""
    if data[:4] == b"\xca\xfe\xba\xbe":
        return ["macho", "macho-fat"]
    order = ">" if data[0] == 0xFE else "<"
    _, cpu, _, kind = struct.unpack_from(order + "4I", data)
    return ["macho", "macho-64" if cpu >> 24 else "macho-32",
            "macho-" + {1: "object", 6: "dylib", 10: "dsym"}[kind],
            {7: "x86", 12: "arm"}[cpu & 0xFFFFFF]]


def pe_kinds(data):
    """Of a PE image: its size, and whether its code is there."""
    header = struct.unpack_from("<I", data, 60)[0]
    machine, _, _, _, _, optional, _ = struct.unpack_from(
        "<HHIIIHH", data, header + 4)
    out = ["pe", MACHINES.get(machine, "machine-%x" % machine)]
    raw = struct.unpack_from("<I", data, header + 24 + optional + 20)[0]
    return out + ([] if raw else ["pe-companion"])


def container_kinds(data):
    """Of another object file, or None."""
    if data[:4] in (b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe",
                    b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xce",
                    b"\xfe\xed\xfa\xcf"):
        out = macho_kinds(data)
    elif data[:4] == b"\x7fELF":
        out = elf_kinds(data)
    elif data[:2] == b"MZ":
        out = pe_kinds(data)
    elif data[:4] == b"\0asm":
        out = ["wasm"]
    else:
        return None
    if b"debug_info" in data or b".debug_aranges" in data:
        out.append(out[0] + "-dwarf")
    return out


def kinds(path):
    with open(path, "rb") as f:
        data = f.read()
    if data.startswith(b"MODULE "):
        return sym_kinds(data)
    if container_kinds(data):
        return container_kinds(data)
    if data[:32] != msf.MAGIC:
        return ["not-a-pdb"]
    try:
        p = Pdb(path)
        d = p.streams[3]
        if not d:
            return ["no-dbi"]
        flags, machine = struct.unpack_from("<2H", d, 56)
        out = [MACHINES.get(machine, "machine-%x" % machine)]
    except Exception:
        return ["damaged"]
    out.append("blocks-%d" % p.bs)
    found = set()
    if flags & 1:
        found.add("incremental")
    if flags & 2:
        found.add("stripped")
    info_age = struct.unpack_from("<I", p.streams[1], 8)[0]
    if info_age != struct.unpack_from("<I", d, 8)[0]:
        found.add("ages-differ")
    at, size = p.substreams()[6]
    slots = struct.unpack_from("<%dH" % (size // 2), d, at)
    slots += (0xFFFF,) * (11 - len(slots))
    if slots[3] != 0xFFFF and slots[4] != 0xFFFF:
        found.add("omap")
    if slots[5] == 0xFFFF:
        found.add("no-sections")
    procs = 0
    starts = set()
    for _, stream, sym, c13 in p.modules():
        if stream == 0xFFFF or not p.streams[stream]:
            continue
        s = p.streams[stream]
        lined = set()
        for kind, sub in subsections(s[sym:sym + c13]):
            if kind == 0xF2:
                off, sec, fl = struct.unpack_from("<IHH", sub)
                lined.add((sec, off))
                if fl & 1:
                    found.add("columns")
            elif kind == 0xF7 and sub:
                found.add("cross-module")
        for _, kind, rec in records(s[:sym], 4):
            if kind in PROCS:
                procs += 1
                off, sec = struct.unpack_from("<IH", rec, 32)
                if (sec, off) in starts:
                    found.add("folded")
                starts.add((sec, off))
                if (sec, off) not in lined:
                    found.add("functions-without-lines")
                name = rec[39:].split(b"\0")[0]
                for mark, what in ((b"<lambda", "lambda"), (b"<", "template"),
                                   (b"operator", "operator"),
                                   (b"anonymous", "anonymous")):
                    if mark in name:
                        found.add(what)
            elif kind in (0x114D, 0x115D):
                found.add("inlined")
            elif kind == 0x1132:
                found.add("separated")
            elif kind == 0x112C:
                found.add("trampolines")
            elif kind == 0x113C:
                version = struct.unpack_from("<4H", rec, 18)
                text = rec[26:].split(b"\0")[0].decode("latin-1")
                if struct.unpack_from("<I", rec, 4)[0] & 1 << 10:
                    found.add("ltcg")
                if text.startswith("Microsoft (R) Opt"):
                    found.add("msvc-%d.%02d" % version[:2])
                elif "rustc" in text:
                    found.add("rust")
                elif "clang" in text:
                    found.add("clang-%d" % struct.unpack_from("<H", rec, 10))
    if not procs:
        found.add("publics-only")
    for s in p.streams:
        if s and s[:4] == b"\xfe\xef\xfe\xef":
            size = struct.unpack_from("<I", s, 8)[0]
            if any(b > 127 for b in s[12:12 + size]):
                found.add("utf8-paths")
    if b"srcsrv\0" in p.streams[1]:
        found.add("srcsrv")
    msvc = sorted(f for f in found if f.startswith("msvc-"))
    if msvc:
        found -= set(msvc[:-1])
    return out + sorted(found)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def unpack(path, work):
    out = os.path.join(work, "x.pdb")
    if path.endswith(".zst"):
        subprocess.check_call(["zstd", "-qdf", path, "-o", out])
    elif path.endswith(".pd_"):
        with open(out, "wb") as f:
            f.write(subprocess.check_output(["cabextract", "-qp", path]))
    else:
        return path
    return out


def inputs(root, cache):
    for top in ("t/data/pdb", "t/data/convert"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for n in sorted(names):
                if ((n.endswith((".pdb", ".pdb.zst", ".pd_", ".sym",
                                 ".sym.zst"))
                     or folder.endswith(("/elf", "/macho", "/pe", "/wasm")))
                        and not folder.endswith("hostile")):
                    path = os.path.join(folder, n)
                    yield "tree", os.path.relpath(path, root), path
    with open(os.path.join(root, "tools/corpus/packages.tsv")) as f:
        for line in f:
            if line.startswith("#"):
                continue
            name = line.split("\t")[0]
            base = os.path.join(cache, name)
            for folder, _, names in sorted(os.walk(base)):
                for n in sorted(names):
                    if n.endswith(".pdb"):
                        path = os.path.join(folder, n)
                        yield name, os.path.relpath(path, base), path


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    print("# Inputs of t/convert/identity.t, made by tools/corpus/manifest.py"
          " with symbolic %s." % reference.version())
    print("# origin\tpath\tsha256 of the input\tkinds"
          "\tbytes of the reference's output\tsha256 of it")
    with tempfile.TemporaryDirectory() as work:
        for origin, name, path in inputs(argv[1], argv[2]):
            pdb = unpack(path, work)
            with open(pdb, "rb") as f:
                mine = digest(f.read())
            try:
                out = reference.convert(pdb)
                result = "%d\t%s" % (len(out), digest(out))
            except Exception:
                result = "-\trefused"
            print("\t".join((origin, name, mine, ",".join(kinds(pdb)),
                             result)))


if __name__ == "__main__":
    main(sys.argv)
