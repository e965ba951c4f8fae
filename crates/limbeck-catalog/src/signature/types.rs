//! Type tree: the types of a schema, independent of a program's language.

use serde_json::Value;

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Any value, with a comment when a type was left out.
    Unknown(Option<String>),
    /// No value.
    Never,
    /// A primitive type.
    Plain(Plain),
    /// One value: a boolean, a number or a string.
    Literal(Value),
    /// A type with a comment on the form of its values.
    Commented(Box<Type>, String),
    Array(Box<Type>),
    /// Items by position, each required or not, and the type of further items.
    Tuple(Vec<(Type, bool)>, Option<Box<Type>>),
    Object(Object),
    Union(Vec<Type>),
    Intersection(Vec<Type>),
    /// A definition of the same [`Tree`], by its position.
    Named(usize),
}

/// A primitive type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    String,
    Number,
    /// A number without a fraction.
    Integer,
    Boolean,
    Null,
}

/// An object type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) fields: Vec<Field>,
    /// Type of unnamed properties; `None` when there are none.
    pub(crate) rest: Option<Box<Type>>,
    /// Number of properties left out.
    pub(crate) hidden: usize,
    /// Whether one of the properties left out is required.
    pub(super) hidden_required: bool,
}

/// One property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) kind: Type,
    /// Comment on one line; may be empty.
    pub(crate) doc: String,
}

/// A type with the named types it refers to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) kind: Type,
    pub(crate) definitions: Vec<Definition>,
}

/// A named type, which may contain itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// Name in the schema, an arbitrary string.
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// Comment on one line; may be empty.
    pub(crate) doc: String,
}

impl Object {
    /// Whether the object has no properties.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.rest.is_none() && self.hidden == 0
    }

    /// Whether the type accepts any object.
    fn says_nothing(&self) -> bool {
        self.fields.is_empty() && self.rest.as_deref() == Some(&Type::Unknown(None))
    }

    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Merges `next` into this object: values must have both types.
    fn join(&mut self, next: Self) {
        self.rest = rest_of_both(self, &next);
        for field in next.fields {
            match self.fields.iter_mut().find(|one| one.name == field.name) {
                Some(one) => {
                    one.optional &= field.optional;
                    let kind = std::mem::replace(&mut one.kind, Type::Never);
                    one.kind = Type::intersection(vec![kind, field.kind]);
                }
                None => self.fields.push(field),
            }
        }
        self.hidden += next.hidden;
        self.hidden_required |= next.hidden_required;
    }
}

/// Type of the properties that neither of two objects names.
fn rest_of_both(one: &Object, other: &Object) -> Option<Box<Type>> {
    if one.says_nothing() {
        return other.rest.clone();
    }
    if other.says_nothing() || one.rest == other.rest {
        return one.rest.clone();
    }
    Some(Box::new(Type::Unknown(None)))
}

impl From<Type> for Tree {
    fn from(kind: Type) -> Self {
        Self {
            kind,
            definitions: Vec::new(),
        }
    }
}

impl Type {
    pub(super) fn cut(why: &str) -> Self {
        Self::Unknown(Some(why.to_owned()))
    }

    pub(super) fn any_object() -> Self {
        Self::Object(Object {
            rest: Some(Box::new(Self::Unknown(None))),
            ..Object::default()
        })
    }

    /// Replaces an unknown type by any object, since arguments are always an object.
    pub(super) fn as_arguments(&mut self) {
        if matches!(self, Self::Unknown(None)) {
            *self = Self::any_object();
        }
    }

    /// Whether the type accepts `{}`, as far as the tree shows.
    pub(crate) fn accepts_empty_object(&self) -> bool {
        match self {
            Self::Object(object) => {
                !object.hidden_required && object.fields.iter().all(|field| field.optional)
            }
            Self::Unknown(_) => true,
            Self::Commented(inner, _) => inner.accepts_empty_object(),
            Self::Union(any) => any.iter().any(Self::accepts_empty_object),
            Self::Intersection(all) => all.iter().all(Self::accepts_empty_object),
            Self::Never
            | Self::Plain(_)
            | Self::Literal(_)
            | Self::Array(_)
            | Self::Tuple(..)
            | Self::Named(_) => false,
        }
    }

    /// Whether the type may have named properties.
    fn has_parts(&self) -> bool {
        match self {
            Self::Object(object) => !object.says_nothing(),
            Self::Union(any) => any.iter().any(Self::has_parts),
            Self::Named(_) => true,
            _ => false,
        }
    }

    /// Alternatives of a union; empty for other types.
    fn alternatives(&self) -> &[Self] {
        match self {
            Self::Union(any) => any,
            _ => &[],
        }
    }

