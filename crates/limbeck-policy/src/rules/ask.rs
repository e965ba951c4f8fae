//! How a person is asked about a call: who may approve it, over which channel, and until when.

use limbeck_domain::{EffectClass, Remember};

use super::rule::RuleError;

/// Seconds until a question expires, where a rule names no time.
const EXPIRES_S_DEFAULT: u32 = 24 * 60 * 60;
/// Longest time until a question expires, in seconds: 30 days.
pub const EXPIRES_S_MAX: u32 = 30 * 24 * 60 * 60;
/// Most approvals that one call may need.
pub const QUORUM_MAX: u8 = 10;
/// Entries of `approvers`, and of `edit`.
const NAMES_MAX: usize = 64;
/// Bytes of one entry.
const NAME_BYTES_MAX: usize = 256;

/// Way on which an approval arrives. The order is from the weakest proof that a person decided to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The model itself answers. Never for a destructive call.
    Model,
    /// The client says that its user answered.
    Client,
    /// A terminal of the user who runs the gateway.
    Cli,
    /// A page of the gateway, for a user who signed in.
    Browser,
}

impl Channel {
    /// Every channel, the weakest first.
    pub const ALL: [Self; 4] = [Self::Model, Self::Client, Self::Cli, Self::Browser];

    /// The channel of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|channel| channel.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Client => "client",
            Self::Cli => "cli",
            Self::Browser => "browser",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Model => 1,
            Self::Client => 2,
            Self::Cli => 4,
            Self::Browser => 8,
        }
    }
}

/// A set of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels(u8);

impl Channels {
    /// Those of a question that names none: every channel on which a person answers.
    pub const DEFAULT: Self = Self(2 | 4 | 8);
    /// Those of a question that names none and is asked for a client of `serve --http`: that client may be hostile, and
    /// answers nothing itself.
    pub const HTTP: Self = Self(4 | 8);

    /// The set of these channels.
    pub fn of(channels: impl IntoIterator<Item = Channel>) -> Self {
        Self(channels.into_iter().fold(0, |set, one| set | one.bit()))
    }

    /// Whether an answer on `channel` counts.
    pub fn contains(self, channel: Channel) -> bool {
        self.0 & channel.bit() != 0
    }

    /// Whether there is no channel.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its channels, the weakest first.
    pub fn iter(self) -> impl Iterator<Item = Channel> {
        Channel::ALL
            .into_iter()
            .filter(move |channel| self.contains(*channel))
    }

    /// The channels that both sets accept. Where they have no channel in common, those of either set that
    /// are as strong as the weakest of each.
    fn tightened(self, other: Self) -> Self {
        let both = Self(self.0 & other.0);
        if !both.is_empty() {
            return both;
        }
        let weakest = self.iter().next().max(other.iter().next());
        let either = Self(self.0 | other.0);
        Self::of(either.iter().filter(|channel| Some(*channel) >= weakest))
    }
}

/// What the end of the time for an answer means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnExpiry {
    /// The call is denied, and the program may catch that.
    Deny,
    /// The run ends.
    #[default]
    Cancel,
}

impl OnExpiry {
    /// The choice of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Deny, Self::Cancel]
            .into_iter()
            .find(|choice| choice.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Cancel => "cancel",
        }
    }
}

/// Who may approve. One list comes from each rule that asks about the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvers {
    lists: Vec<Vec<String>>,
}

impl Approvers {
    /// The people of one list: `user:NAME` and `group:NAME`.
    pub fn one_of(names: Vec<String>) -> Self {
        Self { lists: vec![names] }
    }

    /// Whether no rule names an approver. Then every person who may see the question may answer it.
    pub fn is_anyone(&self) -> bool {
        self.lists.is_empty()
    }

    /// The lists. An approver is on each of them.
    pub fn lists(&self) -> &[Vec<String>] {
        &self.lists
    }

    /// Those who are on the lists of both.
    fn tightened(mut self, other: &Self) -> Self {
        for list in &other.lists {
            if !self.lists.contains(list) {
                self.lists.push(list.clone());
            }
        }
        self
    }

    /// Whether a person with these names, `user:NAME` and each `group:NAME`, is on every list.
    pub fn admits(&self, names: &[&str]) -> bool {
        let is_on = |list: &Vec<String>| list.iter().any(|name| names.contains(&&**name));
        self.lists.iter().all(is_on)
    }
}

