// Copyright (C) the ngx_symcache authors
//
// A part of bench/convert and bench/ppdb: the reference's writer of PpdbCaches,
// called as ours is by bench/convert_call.
//
//   reference_ppdb PDB OUT [COUNT]    prints the seconds and CPU seconds of each
//                                     of COUNT (1) calls, from opening PDB
//                                     until OUT is written and all is freed
//   reference_ppdb PDB - [COUNT]      the same from memory to memory
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use symbolic_ppdb::{PortablePdb, PortablePdbCacheConverter};

fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn convert_to<W: Write>(data: &[u8], out: &mut W) {
    let parsed = PortablePdb::parse(data).unwrap();
    let mut converter = PortablePdbCacheConverter::new();
    converter.process_portable_pdb(&parsed).unwrap();
    converter.serialize(out).unwrap();
}

fn convert(pdb: &str, out: &str) {
    let data = std::fs::read(pdb).unwrap();
    let mut file = BufWriter::with_capacity(1 << 16, File::create(out).unwrap());
    convert_to(&data, &mut file);
    file.flush().unwrap();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 3 {
        eprintln!("usage: reference_ppdb PDB OUT [COUNT]");
        std::process::exit(2);
    }
    let count: u32 = arguments.get(3).map_or(1, |n| n.parse().unwrap());
    let kept = (arguments[2] == "-").then(|| std::fs::read(&arguments[1]).unwrap());
    for _ in 0..count {
        let cpu = cpu_seconds();
        let began = Instant::now();
        match &kept {
            Some(data) => convert_to(data, &mut Vec::new()),
            None => convert(&arguments[1], &arguments[2]),
        }
        let wall = began.elapsed().as_secs_f64();
        println!("{:.9} {:.9}", wall, cpu_seconds() - cpu);
    }
}
