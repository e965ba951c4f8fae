//! Values that a schema accepts, and such values with one thing wrong.
//!
//! What a declaration, a signature or a check says of a schema is tried with them. Nothing here knows what is
//! tried: a validator decides which values are right.

mod instances;
mod mutations;
mod random;

use jsonschema::Validator;
use serde_json::Value;

pub use instances::{Size, Unnamed, instance};
pub use mutations::{Mutation, mutations};
pub use random::Random;

/// A validator with the same options as the check of a call has, and every draft that a schema names.
///
/// # Errors
///
/// Why `schema` is none.
pub fn validator(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .build(schema)
        .map_err(|error| error.to_string())
}
