"""Reading and writing MSF 7.00 files, for making test inputs."""

import struct

MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
NIL = 0xFFFFFFFF


def u32s(data):
    return list(struct.unpack("<%dI" % (len(data) // 4), data))


def read(data):
    """Streams of a file: a list of bytes, None for a nil stream."""
    bs, _, _, dir_bytes = struct.unpack_from("<4I", data, 32)
    n = -(-dir_bytes // bs)
    m = -(-4 * n // bs)

    def gather(blocks, size):
        return b"".join(data[b * bs:(b + 1) * bs] for b in blocks)[:size]

    map_blocks = struct.unpack_from("<%dI" % m, data, 52)
    directory = u32s(gather(u32s(gather(map_blocks, 4 * n)), dir_bytes))
    sizes = directory[1:1 + directory[0]]
    at = 1 + directory[0]
    streams = []
    for size in sizes:
        if size == NIL:
            streams.append(None)
            continue
        k = -(-size // bs)
        streams.append(gather(directory[at:at + k], size))
        at += k
    return bs, streams


def write(streams, bs=4096, order=None):
    """A file with these streams.

    order: a function that permutes the list of data blocks, so that a
    stream is scattered over the file.
    """
    def count(size):
        return -(-size // bs)

    need = sum(count(len(s)) for s in streams if s)
    directory = [len(streams)]
    directory += [NIL if s is None else len(s) for s in streams]
    dir_bytes = 4 * (len(directory) + need)
    dir_blocks = count(dir_bytes)
    map_blocks = count(4 * dir_blocks)

    free, b = [], 3
    while len(free) < need + dir_blocks + map_blocks:
        if b % bs not in (1, 2):
            free.append(b)
        b += 1
    total = b
    data_blocks, rest = free[:need], free[need:]
    if order:
        data_blocks = order(data_blocks)

    image = bytearray(total * bs)
    at = 0
    for s in streams:
        for i in range(count(len(s)) if s else 0):
            block = data_blocks[at]
            piece = s[i * bs:(i + 1) * bs]
            image[block * bs:block * bs + len(piece)] = piece
            directory.append(block)
            at += 1

    raw = struct.pack("<%dI" % len(directory), *directory)
    for i in range(dir_blocks):
        piece = raw[i * bs:(i + 1) * bs]
        image[rest[i] * bs:rest[i] * bs + len(piece)] = piece
    raw = struct.pack("<%dI" % dir_blocks, *rest[:dir_blocks])
    maps = rest[dir_blocks:dir_blocks + map_blocks]
    for i in range(map_blocks):
        piece = raw[i * bs:(i + 1) * bs]
        image[maps[i] * bs:maps[i] * bs + len(piece)] = piece

    image[0:32] = MAGIC
    struct.pack_into("<5I", image, 32, bs, 1, total, dir_bytes, 0)
    struct.pack_into("<%dI" % map_blocks, image, 52, *maps)
    return bytes(image)
