#!/usr/bin/env python3
"""bench/convert's other half: the reference, called as ours is.

usage: reference_call.py PDB OUT [COUNT]

Prints wall-clock and CPU seconds of each of COUNT (1) calls, from opening PDB
until OUT is written and all is freed.  Everything is loaded before.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tools", "corpus"))
import reference


def call(pdb, out):
    data = reference.convert(pdb)
    with open(out, "wb") as f:
        f.write(data)


def main(argv):
    if len(argv) not in (3, 4):
        sys.exit(__doc__)
    for _ in range(int(argv[3]) if len(argv) > 3 else 1):
        cpu = time.process_time()
        wall = time.monotonic()
        call(argv[1], argv[2])
        wall = time.monotonic() - wall
        cpu = time.process_time() - cpu
        print("%.9f %.9f" % (wall, cpu))


if __name__ == "__main__":
    main(sys.argv)
