//! The terminal of `d2tcp top`: its size, single keys, and the restoring of its mode.

use std::io::{IsTerminal, Read};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A terminal in the mode of single keys, restored when dropped.
pub struct Screen {
    before: Option<libc::termios>,
}

impl Screen {
    /// Changes the mode of the terminal, if there is one.
    pub fn open() -> Screen {
        let input = std::io::stdin();
        let mut before = None;
        if input.is_terminal() {
            // SAFETY: zeros are a value of this structure of numbers, which has room for the answer.
            let mut mode: libc::termios = unsafe { std::mem::zeroed() };
            // SAFETY: the file is open, and the structure is valid.
            if unsafe { libc::tcgetattr(input.as_raw_fd(), &mut mode) } == 0 {
                before = Some(mode);
                mode.c_lflag &= !(libc::ICANON | libc::ECHO);
                // SAFETY: as above.
                unsafe { libc::tcsetattr(input.as_raw_fd(), libc::TCSANOW, &mode) };
            }
        }
        // Switch to the alternate screen, without a cursor.
        print!("\x1b[?1049h\x1b[?25l");
        Screen { before }
    }
    /// Returns the next key within a time; none if the input is not a terminal. A change of the window's size ends the
    /// wait.
    pub fn key(&self, within: Duration) -> Option<u8> {
        if self.before.is_none() {
            std::thread::sleep(within);
            return None;
        }
        let mut wait = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        // SAFETY: the length is that of the one structure.
        if unsafe { libc::poll(&mut wait, 1, within.as_millis() as libc::c_int) } <= 0 {
            return None;
        }
        let mut byte = [0];
        match std::io::stdin().read(&mut byte) {
            Ok(1) => Some(byte[0]),
            // The terminal was closed.
            _ => Some(b'q'),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the file is open, and the structure is from tcgetattr.
            unsafe { libc::tcsetattr(0, libc::TCSANOW, before) };
        }
        print!("\x1b[?25h\x1b[?1049l");
        let _ = std::io::Write::flush(&mut std::io::stdout());
    }
}

/// Returns the present number of rows and columns.
pub fn size() -> (usize, usize) {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the answer.
    let failed = unsafe { libc::ioctl(1, libc::TIOCGWINSZ, &mut size) };
    if failed == 0 && size.ws_row > 3 && size.ws_col > 10 {
        (size.ws_row.into(), size.ws_col.into())
    } else {
        (24, usize::MAX)
    }
}
