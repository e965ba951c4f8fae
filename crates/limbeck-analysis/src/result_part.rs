//! Expressions of a program as parts of a result.

use limbeck_domain::site::{ANY_ITEM, ANY_MEMBER, PARSED};

/// What an expression has of a result.
#[derive(Clone, Default)]
pub(crate) struct ResultPart {
    /// Names from the result to the part.
    pub(crate) path: Vec<String>,
    /// How many lists are around it that the program makes: of results, or of their parts.
    lists: u32,
    form: PartForm,
    /// Whether the expression may also have values that are not of this result.
    pub(crate) is_shared: bool,
    /// Whether it is of a name that has values of several tools, each at another time.
    pub(crate) is_of_several: bool,
}

/// What an expression is of a part.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PartForm {
    /// The part itself.
    #[default]
    Itself,
    /// A list of its members, or of its items.
    Values,
    /// A list of its members with their names, or of its items with their places.
    Entries,
    /// A member with its name.
    Entry,
    /// The JSON text that the program makes of it.
    Json,
}

/// Whether a path ends in the name of a member: neither at the result itself nor at any of its items.
pub(crate) fn ends_in_name(path: &[String]) -> bool {
    path.last()
        .is_some_and(|name| ![ANY_ITEM, ANY_MEMBER, PARSED].contains(&name.as_str()))
}

impl ResultPart {
    /// Whether its members are those of the part.
    pub(crate) fn is_itself(&self) -> bool {
        self.lists == 0 && self.form == PartForm::Itself
    }

    pub(crate) fn is_in_list(&self) -> bool {
        self.lists > 0
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        self.path.push(name.to_owned());
        self
    }

    pub(crate) fn in_list(mut self) -> Self {
        self.lists += 1;
        self
    }

    /// A list that the program makes of the part. `None` for a part that is in such a list, or is one.
    pub(crate) fn into_form(mut self, form: PartForm) -> Option<Self> {
        if !self.is_itself() {
            return None;
        }
        self.form = form;
        Some(self)
    }

    /// Whether it is of what the program parses.
    pub(crate) fn is_parsed(&self) -> bool {
        self.path.iter().any(|name| name == PARSED)
    }

    /// What the program parses of it. `None` for what is no text of the result, or was parsed before.
    pub(crate) fn parsed(mut self) -> Option<Self> {
        if self.lists == 0 && self.form == PartForm::Json {
            self.form = PartForm::Itself;
            return Some(self);
        }
        let is_text = self.is_itself() && !self.is_parsed();
        is_text.then(|| self.named(PARSED))
    }

    /// The items of the lists that are in it. `None` for a list that the program did not make.
    pub(crate) fn flat(mut self) -> Option<Self> {
        self.lists = self.lists.checked_sub(1)?;
        Some(self)
    }

    pub(crate) fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    pub(crate) fn of_several(mut self) -> Self {
        self.is_of_several = true;
        self
    }

    /// An item of a list, at `place` when that is known. `None` for the name in an entry, which is not of the result.
    pub(crate) fn item(mut self, place: Option<usize>) -> Option<Self> {
        if let Some(lists) = self.lists.checked_sub(1) {
            self.lists = lists;
            return Some(self);
        }
        let (step, form) = match (self.form, place) {
            (PartForm::Itself, _) => (Some(ANY_ITEM), PartForm::Itself),
            (PartForm::Values, _) | (PartForm::Entry, Some(1)) => {
                (Some(ANY_MEMBER), PartForm::Itself)
            }
            (PartForm::Entries, _) => (None, PartForm::Entry),
            (PartForm::Entry | PartForm::Json, _) => return None,
        };
        self.path.extend(step.map(str::to_owned));
        self.form = form;
        Some(self)
    }

    /// The rest of a list that a pattern takes apart. `None` for that of an entry.
    pub(crate) fn rest(self) -> Option<Self> {
        let is_list = !matches!(self.form, PartForm::Entry | PartForm::Json);
        (self.is_in_list() || is_list).then_some(self)
    }
}
