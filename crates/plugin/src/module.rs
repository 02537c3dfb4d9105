//! A module that is compiled and checked.

use std::sync::LazyLock;

use transport::plugin::Event;
use units::Key;
use wasmtime::{Config, Engine, ExternType, FuncType, ValType};

use crate::instance::Instance;
use crate::interface::{PLACES, export};
use crate::manifest::Manifest;

/// The largest module, in bytes.
const LARGEST: usize = 8 << 20;

/// The stack of a module, in bytes; threads of the simulator have 2 MiB.
const STACK: usize = 256 << 10;

/// The runtime, one for the whole process.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        // Bounds are checked by the code: no signal handlers in a process that is not ours.
        .signals_based_traps(false)
        .memory_reservation(0)
        .memory_guard_size(0)
        .max_wasm_stack(STACK)
        .wasm_backtrace_max_frames(None);
    Engine::new(&config).expect("this configuration is valid on every machine that the compiler supports")
});

/// A module as machine code, with the values of its manifest that runs need.
pub(crate) struct Compiled {
    pub(crate) name: String,
    pub(crate) module: wasmtime::Module,
    pub(crate) ecn: transport::plugin::Ecn,
    pub(crate) paces: bool,
    pub(crate) keys: Vec<Key>,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the module {}", self.name)
    }
}

impl Compiled {
    /// Compiles a module and checks it, and its manifest.
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Result<(Compiled, Manifest), String> {
        let wrong = |why: String| format!("the plug-in `{name}` cannot be used: {why}");
        if bytes.len() > LARGEST {
            return Err(wrong(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        let binary = wat::parse_bytes(bytes).map_err(|error| {
            let said = error.to_string();
            let mut lines = said.lines();
            let first = lines.next().unwrap_or_default();
            // The text format's reader gives the place as "--> <anon>:LINE:COLUMN".
            let place =
                lines.next().and_then(|line| line.rsplit("<anon>:").next()?.split(':').next()?.parse::<u32>().ok());
            let place = place.map_or_else(String::new, |line| format!(" (line {line})"));
            wrong(format!("it is neither a WebAssembly module nor the text of one: {first}{place}"))
        })?;
        let manifest = Manifest::of(&binary).map_err(wrong)?;
        let module = wasmtime::Module::new(&ENGINE, &binary)
            .map_err(|error| wrong(format!("it is not a valid module: {}", error.root_cause())))?;
        check(&module, &manifest).map_err(wrong)?;
        let keys = manifest.keys.clone();
        let name = name.to_owned();
        let compiled = Compiled { name, module, ecn: manifest.ecn, paces: manifest.paces, keys };
        // Its addresses are checked now, not in a run.
        let values = vec![0.0; compiled.keys.len()];
        Instance::new(&compiled.module, &values).map_err(wrong)?;
        Ok((compiled, manifest))
    }

    /// Returns true if it exports a function.
    pub(crate) fn exports(&self, name: &str) -> bool {
        self.module.get_export(name).is_some()
    }
}

/// Checks imports and exports.
fn check(module: &wasmtime::Module, manifest: &Manifest) -> Result<(), String> {
    if let Some(import) = module.imports().next() {
        let (from, name) = (import.module(), import.name());
        return Err(format!("it imports `{name}` from `{from}`, and a plug-in may import nothing"));
    }
    match module.get_export("memory") {
        Some(ExternType::Memory(memory)) if !memory.is_64() && !memory.is_shared() => {}
        Some(_) => return Err("its export `memory` is not a plain memory of 32 bits".into()),
        None => return Err("it does not export its `memory`".into()),
    }
    // An export with a misspelt name would silently not be called.
    let known: Vec<&str> = Event::ALL.map(export).into_iter().chain(PLACES.map(|(name, _)| name)).collect();
    let near = |own: &str| units::nearest(own, known.iter().copied()).filter(|near| *near != own);
    let slip = module.exports().filter(|own| own.name().starts_with("on_")).find_map(|own| {
        let name = own.name();
        near(name).filter(|_| !known.contains(&name)).map(|near| (name.to_owned(), near.to_owned()))
    });
    if let Some((own, near)) = slip {
        return Err(format!("it exports `{own}`, which is never called; did you mean `{near}`?"));
    }
    let wanted = |name: &str, what: &str, function: FuncType| match module.get_export(name) {
        Some(ExternType::Func(own)) if FuncType::eq(&own, &function) => Ok(()),
        Some(_) => Err(format!("its export `{name}` is not a function without parameters that returns {what}")),
        None => Err(format!("it does not export the function `{name}`, which returns {what}")),
    };
    let engine = module.engine();
    for (name, what) in PLACES {
        if name != "keys" || !manifest.keys.is_empty() {
            wanted(name, what, FuncType::new(engine, [], [ValType::I32]))?;
        }
    }
    for event in Event::ALL {
        let name = export(event);
        if event == Event::Ack || module.get_export(name).is_some() {
            wanted(name, "nothing", FuncType::new(engine, [], []))?;
        }
    }
    Ok(())
}
