//! The terminal of `d2tcp top`: its size, single keys, and everything as it was afterwards.

use std::io::{IsTerminal, Read};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Keys one by one, for as long as it lives.
pub struct Screen {
    before: Option<libc::termios>,
}

impl Screen {
    /// Takes over the terminal, if there is one.
    pub fn open() -> Screen {
        let input = std::io::stdin();
        let mut before = None;
        if input.is_terminal() {
            // SAFETY: zeros are a value of this structure of numbers; then room for the answer.
            let mut mode: libc::termios = unsafe { std::mem::zeroed() };
            // SAFETY: an open file and the structure.
            if unsafe { libc::tcgetattr(input.as_raw_fd(), &mut mode) } == 0 {
                before = Some(mode);
                mode.c_lflag &= !(libc::ICANON | libc::ECHO);
                // SAFETY: as above.
                unsafe { libc::tcsetattr(input.as_raw_fd(), libc::TCSANOW, &mode) };
            }
        }
        // Another page, without a cursor.
        print!("\x1b[?1049h\x1b[?25l");
        Screen { before }
    }
    /// The next key, within so much time; none where keys cannot be had. A change of the window's size ends the wait.
    pub fn key(&self, within: Duration) -> Option<u8> {
        if self.before.is_none() {
            std::thread::sleep(within);
            return None;
        }
        let mut wait = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, and that many.
        if unsafe { libc::poll(&mut wait, 1, within.as_millis() as libc::c_int) } <= 0 {
            return None;
        }
        let mut byte = [0];
        match std::io::stdin().read(&mut byte) {
            Ok(1) => Some(byte[0]),
            // The terminal has gone.
            _ => Some(b'q'),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: an open file and the structure that it gave.
            unsafe { libc::tcsetattr(0, libc::TCSANOW, before) };
        }
        print!("\x1b[?25h\x1b[?1049l");
        let _ = std::io::Write::flush(&mut std::io::stdout());
    }
}

/// Rows and columns, as they are now.
pub fn size() -> (usize, usize) {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: room for the answer.
    let failed = unsafe { libc::ioctl(1, libc::TIOCGWINSZ, &mut size) };
    if failed == 0 && size.ws_row > 3 && size.ws_col > 10 {
        (size.ws_row.into(), size.ws_col.into())
    } else {
        (24, usize::MAX)
    }
}
