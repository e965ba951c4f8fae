//! Printer of type trees as Python.
//!
//! Python has no inline type for objects, so an object type is printed as a dictionary of types:
//! `{"path": str, "mode?": str}`, where a question mark marks a key that may be absent, and `...: float` is the type of
//! other keys. The text parses as Python for every schema.

use serde_json::Value;

use super::bounds::Style;
use super::types::{Field, Object, Plain, Type, one_of_intersection};
use crate::names;
use limbeck_domain::Language;

/// Spaces of one level.
const INDENT: &str = "    ";
/// Name of the parameter for unnamed arguments.
const OTHERS: &str = "others";
/// Names used in types, which no definition may have.
pub(super) const TAKEN: [&str; 6] = ["Annotated", "Any", "False", "Literal", "Never", "None"];
/// Start of a comment that is a directive to a type checker.
const DIRECTIVES: [&str; 6] = ["type:", "mypy:", "pyright:", "pyre-", "pytype:", "ty:"];

/// Prints one type. `names` are the names of the tree's definitions.
pub(super) fn text(kind: &Type, style: Style, names: &[String]) -> String {
    let mut writer = Writer::new(style, names);
    writer.write(kind);
    writer.text
}

/// Parameter list of a call: keyword arguments, or one dictionary when a name cannot be a keyword.
pub(super) fn parameters(arguments: &Type, style: Style, names: &[String]) -> String {
    let mut writer = Writer::new(style, names);
    let one;
    let arguments = match arguments {
        Type::Intersection(all) => {
            one = one_of_intersection(all);
            &one
        }
        arguments => arguments,
    };
    match arguments {
        Type::Object(object) if object.is_empty() => {}
        Type::Object(object) if takes_keywords(object) => writer.write_parameters(object),
        arguments => {
            writer.push("args: ");
            writer.write(arguments);
            if arguments.accepts_empty_object() {
                writer.push(" = ...");
            }
            writer.push(", /");
        }
    }
    writer.text
}

/// Whether every property can be given as a keyword argument.
pub(crate) fn takes_keywords(object: &Object) -> bool {
    let fits = |field: &Field| names::is_python_identifier(&field.name) && field.name != OTHERS;
    object.fields.iter().all(fits)
}

/// Name of a primitive type.
pub(crate) fn word(plain: Plain) -> &'static str {
    match plain {
        Plain::String => "str",
        Plain::Number => "float",
        Plain::Integer => "int",
        Plain::Boolean => "bool",
        Plain::Null => "None",
    }
}

/// Text of a Python comment: `doc`, changed when it would be a directive to a type checker.
pub(crate) fn comment(doc: &str) -> String {
    // Undoes the escape of `*/` in `comment_line`, which only TypeScript needs.
    let text = doc.replace("*\\/", "*/");
    if DIRECTIVES
        .iter()
        .any(|directive| text.starts_with(directive))
    {
        format!("- {text}")
    } else {
        text
    }
}

/// A value as an argument of `Literal`; `None` for fractions and numbers of more than 64 bits, which it does not accept.
pub(crate) fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Bool(true) => Some("True".into()),
        Value::Bool(false) => Some("False".into()),
        Value::String(text) => Some(names::quoted_in(text, Language::Python)),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        _ => None,
    }
}

/// Type of a value that cannot be a [`literal`].
pub(crate) fn unliteral(value: &Value) -> &'static str {
    if value.is_u64() { "int" } else { "float" }
}

/// `kind` as `Annotated` with a note.
pub(crate) fn annotated(kind: &str, note: &str) -> String {
    // Undoes the escape of `*/` in `comment_line`, which only TypeScript needs.
    let note = note.replace("*\\/", "*/");
    let quoted = if note.contains('"') && !note.contains(['\'', '\\']) {
        let plain = names::quoted_in(&note, Language::Python).replace("\\\"", "\"");
        format!("'{}'", &plain[1..plain.len() - 1])
    } else {
        names::quoted_in(&note, Language::Python)
    };
    format!("Annotated[{kind}, {quoted}]")
}

