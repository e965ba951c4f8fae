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
}

impl ResultRead {
    /// The read as the gateway gets it, at a line and column of the model's text.
    pub(crate) fn at_place(self, (line, column): (u32, u32)) -> SiteRead {
        SiteRead {
            line,
            column,
            path: self.path,
            optional: self.optional,
        }
    }
}
