//! An MCP server that reports exactly what it received and sends exactly what it is asked for.
//!
//! It reads and writes lines without a library, so that a program sees the bytes of its arguments as they left the
//! gateway, and can request results that no well-behaved server sends. Its tools have names that collide with
//! properties of every JavaScript object.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Subcommand of this executable that serves it.
pub(super) const COMMAND: &str = "attack-upstream";
/// Longest line: the arguments of one call and room around them.
const LINE_BYTES_MAX: u64 = 8 << 20;
/// Marks kept by `note`.
const MARKS_MAX: usize = 10_000;

/// Names of properties of every object, a name with a letter that has two encodings, and one with the character
/// that ends a string in C.
const ODD_NAMES: [&str; 7] = [
    "__proto__",
    "constructor",
    "then",
    "toString",
    "hasOwnProperty",
    "caf\u{e9}",
    "a\"]; throw 1; //",
];

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    method: String,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "protocolVersion")]
    version: Option<String>,
}

/// Serves until the gateway closes standard input.
pub(crate) fn serve() -> anyhow::Result<()> {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let mut marks = BTreeMap::new();
    loop {
        let mut line = String::new();
        if input.by_ref().take(LINE_BYTES_MAX).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let message: Message<'_> = serde_json::from_str(&line).context("a message")?;
        let Some(id) = message.id else {
            continue;
        };
        let result = answer(&message, &mut marks);
        writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#)?;
        output.flush()?;
    }
}

/// `"result":…` or `"error":…`.
fn answer(message: &Message<'_>, marks: &mut BTreeMap<String, u32>) -> String {
    let params = message.params.as_ref();
    match message.method.as_str() {
        "initialize" => {
            let version = params.and_then(|params| params.version.as_deref());
            let result = json!({
                "protocolVersion": version.unwrap_or("2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "probe", "version": "1"},
            });
            format!(r#""result":{result}"#)
        }
        "ping" => r#""result":{}"#.to_owned(),
        "tools/list" => format!(r#""result":{}"#, json!({ "tools": tools() })),
        "tools/call" => {
            let name = params.and_then(|params| params.name.as_deref());
            let arguments = params.and_then(|params| params.arguments);
            let arguments = arguments.map_or("{}", RawValue::get);
            format!(
                r#""result":{}"#,
                call(name.unwrap_or_default(), arguments, marks)
            )
        }
        _ => r#""error":{"code":-32601,"message":"no such method"}"#.to_owned(),
    }
}

/// The result of one call, as JSON text.
fn call(name: &str, arguments: &str, marks: &mut BTreeMap<String, u32>) -> String {
    let given: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = |key: &str| given[key].as_str().unwrap_or_default();
    match name {
        "echo" => structured(&json!({ "text": arguments }).to_string()),
        "say" => text("result").to_owned(),
        "note" => {
            if marks.len() < MARKS_MAX {
                *marks.entry(text("mark").to_owned()).or_default() += 1;
            }
            structured("{}")
        }
        "noted" => {
            let times = marks.get(text("mark")).copied().unwrap_or(0);
            structured(&json!({ "times": times }).to_string())
        }
        "fail" => json!({
            "content": [{"type": "text", "text": text("message")}],
            "isError": true,
        })
        .to_string(),
        odd => structured(&json!({ "reached": odd }).to_string()),
    }
}

fn structured(json: &str) -> String {
    format!(r#"{{"content":[],"structuredContent":{json}}}"#)
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, description: &str, reads: bool| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": reads},
        })
    };
    let mut tools = vec![
        tool("echo", "Gives the text of its arguments.", true),
        tool(
            "say",
            "Gives `result`, a JSON text, as its whole result.",
            true,
        ),
        tool("note", "Counts `mark`.", false),
        tool("noted", "Returns how often `mark` was counted.", true),
        tool("fail", "Fails with `message`.", true),
    ];
    tools.extend(ODD_NAMES.map(|name| tool(name, "Has an odd name.", true)));
    tools
}
