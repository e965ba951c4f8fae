//! The preset where no file names one, by the way that calls come in.
//!
//! Without a `[policy]` of the operator all ways are as they were before there were presets, so that programs of existing users and
//! clients that show no questions go on; a person who types a command on a terminal is asked all the same. A `[policy]` that names
//! no preset is the wish to be asked. A repository's `[policy]` only tightens, so it changes no default.

use limbeck_domain::Approval;
use limbeck_gateway::PolicyReading;
use limbeck_policy::Policy;
use limbeck_policy::rules::{Layer, Preset};
use limbeck_setup::PolicySettings;

use super::GatewaySession;

/// Way that the calls of a gateway come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayIn {
    /// `run` and `call`, where a person at a terminal can be asked.
    Terminal,
    /// `run` where no person can be asked.
    Script,
    /// Another command of the user, and `call` without a terminal, which sends nothing that has to be asked about.
    Command,
    /// A client on standard input and output.
    Stdio,
    /// Clients over HTTP. A token does not say whether a person or a service has it.
    Http,
    /// Clients that list the tools of an earlier system.
    EarlierSystem,
}

/// Where a preset is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PresetSource {
    /// A file of the user or the administrator names it.
    Named,
    /// A repository's file tightens what would hold without it.
    Repository,
    /// The default of the way, without a `[policy]` of the operator.
    NoPolicy,
    /// The default of the way, beside a `[policy]` that names no preset.
    PolicyWithoutPreset,
}

impl WayIn {
    /// The ways that a user is shown, in the order of the documents.
    pub(crate) const SHOWN: [Self; 5] = [
        Self::Terminal,
        Self::Script,
        Self::Stdio,
        Self::Http,
        Self::EarlierSystem,
    ];

    /// The way of a gateway whose clients list the tools of an earlier system, where there are such.
    pub(crate) fn or_earlier_system(self, lists_earlier: bool) -> Self {
        if lists_earlier {
            Self::EarlierSystem
        } else {
            self
        }
    }

    /// Its name in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Script => "script",
            Self::Command => "command",
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::EarlierSystem => "compat",
        }
    }

    /// Its name in a sentence.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Terminal => "`run` and `call` on a terminal",
            Self::Script => "`run` without a terminal",
            Self::Command => "other commands",
            Self::Stdio => "clients over stdio",
            Self::Http => "clients over HTTP",
            Self::EarlierSystem => "clients with `--compat`",
        }
    }

    /// The policy of these settings for calls that come in this way.
    pub(crate) fn policy(self, settings: &PolicySettings) -> Policy {
        settings.policy(self.default_preset(settings))
    }

    /// The preset for calls that no rule is about, and where it is from.
    pub(crate) fn preset(self, settings: &PolicySettings) -> (Preset, PresetSource) {
        let named = settings.presets.iter();
        let is_named = named.clone().any(|(layer, _)| *layer != Layer::Project);
        let own: Vec<_> = named
            .filter(|(layer, _)| *layer != Layer::Project)
            .copied()
            .collect();
        let default = self.default_preset(settings);
        let preset = Preset::of_layers(&settings.presets, default);
        let source = if preset != Preset::of_layers(&own, default) {
            PresetSource::Repository
        } else if is_named {
            PresetSource::Named
        } else if settings.is_operators {
            PresetSource::PolicyWithoutPreset
        } else {
            PresetSource::NoPolicy
        };
        (preset, source)
    }

    /// The preset where no file names one.
    fn default_preset(self, settings: &PolicySettings) -> Preset {
        match (self, settings.is_operators) {
            (Self::Terminal, _) => Preset::Balanced,
            (Self::EarlierSystem, _) => Preset::Observe,
            (Self::Script | Self::Command | Self::Stdio | Self::Http, false) => Preset::Observe,
            (Self::Script, true) => Preset::Unattended,
            (Self::Command | Self::Stdio | Self::Http, true) => Preset::Balanced,
        }
    }
}

impl PresetSource {
    /// The source in a sentence.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Named => "a file names it",
            Self::Repository => "the repository's file tightens it",
            Self::NoPolicy => "the default without a `[policy]`",
            Self::PolicyWithoutPreset => "the default with a `[policy]` that names none",
        }
    }
}

