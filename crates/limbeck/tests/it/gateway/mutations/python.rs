//! Blocks and programs in Python.

use limbeck_catalog::names;
use limbeck_domain::Language;
use serde_json::Value;

use super::written::{Block, Frame, Given, Style, Written};

/// Longest call that is written on one line, in characters.
const LINE_MAX: usize = 100;
/// Attributes of dictionaries, so a property with such a name is read in brackets.
const OF_DICTS: [&str; 8] = [
    "clear", "copy", "get", "items", "keys", "pop", "update", "values",
];

/// Text before the blocks, their indentation, and text after them.
pub(super) fn around(frame: Frame, taste: usize) -> (Vec<String>, &'static str, Vec<String>) {
    let mut head = vec!["import json", "import itertools"];
    if frame != Frame::Plain {
        head.push("import asyncio");
    }
    head.extend(["", "seen = []"]);
    if taste.is_multiple_of(3) {
        head.extend([
            "counts = {}",
            "for word in [\"a\", \"b\"]:",
            "    counts[word] = counts.get(word, 0) + 1",
        ]);
    }
    head.extend([
        "",
        "def label(row):",
        "    return row.get(\"name\") or row[\"id\"]",
        "",
    ]);
    let (begin, indent, end) = match frame {
        Frame::Plain | Frame::Awaiting => {
            (None, "", vec!["print(label({\"id\": 1}))", "result = seen"])
        }
        Frame::Main => (
            Some("async def main():"),
            "    ",
            vec!["    return seen", "", "asyncio.run(main())"],
        ),
        Frame::Handed => (
            Some("async def run():"),
            "    ",
            vec!["    return seen", "", "return await run()"],
        ),
    };
    head.extend(begin);
    let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
    (owned(head), indent, owned(end))
}

/// Whether a call at this place must be awaited before its result is used.
pub(super) fn must_await(w: &Written, frame: Frame) -> bool {
    match frame {
        Frame::Plain => false,
        Frame::Awaiting => w.style == Style::Function,
        Frame::Main | Frame::Handed => true,
    }
}

/// Lines of one call. `n` makes its variable names unique.
pub(super) fn block(w: &Written, beside: &Written, n: usize, frame: Frame) -> Block {
    let mut block = Block::default();
    let is_async = frame != Frame::Plain;
    let wait = if is_async && w.awaited { "await " } else { "" };
    let waits = if is_async { "await " } else { "" };
    let result = format!("r{n}");
    let part = w.read.as_deref().map(|part| read(&result, part, w.taste));
    let used = part.unwrap_or_else(|| result.clone());
    let kept = format!("{result} = {wait}");
    match w.style {
        Style::Const => {
            block.push_call(&kept, call(w, n), "");
            block.push_read(format!("print({used})"));
        }
        Style::Loop => {
            block.push(format!("for item{n} in [\"a\", \"b\", \"c\"]:"));
            block.push_call(&format!("    {kept}"), indented(call(w, n)), "");
            block.push_read(format!("    seen.append((item{n}, {used}))"));
        }
        Style::Parallel if is_async => {
            block.push(format!("{result}, b{n} = await asyncio.gather("));
            block.push_call("    ", indented(call(w, n)), ",");
            block.push(format!("    {},", call(&plain(beside), n).join(" ")));
            block.push(")");
            block.push_read(format!("print({used}, b{n})"));
        }
        Style::Parallel => {
            block.push(format!("all{n} = ["));
            block.push_call("    ", indented(call(w, n)), "");
            block.push(format!("    for item{n} in [\"a\", \"b\"]"));
            block.push("]");
            block.push_read(format!("print([{used} for {result} in all{n}])"));
        }
        Style::Destructured => {
            let (open, close) = match &w.read {
                Some(part) => (format!("p{n} = ({wait}"), read(")", part, w.taste)),
                None => (format!("p{n} = {wait}"), String::new()),
            };
            block.push_call(&open, call(w, n), &close);
            block.read = block.lines.len() - 1;
            block.push(format!("print(p{n})"));
        }
        Style::ByName => {
            block.push_call(&kept, call(w, n), "");
            block.push_read(format!("print(len(json.dumps({result})))"));
        }
        Style::Alias => {
            if names_tool(w, n) {
                block.push(format!(
                    "t{n} = {}",
                    member(&member("tools", &w.server), &w.tool)
                ));
            } else {
                block.push(format!("s{n} = {}", member("tools", &w.server)));
            }
            block.push_call(&kept, call(w, n), "");
            block.push_read(format!("print({used})"));
        }
        Style::Piped => {
            let earlier = call(&plain(beside), n).join(" ");
            block.push(format!("e{n} = {waits}{earlier}"));
            block.push_call(&kept, call(w, n), "");
            block.push_read(format!("print({used})"));
        }
        Style::Function => {
            let define = if is_async { "async def" } else { "def" };
            block.push(format!("{define} load{n}(name):"));
            block.push_call(&format!("    {kept}"), indented(call(w, n)), "");
            block.push_read(format!("    return [name, {used}]"));
            block.push("");
            block.push(format!("print({waits}load{n}(\"x\"))"));
        }
    }
    if w.endless {
        let before = match w.taste % 3 {
            0 => "while True:",
            1 => "while 1:",
            _ => "for turn in itertools.count():",
        };
        return block.inside(before, None, "    ");
    }
    block
}

