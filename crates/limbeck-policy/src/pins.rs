//! What the change of a tool's definition means: for each part that changed, whether it is accepted, noted or holds the tool.
//!
//! A held tool is not called and not shown until a person accepted its definition, or its server lists the accepted one again.
//! Definitions are a server's words, so every walk is bounded and every text of them that is shown is quoted. The rows of the
//! table in `docs/guide/pins.md` are the variants of [`ChangeKind`].
//!
//! Start reading at [`changes`].

mod annotations;
mod schema;
mod sensitive;
#[cfg(test)]
mod tests;
mod texts;

use limbeck_domain::text::quoted;
use limbeck_domain::{EffectClass, PinnedDefinition};

use crate::rules::Preset;

pub use annotations::looseness;

/// Changes of one definition that are listed; more are counted.
const CHANGES_MAX: usize = 48;
/// Bytes of a server's text that a change shows.
const SHOWN_BYTES_MAX: usize = 160;

/// What a change leads to. The order is from the mildest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The tool is used as it is now.
    Accept,
    /// The tool is used as it is now, and the change is shown until a person looked at it.
    Note,
    /// The tool is neither called nor shown.
    Hold,
}

impl Verdict {
    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Note => "note",
            Self::Hold => "hold",
        }
    }
}

/// Kind of a change: a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The title.
    Title,
    /// A description, of the tool or in a schema.
    Description,
    /// An argument that may be given.
    OptionalArgument,
    /// An argument that has to be given.
    RequiredArgument,
    /// An argument is gone.
    RemovedArgument,
    /// More values are allowed.
    WiderValues,
    /// Fewer values are allowed.
    NarrowerValues,
    /// The schema says less than before about what may be sent.
    OpenSchema,
    /// A value is of another type.
    Type,
    /// The schema of results.
    OutputSchema,
    /// The server says that calls do more than it said before.
    AnnotationsTightened,
    /// The server says that calls do less than it said before.
    AnnotationsLoosened,
    /// A tool that was not in the first list.
    NewTool,
    /// A tool of the first list, which no person has accepted.
    FirstList,
    /// A definition that the tool had before, or another one after it was absent.
    ChangedBack,
    /// A name that looks like, or is, the name of something else.
    Name,
    /// A definition that the lock file of the repository does not have.
    Lock,
    /// A person rejected the definition.
    Rejected,
}

impl ChangeKind {
    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::OptionalArgument => "optional_argument",
            Self::RequiredArgument => "required_argument",
            Self::RemovedArgument => "removed_argument",
            Self::WiderValues => "wider_values",
            Self::NarrowerValues => "narrower_values",
            Self::OpenSchema => "open_schema",
            Self::Type => "type",
            Self::OutputSchema => "output_schema",
            Self::AnnotationsTightened => "annotations_tightened",
            Self::AnnotationsLoosened => "annotations_loosened",
            Self::NewTool => "new_tool",
            Self::FirstList => "first_list",
            Self::ChangedBack => "changed_back",
            Self::Name => "name",
            Self::Lock => "lock",
            Self::Rejected => "rejected",
        }
    }

    /// What it leads to under `balanced` and under `strict`, where nothing of it is suspicious.
    fn verdicts(self) -> (Verdict, Verdict) {
        use Verdict::{Accept, Hold, Note};
        match self {
            Self::Title | Self::AnnotationsTightened => (Accept, Accept),
            Self::Description => (Note, Hold),
            Self::OptionalArgument
            | Self::RequiredArgument
            | Self::RemovedArgument
            | Self::WiderValues
            | Self::NarrowerValues
            | Self::FirstList => (Accept, Hold),
            Self::NewTool => (Note, Hold),
            Self::OutputSchema => (Note, Note),
            Self::OpenSchema
            | Self::Type
            | Self::AnnotationsLoosened
            | Self::ChangedBack
            | Self::Name
            | Self::Lock
            | Self::Rejected => (Hold, Hold),
        }
    }
}

/// One change of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Row of the table.
    pub kind: ChangeKind,
    /// What it leads to under `balanced`, `readonly` and `unattended`.
    balanced: Verdict,
    /// What it leads to under `strict`.
    strict: Verdict,
    /// What changed, a fragment; words of the server are quoted.
    pub text: String,
    /// The argument that is new, gone or changed, where the change is about one of the tool's own arguments.
    pub argument: Option<String>,
}

impl Change {
    /// A change that leads to what its row says.
    pub fn new(kind: ChangeKind, text: impl Into<String>) -> Self {
        let (balanced, strict) = kind.verdicts();
        Self {
            kind,
            balanced,
            strict,
            text: text.into(),
            argument: None,
        }
    }

    /// The change with a reason to hold the tool, where there is one.
    #[must_use]
    fn held_for(mut self, reasons: &[String]) -> Self {
        if !reasons.is_empty() {
            self.text = format!("{}: it has {}", self.text, reasons.join(" and "));
            (self.balanced, self.strict) = (Verdict::Hold, Verdict::Hold);
        }
        self
    }

