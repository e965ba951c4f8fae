//! What decides where no rule matches.

use std::fmt;

use limbeck_domain::{EffectClass, Remember};

use super::ask::{AskOptions, Channel, Channels};
use super::rule::Layer;

/// Answers by the class of a tool, for calls that no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Everything is allowed.
    #[default]
    Observe,
    /// Reads are allowed, a program's writes are asked about together, destructive calls each.
    Balanced,
    /// Reads are allowed where the operator named the class, writes are asked about each, unknown tools are denied.
    Strict,
    /// Reads alone.
    Readonly,
    /// Reads alone: no person is there to answer.
    Unattended,
}

/// What one question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AskUnit {
    /// All writes of the program.
    Program,
    /// One call.
    Call,
}

impl AskUnit {
    /// The unit as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Call => "call",
        }
    }
}

/// Answer of a preset. The order is from the loosest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PresetAnswer {
    /// The call is sent.
    Allow,
    /// A person is asked first.
    Ask(AskUnit),
    /// The call is not sent.
    Deny,
}

impl Preset {
    /// Every preset, in the order of the documents.
    pub const ALL: [Self; 5] = [
        Self::Observe,
        Self::Balanced,
        Self::Strict,
        Self::Readonly,
        Self::Unattended,
    ];

    /// The preset of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
            Self::Readonly => "readonly",
            Self::Unattended => "unattended",
        }
    }

    /// The answer for a tool of `class`. `by_operator` is whether the class is the operator's word.
    pub fn answer(self, class: EffectClass, by_operator: bool) -> PresetAnswer {
        use EffectClass as Class;
        match (self, class) {
            (Self::Observe, _)
            | (Self::Balanced | Self::Readonly | Self::Unattended, Class::Read) => {
                PresetAnswer::Allow
            }
            (Self::Balanced, Class::Write | Class::Unknown) => PresetAnswer::Ask(AskUnit::Program),
            (Self::Balanced, Class::Destructive) => PresetAnswer::Ask(AskUnit::Call),
            (Self::Strict, Class::Read) if by_operator => PresetAnswer::Allow,
            (Self::Strict, Class::Write) => PresetAnswer::Ask(AskUnit::Call),
            // A server's hint alone makes no call askable here: it is denied like an unknown tool.
            (Self::Strict, Class::Destructive) if by_operator => PresetAnswer::Ask(AskUnit::Call),
            (Self::Strict | Self::Readonly | Self::Unattended, _) => PresetAnswer::Deny,
        }
    }

    /// How a person is asked, where the preset asks about a tool of `class`.
    pub fn ask_options(self, class: EffectClass) -> AskOptions {
        match (self, class) {
            (Self::Strict, EffectClass::Destructive) => AskOptions {
                channels: Some(Channels::of([Channel::Browser])),
                not_requester: true,
                ..AskOptions::default()
            },
            // The person whose policy it is may write it down once and for all.
            (Self::Balanced, EffectClass::Write | EffectClass::Unknown) => AskOptions {
                remember: Remember::Always,
                ..AskOptions::default()
            },
            _ => AskOptions::default(),
        }
    }

    /// Whether one approval of the program's plan answers its questions.
    pub fn asks_by_plan(self) -> bool {
        match self {
            Self::Balanced => true,
            Self::Observe | Self::Strict | Self::Readonly | Self::Unattended => false,
        }
    }

    /// Whether it asks about a call that it allows when a program makes it again and again.
    pub fn asks_about_repeats(self) -> bool {
        match self {
            Self::Balanced => true,
            Self::Observe | Self::Strict | Self::Readonly | Self::Unattended => false,
        }
    }

    /// How strict it is: the order in which layers tighten one another.
    fn strictness(self) -> u8 {
        match self {
            Self::Observe => 0,
            Self::Balanced => 1,
            Self::Strict => 2,
            Self::Readonly | Self::Unattended => 3,
        }
    }

    /// The preset of all layers together; `default` is in force where no file but a repository's names one.
    pub fn of_layers(presets: &[(Layer, Self)], default: Self) -> Self {
        let named = |layer: Layer| {
            let mut of_layer = presets.iter().filter(|(from, _)| *from == layer);
            of_layer.next_back().map(|(_, preset)| *preset)
        };
        let chosen = named(Layer::File).or_else(|| named(Layer::User));
        let managed = named(Layer::Managed);
        // A managed preset counts where no other file chose one, and else is the least strict that may be chosen.
        let chosen = match (chosen, managed) {
            (Some(chosen), Some(managed)) => stricter(managed, chosen),
            (Some(preset), None) | (None, Some(preset)) => preset,
            (None, None) => default,
        };
        match named(Layer::Project) {
            Some(project) => stricter(chosen, project),
            None => chosen,
        }
    }
}

