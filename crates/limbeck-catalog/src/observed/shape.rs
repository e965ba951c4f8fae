//! The lattice: which values stand at one place, and what two such sayings have in common.
//!
//! A shape has a part for each kind of value, and parts are joined one by one; what a part lacks was not seen. Only
//! bounds need thought. Where a shape grows too large it is replaced by a coarser one: an object loses its names, a
//! place becomes unknown. Were a bound on plain size, a coarser shape would be smaller again, and whether a bound is
//! crossed would depend on the order of joins. So each shape has a *weight*, with which these hold:
//!
//! - What lies above another shape weighs no less. A coarser shape weighs as much as the heaviest that it may stand for.
//! - The number of its nodes is at most its weight, because weights shrink with each level of objects.
//!
//! Crossing a bound is then final: whatever is joined later, the result lies above it. Depth is bounded by the
//! place alone, the same for all shapes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::formats::Format;

/// Names of one object; with more it has none. GitHub's repositories have 110.
const NAMES_MAX: usize = 160;
/// Weight of the properties of an object by the number of objects around it. A pull request with its two
/// repositories and their owners weighs about 500. Each is over twice the next, as [`Place::weight_max`] needs.
const OBJECT_WEIGHTS: [usize; 7] = [2_048, 960, 420, 180, 78, 30, 6];
/// Arrays and texts inside one another with no object between.
const WRAPS_MAX: usize = 4;
/// Bytes of a name that weigh as much as a node.
const NAME_BYTES_PER_WEIGHT: usize = 16;

/// What the values at one place have in common.
///
/// The default admits no value at all. A shape of the results of one tool has at most 4,112 nodes, 7 objects inside
/// one another and 64 KiB of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Anything was seen, or too much to tell; nothing else is kept then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) unknown: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) null: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) boolean: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<Number>,
    /// Texts that hold no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Format>,
    /// What texts that hold a JSON object or array hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<Box<Shape>>,
    /// Items of arrays; the default where all of them were empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) array: Option<Box<Shape>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<Box<Object>>,
}

/// Numbers, from fewer to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Number {
    Integer,
    Number,
}

/// What objects at one place have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Object {
    /// Properties by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) fields: BTreeMap<Box<str>, Field>,
    /// Values of the properties whose names are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Shape>,
    /// No name is kept: there are too many, or they are data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) nameless: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Field {
    /// Some object did not have it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) optional: bool,
    #[serde(flatten)]
    pub(super) shape: Shape,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Where in a value a shape stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Objects around it.
    objects: usize,
    /// Arrays and texts around it since the innermost of them.
    wraps: usize,
}

impl Place {
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

    /// In an array, or in a text.
    pub(super) fn wrapped(self) -> Self {
        Self {
            wraps: self.wraps + 1,
            ..self
        }
    }

    /// Whether values that have parts are unknown here.
    pub(super) fn is_last(self) -> bool {
        self.objects >= OBJECT_WEIGHTS.len() || self.wraps >= WRAPS_MAX
    }

    /// Weight of the properties of an object here.
    fn object_weight_max(self) -> usize {
        OBJECT_WEIGHTS.get(self.objects).copied().unwrap_or(0)
    }

    /// Weight of a shape here: two objects, and some room so that an unknown item fits into its array.
    fn weight_max(self) -> usize {
        if self.is_last() {
            return 1;
        }
        2 * self.object_weight_max() + 4 * (WRAPS_MAX - self.wraps)
    }
}

impl Shape {
    /// Everything.
    pub(super) fn unknown() -> Self {
        Self {
            unknown: true,
            ..Self::default()
        }
    }

    /// Makes it admit what `other` admits as well. Gives whether it is another shape now.
    pub fn join(&mut self, other: &Self) -> bool {
        if self == other {
            return false;
        }
        let before = self.clone();
        self.join_at(other, Place::ROOT);
        *self != before
    }

    /// Whether every value that `other` admits is admitted.
    pub fn admits(&self, other: &Self) -> bool {
        let mut joined = self.clone();
        !joined.join(other)
    }

    /// Joins, and gives the weight of the outcome.
    pub(super) fn join_at(&mut self, other: &Self, place: Place) -> usize {
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

    /// Gives the weight back, or becomes unknown when it is too much.
    fn bounded(&mut self, weight: usize, place: Place) -> usize {
        let most = place.weight_max();
        if weight > most {
            *self = Self::unknown();
        }
        weight.min(most)
    }

    pub(super) fn weight(&self, place: Place) -> usize {
        if self.unknown {
            return place.weight_max();
        }
        let wrapped = [&self.json, &self.array].into_iter().flatten();
        let wrapped: usize = wrapped.map(|inner| inner.weight(place.wrapped())).sum();
        let object = self.object.as_ref();
        1 + wrapped + object.map_or(0, |object| object.weight(place))
    }
}

/// Joins a part that either side may lack, and gives its weight.
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
    /// Adds a property of an object that is being read; the last step is [`Object::weight_within`].
    pub(super) fn add(&mut self, name: Box<str>, shape: Shape, place: Place) {
        if self.nameless {
            self.add_nameless(&shape, place);
            return;
        }
        // A name that stands twice may have either value.
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
    pub(super) fn add_nameless(&mut self, shape: &Shape, place: Place) {
        let rest = self.rest.get_or_insert_default();
        rest.join_at(shape, place.in_object());
    }

    pub(super) fn drop_names(&mut self, place: Place) {
        self.nameless = true;
        for field in std::mem::take(&mut self.fields).into_values() {
            self.add_nameless(&field.shape, place);
        }
    }

    fn join_at(&mut self, other: &Self, place: Place) -> usize {
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

    fn join_fields(&mut self, others: &BTreeMap<Box<str>, Field>, place: Place) {
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

    /// The weight, once names have been dropped where they are too many or too heavy.
    pub(super) fn weight_within(&mut self, place: Place) -> usize {
        let heavy = || self.weight_of_properties(place) > place.object_weight_max();
        if !self.nameless && (self.fields.len() > NAMES_MAX || heavy()) {
            self.drop_names(place);
        }
        self.weight(place)
    }

    fn weight(&self, place: Place) -> usize {
        1 + if self.nameless {
            place.object_weight_max()
        } else {
            self.weight_of_properties(place)
        }
    }

    fn weight_of_properties(&self, place: Place) -> usize {
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
        let mut places = vec![Place::ROOT];
        while let Some(place) = places.pop() {
            if place.is_last() {
                assert_eq!(place.weight_max(), 1);
                continue;
            }
            let (wrapped, inside) = (place.wrapped(), place.in_object());
            assert!(wrapped.weight_max() < place.weight_max(), "{place:?}");
            // An object without names holds one shape, an array one item.
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
