// SPDX-License-Identifier: GPL-2.0-only
// Ways to one function through what Rust has: generics, traits, closures, sorting, panics, threads.
// Every function on the way notes its name as a demangler writes it; see known.h.
use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

extern "C" {
    fn known_enter(function: *const c_char, ret: *const c_void);
    fn known_leave();
    fn known_write(path: *const c_char, kind: *const c_char, begin: u64, end: u64);
    fn known_begin(argc: c_int, argv: *const *const c_char, recursion: *mut u64);
    fn known_end() -> c_int;
    fn known_now() -> u64;
}

static SINK: AtomicU64 = AtomicU64::new(0);

// Notes the function that makes one until the function ends. Names end with a zero byte.
struct Noted;

impl Noted {
    #[inline(always)]
    fn new(name: &'static str) -> Noted {
        unsafe { known_enter(name.as_ptr() as *const c_char, std::ptr::null()) };
        Noted
    }
}

impl Drop for Noted {
    #[inline(always)]
    fn drop(&mut self) {
        unsafe { known_leave() }
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn stack_leaf(i: u64) -> u64 {
    SINK.fetch_add(i, Ordering::SeqCst)
}

mod walk {
    use super::*;

    // The truth begins with the function that asks for it.
    #[inline(always)]
    fn write(path: &str, kind: &str, begin: u64) {
        let end = unsafe { known_now() };
        let path = CString::new(path).unwrap();
        let kind = CString::new(kind).unwrap();

        unsafe { known_write(path.as_ptr(), kind.as_ptr(), begin, end) }
    }

    #[inline(never)]
    pub fn leaf(path: &str) {
        let begin = unsafe { known_now() };
        let _noted = Noted::new("stack_rust::walk::leaf\0");

        stack_leaf(1);
        write(path, "entry", begin);
    }

    pub trait Shape {
        fn draw(&self, path: &str);
    }

    pub struct Circle(pub u64);

    impl Shape for Circle {
        #[inline(never)]
        fn draw(&self, path: &str) {
            let _noted = Noted::new("<stack_rust::walk::Circle as stack_rust::walk::Shape>::draw\0");

            SINK.fetch_add(self.0, Ordering::SeqCst);
            leaf(path);
        }
    }

    #[inline(never)]
    pub fn through<T: Into<u64> + Copy>(value: T, path: &str) {
        let _noted = Noted::new("stack_rust::walk::through::<u32>\0");
        let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Circle(value.into()))];

        for s in &shapes {
            s.draw(path);
        }
    }

    #[inline(never)]
    fn before(a: &u64, b: &u64, done: &mut bool) -> std::cmp::Ordering {
        let _noted = Noted::new("stack_rust::walk::before\0");

        if !*done {
            *done = true;
            leaf("sort");
        }
        a.cmp(b)
    }

    #[inline(never)]
    pub fn sorted() {
        let _noted = Noted::new("stack_rust::walk::sorted\0");
        let mut values: Vec<u64> = (0..100).map(|i| i * 37 % 101).collect();
        let mut done = false;

        values.sort_by(|a, b| before(a, b, &mut done));
        SINK.fetch_add(values[3], Ordering::SeqCst);
    }

    #[inline(never)]
    pub fn deep(path: &str, left: u64) {
        let _noted = Noted::new("stack_rust::walk::deep\0");

        if left > 0 {
            deep(path, left - 1);
        } else {
            leaf(path);
        }
    }

    #[inline(never)]
    pub fn sleep() {
        let begin = unsafe { known_now() };
        let _noted = Noted::new("stack_rust::walk::sleep\0");

        std::thread::sleep(std::time::Duration::from_millis(20));
        write("sleep", "block", begin);
    }

    #[inline(never)]
    pub fn in_thread() {
        let _noted = Noted::new("stack_rust::walk::in_thread\0");

        through(4u32, "thread");
        sleep();
    }
}

fn main() {
    let _noted = Noted::new("stack_rust::main\0");
    let args: Vec<CString> = std::env::args().map(|a| CString::new(a).unwrap()).collect();
    let mut argv: Vec<*const c_char> = args.iter().map(|a| a.as_ptr()).collect();
    let mut recursion = 120;

    argv.push(std::ptr::null());
    unsafe { known_begin(args.len() as c_int, argv.as_ptr(), &mut recursion) };
    walk::leaf("direct");
    walk::through(3u32, "trait");
    walk::sorted();
    walk::deep("deep", recursion);
    let _ = std::panic::catch_unwind(|| walk::leaf("caught"));
    std::thread::spawn(walk::in_thread).join().unwrap();
    std::process::exit(unsafe { known_end() });
}