/// The call in its plainest form.
fn plain(w: &Written) -> Written {
    Written {
        style: Style::Const,
        ..w.clone()
    }
}

fn names_tool(w: &Written, n: usize) -> bool {
    (w.taste + n).is_multiple_of(3)
}

fn member(object: &str, name: &str) -> String {
    if names::is_python_identifier(name) {
        format!("{object}.{name}")
    } else {
        format!("{object}[{}]", quoted(name))
    }
}

fn read(object: &str, part: &str, taste: usize) -> String {
    if taste.is_multiple_of(2) && !OF_DICTS.contains(&part) {
        member(object, part)
    } else {
        format!("{object}[{}]", quoted(part))
    }
}

fn quoted(text: &str) -> String {
    names::quoted_in(text, Language::Python)
}

fn indented(lines: Vec<String>) -> Vec<String> {
    let mut lines = lines;
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "    ");
    }
    lines
}

fn call(w: &Written, n: usize) -> Vec<String> {
    let (head, between) = match w.style {
        Style::ByName => (format!("{}({}", by_name(w), quoted(&w.full_name())), ", "),
        Style::Alias if names_tool(w, n) => (format!("t{n}("), ""),
        Style::Alias => (format!("{}(", member(&format!("s{n}"), &w.tool)), ""),
        _ => {
            let server = member("tools", &w.server);
            (format!("{}(", member(&server, &w.tool)), "")
        }
    };
    let value = |given: &Given| match given {
        Given::Constant(value) => literal(value),
        Given::Earlier(Value::Number(_)) => format!("len(e{n})"),
        Given::Earlier(_) => format!("str(e{n})"),
    };
    if w.positional {
        let values: Vec<String> = w.arguments.iter().map(|(_, given)| value(given)).collect();
        return vec![format!("{head}{between}{})", values.join(", "))];
    }
    if w.arguments.is_empty() {
        return vec![format!("{head})")];
    }
    let is_name = |name: &str| names::is_python_identifier(name);
    let has_names = w.arguments.iter().all(|(name, _)| is_name(name));
    let (open, named, close) = if has_names && w.style != Style::ByName && w.taste % 4 != 3 {
        let named = w.arguments.iter();
        let named = named.map(|(name, given)| format!("{name}={}", value(given)));
        ("", named.collect::<Vec<_>>(), ")")
    } else {
        let named = w.arguments.iter();
        let named = named.map(|(name, given)| format!("{}: {}", quoted(name), value(given)));
        ("{", named.collect(), "})")
    };
    let line = format!("{head}{between}{open}{}{close}", named.join(", "));
    if line.chars().count() <= LINE_MAX {
        return vec![line];
    }
    let mut lines = vec![format!("{head}{between}{open}")];
    lines.extend(named.iter().map(|named| format!("    {named},")));
    lines.push(close.to_owned());
    lines
}

/// Function that takes the full name of a tool. The one of the earlier system awaits by itself.
pub(super) fn by_name(w: &Written) -> &'static str {
    if w.taste.is_multiple_of(2) {
        "call_tool"
    } else {
        "call_mcp_tool"
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let members = map.iter();
            let members: Vec<String> = members
                .map(|(key, value)| format!("{}: {}", quoted(key), literal(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}