    /// Union of types, flat and without duplicates. Cut when it has more than `most` alternatives; unknown when one of
    /// them is.
    pub(super) fn union(any: Vec<Self>, most: usize) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for kind in any {
            match kind {
                Self::Never => {}
                Self::Union(inner) => inner.into_iter().for_each(|kind| push_new(&mut flat, kind)),
                kind => push_new(&mut flat, kind),
            }
        }
        if let Some(unknown) = flat.iter().position(|kind| *kind == Self::Unknown(None)) {
            return flat.swap_remove(unknown);
        }
        if flat.contains(&Self::Plain(Plain::Number)) {
            flat.retain(|kind| *kind != Self::Plain(Plain::Integer));
        }
        if flat.len() > most {
            return Self::cut(&format!("one of more than {most} types"));
        }
        match flat.len() {
            0 => Self::Never,
            1 => flat.swap_remove(0),
            _ => Self::Union(flat),
        }
    }

    /// Intersection of types, without parts that accept everything. Objects with different properties are merged.
    pub(super) fn intersection(all: Vec<Self>) -> Self {
        let mut parts: Vec<Self> = Vec::new();
        for kind in all {
            match kind {
                Self::Unknown(None) => {}
                Self::Object(next) => match parts.last_mut() {
                    Some(Self::Object(object)) if can_merge(object, &next) => object.join(next),
                    _ => push_new(&mut parts, Self::Object(next)),
                },
                kind => push_new(&mut parts, kind),
            }
        }
        if parts.contains(&Self::Plain(Plain::Integer)) {
            parts.retain(|kind| *kind != Self::Plain(Plain::Number));
        }
        // Beside types with their own properties, `any object` adds nothing, and would let TypeScript accept any other
        // property.
        if parts.len() > 1 && parts.iter().any(Self::has_parts) {
            parts.retain(|kind| !matches!(kind, Self::Object(object) if object.says_nothing()));
        }
        match parts.len() {
            0 => Self::Unknown(None),
            1 => parts.swap_remove(0),
            _ => Self::Intersection(parts),
        }
    }
}

/// One type for all values of an intersection, for a language without intersection types. Objects are merged, with
/// properties of single alternatives as optional. Without an object it is the most precise part.
pub(crate) fn one_of_intersection(all: &[Type]) -> Type {
    let mut object: Option<Object> = None;
    for part in all {
        if let Type::Object(next) = part {
            match &mut object {
                Some(object) => object.join(next.clone()),
                None => object = Some(next.clone()),
            }
        }
    }
    let Some(mut object) = object else {
        return narrowest(all).clone();
    };
    let mut others: Vec<Field> = Vec::new();
    for alternative in all.iter().flat_map(Type::alternatives) {
        let alternative = match alternative {
            Type::Intersection(all) => one_of_intersection(all),
            other => other.clone(),
        };
        match alternative {
            Type::Object(next) if next.says_nothing() => {}
            Type::Object(next) => {
                object.hidden += next.hidden;
                if next.rest.is_some() {
                    object.rest = Some(Box::new(Type::Unknown(None)));
                }
                let new = |field: &Field| object.field(&field.name).is_none();
                for field in next.fields.into_iter().filter(new) {
                    allow(&mut others, field);
                }
            }
            // An object never has one of these types.
            Type::Plain(_) | Type::Literal(_) | Type::Never | Type::Array(_) | Type::Tuple(..) => {}
            Type::Unknown(_)
            | Type::Commented(..)
            | Type::Union(_)
            | Type::Intersection(_)
            | Type::Named(_) => object.rest = Some(Box::new(Type::Unknown(None))),
        }
    }
    object.fields.extend(others);
    Type::Object(object)
}

/// Adds a property that only some alternatives have, as optional.
fn allow(others: &mut Vec<Field>, field: Field) {
    match others.iter_mut().find(|one| one.name == field.name) {
        Some(one) => {
            let kind = std::mem::replace(&mut one.kind, Type::Never);
            one.kind = Type::union(vec![kind, field.kind], usize::MAX);
        }
        None => others.push(Field {
            optional: true,
            ..field
        }),
    }
}

fn narrowest(all: &[Type]) -> &Type {
    let weight = |kind: &&Type| match kind {
        Type::Literal(_) | Type::Never => 0,
        Type::Named(_) => 1,
        Type::Union(_) | Type::Tuple(..) | Type::Array(_) => 2,
        Type::Object(_) | Type::Intersection(_) => 3,
        Type::Plain(_) | Type::Commented(..) => 4,
        Type::Unknown(_) => 5,
    };
    all.iter()
        .min_by_key(weight)
        .unwrap_or(&Type::Unknown(None))
}

fn push_new(kinds: &mut Vec<Type>, kind: Type) {
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
}

/// Whether two objects can be merged: no property has two types.
fn can_merge(one: &Object, other: &Object) -> bool {
    let is_open =
        |object: &Object| matches!(object.rest.as_deref(), None | Some(Type::Unknown(None)));
    let agrees = |field: &Field| match other.field(&field.name) {
        Some(next) => {
            let unknown = Type::Unknown(None);
            next.kind == field.kind || next.kind == unknown || field.kind == unknown
        }
        None => true,
    };
    is_open(one) && is_open(other) && one.fields.iter().all(agrees)
}
