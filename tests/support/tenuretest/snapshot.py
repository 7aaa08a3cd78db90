"""Sets the creation counter of a znode in a stopped server's newest snapshot.

The number of a sequential znode is its parent's cversion, which no request can set. A snapshot
carries it, under an Adler-32 checksum that is put right again.
"""

import glob
import os
import struct
import zlib

# StatPersisted: czxid mzxid ctime mtime (8 each) version cversion aversion (4 each) ephemeralOwner pzxid
_CVERSION_OFFSET = 4 * 8 + 4
_STAT_SIZE = 4 * 8 + 3 * 4 + 2 * 8


def newest_snapshot(data_dir):
    names = glob.glob(os.path.join(data_dir, "version-2", "snapshot.*"))
    if not names:
        raise FileNotFoundError(f"no snapshot in {data_dir}")
    return max(names, key=lambda name: int(name.rsplit(".", 1)[1], 16))


def set_creations(data_dir, path, creations):
    """Makes CREATIONS the number of the next sequential znode under PATH."""
    name = newest_snapshot(data_dir)
    with open(name, "rb") as file:
        snapshot = bytearray(file.read())
    if snapshot[:4] != b"ZKSN":
        raise ValueError(f"{name}: not a snapshot")
    encoded = path.encode()
    key = struct.pack(">i", len(encoded)) + encoded
    # The tree ends with its root, whose path is written as "", then "/", then the checksum.
    if snapshot[-5:] != struct.pack(">i", 1) + b"/":
        raise ValueError(f"{name}: does not end as expected")
    at = snapshot.find(key)
    if at < 0 or snapshot.find(key, at + 1) >= 0:
        raise ValueError(f"{name}: {path} is not there once")
    at += len(key)
    (size,) = struct.unpack_from(">i", snapshot, at)
    stat = at + 4 + max(size, 0) + 8
    if stat + _STAT_SIZE > len(snapshot):
        raise ValueError(f"{name}: {path} is cut short")
    struct.pack_into(">i", snapshot, stat + _CVERSION_OFFSET, creations)
    end = len(snapshot) - 5 - 8
    struct.pack_into(">q", snapshot, end, zlib.adler32(bytes(snapshot[:end])))
    with open(name, "wb") as file:
        file.write(snapshot)
