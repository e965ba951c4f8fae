//! A part of a result that the program reads.

use limbeck_domain::SiteRead;

/// One read of a part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultRead {
    /// Byte offset of the last name of the path.
    pub(crate) at: u32,
    /// Names from the result to the part.
    pub(crate) path: Vec<String>,
    /// Whether the program provides for the part to be absent.
    pub(crate) optional: bool,
    /// Whether no value of the program is empty where it is absent.
    pub(crate) asked: bool,
    /// Number of the alternatives that it is one of; 0 for none.
    pub(crate) either: u32,
}

impl ResultRead {
    /// The read as the gateway gets it, at a line and column of the model's text.
    pub(crate) fn at_place(self, (line, column): (u32, u32)) -> SiteRead {
        SiteRead {
            line,
            column,
            path: self.path,
            optional: self.optional,
            asked: self.asked,
            either: self.either,
        }
    }
}

/// Marks the reads of parts that the program provides for elsewhere: one that asks whether a part is there reads it
/// where it is.
pub(crate) fn provide_for_absence(reads: &mut [ResultRead]) {
    let provided = reads.iter().filter(|read| read.optional);
    let provided: Vec<Vec<String>> = provided.map(|read| read.path.clone()).collect();
    for read in reads {
        read.optional |= provided.iter().any(|path| read.path.starts_with(path));
    }
}
