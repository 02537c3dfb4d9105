//! Records that would take too much memory: put into a file in sorted runs, and merged as they are read.
//!
//! A record is a few words of 64 bits, and is ordered as they are.

#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// A file for records that would take too much memory.
pub struct Aside {
    file: File,
    /// The number of words in it.
    written: u64,
}

/// The range of records that were appended together, in words of the file.
pub type Run = Range<u64>;

impl Aside {
    /// Creates it with an empty file, which is open for reading and writing.
    pub fn new(file: File) -> Aside {
        Aside { file, written: 0 }
    }

    /// Appends records to the file.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn append<const N: usize>(&mut self, records: &[[u64; N]]) -> io::Result<Run> {
        let first = self.written;
        self.file.seek(SeekFrom::Start(first * 8))?;
        let mut out = BufWriter::new(&self.file);
        records.as_flattened().iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
        out.flush()?;
        self.written += (records.len() * N) as u64;
        Ok(first..self.written)
    }

    /// Returns the records of a run, as they were appended.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn read<const N: usize>(&self, run: Run) -> io::Result<Vec<[u64; N]>> {
        let mut bytes = vec![0; (run.end - run.start) as usize * 8];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(run.start * 8))?;
        file.read_exact(&mut bytes)?;
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight"));
        let record = |bytes: &[u8]| std::array::from_fn(|i| word(&bytes[i * 8..i * 8 + 8]));
        Ok(bytes.chunks_exact(N * 8).map(record).collect())
    }
}

/// Merges the records of many sorted runs in ascending order.
pub struct Merged<'a, const N: usize> {
    runs: Vec<Source<'a, N>>,
    /// The next record of each run that has one.
    next: BinaryHeap<Reverse<([u64; N], usize)>>,
}

enum Source<'a, const N: usize> {
    Memory(std::slice::Iter<'a, [u64; N]>),
    File {
        aside: &'a Aside,
        /// The records that are in memory.
        read: std::vec::IntoIter<[u64; N]>,
        /// The records that are still in the file.
        left: Run,
    },
}

impl<'a, const N: usize> Merged<'a, N> {
    /// Merges runs in memory and runs in the file; without a file `runs` is empty.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn new(
        memory: impl IntoIterator<Item = &'a [[u64; N]]>,
        aside: Option<&'a Aside>,
        runs: impl IntoIterator<Item = Run>,
    ) -> io::Result<Merged<'a, N>> {
        let mut all: Vec<Source<'a, N>> = memory.into_iter().map(|run| Source::Memory(run.iter())).collect();
        if let Some(aside) = aside {
            let of = |left| Source::File { aside, read: Vec::new().into_iter(), left };
            all.extend(runs.into_iter().map(of));
        }
        let mut merged = Merged { runs: all, next: BinaryHeap::new() };
        for (number, run) in merged.runs.iter_mut().enumerate() {
            if let Some(first) = run.next()? {
                merged.next.push(Reverse((first, number)));
            }
        }
        Ok(merged)
    }
}

impl<const N: usize> Iterator for Merged<'_, N> {
    type Item = io::Result<[u64; N]>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut top = self.next.peek_mut()?;
        let Reverse((record, run)) = *top;
        match self.runs[run].next() {
            Ok(Some(next)) => top.0.0 = next,
            Ok(None) => drop(PeekMut::pop(top)),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(record))
    }
}

impl<const N: usize> Source<'_, N> {
    /// Words that are read at once of a run in the file: 2000 runs take 16 MB.
    const AT_ONCE: u64 = 1024;

    fn next(&mut self) -> io::Result<Option<[u64; N]>> {
        match self {
            Source::Memory(records) => Ok(records.next().copied()),
            Source::File { aside, read, left } => {
                if read.len() == 0 && !left.is_empty() {
                    let end = left.end.min(left.start + (Self::AT_ONCE / N as u64).max(1) * N as u64);
                    *read = aside.read(left.start..end)?.into_iter();
                    left.start = end;
                }
                Ok(read.next())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Holds for any content of the file, and however it is cut.
        #[test]
        fn in_a_file_or_in_memory_they_come_in_the_same_order(
            mut all in prop::collection::vec(prop::array::uniform3(0..20u64), 0..3000),
            each in 1usize..1500,
        ) {
            let mut aside = Aside::new(tempfile::tempfile().unwrap());
            let mut parts: Vec<Vec<[u64; 3]>> = all.chunks(each).map(<[_]>::to_vec).collect();
            parts.iter_mut().for_each(|part| part.sort_unstable());
            let some = parts.len() / 3;
            let runs: Vec<Run> = parts[some..].iter().map(|part| aside.append(part).unwrap()).collect();
            for (run, part) in runs.iter().zip(&parts[some..]) {
                prop_assert_eq!(&aside.read::<3>(run.clone()).unwrap(), part);
            }
            let memory = parts[..some].iter().map(Vec::as_slice);
            let merged: io::Result<Vec<_>> = Merged::new(memory, Some(&aside), runs).unwrap().collect();
            all.sort_unstable();
            prop_assert_eq!(merged.unwrap(), all);
        }
    }
}