/// The stricter of the two, and the first where they are equally strict.
fn stricter(first: Preset, second: Preset) -> Preset {
    if second.strictness() > first.strictness() {
        second
    } else {
        first
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_answer_as_their_table_says() {
        use AskUnit::{Call, Program};
        use PresetAnswer::{Allow, Ask, Deny};
        let row = |preset: Preset, by_operator| {
            [
                EffectClass::Read,
                EffectClass::Write,
                EffectClass::Unknown,
                EffectClass::Destructive,
            ]
            .map(|class| preset.answer(class, by_operator))
        };
        assert_eq!(row(Preset::Observe, false), [Allow; 4]);
        let balanced = [Allow, Ask(Program), Ask(Program), Ask(Call)];
        assert_eq!(row(Preset::Balanced, false), balanced);
        assert_eq!(
            row(Preset::Strict, true),
            [Allow, Ask(Call), Deny, Ask(Call)]
        );
        assert_eq!(row(Preset::Strict, false), [Deny, Ask(Call), Deny, Deny]);
        for preset in [Preset::Readonly, Preset::Unattended] {
            assert_eq!(row(preset, true), [Allow, Deny, Deny, Deny]);
        }
        for preset in Preset::ALL {
            assert_eq!(Preset::named(preset.as_str()), Some(preset));
        }
        assert_eq!(Preset::named("Strict"), None);
    }

    #[test]
    fn strict_asks_about_destructive_calls_in_the_browser_and_not_the_requester() {
        let strict = Preset::Strict.ask_options(EffectClass::Destructive);
        assert_eq!(strict.channels, Some(Channels::of([Channel::Browser])));
        assert!(strict.not_requester);
        let write = Preset::Strict.ask_options(EffectClass::Write);
        assert_eq!(write, AskOptions::default());
        let balanced = Preset::Balanced.ask_options(EffectClass::Destructive);
        assert_eq!(balanced, AskOptions::default());
    }

    #[test]
    fn a_project_tightens_the_preset_and_never_loosens_it() {
        use Layer::{File, Managed, Project, User};
        let of = |presets: &[(Layer, Preset)]| Preset::of_layers(presets, Preset::Balanced);
        assert_eq!(of(&[]), Preset::Balanced);
        assert_eq!(of(&[(Project, Preset::Observe)]), Preset::Balanced);
        assert_eq!(of(&[(Project, Preset::Readonly)]), Preset::Readonly);
        assert_eq!(of(&[(User, Preset::Observe)]), Preset::Observe);
        assert_eq!(
            of(&[(User, Preset::Strict), (File, Preset::Observe)]),
            Preset::Observe
        );
        assert_eq!(
            of(&[(Managed, Preset::Strict), (User, Preset::Observe)]),
            Preset::Strict
        );
        assert_eq!(
            of(&[(Managed, Preset::Strict), (User, Preset::Readonly)]),
            Preset::Readonly
        );
        assert_eq!(of(&[(Managed, Preset::Observe)]), Preset::Observe);
    }
}
