//! Bounds of the analysis that hold for both languages.

/// Stack for parsing, transforming and printing. `nesting` counts brackets before a parser recurses, but
/// labels, arrows and prefix operators nest without brackets: the worst text of the largest size takes under
/// 150 MiB of memory in all, and a test of each language walks through such texts.
pub const PARSER_STACK_BYTES: usize = 256 << 20;

/// Nodes that are climbed from one place. Code that is nested deeper counts as unknown.
pub(crate) const CLIMB_MAX: usize = 1_000;
/// Nodes that are climbed from a read for what the program has in its place.
pub(crate) const ALTERNATIVE_STEPS_MAX: usize = 16;
/// Values that a name is given and that are looked at.
pub(crate) const ASSIGNED_VALUES_MAX: usize = 32;
/// Names in the path of one read, from the result to the part that is read.
pub(crate) const PATH_NAMES_MAX: usize = 8;
/// Reads of one result.
pub(crate) const READS_PER_RESULT_MAX: usize = 32;
/// Reads of all results of a program.
pub(crate) const READS_MAX: usize = 1_000;
/// Branches of conditions that take a whole result as it is.
pub(crate) const WHOLE_BRANCHES_MAX: usize = 16;
/// Comparisons of parts of one result with constants.
pub(crate) const COMPARISONS_PER_RESULT_MAX: usize = 16;
/// Constants of one comparison, and bytes of one.
pub(crate) const COMPARED_VALUES_MAX: usize = 16;
pub(crate) const COMPARED_BYTES_MAX: usize = 80;
/// Statements of a program that leave a loop or function. With more, no read counts as certain.
pub(crate) const EXITS_MAX: usize = 2_000;
