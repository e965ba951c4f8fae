//! Truth of a condition on arguments that may be missing.

/// Truth value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    /// The argument is missing or has another type than the condition is about.
    Unknown,
}

impl Truth {
    pub(super) fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    /// True when all are, false when one is false.
    pub(super) fn all(truths: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::True;
        for truth in truths {
            match truth {
                Self::False => return Self::False,
                Self::Unknown => all = Self::Unknown,
                Self::True => {}
            }
        }
        all
    }

    /// True when one is, false when all are false.
    pub(super) fn any(truths: impl IntoIterator<Item = Self>) -> Self {
        Self::all(truths.into_iter().map(Self::not)).not()
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}