/// What holds on each way, as phrases such as "`balanced` for `run` and `call` on a terminal (a file names it)": one for each preset
/// and source.
pub(crate) fn presets_by_way(settings: &PolicySettings) -> Vec<String> {
    let mut groups: Vec<((Preset, PresetSource), Vec<&str>)> = Vec::new();
    for way in WayIn::SHOWN {
        let preset = way.preset(settings);
        match groups.iter_mut().find(|(of, _)| *of == preset) {
            Some((_, titles)) => titles.push(way.title()),
            None => groups.push((preset, vec![way.title()])),
        }
    }
    let is_one = groups.len() == 1;
    let phrase = |((preset, source), titles): ((Preset, PresetSource), Vec<&str>)| {
        let ways = if is_one {
            "all ways in".to_owned()
        } else {
            titles.join(", ")
        };
        format!("`{preset}` for {ways} ({})", source.as_str())
    };
    groups.into_iter().map(phrase).collect()
}

impl GatewaySession {
    /// Goes on with an execution under the default that it began with, where that asked and the one of this command does not: a
    /// question that a terminal left open is answered by a script, too.
    pub(crate) async fn take_default_of(&self, questions: &[Approval]) {
        let settings = self.policy_settings();
        let is_balanced = |asked: &Approval| asked.preset.as_deref() == Some("balanced");
        let is_looser = self.way_in.default_preset(settings) == Preset::Observe;
        if settings.fault.is_none() && is_looser && questions.iter().any(is_balanced) {
            let policy = settings.policy(Preset::Balanced);
            self.gateway
                .replace_policy(policy, PolicyReading::Whole)
                .await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presets(settings: &PolicySettings) -> [Preset; 5] {
        WayIn::SHOWN.map(|way| way.preset(settings).0)
    }

    #[test]
    fn who_wrote_no_policy_is_asked_on_a_terminal_alone() {
        use Preset::{Balanced, Observe, Unattended};
        let none = PolicySettings::default();
        let without = [Balanced, Observe, Observe, Observe, Observe];
        assert_eq!(presets(&none), without);
        let (_, source) = WayIn::Stdio.preset(&none);
        assert_eq!(source, PresetSource::NoPolicy);
        // A repository's section is not the operator's.
        let project = PolicySettings {
            is_set: true,
            ..PolicySettings::default()
        };
        assert_eq!(presets(&project), without);
        let own = PolicySettings {
            is_set: true,
            is_operators: true,
            ..PolicySettings::default()
        };
        assert_eq!(
            presets(&own),
            [Balanced, Unattended, Balanced, Balanced, Observe]
        );
        assert_eq!(WayIn::Command.preset(&own).0, Balanced);
        let (_, source) = WayIn::Script.preset(&own);
        assert_eq!(source, PresetSource::PolicyWithoutPreset);
    }

    #[test]
    fn a_preset_that_is_named_holds_on_every_way_and_a_repository_only_tightens() {
        use Preset::{Balanced, Observe, Readonly};
        let named = |presets: &[(Layer, Preset)]| PolicySettings {
            is_set: true,
            is_operators: true,
            presets: presets.to_vec(),
            ..PolicySettings::default()
        };
        let observe = named(&[(Layer::User, Observe)]);
        assert_eq!(presets(&observe), [Observe; 5]);
        assert_eq!(WayIn::Http.preset(&observe).1, PresetSource::Named);
        let tightened = named(&[(Layer::User, Observe), (Layer::Project, Readonly)]);
        assert_eq!(presets(&tightened), [Readonly; 5]);
        assert_eq!(WayIn::Http.preset(&tightened).1, PresetSource::Repository);
        let of_project = PolicySettings {
            is_set: true,
            presets: vec![(Layer::Project, Balanced)],
            ..PolicySettings::default()
        };
        assert_eq!(presets(&of_project), [Balanced; 5]);
        let loosening = PolicySettings {
            presets: vec![(Layer::Project, Observe)],
            ..of_project
        };
        assert_eq!(WayIn::Terminal.preset(&loosening).0, Balanced);
    }

    #[test]
    fn a_gateway_that_lists_an_earlier_system_is_a_way_of_its_own() {
        assert_eq!(WayIn::Stdio.or_earlier_system(true), WayIn::EarlierSystem);
        assert_eq!(WayIn::Stdio.or_earlier_system(false), WayIn::Stdio);
    }
}
