//! Lattice of shapes: the types of the values at one position, and their join.
//!
//! A shape has a part for each type of value, and parts are joined one by one; a missing part was not observed. The bounds
//! are the difficult part. A shape that grows too large is replaced by a coarser one: an object loses its names, or a
//! position becomes unknown. If bounds were on the plain size, the coarser shape would be small again, and whether a bound
//! is crossed would depend on the order of joins. So each shape has a *weight* with these properties:
//!
//! - A shape above another in the lattice weighs at least as much. A coarser shape weighs as much as the heaviest shape
//!   that it may replace.
//! - The number of its nodes is at most its weight, because weights shrink with each level of objects.
//!
//! Crossing a bound is then final: every later join is above it too. The bound on depth depends on the position alone and
//! is the same for all shapes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::formats::Format;

/// Most names of one object; with more it keeps none. GitHub's repositories have 110.
const NAMES_MAX: usize = 160;
/// Most weight of an object's properties, by the number of objects around it. A pull request with its two
/// repositories and their owners weighs about 500. Each is more than twice the next, as [`Position::weight_max`] needs.
const OBJECT_WEIGHTS: [usize; 7] = [2_048, 960, 420, 180, 78, 30, 6];
/// Most arrays and strings nested in each other without an object between them.
const WRAPS_MAX: usize = 4;
/// Bytes of a name that weigh as much as a node.
const NAME_BYTES_PER_WEIGHT: usize = 16;

/// Type of the values observed at one position.
///
/// The default accepts no value. A shape of the results of one tool has at most 4,112 nodes, 7 objects inside
/// one another and 64 KiB of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Any value; all other parts are empty then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) unknown: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) null: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) boolean: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<Number>,
    /// Strings that do not contain JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Format>,
    /// Content of strings that contain a JSON object or array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<Box<Shape>>,
    /// Items of arrays; the default when all arrays were empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) array: Option<Box<Shape>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<Box<Object>>,
}

/// Kinds of numbers, the narrower first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Number {
    Integer,
    Number,
}

/// Type of the objects observed at one position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Object {
    /// Properties by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) fields: BTreeMap<Box<str>, Field>,
    /// Values of properties whose names are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Shape>,
    /// Whether no name is kept, because there are too many or they are data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) nameless: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Field {
    /// Whether some object lacked it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) optional: bool,
    #[serde(flatten)]
    pub(super) shape: Shape,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Position of a shape inside a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Number of objects around it.
    objects: usize,
    /// Number of arrays and strings around it, inside the innermost object.
    wraps: usize,
}

impl Position {
    pub(super) const ROOT: Self = Self {
        objects: 0,
        wraps: 0,
    };

    pub(super) fn in_object(self) -> Self {
        Self {
            objects: self.objects + 1,
            wraps: 0,
        }
    }

    /// The position inside an array, or inside a string.
    pub(super) fn wrapped(self) -> Self {
        Self {
            wraps: self.wraps + 1,
            ..self
        }
    }

    /// Whether values with parts are unknown at this depth.
    pub(super) fn is_last(self) -> bool {
        self.objects >= OBJECT_WEIGHTS.len() || self.wraps >= WRAPS_MAX
    }

    /// Most weight of an object's properties at this position.
    fn object_weight_max(self) -> usize {
        OBJECT_WEIGHTS.get(self.objects).copied().unwrap_or(0)
    }

    /// Most weight of a shape at this position: two objects, and room for an unknown item in its array.
    fn weight_max(self) -> usize {
        if self.is_last() {
            return 1;
        }
        2 * self.object_weight_max() + 4 * (WRAPS_MAX - self.wraps)
    }
}

impl Shape {
    /// The shape that accepts any value.
    pub(super) fn unknown() -> Self {
        Self {
            unknown: true,
            ..Self::default()
        }
    }

    /// Joins `other` into this shape. Returns whether this shape changed.
    pub fn join(&mut self, other: &Self) -> bool {
        if self == other {
            return false;
        }
        let before = self.clone();
        self.join_at(other, Position::ROOT);
        *self != before
    }

    /// Whether every value that `other` accepts is accepted.
    pub fn admits(&self, other: &Self) -> bool {
        let mut joined = self.clone();
        !joined.join(other)
    }

    /// Joins `other` and returns the weight of the result.
    pub(super) fn join_at(&mut self, other: &Self, place: Position) -> usize {
        if self.unknown || other.unknown {
            *self = Self::unknown();
            return place.weight_max();
        }
        self.null |= other.null;
        self.boolean |= other.boolean;
        self.number = self.number.max(other.number);
        self.text = match (self.text, other.text) {
            (Some(one), Some(other)) => Some(one.join(other)),
            (one, other) => one.or(other),
        };
        let inside = place.wrapped();
        let weigh = |shape: &Self| shape.weight(inside);
        let join = |shape: &mut Self, other: &Self| shape.join_at(other, inside);
        let weight = 1
            + join_part(&mut self.json, &other.json, weigh, join)
            + join_part(&mut self.array, &other.array, weigh, join)
            + join_part(
                &mut self.object,
                &other.object,
                |object| object.weight(place),
                |object, other| object.join_at(other, place),
            );
        self.bounded(weight, place)
    }

