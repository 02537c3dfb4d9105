//! The simulator for a web page: WebAssembly that imports only the functions of [`modules`], for controllers of the
//! reader's own.
//!
//! Only JSON in two buffers crosses the border. The caller reserves room ([`input`]), writes a [request](ask::Request)
//! there, calls [`ask`], and reads as many bytes as it returns at [`answer`]: `{"done": ...}`, or `{"mistake": ...}`
//! for a bad scenario. A bug traps; [`panicked`] then says where, and the instance is of no further use.

#![deny(missing_docs)]

mod ask;
mod columns;
mod modules;

use std::cell::RefCell;
use std::sync::Once;

use ask::Desk;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    static DESK: RefCell<Desk> = RefCell::new(Desk::default());
}

/// Room for a request of `length` bytes, to be filled before [`ask`].
#[unsafe(no_mangle)]
pub extern "C" fn input(length: u32) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length as usize, 0);
        input.as_mut_ptr()
    })
}

/// Does what the request in [`input`] asks for. Returns the length of the [`answer`].
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> u32 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
        transport::plugin::install(modules::load);
    });
    let request = INPUT.take();
    let answer = DESK.with_borrow_mut(|desk| desk.answer(&request));
    keep(answer)
}

/// Returns the begin of the answer to the last request.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// After a trap: makes the text of the panic the [`answer`], and returns its length.
#[unsafe(no_mangle)]
pub extern "C" fn panicked() -> u32 {
    keep(PANIC.take())
}

fn keep(answer: String) -> u32 {
    let length = answer.len() as u32;
    ANSWER.set(answer.into_bytes());
    length
}
