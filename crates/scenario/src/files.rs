//! Files that a scenario names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::error::{At, Checked, Fault};

/// Maximum length of a file, in bytes.
const LONGEST: u64 = 512 << 20;

/// The files that paths in a scenario name.
#[derive(Default)]
pub(crate) struct Files<'a> {
    folder: Option<&'a Path>,
    given: Option<&'a BTreeMap<String, Vec<u8>>>,
    read: RefCell<Vec<String>>,
    notes: RefCell<Vec<String>>,
}

impl<'a> Files<'a> {
    /// Returns the files below `folder` (the working folder without one), with the contents of the `given` ones.
    pub(crate) fn new(folder: Option<&'a Path>, given: &'a BTreeMap<String, Vec<u8>>) -> Files<'a> {
        Files { folder, given: Some(given), ..Files::default() }
    }
    /// Returns the text of a file that is named at `at`; `near` is a built-in name that may have been meant.
    pub(crate) fn read(&self, path: &str, at: At, near: Option<&str>) -> Checked<String> {
        String::from_utf8(self.bytes(path, at, near)?)
            .map_err(|_| unreadable(path, at, near, "it is not a text (UTF-8)"))
    }
    /// Returns the content of a file that is named at `at`; `near` is a built-in name that may have been meant.
    pub(crate) fn bytes(&self, path: &str, at: At, near: Option<&str>) -> Checked<Vec<u8>> {
        let content = match self.given.and_then(|given| given.get(path)) {
            Some(content) => content.clone(),
            None => from_disk(&self.folder.unwrap_or(Path::new("")).join(path), path, at, near)?,
        };
        if self.read.borrow().iter().all(|known| known != path) {
            self.read.borrow_mut().push(path.to_owned());
        }
        Ok(content)
    }
    /// Adds a note on a file's content, once.
    pub(crate) fn note(&self, text: String) {
        if !self.notes.borrow().contains(&text) {
            self.notes.borrow_mut().push(text);
        }
    }
    /// Removes and returns the notes on the content of files.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }
    /// Returns the paths that were read, each once, in the order of their first use.
    pub(crate) fn paths(self) -> Vec<String> {
        self.read.into_inner()
    }
}

fn unreadable(path: &str, at: At, near: Option<&str>, why: &str) -> Fault {
    let fault = Fault::new(at, format!("cannot read the file `{path}`: {why}"));
    match near {
        Some(near) => fault.hint(format!("did you mean `{near}`?")),
        None => fault.hint("a path is relative to the scenario's folder"),
    }
}

fn from_disk(full: &Path, path: &str, at: At, near: Option<&str>) -> Checked<Vec<u8>> {
    let fault = |why: String| unreadable(path, at, near, &why);
    if path.contains('\0') {
        return Err(fault("this is no path".into()));
    }
    // The type is checked before it is opened: opening a pipe would block until its other end is.
    let size = std::fs::metadata(full).map_err(|error| fault(reason(&error)))?;
    if !size.is_file() {
        return Err(fault("it is not a file".into()));
    }
    if size.len() > LONGEST {
        return Err(fault(format!("it is larger than {} MiB", LONGEST >> 20)));
    }
    let file = std::fs::File::open(full).map_err(|error| fault(reason(&error)))?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| fault(reason(&error)))?;
    Ok(bytes)
}

/// Returns the operating system's reason, without its number.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".into(),
        // In a browser.
        std::io::ErrorKind::Unsupported => "no files can be read here".into(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}
