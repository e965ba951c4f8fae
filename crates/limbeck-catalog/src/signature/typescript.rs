//! Printer of type trees as TypeScript.

use serde_json::Value;

use super::bounds::Style;
use super::types::{Field, Object, Plain, Type};
use crate::names;

/// Spaces of one level.
const INDENT: &str = "  ";
/// Names used in types, which no definition may have.
pub(super) const TAKEN: [&str; 3] = ["Array", "Promise", "Record"];
/// Members that every object inherits. TypeScript checks the inherited member against an optional property of the same
/// name, so such a property has the type `unknown`.
const INHERITED: [&str; 7] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];
/// Most bytes of a type in a comment.
const REMARK_BYTES_MAX: usize = 200;

/// Prints one type. `names` are the names of the tree's definitions.
pub(crate) fn text(kind: &Type, style: Style, names: &[String]) -> String {
    let mut writer = Writer {
        text: String::new(),
        style,
        level: 0,
        names,
    };
    writer.write(kind, Context::Top);
    writer.text
}

/// Context of a type, which decides on parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Top,
    /// Inside an array or an intersection.
    Tight,
}

struct Writer<'n> {
    text: String,
    style: Style,
    level: usize,
    names: &'n [String],
}

impl Writer<'_> {
    fn write(&mut self, kind: &Type, context: Context) {
        match kind {
            Type::Unknown(None) => self.push("unknown"),
            Type::Unknown(Some(why)) => self.write_commented("unknown", why),
            Type::Never => self.push("never"),
            Type::Plain(plain) => self.push(word(*plain)),
            Type::Literal(value) => self.push(&literal(value)),
            Type::Commented(inner, comment) => {
                self.write(inner, Context::Tight);
                self.push(&format!(" /* {comment} */"));
            }
            Type::Array(item) => match &**item {
                Type::Unknown(Some(why)) => self.write_commented("unknown[]", why),
                item => {
                    self.write(item, Context::Tight);
                    self.push("[]");
                }
            },
            Type::Tuple(items, rest) => self.write_tuple(items, rest.as_deref()),
            Type::Object(object) => self.write_object(object),
            Type::Union(any) => self.write_joined(any, " | ", context, Context::Top),
            Type::Intersection(all) => self.write_joined(all, " & ", context, Context::Tight),
            Type::Named(at) => match self.names.get(*at) {
                Some(name) => self.push(name),
                None => self.push("unknown"),
            },
        }
    }

    fn write_commented(&mut self, name: &str, comment: &str) {
        self.push(&format!("{name} /* {comment} */"));
    }

    fn write_joined(&mut self, kinds: &[Type], between: &str, context: Context, inner: Context) {
        if context == Context::Tight {
            self.push("(");
        }
        for (at, kind) in kinds.iter().enumerate() {
            if at > 0 {
                self.push(between);
            }
            self.write(kind, inner);
        }
        if context == Context::Tight {
            self.push(")");
        }
    }

    fn write_tuple(&mut self, items: &[(Type, bool)], rest: Option<&Type>) {
        self.push("[");
        for (at, (item, present)) in items.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.write(item, Context::Tight);
            if !present {
                self.push("?");
            }
        }
        if let Some(rest) = rest {
            self.push(", ...");
            self.write(rest, Context::Tight);
            self.push("[]");
        }
        self.push("]");
    }

    fn write_object(&mut self, object: &Object) {
        match (&object.rest, object.fields.is_empty() && object.hidden == 0) {
            // A type alias may be recursive in an index signature, but not in `Record`.
            (Some(rest), true) if !self.names.is_empty() => {
                self.push("{ [key: string]: ");
                self.write(rest, Context::Top);
                self.push(" }");
            }
            (Some(rest), true) => {
                self.push("Record<string, ");
                self.write(rest, Context::Top);
                self.push(">");
            }
            (None, true) => self.push("Record<string, never>"),
            (rest, false) => self.write_fields(object, rest.as_deref()),
        }
    }

    fn write_fields(&mut self, object: &Object, rest: Option<&Type>) {
        self.push("{");
        self.level += 1;
        for field in &object.fields {
            self.next_member();
            self.write_field(field);
        }
        if object.hidden > 0 {
            self.next_member();
            self.push(&format!(
                "[key: string]: unknown /* {} more */;",
                object.hidden
            ));
        } else if let Some(rest) = rest {
            self.next_member();
            self.push("[key: string]: ");
            self.write_rest(object, rest);
            self.push(";");
        }
        self.level -= 1;
        match self.style {
            Style::Line => {
                self.text.pop();
                self.push(" ");
            }
            Style::Block => self.new_line(),
        }
        self.push("}");
    }

    /// Prints the type of unnamed properties. An index signature of TypeScript applies to the named properties too, so its
    /// type must include theirs.
    fn write_rest(&mut self, object: &Object, rest: &Type) {
        let covers = |field: &Field| field.kind == *rest && !field.optional;
        if object.fields.iter().all(covers) {
            self.write(rest, Context::Top);
        } else {
            self.write_remark("others: ", rest);
        }
    }

    /// Prints `unknown` with `kind` in a comment.
    fn write_remark(&mut self, what: &str, kind: &Type) {
        self.push("unknown");
        if matches!(kind, Type::Unknown(None)) {
            return;
        }
        let before = self.text.len();
        self.write(kind, Context::Top);
        let inner = self.text.split_off(before);
        let inner = inner.replace("/* ", "").replace(" */", "");
        let inner = names::comment_line(&inner, REMARK_BYTES_MAX);
        self.push(&format!(" /* {what}{inner} */"));
    }

    fn write_field(&mut self, field: &Field) {
        if self.style == Style::Block && !field.doc.is_empty() {
            self.push(&format!("/** {} */", field.doc));
            self.new_line();
        }
        self.push(&names::property_key(&field.name));
        self.push(if field.optional { "?: " } else { ": " });
        if field.optional && INHERITED.contains(&field.name.as_str()) {
            self.write_remark("", &field.kind);
        } else {
            self.write(&field.kind, Context::Top);
        }
        self.push(";");
    }

    fn next_member(&mut self) {
        match self.style {
            Style::Line => self.push(" "),
            Style::Block => self.new_line(),
        }
    }

    fn new_line(&mut self) {
        self.push("\n");
        for _ in 0..self.level {
            self.push(INDENT);
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

fn word(plain: Plain) -> &'static str {
    match plain {
        Plain::String => "string",
        Plain::Number | Plain::Integer => "number",
        Plain::Boolean => "boolean",
        Plain::Null => "null",
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => names::quoted(text),
        other => other.to_string(),
    }
}
