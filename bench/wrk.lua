-- Script of wrk for bench/rig.py: prints figures that are not rounded, and
-- with arguments asks for keys at random, or sends what is in a file, which is
-- JSON unless another type is named.
--
--   wrk ... -s wrk.lua URL [-- FORMAT KEYS NAMES | -- POST FILE [TYPE]]
--
-- FORMAT is a path with %d for the number of the name, %032X for the number
-- of the key and perhaps %d for that of the name again.

local n = 0

function setup(thread)
    thread:set("seed", n)
    n = n + 1
end

function init(args)
    local format, keys, names = args[1], tonumber(args[2]), tonumber(args[3])
    if not format then return end
    if format == "POST" then
        wrk.method, wrk.body = "POST", io.open(args[2]):read("*a")
        wrk.headers["Content-Type"] = args[3] or "application/json"
        return
    end
    math.randomseed(os.time() + seed)
    request = function()
        local k = math.random(0, keys - 1)
        return wrk.format(nil, string.format(format, k % names, k,
                                             k % names))
    end
end

function done(summary, latency, requests)
    local e = summary.errors
    print(string.format("FIGURES %d %d %d %d %d %.0f %.0f", summary.requests,
        summary.bytes, summary.duration, e.status,
        e.connect + e.read + e.write + e.timeout, latency:percentile(50),
        latency:percentile(99)))
end
