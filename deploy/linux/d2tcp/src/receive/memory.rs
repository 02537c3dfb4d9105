//! Maps of the kernel as memory of the daemon.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

use libbpf_rs::{MapCore, MapHandle};

use crate::failure::{Context, Result};

/// The values of an array map that may be mapped (BPF_F_MMAPABLE).
pub struct Values<T> {
    first: NonNull<T>,
    count: usize,
    bytes: usize,
    _values: PhantomData<T>,
}

impl<T> Values<T> {
    /// Maps all values. `T` is a structure of atomic numbers with the layout of the map's values.
    pub fn map(map: &MapHandle) -> Result<Values<T>> {
        let size = size_of::<T>();
        assert_eq!(map.value_size() as usize, size, "layouts differ");
        assert!(size.is_multiple_of(8), "the kernel rounds values up to 8 bytes");
        let count = map.max_entries() as usize;
        // SAFETY: sysconf takes a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let bytes = (count * size).next_multiple_of(page);
        // SAFETY: the kernel chooses the address, and checks descriptor and length.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_fd().as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("map the connections");
        }
        let first = NonNull::new(address.cast()).expect("mmap fails otherwise");
        Ok(Values { first, count, bytes, _values: PhantomData })
    }

    /// Returns the values by their index in the map.
    pub fn all(&self) -> &[T] {
        // SAFETY: the memory is mapped as long as self lives, and `T` consists of atomics, for which any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        // SAFETY: the range is the one that was mapped.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.bytes) };
    }
}
