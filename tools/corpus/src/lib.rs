// A program without the Windows standard library: generics, iterators,
// formatting and slices of core, deeply inlined.
#![no_std]

use core::fmt::Write;

struct Sink {
    used: usize,
    text: [u8; 64],
}

impl Write for Sink {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        for b in s.bytes() {
            *self.text.get_mut(self.used).ok_or(core::fmt::Error)? = b;
            self.used += 1;
        }
        Ok(())
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub static _fltused: i32 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn __chkstk() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(d: *mut u8, s: *const u8, n: usize) -> *mut u8 {
    for i in 0..n {
        unsafe { core::ptr::write_volatile(d.add(i), *s.add(i)) }
    }
    d
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(d: *mut u8, s: *const u8, n: usize) -> *mut u8 {
    unsafe { memcpy(d, s, n) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(d: *mut u8, c: i32, n: usize) -> *mut u8 {
    for i in 0..n {
        unsafe { core::ptr::write_volatile(d.add(i), c as u8) }
    }
    d
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        let (x, y) = unsafe { (*a.add(i), *b.add(i)) };
        if x != y {
            return x as i32 - y as i32;
        }
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn rust_entry(p: *mut u32, n: usize, x: f64) -> usize {
    let v = unsafe { core::slice::from_raw_parts_mut(p, n) };
    v.sort_unstable_by_key(|k| k.wrapping_mul(3));
    let sum: u32 = v.iter().filter(|k| **k % 3 == 1).map(|k| k ^ 7).sum();
    let mut s = Sink { used: 0, text: [0; 64] };
    let _ = write!(s, "{} {:?} {:#x}", sum, x, v.len());
    core::str::from_utf8(&s.text[..s.used]).map_or(0, |t| t.chars().count())
}