/// Prints the alternatives of a union: literals merged at the position of the first, `None` last.
pub(crate) fn union(any: &[Type], mut write: impl FnMut(&Type) -> String) -> String {
    let literals: Vec<String> = any
        .iter()
        .filter_map(|kind| match kind {
            Type::Literal(value) => literal(value),
            _ => None,
        })
        .collect();
    let mut parts: Vec<String> = Vec::new();
    for kind in any {
        let part = match kind {
            Type::Plain(Plain::Null) => continue,
            Type::Literal(value) if literal(value).is_some() => {
                format!("Literal[{}]", literals.join(", "))
            }
            kind => write(kind),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if any.contains(&Type::Plain(Plain::Null)) {
        parts.push("None".into());
    }
    parts.join(" | ")
}

/// Type of a tuple's items. A JSON array becomes a list, whose items share one type.
pub(crate) fn items(items: &[(Type, bool)], rest: Option<&Type>) -> Type {
    let mut any: Vec<Type> = Vec::new();
    for kind in items.iter().map(|(kind, _)| kind).chain(rest) {
        if matches!(kind, Type::Unknown(_)) {
            return Type::Unknown(None);
        }
        if !any.contains(kind) {
            any.push(kind.clone());
        }
    }
    match any.len() {
        0 => Type::Unknown(None),
        1 => any.swap_remove(0),
        _ => Type::Union(any),
    }
}

struct Writer<'n> {
    text: String,
    style: Style,
    level: usize,
    names: &'n [String],
}

impl<'n> Writer<'n> {
    fn new(style: Style, names: &'n [String]) -> Self {
        Self {
            text: String::new(),
            style,
            level: 0,
            names,
        }
    }

    fn write(&mut self, kind: &Type) {
        match kind {
            Type::Unknown(None) => self.push("Any"),
            Type::Unknown(Some(why)) => self.push(&annotated("Any", why)),
            Type::Never => self.push("Never"),
            Type::Plain(plain) => self.push(word(*plain)),
            Type::Literal(value) => match literal(value) {
                Some(literal) => self.push(&format!("Literal[{literal}]")),
                None => self.push(unliteral(value)),
            },
            Type::Commented(inner, comment) => {
                let inner = self.inner(inner);
                self.push(&annotated(&inner, comment));
            }
            Type::Array(item) => self.write_list(item),
            Type::Tuple(first, rest) => self.write_list(&items(first, rest.as_deref())),
            Type::Object(object) => self.write_object(object),
            Type::Union(any) => {
                let union = union(any, |kind| self.inner(kind));
                self.push(&union);
            }
            Type::Intersection(all) => self.write(&one_of_intersection(all)),
            Type::Named(at) => match self.names.get(*at) {
                Some(name) => self.push(name),
                None => self.push("Any"),
            },
        }
    }

    /// Prints a type at its level of indentation.
    fn inner(&mut self, kind: &Type) -> String {
        let before = self.text.len();
        self.write(kind);
        self.text.split_off(before)
    }

    fn write_list(&mut self, item: &Type) {
        self.push("list");
        if *item != Type::Unknown(None) {
            self.push("[");
            self.write(item);
            self.push("]");
        }
    }

    fn write_object(&mut self, object: &Object) {
        let names_none = object.fields.is_empty() && object.hidden == 0;
        match object.rest.as_deref() {
            Some(Type::Unknown(None)) if names_none => self.push("dict"),
            Some(rest) if names_none => {
                self.push("dict[str, ");
                self.write(rest);
                self.push("]");
            }
            None if names_none => self.push("{}"),
            Some(_) | None => {
                self.push("{");
                self.write_members(object, Self::write_key, "...: ");
                self.close("}");
            }
        }
    }

    fn write_parameters(&mut self, object: &Object) {
        if !object.fields.is_empty() {
            self.push("*,");
            if self.style == Style::Line {
                self.push(" ");
            }
        }
        self.write_members(object, Self::write_parameter, &format!("**{OTHERS}: "));
        self.close("");
    }

    fn write_members(&mut self, object: &Object, write: impl Fn(&mut Self, &Field), others: &str) {
        self.level += 1;
        let before = self.text.len();
        for field in &object.fields {
            self.next_member(before);
            if self.style == Style::Block && !field.doc.is_empty() {
                self.push(&format!("# {}", comment(&field.doc)));
                self.new_line();
            }
            write(self, field);
        }
        if object.hidden > 0 {
            self.next_member(before);
            self.push(&format!("{others}\"{} more\"", object.hidden));
        } else if let Some(rest) = object.rest.as_deref() {
            self.next_member(before);
            self.push(others);
            self.write(rest);
        }
        self.level -= 1;
    }

    fn write_key(&mut self, field: &Field) {
        let key = names::quoted_in(&field.name, Language::Python);
        let body = &key[..key.len() - 1];
        let end = match (field.optional, body.strip_suffix('?')) {
            (true, _) => format!("{body}?\": "),
            // A required key that ends in a question mark would look optional, so it is escaped.
            (false, Some(body)) => format!("{body}\\x3f\": "),
            (false, None) => format!("{body}\": "),
        };
        self.push(&end);
        self.write(&field.kind);
    }

    fn write_parameter(&mut self, field: &Field) {
        self.push(&field.name);
        self.push(": ");
        self.write(&field.kind);
        if field.optional {
            self.push(" = ...");
        }
    }

    /// Starts a member, with a separator when it is not the first.
    fn next_member(&mut self, first: usize) {
        match self.style {
            Style::Line if self.text.len() == first => {}
            Style::Line => self.push(", "),
            Style::Block => {
                if self.text.len() > first {
                    self.push(",");
                }
                self.new_line();
            }
        }
    }

    fn close(&mut self, bracket: &str) {
        if self.style == Style::Block {
            self.push(",");
            self.new_line();
        }
        self.push(bracket);
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
