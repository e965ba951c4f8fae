//! Types of one server as Python classes.
//!
//! Arguments are `TypedDict`s, and results are records whose keys are attributes. Each object becomes a class, and equal
//! objects share one. Other types are written inline.

use std::collections::HashMap;

use limbeck_domain::Language;

use crate::identifiers::{TAKEN, UniqueNames, type_name};
use crate::names;
use crate::signature::{Field, Object, Tree, Type, one_of_intersection, python};

/// Methods of dictionaries. A key with such a name cannot be an attribute.
const METHODS: [&str; 11] = [
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];

/// Direction of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the program to a tool.
    In,
    /// From a tool to the program.
    Out,
}

/// Classes of one module.
#[derive(Debug)]
pub(super) struct Classes {
    pub(super) names: UniqueNames,
    pub(super) text: String,
    /// Names of classes by their definitions.
    known: HashMap<String, String>,
    /// Names of the definitions of the schema that is being written.
    defined: Vec<String>,
    /// Name of the next object's class, when it is the class of a definition.
    wanted: Option<String>,
}

impl Classes {
    pub(super) fn new() -> Self {
        Self {
            names: UniqueNames::without(&TAKEN),
            text: String::new(),
            known: HashMap::new(),
            defined: Vec::new(),
            wanted: None,
        }
    }

    /// Writes the definitions of `tree`, named after `path`. Until the next call, only types of this tree may be written.
    pub(super) fn enter(&mut self, tree: &Tree, path: &str, way: Way) {
        let definitions = tree.definitions.iter();
        self.defined = definitions
            .map(|one| self.names.take(&type_name(&format!("{path}-{}", one.name))))
            .collect();
        for (definition, name) in tree.definitions.iter().zip(self.defined.clone()) {
            self.wanted = Some(name.clone());
            let path = format!("{path}-{}", definition.name);
            let kind = self.annotation(&definition.kind, &path, way);
            self.wanted = None;
            if kind != name {
                self.text
                    .push_str(&format!("{name}: TypeAlias = {kind}\n\n"));
            }
        }
    }

    /// Annotation for `kind`. Classes it needs are written and named after `path`.
    pub(super) fn annotation(&mut self, kind: &Type, path: &str, way: Way) -> String {
        // The name belongs to the definition itself and not to its parts.
        let wanted = self.wanted.take();
        match kind {
            Type::Unknown(None) => "Any".into(),
            Type::Unknown(Some(why)) => python::annotated("Any", why),
            Type::Never => "Never".into(),
            Type::Plain(plain) => python::word(*plain).into(),
            Type::Literal(value) => match python::literal(value) {
                Some(literal) => format!("Literal[{literal}]"),
                None => python::unliteral(value).into(),
            },
            Type::Commented(inner, comment) => {
                python::annotated(&self.annotation(inner, path, way), comment)
            }
            Type::Array(item) => format!("list[{}]", self.annotation(item, path, way)),
            Type::Tuple(first, rest) => {
                let item = python::items(first, rest.as_deref());
                format!("list[{}]", self.annotation(&item, path, way))
            }
            Type::Object(object) => self.object(object, path, way, wanted),
            Type::Union(any) => python::union(any, |kind| self.annotation(kind, path, way)),
            Type::Intersection(all) => self.annotation(&one_of_intersection(all), path, way),
            Type::Named(at) => self.defined.get(*at).map_or("Any", |name| name).to_owned(),
        }
    }

    fn object(&mut self, object: &Object, path: &str, way: Way, wanted: Option<String>) -> String {
        match (object.rest.as_deref(), way) {
            (Some(rest), _) if object.fields.is_empty() => {
                format!("dict[str, {}]", self.annotation(rest, path, way))
            }
            (_, Way::Out) => self.record(object, path, "Record", wanted),
            // A `TypedDict` cannot have other keys.
            (_, Way::In) if object.hidden > 0 || object.rest.is_some() => "dict[str, Any]".into(),
            (None | Some(_), Way::In) if object.fields.is_empty() => "dict[str, Never]".into(),
            (None | Some(_), Way::In) => self.dictionary(object, path, wanted),
        }
    }

    /// `TypedDict` of an object with fields and no other keys. A new class gets the name `wanted`.
    pub(super) fn dictionary(
        &mut self,
        object: &Object,
        path: &str,
        wanted: Option<String>,
    ) -> String {
        let members: Vec<(&Field, String)> = object
            .fields
            .iter()
            .map(|field| {
                let kind = self.annotation(&field.kind, &below(path, field), Way::In);
                let kind = if field.optional {
                    format!("NotRequired[{kind}]")
                } else {
                    kind
                };
                (field, kind)
            })
            .collect();
        let fits = |field: &Field| self.is_attribute(&field.name);
        if object.fields.iter().all(fits) {
            return self.class("TypedDict", &body(&members), path, wanted);
        }
        let keys: String = members
            .iter()
            .map(|(field, kind)| {
                let key = names::quoted_in(&field.name, Language::Python);
                format!("{}    {key}: {kind},\n", comment(field))
            })
            .collect();
        self.define(&keys, path, wanted, |name| {
            format!("{name} = TypedDict(\"{name}\", {{\n{keys}}})\n\n")
        })
    }

    /// Class of a result, or of an object in a result; `base` itself when no key can be an attribute.
    pub(super) fn record(
        &mut self,
        object: &Object,
        path: &str,
        base: &str,
        wanted: Option<String>,
    ) -> String {
        let mut members = Vec::new();
        for field in &object.fields {
            if self.is_attribute(&field.name) && !METHODS.contains(&field.name.as_str()) {
                let kind = self.annotation(&field.kind, &below(path, field), Way::Out);
                members.push((field, kind));
            }
        }
        if members.is_empty() {
            return base.to_owned();
        }
        self.class(base, &body(&members), path, wanted)
    }

    /// Whether a class may have an attribute `name` without hiding a name in its annotations.
    fn is_attribute(&self, name: &str) -> bool {
        names::is_python_identifier(name) && !name.starts_with("__") && !self.names.has(name)
    }

    fn class(&mut self, base: &str, body: &str, path: &str, wanted: Option<String>) -> String {
        let what = format!("{base}\n{body}");
        self.define(&what, path, wanted, |name| {
            format!("class {name}({base}):\n{body}\n")
        })
    }

    /// Name of the class with the definition `what`, which is written when it is new.
    fn define(
        &mut self,
        what: &str,
        path: &str,
        wanted: Option<String>,
        write: impl Fn(&str) -> String,
    ) -> String {
        if let Some(name) = self.known.get(what) {
            return name.clone();
        }
        let name = wanted.unwrap_or_else(|| self.names.take(&type_name(path)));
        self.text.push_str(&write(&name));
        self.known.insert(what.to_owned(), name.clone());
        name
    }
}

fn below(path: &str, field: &Field) -> String {
    format!("{path}-{}", field.name)
}

fn body(members: &[(&Field, String)]) -> String {
    members
        .iter()
        .map(|(field, kind)| format!("{}    {}: {kind}\n", comment(field), field.name))
        .collect()
}

fn comment(field: &Field) -> String {
    if field.doc.is_empty() {
        String::new()
    } else {
        format!("    # {}\n", python::comment(&field.doc))
    }
}
