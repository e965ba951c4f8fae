//! Blocks and programs in TypeScript.

use limbeck_catalog::names;
use serde_json::Value;

use super::written::{Block, Frame, Given, Style, Written};

/// Longest call that is written on one line, in characters.
const LINE_MAX: usize = 100;

/// Text before the blocks, their indentation, and text after them.
pub(super) fn around(frame: Frame, taste: usize) -> (Vec<String>, &'static str, Vec<String>) {
    let mut head = vec![
        "interface Row { id: string; name?: string }".to_owned(),
        "const seen: string[] = [];".to_owned(),
        "const label = (row: Row): string => row.name ?? row.id;".to_owned(),
    ];
    if taste.is_multiple_of(3) {
        head.push("const counts: Record<string, number> = {};".to_owned());
        head.push(
            "for (const word of [\"a\", \"b\"]) counts[word] = (counts[word] ?? 0) + 1;".to_owned(),
        );
    }
    head.push(String::new());
    let (begin, indent, end) = match frame {
        Frame::Plain | Frame::Awaiting => (
            None,
            "",
            vec!["return { seen, last: label({ id: \"1\" }) };"],
        ),
        Frame::Main => (
            Some("async function main(): Promise<string[]> {"),
            "  ",
            vec!["  return seen;", "}", "return await main();"],
        ),
        Frame::Handed => (
            Some("export default async () => {"),
            "  ",
            vec!["  return { seen, last: label({ id: \"1\" }) };", "};"],
        ),
    };
    head.extend(begin.map(str::to_owned));
    (head, indent, end.into_iter().map(str::to_owned).collect())
}

/// Lines of one call. `n` makes its variable names unique.
pub(super) fn block(w: &Written, beside: &Written, n: usize) -> Block {
    let mut block = Block::default();
    let wait = if w.awaited { "await " } else { "" };
    let result = format!("r{n}");
    let part = w.read.as_deref().map(|part| member(&result, part));
    let used = part.unwrap_or_else(|| result.clone());
    let kept = format!("const {result} = {wait}");
    match w.style {
        Style::Const if w.taste.is_multiple_of(2) => {
            block.push_call(&format!("const {result}: any = {wait}"), call(w, n), ";");
            block.push_read(format!("console.log({used});"));
        }
        Style::Const => {
            block.push_call(&kept, call(w, n), ";");
            block.push_read(format!("if (seen.length < 9) seen.push(String({used}));"));
        }
        Style::Loop => {
            block.push("for (const item of [\"a\", \"b\", \"c\"]) {");
            block.push_call(&format!("  {kept}"), indented(call(w, n)), ";");
            block.push_read(format!("  seen.push(item, `${{{used}}}`);"));
            block.push("}");
        }
        Style::Parallel => {
            block.push(format!("const [{result}, b{n}] = await Promise.all(["));
            block.push_call("  ", indented(call(w, n)), ",");
            block
                .lines
                .push(format!("  {},", call(&plain(beside), n).join(" ")));
            block.push("]);");
            block.push_read(format!("console.log({used}, b{n});"));
        }
        Style::Destructured => {
            let pattern = match &w.read {
                Some(part) => format!("const {{ {}: p{n} }} = {wait}", names::property_key(part)),
                None => kept.clone(),
            };
            block.push_call(&pattern, call(w, n), ";");
            block.read = block.call;
            let name = if w.read.is_some() {
                format!("p{n}")
            } else {
                result
            };
            block.push(format!("console.log({name});"));
        }
        Style::ByName => {
            block.push_call(&kept, call(w, n), ";");
            block.push_read(format!("console.log(JSON.stringify({result}).length);"));
        }
        Style::Alias => {
            match alias(w, n) {
                Alias::Server => {
                    block.push(format!("const s{n} = {};", member("tools", &w.server)))
                }
                Alias::Tool => {
                    let tool = names::property_key(&w.tool);
                    block.push(format!(
                        "const {{ {tool}: t{n} }} = {};",
                        member("tools", &w.server)
                    ));
                }
            }
            block.push_call(&kept, call(w, n), ";");
            block.push_read(format!("console.log({used});"));
        }
        Style::Piped => {
            let earlier = call(&plain(beside), n).join(" ");
            block.push(format!("const e{n} = await {earlier};"));
            block.push_call(&kept, call(w, n), ";");
            block.push_read(format!("console.log({used});"));
        }
        Style::Function => {
            block.push(format!("const load{n} = async (name: string) => {{"));
            block.push_call(&format!("  {kept}"), indented(call(w, n)), ";");
            block.push_read(format!("  return [name, {used}];"));
            block.push("};");
            block.push(format!("console.log(await load{n}(\"x\"));"));
        }
    }
    if w.endless {
        let (before, after) = match w.taste % 3 {
            0 => ("while (true) {", "}"),
            1 => ("for (;;) {", "}"),
            _ => ("do {", "} while (true);"),
        };
        return block.inside(before, Some(after), "  ");
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

enum Alias {
    Server,
    Tool,
}

fn alias(w: &Written, n: usize) -> Alias {
    if (w.taste + n).is_multiple_of(3) {
        Alias::Tool
    } else {
        Alias::Server
    }
}

fn member(object: &str, name: &str) -> String {
    if names::is_identifier(name) {
        format!("{object}.{name}")
    } else {
        format!("{object}[{}]", names::quoted(name))
    }
}

fn indented(lines: Vec<String>) -> Vec<String> {
    let mut lines = lines;
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "  ");
    }
    lines
}

fn call(w: &Written, n: usize) -> Vec<String> {
    let (head, sent_after) = match w.style {
        Style::ByName => (
            format!("callMCPTool({}", names::quoted(&w.full_name())),
            ", ",
        ),
        Style::Alias => {
            let called = match alias(w, n) {
                Alias::Server => member(&format!("s{n}"), &w.tool),
                Alias::Tool => format!("t{n}"),
            };
            (format!("{called}("), "")
        }
        _ => {
            let server = member("tools", &w.server);
            (format!("{}(", member(&server, &w.tool)), "")
        }
    };
    let value = |given: &Given| match given {
        Given::Constant(value) => literal(value),
        Given::Earlier(Value::Number(_)) => format!("Number(e{n})"),
        Given::Earlier(_) => format!("String(e{n})"),
    };
    if w.positional {
        let values: Vec<String> = w.arguments.iter().map(|(_, given)| value(given)).collect();
        return vec![format!("{head}{sent_after}{})", values.join(", "))];
    }
    let named: Vec<String> = w
        .arguments
        .iter()
        .map(|(name, given)| format!("{}: {}", names::property_key(name), value(given)))
        .collect();
    if named.is_empty() {
        let empty = if w.taste.is_multiple_of(2) { "{}" } else { "" };
        let between = if empty.is_empty() { "" } else { sent_after };
        return vec![format!("{head}{between}{empty})")];
    }
    let line = format!("{head}{sent_after}{{ {} }})", named.join(", "));
    if line.chars().count() <= LINE_MAX {
        return vec![line];
    }
    let mut lines = vec![format!("{head}{sent_after}{{")];
    lines.extend(named.iter().map(|named| format!("  {named},")));
    lines.push("})".to_owned());
    lines
}

fn literal(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members = map.iter();
            let members: Vec<String> = members
                .map(|(key, value)| format!("{}: {}", names::property_key(key), literal(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => names::quoted(text),
        other => other.to_string(),
    }
}
