// Copyright (C) the ngx_symcache authors
//
// A part of bench/javascript and bench/maps: the writer of caches that Symbolicator
// uses, with its parser of scripts.
//
//   reference_js SCRIPT MAP OUT [COUNT]  prints the CPU seconds of each of COUNT
//                                        (1) calls, from reading the files until
//                                        OUT is written and all is freed, and
//                                        then the most memory in KB (VmHWM)
use std::fs::File;
use std::io::{BufWriter, Write};

use symbolic_sourcemapcache::SourceMapCacheWriter;

fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn convert(script: &str, map: &str, out: &str) {
    let script = std::fs::read_to_string(script).unwrap();
    let map = std::fs::read_to_string(map).unwrap();
    let mut file = BufWriter::new(File::create(out).unwrap());
    SourceMapCacheWriter::new(&script, &map)
        .unwrap()
        .serialize(&mut file)
        .unwrap();
    file.flush().unwrap();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 4 {
        eprintln!("usage: reference_js SCRIPT MAP OUT [COUNT]");
        std::process::exit(2);
    }
    let count: u32 = arguments.get(4).map_or(1, |n| n.parse().unwrap());
    for _ in 0..count {
        let cpu = cpu_seconds();
        convert(&arguments[1], &arguments[2], &arguments[3]);
        println!("{:.6}", cpu_seconds() - cpu);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    println!("{}", line.split_whitespace().nth(1).unwrap());
}