/// How a person is asked, as `ask` of a rule says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskOptions {
    /// Who may approve.
    pub approvers: Approvers,
    /// Approvals of different people that the call needs, from 1 to [`QUORUM_MAX`].
    pub quorum: u8,
    /// Whether the person for whom the program runs may not approve.
    pub not_requester: bool,
    /// Channels whose answers count. `None` leaves it to the surface: [`Channels::DEFAULT`], or [`Channels::HTTP`].
    pub channels: Option<Channels>,
    /// Seconds until the question expires, from 1 to [`EXPIRES_S_MAX`].
    pub expires_s: u32,
    /// What the end of that time means.
    pub on_expiry: OnExpiry,
    /// How long an answer may count at most.
    pub remember: Remember,
    /// Top-level arguments that the approver may change; an empty list means no argument.
    pub edit: Vec<String>,
    /// Who may read the values of the arguments, of those who may see the question.
    pub viewers: Approvers,
}

impl Default for AskOptions {
    fn default() -> Self {
        Self {
            approvers: Approvers::default(),
            quorum: 1,
            not_requester: false,
            channels: None,
            expires_s: EXPIRES_S_DEFAULT,
            on_expiry: OnExpiry::default(),
            remember: Remember::default(),
            edit: Vec::new(),
            viewers: Approvers::default(),
        }
    }
}

impl AskOptions {
    /// Channels whose answers count, where `default` are those of the surface.
    pub fn channels(&self, default: Channels) -> Channels {
        self.channels.unwrap_or(default)
    }

    /// Checks the bounds. `id` is the rule's.
    pub(super) fn check(&self, id: &str) -> Result<(), RuleError> {
        let lists = self.approvers.lists.iter().chain(&self.viewers.lists);
        let has_bounds = |names: &Vec<String>| {
            let is_name = |name: &String| (1..=NAME_BYTES_MAX).contains(&name.len());
            names.len() <= NAMES_MAX && names.iter().all(is_name)
        };
        let problem = if !(1..=QUORUM_MAX).contains(&self.quorum) {
            Some("`quorum` is from 1 to 10")
        } else if !(1..=EXPIRES_S_MAX).contains(&self.expires_s) {
            Some("`expires` is from 1 second to 30 days")
        } else if self.channels.is_some_and(Channels::is_empty) {
            Some("`channels` needs at least one channel")
        } else if self.approvers.lists.iter().any(Vec::is_empty) {
            Some("`approvers` needs at least one name")
        } else if self.viewers.lists.iter().any(Vec::is_empty) {
            Some("`view_arguments` needs at least one name")
        } else if !lists.chain([&self.edit]).all(has_bounds) {
            Some("`approvers`, `view_arguments` and `edit` have at most 64 names of 1 to 256 bytes")
        } else {
            None
        };
        match problem {
            Some(problem) => Err(RuleError::Ask {
                id: id.to_owned(),
                problem,
            }),
            None => Ok(()),
        }
    }

    /// Both options together: what either of them forbids is forbidden. The order of the two changes only the order
    /// of names.
    pub(crate) fn tightened(self, other: &Self) -> Self {
        let channels = match (self.channels, other.channels) {
            (None, None) => None,
            (one, another) => {
                let [one, another] = [one, another].map(|set| set.unwrap_or(Channels::DEFAULT));
                Some(one.tightened(another))
            }
        };
        let mut edit = self.edit;
        edit.retain(|name| other.edit.contains(name));
        Self {
            approvers: self.approvers.tightened(&other.approvers),
            viewers: self.viewers.tightened(&other.viewers),
            quorum: self.quorum.max(other.quorum),
            not_requester: self.not_requester || other.not_requester,
            channels,
            expires_s: self.expires_s.min(other.expires_s),
            on_expiry: self.on_expiry.max(other.on_expiry),
            remember: self.remember.min(other.remember),
            edit,
        }
    }

