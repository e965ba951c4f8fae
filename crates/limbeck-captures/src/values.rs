//! Values that a schema accepts, and the same values with one mistake.
//!
//! Tests use them to compare declarations, signatures and checks with the schema. A validator decides which values are
//! valid; this module does not know what is tested.

mod mutations;
mod rng;
mod sampler;

use jsonschema::Validator;
use serde_json::Value;

pub use mutations::{Mutation, mutations};
pub use rng::Rng;
pub use sampler::{Size, Unnamed, instance};

/// Validator of `schema` with the options of the argument check, in the dialect the schema names.
///
/// # Errors
///
/// The reason why `schema` is not valid.
pub fn validator(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .build(schema)
        .map_err(|error| error.to_string())
}
