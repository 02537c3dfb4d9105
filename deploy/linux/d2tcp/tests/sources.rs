//! The tool's own sources: the order of its modules, and the printing of names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules that each module uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Returns the names and texts of the modules. A folder is one module, with the texts of its files before their tests.
fn sources() -> Vec<(String, String)> {
    let text = |module: &PathBuf| match module.is_dir() {
        true => {
            files(module).iter().map(|file| without_tests(&std::fs::read_to_string(file).unwrap()).to_owned()).collect()
        }
        false => std::fs::read_to_string(module).unwrap(),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    files(&folder).iter().map(|module| (stem(module), text(module))).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Returns the text before a file's tests, which may use any module.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests").map_or(text, |at| &text[..at])
}

/// Returns the modules that a text names after `crate::`, also within braces, and outside comments.
fn used(text: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut modules = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            modules.insert(word(rest));
            continue;
        };
        let mut depth = 1;
        let mut start = true;
        for (at, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => start = true,
                c if start && c.is_alphabetic() => {
                    modules.insert(word(&list[at..]));
                    start = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    modules
}

/// Returns modules of which each uses the next and the last one the first; none if there is no circle.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn visit(module: &str, uses: &Uses, done: &mut BTreeSet<String>, path: &mut Vec<String>) -> Option<Vec<String>> {
        if let Some(at) = path.iter().position(|known| known == module) {
            return Some(path[at..].to_vec());
        }
        if !done.contains(module) {
            path.push(module.to_owned());
            let found = uses.get(module).into_iter().flatten().find_map(|next| visit(next, uses, done, path));
            if found.is_some() {
                return found;
            }
            path.pop();
            done.insert(module.to_owned());
        }
        None
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| visit(module, uses, &mut done, &mut Vec::new()))
}

#[test]
fn modules_form_no_circle() {
    let files = sources();
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let uses: Uses = files
        .iter()
        .map(|(name, text)| (name.clone(), used(without_tests(text)).intersection(&names).cloned().collect()))
        .collect();
    assert!(uses.len() > 20 && uses["rules"].contains("kernel") && uses["top"].contains("attach"), "{uses:?}");
    assert_eq!(circle(&uses), None);
}

#[test]
fn circles_are_found() {
    let uses = |pairs: &[(&str, &str)]| -> Uses {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), used(text))).collect()
    };
    let text = "use crate::b::{self, X};\n// use crate::c;\nfn f() { crate::d::g() }\n";
    assert_eq!(used(text), ["b", "d"].map(str::to_owned).into());
    assert_eq!(used("use crate::{a::{X, Y}, b};"), ["a", "b"].map(str::to_owned).into());
    let found = circle(&uses(&[("a", "crate::b"), ("b", "crate::c"), ("c", "crate::{d, b}"), ("d", "")]));
    assert_eq!(found.unwrap(), ["b", "c"]);
    assert_eq!(circle(&uses(&[("a", "crate::b crate::c"), ("b", "crate::c"), ("c", "")])), None);
}

/// `Path::display` writes control characters as they are; `escape::Shown::shown` writes escapes.
#[test]
fn no_path_is_displayed_without_escapes() {
    for (name, text) in sources() {
        assert!(!text.contains(".display()"), "{name}.rs: write .shown()");
    }
}
