//! Mutations of a valid value, each in one place.

use serde_json::{Value, json};

/// Kind of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutation {
    /// A property is removed.
    Dropped,
    /// A value has another type.
    Retyped,
    /// A string has an unexpected value.
    Renamed,
    /// A value is null.
    Nulled,
    /// An unknown property is added.
    Added,
    /// An item of an unexpected type is added.
    Lengthened,
}

impl Mutation {
    /// All kinds of mutations.
    pub const ALL: [Self; 6] = [
        Self::Dropped,
        Self::Retyped,
        Self::Renamed,
        Self::Nulled,
        Self::Added,
        Self::Lengthened,
    ];
}

/// Most places of one value that are mutated; of more, evenly spaced ones are chosen.
const PLACES_MAX: usize = 60;

/// All mutations of `value`, in the order of its places.
pub fn mutations(value: &Value) -> Vec<(Mutation, Value)> {
    let mut places = Vec::new();
    collect(value, &mut String::new(), &mut places);
    let mut mutated = Vec::new();
    let step = places.len().div_ceil(PLACES_MAX);
    for place in places.iter().step_by(step) {
        for mutation in Mutation::ALL {
            mutated.extend(apply(value, place, mutation).map(|value| (mutation, value)));
        }
    }
    mutated
}

/// Collects the JSON Pointers of all nested values.
fn collect(value: &Value, at: &mut String, places: &mut Vec<String>) {
    places.push(at.clone());
    let length = at.len();
    let mut enter = |key: &str, value: &Value| {
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        collect(value, at, places);
        at.truncate(length);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| enter(key, value)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(key, value)| enter(&key.to_string(), value)),
        _ => {}
    }
}

fn apply(value: &Value, place: &str, mutation: Mutation) -> Option<Value> {
    let mut mutated = value.clone();
    if mutation == Mutation::Dropped {
        let (parent, key) = place.rsplit_once('/')?;
        let key = key.replace("~1", "/").replace("~0", "~");
        mutated
            .pointer_mut(parent)?
            .as_object_mut()?
            .shift_remove(&key)?;
        return Some(mutated);
    }
    let target = mutated.pointer_mut(place)?;
    match (mutation, &mut *target) {
        (Mutation::Retyped, Value::String(_)) => *target = json!(7.5),
        (Mutation::Retyped, Value::Number(_)) => *target = json!("7"),
        (Mutation::Retyped, Value::Bool(_)) => *target = json!("true"),
        (Mutation::Retyped, Value::Array(_)) => *target = json!("a, b"),
        (Mutation::Retyped, Value::Object(_)) => *target = json!(["a"]),
        (Mutation::Retyped, Value::Null) => *target = json!([[]]),
        (Mutation::Renamed, Value::String(_)) => *target = json!("limbeck-unknown"),
        (Mutation::Nulled, Value::Null) => return None,
        (Mutation::Nulled, _) => *target = Value::Null,
        (Mutation::Added, Value::Object(map)) => {
            drop(map.insert("limbeckUnheard".into(), json!(1)))
        }
        (Mutation::Lengthened, Value::Array(items)) => items.push(json!({"limbeckUnheard": [[]]})),
        _ => return None,
    }
    Some(mutated)
}
