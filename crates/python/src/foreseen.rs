//! The demand of a scenario on a network, without a run: its messages, their paths, and the links.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytemuck::cast_slice;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sim::World;

use crate::errors::guarded;

/// The messages and links of a scenario as columns: from each name to the type and bytes of a numpy array.
///
/// Times are in ps, amounts in bytes, rates in bit/s; -1 means no size, deadline, ideal time or query. The links of
/// message i are `hops[first[i] .. first[i + 1]]`, rows of `links`.
///
/// `ValueError` names the class whose messages depend on a run.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None, files=BTreeMap::new()))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn foreseen<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
) -> PyResult<Bound<'py, PyDict>> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let read = crate::read(py, &source, &scenario::Options { set, seed, transport, files })?;
    let mut scenario = read.scenario;
    // The order of a run.
    scenario.network.graph.links.sort_by_key(|link| (link.to, link.from));
    let frames: Vec<f64> = scenario
        .classes
        .iter()
        .map(|class| {
            let framing = class.framing(&scenario.transports[class.transport], scenario.network.frame_overhead);
            f64::from(framing.mss + framing.overhead)
        })
        .collect();
    let frame = frames.iter().copied().fold(0.0, f64::max);
    let ports = scenario::ports(&scenario.network, frame);
    let outcome = guarded(py, || World::new(scenario).foreseen())?.map_err(PyValueError::new_err)?;

    let mut first = vec![0_u64];
    let mut hops: Vec<u32> = Vec::new();
    for row in 0..outcome.messages.len() {
        hops.extend(outcome.path(row).iter().map(|link| link.0));
        first.push(hops.len() as u64);
    }
    let small = |of: fn(&sim::outcome::Message) -> u32| -> Vec<u32> { outcome.messages.iter().map(of).collect() };
    let whole = |of: fn(&sim::outcome::Message) -> Option<u64>| -> Vec<i64> {
        outcome.messages.iter().map(|message| of(message).map_or(-1, |value| value as i64)).collect()
    };
    let found = PyDict::new(py);
    let put = |name: &str, dtype: &str, bytes: &[u8]| found.set_item(name, (dtype, PyBytes::new(py, bytes)));
    put("class", "uint32", cast_slice(&small(|message| message.class.0)))?;
    put("from", "uint32", cast_slice(&small(|message| message.from.0)))?;
    put("to", "uint32", cast_slice(&small(|message| message.to.0)))?;
    put("start", "int64", cast_slice(&whole(|message| Some(message.start.0))))?;
    put("bytes", "int64", cast_slice(&whole(|message| message.bytes.map(|bytes| bytes.0))))?;
    put("deadline", "int64", cast_slice(&whole(|message| message.deadline.map(|span| span.0))))?;
    put("ideal", "int64", cast_slice(&whole(|message| message.ideal.map(|span| span.0))))?;
    put("query", "int64", cast_slice(&whole(|message| message.query)))?;
    put("first", "uint64", cast_slice(&first))?;
    put("hops", "uint32", cast_slice(&hops))?;
    put("rate", "uint64", cast_slice(&outcome.graph.links.iter().map(|link| link.rate.0).collect::<Vec<_>>()))?;
    put("delay", "uint64", cast_slice(&outcome.graph.links.iter().map(|link| link.delay.0).collect::<Vec<_>>()))?;
    put("room", "float64", cast_slice(&ports.iter().map(|port| port.0).collect::<Vec<_>>()))?;
    put("mark", "float64", cast_slice(&ports.iter().map(|port| port.1).collect::<Vec<_>>()))?;
    put("frame", "float64", cast_slice(&frames))?;
    let names: Vec<(String, String)> = outcome.links.iter().map(|link| (link.from.clone(), link.to.clone())).collect();
    found.set_item("links", names)?;
    Ok(found)
}
