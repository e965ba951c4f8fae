//! The type tree: what a schema says, in words that every language has its own for.

use serde_json::Value;

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Anything, with a comment on why when something was left out.
    Unknown(Option<String>),
    /// Nothing.
    Never,
    /// A value without parts.
    Plain(Plain),
    /// This very value: a boolean, a number or a text.
    Literal(Value),
    /// A type and what its values look like.
    Commented(Box<Type>, String),
    Array(Box<Type>),
    /// Items in place, each present or not, and the type of those that follow.
    Tuple(Vec<(Type, bool)>, Option<Box<Type>>),
    Object(Object),
    Union(Vec<Type>),
    Intersection(Vec<Type>),
    /// A definition of the same [`Tree`], by its place.
    Named(usize),
}

/// A type whose values have no parts.
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
    /// Type of the properties that are not named, when the schema says one.
    pub(crate) rest: Option<Box<Type>>,
    /// Properties left out.
    pub(crate) hidden: usize,
    /// Whether one of those is required.
    pub(super) hidden_required: bool,
}

/// One property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) kind: Type,
    /// Comment on one line; empty when there is nothing to say.
    pub(crate) doc: String,
}

/// A type and those that it mentions by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) kind: Type,
    pub(crate) definitions: Vec<Definition>,
}

/// A type that has a name, so that it may contain itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// What the schema calls it; may hold anything.
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// Comment on one line; empty when there is nothing to say.
    pub(crate) doc: String,
}

impl Object {
    /// Whether it is known to have no properties.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.rest.is_none() && self.hidden == 0
    }

    /// Whether any object is one.
    fn says_nothing(&self) -> bool {
        self.fields.is_empty() && self.rest.as_deref() == Some(&Type::Unknown(None))
    }

    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Makes it what values of both are.
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

/// The type of the properties that neither of two objects names.
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

    /// Arguments are an object whatever the schema leaves open.
    pub(super) fn as_arguments(&mut self) {
        if matches!(self, Self::Unknown(None)) {
            *self = Self::any_object();
        }
    }

    /// Whether `{}` is a value of it, as far as the tree says.
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

    /// Whether it may name properties.
    fn has_parts(&self) -> bool {
        match self {
            Self::Object(object) => !object.says_nothing(),
            Self::Union(any) => any.iter().any(Self::has_parts),
            Self::Named(_) => true,
            _ => false,
        }
    }

    /// The alternatives of a union; none of anything else.
    fn alternatives(&self) -> &[Self] {
        match self {
            Self::Union(any) => any,
            _ => &[],
        }
    }

    /// The union, flat and without repetition; cut when it has more than `most` alternatives. Unknown
    /// swallows the rest.
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

    /// The intersection without the parts that say nothing; objects with other properties become one.
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
        // Beside types that have their own properties, that it is an object says nothing, and would let
        // TypeScript accept any other property.
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

/// One type that all values of an intersection have, for a language that cannot say that a value is two
/// things. Objects become one, with what only some alternatives have as optional; else it is the part
/// that says most.
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
            // No object is one of these.
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

/// Adds a property that only some alternatives have.
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

/// Whether two objects can be written as one: no property has two types.
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
