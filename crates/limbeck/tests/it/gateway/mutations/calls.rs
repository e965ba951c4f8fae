//! Correct calls of published tools.

use std::sync::Arc;

use limbeck_captures::values::{Size, Unnamed, instance, validator};
use limbeck_catalog::{Catalog, Tool, names};
use limbeck_domain::Language;
use serde_json::{Map, Value};

/// Most calls of one server.
const EACH_MAX: usize = 12;
/// Largest arguments that a program would contain, in bytes.
const ARGUMENTS_BYTES_MAX: usize = 1_200;

/// Tool with valid arguments.
pub(super) struct Call {
    pub(super) tool: Arc<Tool>,
    pub(super) arguments: Map<String, Value>,
    /// Property of its result; `None` when the schema excludes properties.
    pub(super) part: Option<String>,
}

impl Call {
    /// Whether `arguments` match the input schema of the tool.
    pub(super) fn takes(&self, arguments: &Map<String, Value>) -> bool {
        let text = Value::Object(arguments.clone()).to_string();
        self.tool.validate(&text, Language::Typescript).is_ok()
    }
}

/// Calls of tools spread over each server of `catalog`, tools with an output schema first.
pub(super) fn correct(catalog: &Catalog) -> Vec<Call> {
    let mut calls = Vec::new();
    for server in catalog.servers() {
        let (with_output, without_output): (Vec<_>, Vec<_>) = server
            .tools()
            .iter()
            .partition(|tool| tool.definition().output_schema.is_some());
        let half = EACH_MAX.div_ceil(2);
        let typed = with_output
            .len()
            .min(EACH_MAX - half.min(without_output.len()));
        let chosen = spread(&with_output, typed).into_iter();
        let chosen = chosen.chain(spread(&without_output, EACH_MAX - typed));
        for tool in chosen {
            calls.extend(correct_call(tool, calls.len()));
        }
    }
    calls
}

/// At most `most` of `all`, evenly spread.
pub(super) fn spread<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    let count = all.len().min(most);
    let at = |index: usize| all[index * all.len() / count].clone();
    (0..count).map(at).collect()
}

fn correct_call(tool: &Arc<Tool>, number: usize) -> Option<Call> {
    let sizes = [Size::Any, Size::Most, Size::Any, Size::Least];
    let wanted = sizes[number % sizes.len()];
    let schema = &tool.definition().input_schema;
    let truth = validator(schema).ok()?;
    [wanted, Size::Any, Size::Least]
        .into_iter()
        .find_map(|size| {
            let value = instance(schema, &truth, size, Unnamed::Left, number as u64)?;
            let Value::Object(arguments) = value else {
                return None;
            };
            let call = Call {
                tool: Arc::clone(tool),
                arguments,
                part: part(tool),
            };
            let bytes =
                serde_json::to_string(&call.arguments).map_or(usize::MAX, |text| text.len());
            (bytes <= ARGUMENTS_BYTES_MAX && call.takes(&call.arguments)).then_some(call)
        })
}

fn part(tool: &Tool) -> Option<String> {
    let Some(schema) = &tool.definition().output_schema else {
        return Some("data".to_owned());
    };
    let Some(properties) = schema["properties"].as_object() else {
        return Some("data".to_owned());
    };
    let mut listed = properties.keys();
    let plain = listed.find(|name| names::is_python_identifier(name));
    plain.or_else(|| properties.keys().next()).cloned()
}
