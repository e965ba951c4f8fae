//! Decoding of lists in frames with a bound on their items.
//!
//! Items may be smaller in the frame than in memory: an empty text is one byte there and 24 here. Without a bound, a
//! frame of 24 MB would take 600 MB of memory.

use std::fmt;
use std::marker::PhantomData;

use limbeck_domain::limits::{CALLS_PENDING_MAX, WARNINGS_MAX};
use limbeck_domain::{ErasedProgram, Layer, MissingLayer, Sandbox, Tier};
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

use crate::CallResult;

/// Number of layers.
const LAYERS_MAX: usize = Layer::ALL.len();

/// Reads a list of at most `MAX` items.
pub(crate) fn up_to<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(UpTo::<T, MAX>(PhantomData))
}

/// Reads the results of one delivery: at most one for every call that can be pending.
pub(crate) fn answers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<CallResult>, D::Error> {
    up_to::<_, _, CALLS_PENDING_MAX>(deserializer)
}

/// Reads a [`Sandbox`] with at most every layer in each of its lists.
pub(crate) fn sandbox<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sandbox, D::Error> {
    let Bounded {
        tier,
        held,
        missing,
    } = Bounded::deserialize(deserializer)?;
    Ok(Sandbox {
        tier,
        held,
        missing,
    })
}

/// [`Sandbox`], field by field.
#[derive(serde::Deserialize)]
struct Bounded {
    tier: Tier,
    #[serde(deserialize_with = "up_to::<_, _, LAYERS_MAX>")]
    held: Vec<Layer>,
    #[serde(deserialize_with = "up_to::<_, _, LAYERS_MAX>")]
    missing: Vec<MissingLayer>,
}

/// Reads an [`ErasedProgram`] with as many warnings as a worker may give.
pub(crate) fn erased<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ErasedProgram, D::Error> {
    let BoundedProgram {
        script,
        positions,
        full_names,
        warnings,
    } = BoundedProgram::deserialize(deserializer)?;
    Ok(ErasedProgram {
        script,
        positions,
        full_names,
        warnings,
    })
}

/// [`ErasedProgram`], field by field.
#[derive(serde::Deserialize)]
struct BoundedProgram {
    script: String,
    positions: String,
    full_names: String,
    #[serde(deserialize_with = "up_to::<_, _, WARNINGS_MAX>")]
    warnings: Vec<String>,
}

struct UpTo<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for UpTo<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} items")
    }

    /// Does not use the announced length: items are counted as they are read.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            list.push(item);
        }
        Ok(list)
    }
}