    /// Returns `weight`, or becomes unknown when it is too large.
    fn bounded(&mut self, weight: usize, place: Position) -> usize {
        let most = place.weight_max();
        if weight > most {
            *self = Self::unknown();
        }
        weight.min(most)
    }

    pub(super) fn weight(&self, place: Position) -> usize {
        if self.unknown {
            return place.weight_max();
        }
        let wrapped = [&self.json, &self.array].into_iter().flatten();
        let wrapped: usize = wrapped.map(|inner| inner.weight(place.wrapped())).sum();
        let object = self.object.as_ref();
        1 + wrapped + object.map_or(0, |object| object.weight(place))
    }
}

/// Joins a part that either side may lack, and returns its weight.
fn join_part<T: Clone>(
    part: &mut Option<Box<T>>,
    other: &Option<Box<T>>,
    weigh: impl Fn(&T) -> usize,
    join: impl Fn(&mut T, &T) -> usize,
) -> usize {
    match (part.as_deref_mut(), other) {
        (Some(part), Some(other)) => join(part, other),
        (Some(part), None) => weigh(part),
        (None, Some(other)) => {
            let weight = weigh(other);
            *part = Some(other.clone());
            weight
        }
        (None, None) => 0,
    }
}

impl Object {
    /// Adds a property of the object that is being read. [`Object::weight_within`] must follow the last one.
    pub(super) fn add(&mut self, name: Box<str>, shape: Shape, place: Position) {
        if self.nameless {
            self.add_nameless(&shape, place);
            return;
        }
        // JSON may repeat a name, and a reader may get either value.
        match self.fields.get_mut(&name) {
            Some(field) => drop(field.shape.join_at(&shape, place.in_object())),
            None => {
                let optional = false;
                self.fields.insert(name, Field { optional, shape });
            }
        }
        if self.fields.len() > NAMES_MAX {
            self.drop_names(place);
        }
    }

    /// Adds the value of a property whose name is not kept.
    pub(super) fn add_nameless(&mut self, shape: &Shape, place: Position) {
        let rest = self.rest.get_or_insert_default();
        rest.join_at(shape, place.in_object());
    }

    pub(super) fn drop_names(&mut self, place: Position) {
        self.nameless = true;
        for field in std::mem::take(&mut self.fields).into_values() {
            self.add_nameless(&field.shape, place);
        }
    }

    fn join_at(&mut self, other: &Self, place: Position) -> usize {
        if other.nameless && !self.nameless {
            self.drop_names(place);
        }
        if let Some(rest) = &other.rest {
            self.add_nameless(rest, place);
        }
        if self.nameless {
            for field in other.fields.values() {
                self.add_nameless(&field.shape, place);
            }
        } else {
            self.join_fields(&other.fields, place);
        }
        self.weight_within(place)
    }

    fn join_fields(&mut self, others: &BTreeMap<Box<str>, Field>, place: Position) {
        for (name, field) in &mut self.fields {
            field.optional |= !others.contains_key(name);
        }
        for (name, other) in others {
            match self.fields.get_mut(name) {
                Some(field) => {
                    field.optional |= other.optional;
                    field.shape.join_at(&other.shape, place.in_object());
                }
                None => {
                    let optional = true;
                    let shape = other.shape.clone();
                    self.fields.insert(name.clone(), Field { optional, shape });
                }
            }
        }
    }

    /// The weight, after dropping the names when they are too many or too heavy.
    pub(super) fn weight_within(&mut self, place: Position) -> usize {
        let heavy = || self.weight_of_properties(place) > place.object_weight_max();
        if !self.nameless && (self.fields.len() > NAMES_MAX || heavy()) {
            self.drop_names(place);
        }
        self.weight(place)
    }

    fn weight(&self, place: Position) -> usize {
        1 + if self.nameless {
            place.object_weight_max()
        } else {
            self.weight_of_properties(place)
        }
    }

    fn weight_of_properties(&self, place: Position) -> usize {
        let inside = place.in_object();
        let of_names = self
            .fields
            .iter()
            .map(|(name, field)| name.len() / NAME_BYTES_PER_WEIGHT + field.shape.weight(inside));
        let rest = self.rest.as_ref().map_or(0, |rest| rest.weight(inside));
        of_names.sum::<usize>() + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarser_shape_outweighs_every_finer_one_and_holds_as_many_nodes() {
        let mut places = vec![Position::ROOT];
        while let Some(place) = places.pop() {
            if place.is_last() {
                assert_eq!(place.weight_max(), 1);
                continue;
            }
            let (wrapped, inside) = (place.wrapped(), place.in_object());
            assert!(wrapped.weight_max() < place.weight_max(), "{place:?}");
            // An object without names has one shape for all values, and an array one for all items.
            assert!(
                inside.weight_max() <= place.object_weight_max(),
                "{place:?}"
            );
            assert!(
                place.object_weight_max() + 2 <= place.weight_max(),
                "{place:?}"
            );
            places.extend([wrapped, inside]);
        }
    }
}
