//! Steps of setup at which tests kill it. Outside of the tests of this crate a step is nothing.

/// A step that a killed process may have reached last.
#[cfg(not(test))]
pub(super) fn point() {}

#[cfg(test)]
pub(super) use tests::point;

#[cfg(test)]
mod tests;
