#!/usr/bin/env python3
"""The reference converter: what pdb2symcache is compared with.

usage: reference.py version
       reference.py convert PDB OUT        SymCache of PDB into OUT
       reference.py lookup SYMCACHE ADDR...     (hex; "-": standard input)
       reference.py sample SYMCACHE COUNT  COUNT addresses worth looking up

Needs the Python package "symbolic" at the version that
tools/corpus/requirements.txt pins.  Lookup prints one line for each frame,
innermost first: ADDR TAB DEPTH TAB FUNCTION TAB FILE TAB LINE; an address
without a function is one line whose function, file and line are "-".

A file that the reference refuses ends it with code 3 and the reason.
"""

import struct
import sys

try:
    import symbolic
    from symbolic.debuginfo import Archive
    from symbolic.symcache import SymCache, SYMCACHE_LATEST_VERSION
except ImportError as e:
    sys.exit("reference.py: no package symbolic: %s" % e)


def version():
    try:
        from importlib.metadata import version as dist
        return dist("symbolic")
    except Exception:
        return "unknown"


def convert(pdb):
    archive = Archive.open(pdb)
    if archive.object_count != 1:
        raise ValueError("%d objects in the file" % archive.object_count)
    cache = archive._get_object(0).make_symcache()
    return cache.open_stream().read()


def lookup(cache, addrs):
    for addr in addrs:
        frames = cache.lookup(addr)
        if not frames:
            print("0x%x\t0\t-\t-\t-" % addr)
        for depth, f in enumerate(frames):
            print("0x%x\t%d\t%s\t%s\t%d" % (addr, depth, f.symbol or "?",
                                          f.full_path or "-", f.line))


def sample(data, count):
    """Starts, last bytes and middles of ranges spread over the file."""
    files, funcs, locs, ranges = struct.unpack_from("<4I", data, 44)
    off = 80 + files * 24
    off = (off + 16 * funcs + 16 * locs + 7) & ~7
    starts = struct.unpack_from("<%dI" % ranges, data, off)
    out = []
    if ranges:
        out.append(max(starts[0] - 1, 0))
        step = max(1, ranges // max(1, count // 3))
        for i in range(0, ranges - 1, step):
            a, b = starts[i], starts[i + 1]
            out += [a, a + (b - a) // 2, b - 1]
        out.append(starts[-1])
    return sorted(set(out))[:count]


def addresses(words):
    for w in words:
        if w == "-":
            for line in sys.stdin:
                yield int(line, 16)
        else:
            yield int(w, 16)


def main(argv):
    if argv[1:] == ["version"]:
        print("symbolic %s, SymCache version %d"
              % (version(), SYMCACHE_LATEST_VERSION))
    elif len(argv) == 4 and argv[1] == "convert":
        try:
            data = convert(argv[2])
        except Exception as e:
            print("%s: %s: %s" % (argv[2], type(e).__name__, e),
                  file=sys.stderr)
            return 3
        with open(argv[3], "wb") as f:
            f.write(data)
    elif len(argv) >= 4 and argv[1] == "lookup":
        lookup(SymCache.open(argv[2]), addresses(argv[3:]))
    elif len(argv) == 4 and argv[1] == "sample":
        with open(argv[2], "rb") as f:
            for a in sample(f.read(), int(argv[3])):
                print("%x" % a)
    else:
        sys.stderr.write(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
