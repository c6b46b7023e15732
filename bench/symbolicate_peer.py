"""The peer of bench/symbolicate, for gunicorn: one job of Mozilla's protocol
over the symbolic package.  As Eliot does, it opens for each request the
SymCaches that it needs, from the folder STORE, and keeps none of them."""

import json
import os

from symbolic.symcache import SymCache


def open_module(name, key):
    path = "%s/%s/%s/%s-v9.0.0.symcache" % (os.environ["STORE"], name, key,
                                            name)
    return SymCache.open(path) if os.path.exists(path) else None


def frame_of(cache, index, module, offset):
    frame = {"frame": index, "module": module, "module_offset": hex(offset)}
    found = cache.lookup(offset) if cache else []
    if not found:
        return frame
    *inlined, function = found
    frame.update(function=function.symbol,
                 function_offset=hex(offset - function.sym_addr))
    if function.full_path:
        frame.update(file=function.full_path, line=function.line)
    if inlined:
        frame["inlines"] = [{"function": f.symbol, "file": f.full_path,
                             "line": f.line} for f in inlined]
    return frame


def app(environ, start_response):
    length = int(environ["CONTENT_LENGTH"])
    job = json.loads(environ["wsgi.input"].read(length))["jobs"][0]
    names = job["memoryMap"]
    modules = [open_module(*m) for m in names]
    stacks = [[frame_of(modules[m], i, names[m][0], offset)
               for i, (m, offset) in enumerate(stack)]
              for stack in job["stacks"]]
    found = {"/".join(n): m is not None for n, m in zip(names, modules)}
    answer = json.dumps({"results": [{"stacks": stacks,
                                      "found_modules": found}]}).encode()
    start_response("200 OK", [("Content-Type", "application/json"),
                              ("Content-Length", str(len(answer)))])
    return [answer]
