//! What results of a tool look like, learnt from the results themselves.
//!
//! Three in four tools declare no output schema. What their results have in common is kept as a [`Shape`]: which
//! kinds of values stand where, and which properties may be missing or null. It holds no value of any result, and no
//! name of a property that looks like one ([`names`]).
//!
//! Shapes form a join-semilattice: [`Shape::join`] is commutative, associative and idempotent, so neither the order of
//! observation nor its division among processes matters, and a joined shape admits every value that either part
//! admits. Bounds are part of the lattice: what is too large becomes a coarser shape, and a coarser shape never counts
//! less than a finer one below it, so that a bound is crossed in every order or in none ([`shape`]).
//!
//! Start reading at [`Observed`].

mod formats;
mod names;
mod read;
mod schema;
mod shape;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use shape::Shape;

/// What was learnt of one tool's results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// What the results have in common; that of no value before the first call.
    #[serde(default)]
    pub shape: Shape,
    /// Successful calls whose results were looked at.
    #[serde(default)]
    pub calls: u64,
    /// Results that were not what the tool's declared output schema says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contradictions: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Observed {
    /// What one result teaches; its value as JSON text.
    ///
    /// # Errors
    ///
    /// What the parser says when the text is no JSON, or, where it is looked at, nested deeper than
    /// [`JSON_DEPTH_MAX`](limbeck_domain::limits::JSON_DEPTH_MAX).
    pub fn once(value: &str) -> Result<Self, serde_json::Error> {
        Ok(Self {
            shape: Shape::of_json(value)?,
            calls: 1,
            contradictions: 0,
        })
    }

    /// One result that contradicts what the tool declares.
    pub fn contradiction() -> Self {
        Self {
            contradictions: 1,
            ..Self::default()
        }
    }

    /// Adds what was learnt elsewhere; counts add up. Gives whether the shape is another now.
    pub fn add(&mut self, other: &Self) -> bool {
        self.calls = self.calls.saturating_add(other.calls);
        self.contradictions = self.contradictions.saturating_add(other.contradictions);
        self.shape.join(&other.shape)
    }
}

/// Where the type of a tool's result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Its server declares it.
    Declared,
    /// Results were seen to be of it.
    Observed {
        /// How many.
        calls: u64,
    },
}

impl Provenance {
    /// What a reader of the type has to know of it: `observed in 12 calls`.
    pub(crate) fn note(self) -> Option<String> {
        match self {
            Self::Declared => None,
            Self::Observed { calls: 1 } => Some("observed in 1 call".to_owned()),
            Self::Observed { calls } => Some(format!("observed in {calls} calls")),
        }
    }
}

/// The type of what a program gets of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputShape<'t> {
    /// The type, as JSON Schema. Text that holds JSON is `"type": "string"` with `contentMediaType`
    /// `application/json` and `contentSchema`; a program gets it as text, unless the type is declared.
    pub schema: &'t Value,
    /// Whose word it is. What was observed may be contradicted by the next call.
    pub provenance: Provenance,
}

/// What was learnt of a tool, and its schema once somebody asked for it.
#[derive(Debug)]
pub(crate) struct Lesson {
    observed: Observed,
    schema: OnceLock<Value>,
}

impl Lesson {
    pub(crate) fn new(observed: Observed) -> Self {
        Self {
            observed,
            schema: OnceLock::new(),
        }
    }

    pub(crate) fn observed(&self) -> &Observed {
        &self.observed
    }

    /// The shape, when there is one.
    pub(crate) fn output_shape(&self) -> Option<OutputShape<'_>> {
        let calls = Some(self.observed.calls).filter(|calls| *calls > 0)?;
        Some(OutputShape {
            schema: self.schema.get_or_init(|| self.observed.shape.schema()),
            provenance: Provenance::Observed { calls },
        })
    }
}
