//! Types of results, inferred from observed results.
//!
//! Three in four tools declare no output schema. A [`Shape`] describes what their results have in common: the types of
//! values, and the properties that may be missing or null. It contains no value of any result, and no property name that
//! looks like a value ([`names`]).
//!
//! Shapes form a join-semilattice: [`Shape::join`] is commutative, associative and idempotent, so neither the order of
//! observation nor its division among processes matters, and a joined shape accepts every value that either part
//! accepts. Bounds are part of the lattice: a shape that is too large is replaced by a coarser one, and a coarser shape
//! never weighs less than a finer one below it, so that a bound is crossed in every order or in none ([`shape`]).
//!
//! Start reading at [`Observed`].

mod formats;
mod names;
mod schema;
mod shape;
mod shape_reader;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use shape::Shape;

/// Observations of one tool's results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Shape of all results; the empty shape before the first call.
    #[serde(default)]
    pub shape: Shape,
    /// Number of results observed.
    #[serde(default)]
    pub calls: u64,
    /// Number of results that contradicted the declared output schema.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contradictions: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Observed {
    /// Observation of one result, given as JSON text.
    ///
    /// # Errors
    ///
    /// The parser's error when the text is not JSON, or is nested deeper, in the part that is read, than
    /// [`JSON_DEPTH_MAX`](limbeck_domain::limits::JSON_DEPTH_MAX).
    pub fn once(value: &str) -> Result<Self, serde_json::Error> {
        Ok(Self {
            shape: Shape::of_json(value)?,
            calls: 1,
            contradictions: 0,
        })
    }

    /// Observation of one result that contradicts the declared output schema.
    pub fn contradiction() -> Self {
        Self {
            contradictions: 1,
            ..Self::default()
        }
    }

    /// Merges other observations. Returns whether the shape changed.
    pub fn add(&mut self, other: &Self) -> bool {
        self.calls = self.calls.saturating_add(other.calls);
        self.contradictions = self.contradictions.saturating_add(other.contradictions);
        self.shape.join(&other.shape)
    }
}

/// Source of the type of a tool's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Declared by the server.
    Declared,
    /// Observed in results.
    Observed {
        /// Number of results.
        calls: u64,
    },
}

impl Provenance {
    /// Note for readers of the type: `observed in 12 calls`.
    pub(crate) fn note(self) -> Option<String> {
        match self {
            Self::Declared => None,
            Self::Observed { calls: 1 } => Some("observed in 1 call".to_owned()),
            Self::Observed { calls } => Some(format!("observed in {calls} calls")),
        }
    }
}

/// Type of the value that a call returns to a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputShape<'t> {
    /// The type, as JSON Schema. Text that contains JSON is `"type": "string"` with `contentMediaType`
    /// `application/json` and `contentSchema`; a program gets it as text, unless the type is declared.
    pub schema: &'t Value,
    /// Source of the type. The next result may contradict an observed type.
    pub provenance: Provenance,
}

/// Observations of a tool, with their schema, which is computed on first use.
#[derive(Debug)]
pub(crate) struct ObservedType {
    observed: Observed,
    schema: OnceLock<Value>,
}

impl ObservedType {
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
