//! Bounds of a signature's size, and the order in which they are tried until the text fits.

/// Layout of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// On one line, without comments on properties.
    Line,
    /// One property per line, each with its comment.
    Block,
}

/// Purpose of a type's text, which decides its size and layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// For a model that looks for a tool. Recursive types are cut at the first recursion.
    Signature,
    /// For a model, of an observed result: shorter than a declared one.
    Observed,
    /// For a reader of one tool. Recursive types are named.
    Declaration,
    /// For editors and type checkers, which read megabytes: the whole of any schema that a person wrote.
    File,
}

/// Bounds on the part of a schema that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Levels of objects and arrays; each named type starts at zero.
    pub(super) depth: usize,
    /// Number of types.
    pub(super) nodes: usize,
    /// Properties or alternatives of one type.
    pub(super) fields: usize,
    /// Values of one enumeration.
    pub(super) values: usize,
    /// Bytes of a literal value.
    pub(super) literal_bytes: usize,
    /// Bytes of a property's comment; zero means no comments.
    pub(super) doc_bytes: usize,
}

impl Bounds {
    const fn new(
        depth: usize,
        nodes: usize,
        fields: usize,
        values: usize,
        literal_bytes: usize,
        doc_bytes: usize,
    ) -> Self {
        Self {
            depth,
            nodes,
            fields,
            values,
            literal_bytes,
            doc_bytes,
        }
    }
}

const SIGNATURE: [Bounds; 6] = [
    Bounds::new(6, 400, 64, 32, 80, 0),
    Bounds::new(4, 300, 48, 24, 80, 0),
    Bounds::new(3, 200, 48, 16, 80, 0),
    Bounds::new(2, 150, 40, 12, 80, 0),
    Bounds::new(1, 100, 40, 8, 80, 0),
    Bounds::new(1, 30, 20, 4, 40, 0),
];
const DECLARATION: [Bounds; 6] = [
    Bounds::new(8, 2_000, 256, 256, 160, 2_000),
    Bounds::new(6, 1_000, 256, 128, 80, 600),
    Bounds::new(6, 800, 128, 64, 80, 160),
    Bounds::new(4, 400, 100, 48, 80, 120),
    Bounds::new(2, 200, 100, 24, 80, 0),
    Bounds::new(1, 60, 50, 8, 80, 0),
];
const FILE: [Bounds; 5] = [
    Bounds::new(64, 20_000, 2_000, 2_000, 2_000, 2_000),
    Bounds::new(24, 10_000, 1_000, 1_000, 400, 400),
    Bounds::new(8, 2_000, 256, 256, 160, 160),
    Bounds::new(4, 400, 100, 48, 80, 0),
    Bounds::new(1, 60, 50, 8, 80, 0),
];

impl Extent {
    /// Bounds in the order in which they are tried until the text fits.
    pub(super) fn bounds(self) -> &'static [Bounds] {
        match self {
            Self::Signature | Self::Observed => &SIGNATURE,
            Self::Declaration => &DECLARATION,
            Self::File => &FILE,
        }
    }

    /// Most bytes of a tool's input type, and of its output type.
    pub(super) fn bytes_max(self) -> usize {
        match self {
            Self::Signature => 2 << 10,
            Self::Observed => 1 << 10,
            Self::Declaration => 16 << 10,
            // Twice `limits::SCHEMA_BYTES_MAX`.
            Self::File => 512 << 10,
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Self::Signature | Self::Observed => Style::Line,
            Self::Declaration | Self::File => Style::Block,
        }
    }
}