    /// The options for a call of this class: a model never approves a destructive one, and its approval counts no longer than
    /// its run. Where the rule names no other channel,
    /// people are asked on theirs.
    pub(crate) fn for_class(self, class: EffectClass) -> Self {
        let channels = match (class, self.channels) {
            (EffectClass::Destructive, Some(named)) => {
                let of_people = Channels::of(named.iter().filter(|one| *one != Channel::Model));
                Some(of_people).filter(|set| !set.is_empty())
            }
            (_, named) => named,
        };
        let remember = match class {
            EffectClass::Destructive => self.remember.min(Remember::Run),
            EffectClass::Read | EffectClass::Write | EffectClass::Unknown => self.remember,
        };
        Self {
            channels,
            remember,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(channels: &[Channel]) -> AskOptions {
        AskOptions {
            channels: Some(Channels::of(channels.iter().copied())),
            ..AskOptions::default()
        }
    }

    #[test]
    fn two_options_together_are_as_strict_as_the_stricter_of_each() {
        let leads = AskOptions {
            approvers: Approvers::one_of(vec!["group:leads".to_owned(), "user:anna".to_owned()]),
            quorum: 2,
            expires_s: 60,
            remember: Remember::Run,
            edit: vec!["subject".to_owned(), "text".to_owned()],
            ..named(&[Channel::Client, Channel::Browser])
        };
        let others = AskOptions {
            approvers: Approvers::one_of(vec!["group:finance".to_owned()]),
            not_requester: true,
            on_expiry: OnExpiry::Deny,
            edit: vec!["text".to_owned()],
            viewers: Approvers::one_of(vec!["group:finance".to_owned()]),
            ..named(&[Channel::Browser, Channel::Model])
        };
        let both = leads.clone().tightened(&others);
        assert_eq!((both.quorum, both.not_requester), (2, true));
        assert_eq!((both.expires_s, both.on_expiry), (60, OnExpiry::Cancel));
        assert_eq!(both.remember, Remember::None);
        assert_eq!(both.edit, ["text"]);
        assert_eq!(both.viewers.lists(), [["group:finance"]]);
        assert_eq!(both.channels, Some(Channels::of([Channel::Browser])));
        assert!(both.approvers.admits(&["group:leads", "group:finance"]));
        assert!(!both.approvers.admits(&["group:leads"]));
        assert!(!both.approvers.admits(&["user:anna"]));
        // The controls: one of them alone, and none.
        assert!(leads.approvers.admits(&["user:anna"]));
        assert!(AskOptions::default().approvers.admits(&[]));
        assert_eq!(leads.clone().tightened(&leads), leads);
    }

    #[test]
    fn sets_without_a_common_channel_leave_the_strongest_and_never_an_empty_set() {
        use Channel::{Browser, Cli, Client, Model};
        let together = |one: &[Channel], another: &[Channel]| {
            let both = named(one).tightened(&named(another));
            both.channels.unwrap().iter().collect::<Vec<_>>()
        };
        assert_eq!(together(&[Model], &[Browser]), [Browser]);
        assert_eq!(together(&[Cli], &[Browser, Client]), [Cli, Browser]);
        for one in 1..16_u8 {
            for another in 1..16 {
                let both = Channels(one).tightened(Channels(another));
                assert!(!both.is_empty());
                assert_eq!(both, Channels(another).tightened(Channels(one)));
                let weakest = |set: Channels| set.iter().next().unwrap();
                assert!(weakest(both) >= weakest(Channels(one)).max(weakest(Channels(another))));
            }
        }
        // A rule that names channels is tightened by one that names none.
        let with_default = named(&[Model, Cli]).tightened(&AskOptions::default());
        assert_eq!(with_default.channels, Some(Channels::of([Cli])));
        assert_eq!(
            AskOptions::default().channels(Channels::HTTP),
            Channels::HTTP
        );
    }

    #[test]
    fn a_model_never_approves_a_destructive_call() {
        let options = named(&[Channel::Model, Channel::Cli]);
        let of = |class| options.clone().for_class(class).channels.unwrap();
        assert!(of(EffectClass::Unknown).contains(Channel::Model));
        assert_eq!(of(EffectClass::Destructive), Channels::of([Channel::Cli]));
        let alone = named(&[Channel::Model]).for_class(EffectClass::Destructive);
        assert_eq!(alone.channels(Channels::DEFAULT), Channels::DEFAULT);
        assert!(!Channels::DEFAULT.contains(Channel::Model));
    }
}