    /// What it leads to under `preset`. `observe` holds only what a person rejected.
    pub fn verdict(&self, preset: Preset) -> Verdict {
        match preset {
            Preset::Observe if self.kind == ChangeKind::Rejected => Verdict::Hold,
            Preset::Observe => self.balanced.min(Verdict::Note),
            Preset::Balanced | Preset::Readonly | Preset::Unattended => self.balanced,
            Preset::Strict => self.strict,
        }
    }
}

/// Names of tools of all servers, for descriptions that begin to speak of them.
pub trait ToolNames {
    /// Whether a tool other than `own` has exactly this name.
    fn has_other(&self, name: &str, own: &str) -> bool;
}

/// What changed from `old` to `new`, in the order of the table; nothing when both are equal. At most [`CHANGES_MAX`], the last
/// of which counts the others.
pub fn changes(
    old: &PinnedDefinition,
    new: &PinnedDefinition,
    names: &dyn ToolNames,
) -> Vec<Change> {
    let mut found = Found {
        names,
        own: &new.definition.id.tool,
        changes: Vec::new(),
        more: 0,
        worst: (Verdict::Accept, Verdict::Accept),
    };
    let (before, now) = (&old.definition, &new.definition);
    if before.title != now.title {
        let gained = found.gained(before.title.as_deref(), now.title.as_deref());
        let text = from_to("title", before.title.as_deref(), now.title.as_deref());
        found.add(Change::new(ChangeKind::Title, text).held_for(&gained));
    }
    if before.description != now.description {
        let (old, new) = (before.description.as_deref(), now.description.as_deref());
        let gained = found.gained(old, new);
        let change = Change::new(ChangeKind::Description, from_to("description", old, new));
        found.add(change.held_for(&gained));
    }
    if new.hidden > old.hidden {
        let gained = match new.hidden - old.hidden {
            1 => "a hidden character".to_owned(),
            more => format!("{more} hidden characters"),
        };
        let change = Change::new(ChangeKind::Description, "texts of the definition");
        found.add(change.held_for(&[gained]));
    }
    schema::input(&before.input_schema, &now.input_schema, &mut found);
    if before.output_schema != now.output_schema {
        let gained = schema::gained_in_texts(
            before.output_schema.as_ref(),
            now.output_schema.as_ref(),
            &found,
        );
        let change = Change::new(ChangeKind::OutputSchema, "schema of results");
        found.add(change.held_for(&gained));
    }
    if let Some(change) = annotations::change(before, now) {
        found.add(change);
    }
    found.finish()
}

/// The class that the hints of `new` may lead to beside those of `old`: the stricter of both.
pub fn stricter(old: EffectClass, new: EffectClass) -> EffectClass {
    if looseness(new) < looseness(old) {
        old
    } else {
        new
    }
}

/// Changes found so far.
struct Found<'a> {
    names: &'a dyn ToolNames,
    /// Name of the tool.
    own: &'a str,
    changes: Vec<Change>,
    more: usize,
    /// The worst verdicts of those that are not listed.
    worst: (Verdict, Verdict),
}

impl Found<'_> {
    fn add(&mut self, change: Change) {
        if self.changes.len() < CHANGES_MAX - 1 {
            self.changes.push(change);
            return;
        }
        self.more += 1;
        self.worst.0 = self.worst.0.max(change.balanced);
        self.worst.1 = self.worst.1.max(change.strict);
    }

    /// What a text has that it did not have, and that no tool needs to describe itself.
    fn gained(&self, old: Option<&str>, new: Option<&str>) -> Vec<String> {
        let is_other = |name: &str| self.names.has_other(name, self.own);
        texts::gained(old.unwrap_or_default(), new.unwrap_or_default(), &is_other)
    }

    fn finish(mut self) -> Vec<Change> {
        if self.more > 0 {
            let mut others =
                Change::new(ChangeKind::Type, format!("and {} more changes", self.more));
            (others.balanced, others.strict) = self.worst;
            self.changes.push(others);
        }
        self.changes
    }
}

fn from_to(what: &str, old: Option<&str>, new: Option<&str>) -> String {
    let shown = |text: &str| quoted(text, SHOWN_BYTES_MAX);
    match (old, new) {
        (Some(old), Some(new)) => {
            let (old, new) = around_difference(old, new);
            format!("{what} was {}, is {}", shown(&old), shown(&new))
        }
        (None, Some(new)) => format!("{what} is new: {}", shown(new)),
        (Some(old), None) => format!("{what} is gone, was {}", shown(old)),
        (None, None) => what.to_owned(),
    }
}

/// Both texts from shortly before the first difference, where that is far behind the start.
fn around_difference(old: &str, new: &str) -> (String, String) {
    let common: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    if common < SHOWN_BYTES_MAX / 2 {
        return (old.to_owned(), new.to_owned());
    }
    let mut from = common.saturating_sub(SHOWN_BYTES_MAX / 4);
    while !old.is_char_boundary(from) {
        from -= 1;
    }
    // The common part is the same in both, so its boundaries are.
    let tail = |text: &str| format!("…{}", text.get(from..).unwrap_or_default());
    (tail(old), tail(new))
}
